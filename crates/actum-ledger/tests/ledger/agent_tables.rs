//! Tables of the agent core: append-only, without silent transitions, rebuilt, and compared with the entries.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_ledger::conformance::sample::SampleStep;
use actum_ledger::sqlite::DATABASE;
use actum_ledger::verify::{Subject, Verification};
use actum_ledger::{LedgerView, Log};
use actum_record::ledger::{AgentEventKind, AgentState};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::agents::{put, with_agents};
use crate::grounds::Grounds;
use crate::tampering::flip_bytes;

const TABLES: [&str; 6] = [
    "agent_execution_ledger",
    "agent_execution_access_decision_ledger",
    "agent_execution_confirmation_ledger",
    "agent_intake_resolved_ledger",
    "agent_execution_current",
    "agent_slo_minute",
];

fn rows(connection: &Connection, table: &str) -> Vec<Vec<Value>> {
    let mut select =
        connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3")).unwrap();
    let columns = select.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
    select.query_map((), row).unwrap().map(Result::unwrap).collect()
}

fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let select = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    select.column_names().map(str::to_owned).collect()
}

/// Copies a settled ledger into a separate directory.
fn copy(grounds: &Grounds, name: &str) -> PathBuf {
    let place = grounds.home.path().join(name);
    drop(fs::remove_dir_all(&place));
    fs::create_dir(&place).unwrap();
    let path = place.join(DATABASE);
    fs::copy(grounds.database(), &path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    place
}

/// Executes SQL that bypasses the column checks, with the triggers removed during the change and restored afterwards. Returns
/// whether a row changed.
fn change(place: &Path, sql: &str) -> bool {
    let connection = Connection::open(place.join(DATABASE)).unwrap();
    let triggers: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    connection.pragma_update(None, "ignore_check_constraints", true).unwrap();
    let changed = connection.execute(sql, ());
    for (_, sql) in &triggers {
        connection.execute_batch(sql).unwrap();
    }
    drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())));
    changed.is_ok_and(|rows| rows > 0)
}

fn reported_tables(result: &Verification) -> Vec<&'static str> {
    let table = |subject: &Subject| {
        if let Subject::Agent { table, .. } = subject { Some(*table) } else { None }
    };
    result.findings.iter().filter_map(|finding| table(&finding.subject)).collect()
}

/// AEC-8: each column of each row is derived from an entry.
#[test]
fn a_changed_column_of_any_agent_table_is_found() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    let sound = copy(&grounds, "sound");
    assert!(change(&sound, "UPDATE agent_slo_minute SET total = total"));
    assert!(grounds.verify_at(&sound).unwrap().is_sound());
    for table in TABLES {
        for column in columns(&connection, table) {
            let place = copy(&grounds, "changed");
            let last = format!("(SELECT max({column}) FROM {table})");
            let sql = format!(
                "UPDATE {table} SET {column} = CASE typeof({column}) WHEN 'integer' THEN {column} + 1000 \
                 WHEN 'text' THEN {column} || 'x' WHEN 'blob' THEN zeroblob(32) ELSE 'x' END \
                 WHERE {column} IS {last}"
            );
            let is_changed = change(&place, &sql);
            assert!(is_changed, "{table} {column}");
            let result = grounds.verify_at(&place);
            let is_reported = |result: Verification| reported_tables(&result).contains(&table);
            assert!(result.is_ok_and(is_reported), "{table} {column}");
        }
    }
}

/// AEC-8: missing and unexpected values are detected as well.
#[test]
fn removed_or_added_value_in_an_agent_row_is_found() {
    let grounds = with_agents();
    for sql in [
        "UPDATE agent_execution_ledger SET reason_code = NULL WHERE seq = 1",
        "UPDATE agent_execution_ledger SET reason_code = 'A_REASON' WHERE seq = 7",
        "UPDATE agent_execution_ledger SET idempotency_key = NULL WHERE seq = 4",
        "UPDATE agent_execution_ledger SET confirmation_ref = zeroblob(32) WHERE seq = 1",
        "UPDATE agent_execution_access_decision_ledger SET reason_code = 'A_REASON' WHERE seq = 2",
        "UPDATE agent_execution_confirmation_ledger SET accepted_token = NULL WHERE seq = 3",
        "UPDATE agent_intake_resolved_ledger SET simulation_id = NULL",
        "UPDATE agent_execution_current SET reason_code = 'A_REASON' WHERE plan_id = 'plan-1'",
        "UPDATE agent_execution_current SET decision_key = NULL WHERE plan_id = 'plan-1'",
        "UPDATE agent_execution_current SET state = 'NONE' WHERE plan_id = 'plan-1'",
        "UPDATE agent_execution_ledger SET seq = 900 WHERE seq = 4",
    ] {
        let place = copy(&grounds, "changed");
        assert!(change(&place, sql), "{sql}");
        assert!(!reported_tables(&grounds.verify_at(&place).unwrap()).is_empty(), "{sql}");
    }
}

