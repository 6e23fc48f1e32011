//! Actions and their catalog in a ledger: lookup, migration of older ledgers, and detection of outside changes.

use crate::grounds::{Grounds, WITHOUT_AGENT, fill};
use actum_core::Status;
use actum_ledger::Log;
use actum_ledger::conformance::sample::{SampleRun, catalog_changed};
use actum_ledger::verify::{Checks, Receipts, Subject, verify};
use actum_record::ledger::EntryKind;
use actum_record::merkle::leaf_hash;

const KINDS: [EntryKind; 2] = [EntryKind::ActionEnded, EntryKind::CatalogChanged];

/// Creates a ledger with runs, two finished actions and two changes of the catalog.
fn with_actions() -> Grounds {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..2);
    let mut last = (0, leaf_hash(&grounds.view().sound_entry(0).unwrap().body));
    for number in 0..2 {
        let run = SampleRun::numbered(number, 0);
        let ended = run.action_ended(Status::Succeeded).unwrap();
        let snapshot = format!("{{\"catalog\":{number}}}");
        let changed = catalog_changed(last, snapshot.as_bytes()).unwrap();
        let appended = ledger.append(vec![ended, changed]).wait().unwrap();
        last = appended.last().map(|entry| (entry.index, entry.leaf)).unwrap();
    }
    drop(ledger);
    grounds.settle();
    grounds
}

/// AA-13: the lookup uses only the index, regardless of the length of the log.
#[test]
fn newest_action_entries_are_found_by_index_alone() {
    let grounds = with_actions();
    let foreign = grounds.foreign();
    let plan = |sql: &str| -> String {
        let row = foreign.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [9, 9], |row| row.get(3));
        row.unwrap()
    };
    for kind in KINDS {
        let sql = format!(
            "SELECT seq FROM entry WHERE kind = '{}' AND seq < ? ORDER BY seq DESC LIMIT ?",
            kind.as_str()
        );
        assert!(plan(&sql).contains("COVERING INDEX entry_kind (kind=?"), "{}", plan(&sql));
    }
    // The index contains no other entries.
    let rows = "SELECT count(*) FROM entry INDEXED BY entry_kind WHERE kind = 'ACTION_ENDED' OR \
                kind = 'CATALOG_CHANGED'";
    assert_eq!(foreign.query_row(rows, (), |row| row.get::<_, u64>(0)), Ok(4));
    drop(foreign);
    let view = grounds.view();
    assert_eq!(view.newest_of_kind(EntryKind::ActionEnded, None, 9).unwrap(), [7, 5]);
    assert_eq!(view.newest_of_kind(EntryKind::CatalogChanged, Some(8), 9).unwrap(), [6]);
}

/// AA-13: appending an entry of another kind writes exactly as many pages as before the index was added.
#[test]
fn action_index_adds_no_page_writes_for_other_kinds() {
    let pages = |prepare: &str| {
        let grounds = Grounds::new();
        fill(&grounds.ledger(), 0..1);
        grounds.foreign().execute_batch(prepare).unwrap();
        grounds.settle();
        let ledger = grounds.ledger();
        fill(&ledger, 1..12);
        let sql = "PRAGMA wal_checkpoint(NOOP)";
        grounds.foreign().query_row(sql, (), |row| row.get::<_, u64>(1)).unwrap()
    };
    let (with, without) = (
        pages("SELECT 1"),
        pages(
            "DROP INDEX entry_kind; DROP INDEX entry_alert; DROP INDEX entry_forgotten; DROP INDEX entry_lease",
        ),
    );
    assert!(with <= without, "{with} {without}");
    assert!(with > 22, "{with}");
}