/// AEC-8: each row has an entry, and each entry has a row.
#[test]
fn removed_or_added_row_of_any_agent_table_is_found() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    for table in TABLES {
        for position in 0..rows(&connection, table).len() {
            let place = copy(&grounds, "removed");
            let order = match table {
                "agent_execution_current" => "plan_id",
                "agent_slo_minute" => "minute",
                _ => "seq",
            };
            let sql = format!(
                "DELETE FROM {table} WHERE {order} = \
                 (SELECT {order} FROM {table} ORDER BY {order} LIMIT 1 OFFSET {position})"
            );
            assert!(change(&place, &sql), "{sql}");
            assert_eq!(reported_tables(&grounds.verify_at(&place).unwrap()), [table], "{sql}");
        }
        let place = copy(&grounds, "added");
        let names = columns(&connection, table);
        let added: Vec<String> = names
            .iter()
            .map(|name| match &**name {
                "seq" => "900".to_owned(),
                "minute" => "1".to_owned(),
                "plan_id" => "'plan-900'".to_owned(),
                "correlation_id" => "'goal-900'".to_owned(),
                name => name.to_owned(),
            })
            .collect();
        let sql = format!("INSERT INTO {table} SELECT {} FROM {table} LIMIT 1", added.join(", "));
        assert!(change(&place, &sql), "{sql}");
        assert_eq!(reported_tables(&grounds.verify_at(&place).unwrap()), [table], "{sql}");
    }
}

/// AEC-8: a row of another tenant does not belong in this ledger.
#[test]
fn agent_rows_of_another_tenant_are_found() {
    let grounds = with_agents();
    for table in ["agent_execution_current", "agent_slo_minute"] {
        let place = copy(&grounds, "added");
        let connection = grounds.foreign();
        let names = columns(&connection, table)[1..].join(", ");
        let sql = format!("INSERT INTO {table} SELECT 'other', {names} FROM {table} LIMIT 1");
        assert!(change(&place, &sql));
        assert_eq!(reported_tables(&grounds.verify_at(&place).unwrap()), [table]);
    }
}

/// AEC-8: the database rejects every change that is not an append, with each conflict clause.
#[test]
fn agent_ledgers_reject_updates_deletes_and_replacements() {
    let grounds = with_agents();
    let before = grounds.verify().unwrap();
    let connection = grounds.foreign();
    for triggers in [true, false] {
        connection.pragma_update(None, "recursive_triggers", triggers).unwrap();
        for table in TABLES.into_iter().filter(|table| table.ends_with("_ledger")) {
            let names = columns(&connection, table);
            let others = names[1..].join(", ");
            for sql in [
                format!("UPDATE {table} SET created_at = 0"),
                format!("UPDATE OR REPLACE {table} SET seq = seq + 1"),
                format!("DELETE FROM {table}"),
                format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1"),
                format!("INSERT OR REPLACE INTO {table} SELECT 900, {others} FROM {table} LIMIT 1"),
                format!("INSERT INTO {table} SELECT 17, {others} FROM {table} LIMIT 1"),
                format!("INSERT INTO {table} SELECT NULL, {others} FROM {table} LIMIT 1"),
            ] {
                refuses(&connection, &sql, "rows of");
            }
        }
    }
    assert_eq!(grounds.verify().unwrap(), before);
}

fn refuses(connection: &Connection, sql: &str, message: &str) {
    let error = connection.execute_batch(sql).unwrap_err();
    assert!(error.to_string().contains(message), "{sql}: {error}");
}

/// AEC-7: the database itself rejects a second start, including one that would replace the first.
#[test]
fn database_rejects_a_second_start_of_a_step() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    connection
        .execute_batch(
            "INSERT INTO entry SELECT 18, kind, time, run, workspace, request, attempt, status, nodes, \
             body FROM entry WHERE seq = 4",
        )
        .unwrap();
    let names = columns(&connection, "agent_execution_ledger");
    let with_key = |key: &str| -> String {
        let column = |name: &String| match &**name {
            "seq" => "18".to_owned(),
            "idempotency_key" | "decision_key" => key.replace("KEY", name),
            name => name.to_owned(),
        };
        names.iter().map(column).collect::<Vec<_>>().join(", ")
    };
    let start = |clause: &str, key: &str| {
        let columns = with_key(key);
        format!(
            "INSERT {clause} INTO agent_execution_ledger SELECT {columns} FROM agent_execution_ledger \
             WHERE seq = 4"
        )
    };
    for clause in ["", "OR REPLACE", "OR IGNORE"] {
        for key in ["KEY", "zeroblob(32)"] {
            refuses(&connection, &start(clause, key), "the effect of a step starts once");
        }
    }
    // The indexes reject it even without the trigger.
    connection.execute_batch("DROP TRIGGER agent_execution_ledger_claims").unwrap();
    for key in ["KEY", "zeroblob(32)"] {
        refuses(&connection, &start("", key), "UNIQUE constraint failed");
    }
}

/// AEC-8: the current state cannot change without a new ledger row.
#[test]
fn current_state_rejects_all_but_the_newest_ledger_row() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    let values = "tenant_id, plan_id, step_id, last_seq, correlation_id, state, decision_key, reason_code, \
                  updated_at";
    let older = "INSERT OR REPLACE INTO agent_execution_current SELECT tenant_id, plan_id, step_id, seq, \
                 correlation_id, state, decision_key, reason_code, created_at FROM agent_execution_ledger \
                 WHERE seq = 4";
    for triggers in [true, false] {
        connection.pragma_update(None, "recursive_triggers", triggers).unwrap();
        for sql in [
            "UPDATE agent_execution_current SET state = 'FAILED' WHERE plan_id = 'plan-1'".to_owned(),
            "UPDATE agent_execution_current SET last_seq = 4, state = 'STARTED' WHERE plan_id = 'plan-1'"
                .to_owned(),
            "UPDATE agent_execution_current SET reason_code = 'A_REASON' WHERE plan_id = 'plan-1'"
                .to_owned(),
            "UPDATE agent_execution_current SET decision_key = NULL WHERE plan_id = 'plan-1'".to_owned(),
            "UPDATE agent_execution_current SET updated_at = 1 WHERE plan_id = 'plan-1'".to_owned(),
            "UPDATE agent_execution_current SET plan_id = 'plan-9' WHERE plan_id = 'plan-1'".to_owned(),
            older.to_owned(),
            format!(
                "INSERT INTO agent_execution_current ({values}) \
                 SELECT tenant_id, 'plan-9', step_id, last_seq, correlation_id, state, decision_key, \
                 reason_code, updated_at FROM agent_execution_current LIMIT 1"
            ),
        ] {
            refuses(&connection, &sql, "no silent transitions");
        }
    }
    let before = rows(&connection, "agent_execution_current");
    let newest = "UPDATE agent_execution_current SET state = state";
    connection.execute_batch(newest).unwrap();
    assert_eq!(rows(&connection, "agent_execution_current"), before);
    assert!(grounds.verify().unwrap().is_sound());
}

/// AEC-17: only outcomes change the counters.
#[test]
fn slo_counters_accept_only_outcomes() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    for triggers in [true, false] {
        connection.pragma_update(None, "recursive_triggers", triggers).unwrap();
        for (sql, message) in [
            ("UPDATE agent_slo_minute SET total = 0", "counters count outcomes"),
            ("UPDATE agent_slo_minute SET errors = 0", "counters count outcomes"),
            ("UPDATE agent_slo_minute SET total = total + 1", "counters count outcomes"),
            ("UPDATE agent_slo_minute SET minute = 1", "counters count outcomes"),
            ("DELETE FROM agent_slo_minute", "minutes are never removed"),
            (
                "INSERT OR REPLACE INTO agent_slo_minute SELECT tenant_id, minute, 0, 0, 0, 0 \
                 FROM agent_slo_minute",
                "a minute begins without outcomes",
            ),
            (
                "INSERT INTO agent_slo_minute VALUES ('default', 1, 1, 0, 0, 0)",
                "a minute begins without outcomes",
            ),
        ] {
            refuses(&connection, sql, message);
        }
    }
    assert!(grounds.verify().unwrap().is_sound());
}

/// AEC-17: a second effect under one key, which no store accepts, is counted if it was inserted by force.
#[test]
fn a_planted_second_effect_is_counted_as_a_duplicate() {
    let grounds = with_agents();
    let place = copy(&grounds, "planted");
    let columns = {
        let connection = Connection::open(place.join(DATABASE)).unwrap();
        columns(&connection, "agent_execution_ledger").join(", ")
    };
    let count = |place: &Path| {
        let view = LedgerView::open_directory(place).unwrap().unwrap();
        view.count_duplicate_effects().unwrap()
    };
    assert_eq!(count(&place), 0);
    let others = columns.replacen("seq", "1000000", 1);
    let plant = format!(
        "INSERT INTO agent_execution_ledger ({columns}) SELECT {others} FROM agent_execution_ledger \
         WHERE event = 'OUTCOME' AND state = 'SUCCEEDED' LIMIT 1"
    );
    assert!(change(&place, &plant));
    assert_eq!(count(&place), 1);
}