/// AA-13: a ledger without the index can be read unchanged, and the first write adds the index.
#[test]
fn ledger_without_the_action_index_is_migrated_on_first_write() {
    for older in [
        "DROP INDEX entry_kind; DROP INDEX entry_alert; DROP INDEX entry_forgotten; DROP INDEX entry_lease; DROP TABLE lease; DROP TABLE file_task; PRAGMA user_version = 131074",
        "DROP INDEX entry_kind; DROP INDEX entry_alert; DROP INDEX entry_forgotten; DROP INDEX entry_lease; DROP TABLE lease; DROP TABLE file_task; DROP TABLE plan; PRAGMA user_version = 65537",
    ] {
        let grounds = Grounds::new();
        fill(&grounds.ledger(), 0..2);
        grounds.foreign().execute_batch(&format!("{WITHOUT_AGENT} {older}")).unwrap();
        grounds.settle();
        let before = std::fs::read(grounds.database()).unwrap();
        let view = grounds.view();
        for kind in KINDS {
            assert_eq!(view.newest_of_kind(kind, None, 9).unwrap(), Vec::<u64>::new());
        }
        drop(view);
        let result = grounds.verify().unwrap();
        assert!(result.is_sound() && result.entries == 5, "{result:?}");
        assert_eq!(std::fs::read(grounds.database()).unwrap(), before);
        let ended = SampleRun::numbered(8, 0).action_ended(Status::Failed).unwrap();
        grounds.ledger().append(vec![ended]).wait().unwrap();
        assert_eq!(grounds.view().newest_of_kind(EntryKind::ActionEnded, None, 9).unwrap(), [5]);
        let result = grounds.verify().unwrap();
        assert!(result.is_sound() && result.entries == 6, "{result:?}");
    }
}

/// AEC-8, AA-13
#[test]
fn action_rows_are_verified_against_their_entries() {
    assert!(with_actions().verify().unwrap().is_sound());
    for (column, value) in [
        ("kind", "'CATALOG_CHANGED'"),
        ("run", "NULL"),
        ("workspace", "1"),
        ("status", "'failed'"),
        ("status", "NULL"),
        ("time", "time + 1"),
        ("body", "CAST(replace(body, 'succeeded', 'reverted!') AS BLOB)"),
    ] {
        let grounds = with_actions();
        let foreign = grounds.foreign();
        let change = format!(
            "DROP TRIGGER entry_update; UPDATE entry SET {column} = {value} WHERE seq = 5; {}",
            "CREATE TRIGGER entry_update BEFORE UPDATE ON entry\n\
             BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
        );
        foreign.execute_batch(&change).unwrap();
        drop(foreign);
        let result = grounds.verify().unwrap();
        let is_reported = result.findings.iter().any(|it| it.subject == Subject::Entry(5));
        assert!(is_reported, "{column} = {value}: {result:?}");
    }
}

/// AA-13: verification finds a change of the catalog that does not follow the previous one, regardless of which program wrote the
/// file.
#[test]
fn misplaced_catalog_change_is_found() {
    let grounds = with_actions();
    // Repeats an earlier change. The trigger checks only that entry numbers are consecutive.
    let replay = "INSERT INTO entry SELECT 9, kind, time, run, workspace, request, attempt, status, \
                  nodes, body FROM entry WHERE seq = 6";
    grounds.foreign().execute_batch(replay).unwrap();
    grounds.settle();
    let result = grounds.verify().unwrap();
    let findings = result.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(
        findings.contains(
            "entry 9: the catalog change follows entry 0 instead of the latest change, entry 8"
        ),
        "{findings}"
    );
}

/// AA-13: the signatures of catalog changes are always checked.
#[test]
fn catalog_changes_are_checked_even_under_a_checkpoint() {
    let grounds = with_actions();
    let ledger = grounds.ledger();
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    let mut asked = Vec::new();
    let note = &mut grounds.check();
    let entry = &mut |kind, _: &[u8]| {
        asked.push(kind);
        match kind == EntryKind::CatalogChanged {
            true => Err("nobody signed it".to_owned()),
            false => Ok(()),
        }
    };
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    let result = verify(&grounds.view(), &mut checks, &mut |_| {}).unwrap();
    assert_eq!(asked, [EntryKind::CatalogChanged; 2]);
    let subjects: Vec<_> = result.findings.iter().map(|it| &it.subject).collect();
    assert_eq!(subjects, [&Subject::Entry(6), &Subject::Entry(8)]);
}