/// AEC-8, AEC-15
#[test]
fn at_agent_13_current_rebuilds_from_ledger_without_drift() {
    let grounds = with_agents();
    let connection = grounds.foreign();
    let sound = rows(&connection, "agent_execution_current");
    assert_eq!(sound.len(), 5);
    let rebuilt = |grounds: &Grounds| grounds.ledger().rebuild_agent_current().wait().unwrap();
    assert_eq!(rebuilt(&grounds), 5);
    assert_eq!(rows(&connection, "agent_execution_current"), sound);
    connection.execute_batch("DELETE FROM agent_execution_current").unwrap();
    assert_eq!(reported_tables(&grounds.verify().unwrap()), ["agent_execution_current"; 5]);
    assert_eq!(rebuilt(&grounds), 5);
    assert_eq!(rows(&connection, "agent_execution_current"), sound);
    assert!(grounds.verify().unwrap().is_sound());
    // Rows that were forged while the triggers were removed are replaced as well.
    drop(connection);
    grounds.settle();
    let falsified = "UPDATE agent_execution_current SET state = 'SUCCEEDED', last_seq = 1";
    assert!(change(&grounds.place(), falsified));
    assert_eq!(reported_tables(&grounds.verify().unwrap()).len(), 5);
    assert_eq!(rebuilt(&grounds), 5);
    assert!(grounds.verify().unwrap().is_sound());
    let connection = grounds.foreign();
    assert_eq!(rows(&connection, "agent_execution_current"), sound);
    // Later entries update the rebuilt rows like any others.
    let ledger = grounds.ledger();
    let open = SampleStep::numbered(5);
    put(&ledger, vec![open.event(AgentEventKind::Outcome, AgentState::Succeeded).unwrap()]);
    assert_eq!(ledger.rebuild_agent_current().wait().unwrap(), 5);
    let plan = "plan-5".parse().unwrap();
    let row = grounds.view().agent_current(&plan, &"step-1".parse().unwrap()).unwrap().unwrap();
    assert_eq!((row.state, row.newest), (AgentState::Succeeded, 18));
    assert!(grounds.verify().unwrap().is_sound());
}

/// AEC-8: rebuilding a ledger without steps creates no rows.
#[test]
fn rebuild_without_steps_creates_no_rows() {
    let grounds = Grounds::new();
    assert_eq!(grounds.ledger().rebuild_agent_current().wait().unwrap(), 0);
    assert!(grounds.verify().unwrap().is_sound());
}

/// AEC-8. If a flipped byte is not detected, all stored data must be unchanged.
#[test]
fn flipped_bytes_in_agent_tables_are_found_or_harmless() {
    let [refused, reported, harmless] =
        flip_bytes(&with_agents(), |table| table.starts_with("agent_"));
    println!("{refused} flips refused, {reported} told, {harmless} without any meaning");
    assert!(reported > refused && reported > harmless / 4);
}

/// AEC-8: an index that contains wrong references is detected.
#[test]
fn a_changed_index_of_an_agent_table_is_found() {
    let grounds = with_agents();
    for (index, definition) in [
        (
            "agent_execution_ledger_claim",
            "CREATE INDEX agent_execution_ledger_claim ON agent_execution_ledger (seq) \
             WHERE event = 'NONE'",
        ),
        (
            "agent_execution_current_open",
            "CREATE INDEX agent_execution_current_open ON agent_execution_current (last_seq) \
             WHERE state = 'NONE'",
        ),
    ] {
        let place = copy(&grounds, "indexed");
        let connection = Connection::open(place.join(DATABASE)).unwrap();
        let sql = format!("SELECT sql FROM sqlite_schema WHERE name = '{index}'");
        let sound: String = connection.query_row(&sql, (), |row| row.get(0)).unwrap();
        let schema = |from: &str, to: &str| {
            connection.execute_batch(&format!("DROP INDEX {index}; {from}")).unwrap();
            connection.pragma_update(None, "writable_schema", true).unwrap();
            let sql = "UPDATE sqlite_schema SET sql = ? WHERE name = ?";
            connection.execute(sql, (to, index)).unwrap();
        };
        schema(definition, &sound);
        drop(connection);
        let result = grounds.verify_at(&place);
        let is_sound = result.is_ok_and(|result| result.is_sound());
        assert!(!is_sound, "{index}");
    }
}
