//! Verification of the tables of the Agent Execution Core. Their rows are recomputed from the entries and compared (AEC-8).

use std::collections::HashSet;

use actum_core::path::Cut;
use actum_record::ledger::{EntryFacts, EntryKind};
use actum_record::merkle::leaf_hash;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::log::{AgentCurrentRow, AgentSlo};
use crate::projection::agent::AgentProjection;
use crate::sqlite::agent::{CURRENT, Image, MINUTE, TABLES};
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::rows::{agent_current, unpacked};

/// Maximum number of findings for a table. Verification does not report more than this in total.
const FINDINGS_MAX: usize = 100;

/// Compares the rows of all tables with the state that was computed from the entries, and checks the indexes of the tables.
pub(in crate::sqlite) fn check(
    link: &Link,
    expected: &AgentProjection,
) -> Result<Vec<Finding>, LedgerError> {
    let mut findings = Vec::new();
    let mut find = || {
        for (table, kind) in Image::TABLES {
            findings.extend(compare_images(link, (table, kind), expected)?);
        }
        findings.extend(compare_current(link, expected)?);
        findings.extend(compare_minutes(link, expected)?);
        for table in TABLES {
            findings.extend(check_indexes(link, table)?);
        }
        Ok(())
    };
    find().map_err(|error| fault("read", &link.path, error))?;
    Ok(findings)
}

/// Collector for the findings about a table.
struct Report {
    table: &'static str,
    findings: Vec<Finding>,
}

impl Report {
    fn new(table: &'static str) -> Self {
        Self { table, findings: Vec::new() }
    }

    fn add(&mut self, row: String, message: &str) {
        if self.findings.len() < FINDINGS_MAX {
            let subject = Subject::Agent { table: self.table, row };
            self.findings.push(Finding { subject, message: message.to_owned() });
        }
    }
}

/// Maximum number of bytes of a name that are printed in a finding.
const NAME_BYTES_SHOWN: usize = 80;
const MISSING: &str = "the row is missing";
const EXTRA: &str = "the row does not belong to any entry";
const CHANGED: &str = "the row does not match the entries";

/// Compares the rows of a table that contains one row for each entry of a kind.
fn compare_images(
    link: &Link,
    (table, kind): (&'static str, EntryKind),
    expected: &AgentProjection,
) -> rusqlite::Result<Vec<Finding>> {
    let mut report = Report::new(table);
    let row_of = |index: i64| format!("row of entry {index}");
    let sql = format!(
        "SELECT entry.kind, entry.body, image.* FROM {table} AS image \
         LEFT JOIN entry ON entry.seq = image.seq ORDER BY image.seq"
    );
    let mut statement = link.connection.prepare(&sql)?;
    let mut rows = statement.query(())?;
    let mut wanted = expected.entries_of_kind(kind).map(u64::cast_signed).peekable();
    while let Some(row) = rows.next()? {
        let index: i64 = row.get(2)?;
        while let Some(missing) = wanted.next_if(|wanted| *wanted < index) {
            report.add(row_of(missing), MISSING);
        }
        if wanted.next_if_eq(&index).is_none() {
            report.add(row_of(index), EXTRA);
        } else if !is_image(row, kind, index)? {
            report.add(row_of(index), CHANGED);
        }
    }
    wanted.for_each(|missing| report.add(row_of(missing), MISSING));
    Ok(report.findings)
}

/// Returns whether the table columns match the entry. They follow the columns `kind` and `body` of the entry itself.
fn is_image(row: &Row<'_>, kind: EntryKind, index: i64) -> rusqlite::Result<bool> {
    if row.get_ref(0)?.as_str().ok() != Some(kind.as_str()) {
        return Ok(false);
    }
    let body = unpacked(row, 1)?;
    let facts = EntryFacts::parse(kind, &body).ok();
    let Some(event) = facts.and_then(|facts| facts.agent) else { return Ok(false) };
    let image = Image::new(&event, (index.cast_unsigned(), leaf_hash(&body)));
    for (column, (name, value)) in (2..).zip(&image.columns) {
        let is_same = row.as_ref().column_name(column)? == *name
            && row.get_ref(column)? == ValueRef::from(value);
        if !is_same {
            return Ok(false);
        }
    }
    Ok(row.as_ref().column_count() == image.columns.len().saturating_add(2))
}

/// Compares `agent_execution_current` with the newest event of each step of each plan.
fn compare_current(link: &Link, expected: &AgentProjection) -> rusqlite::Result<Vec<Finding>> {
    let mut report = Report::new(CURRENT);
    let row_of = |plan: &[u8], step: &[u8]| {
        format!("step `{}` of plan `{}`", Cut(step, NAME_BYTES_SHOWN), Cut(plan, NAME_BYTES_SHOWN))
    };
    let sql = "SELECT plan_id, step_id, last_seq, correlation_id, state, decision_key, reason_code, \
               updated_at, tenant_id FROM agent_execution_current ORDER BY tenant_id, plan_id, step_id";
    let mut statement = link.connection.prepare(sql)?;
    let mut rows = statement.query(())?;
    let tenant = expected.tenant().map(|tenant| Value::Text(tenant.as_str().to_owned()));
    let mut seen = HashSet::new();
    while let Some(row) = rows.next()? {
        let bytes =
            |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes().unwrap_or(b"?"));
        let name = row_of(bytes(0)?, bytes(1)?);
        let tenant_of_row: Value = row.get(8)?;
        let found = agent_current(row).ok().filter(|_| Some(tenant_of_row) == tenant);
        let known = found.as_ref().and_then(|found| expected.current(&found.plan, &found.step));
        match (&found, known) {
            (Some(found), Some(known)) if found == known => drop(seen.insert(known.newest)),
            (Some(_), Some(known)) => {
                seen.insert(known.newest);
                report.add(name, CHANGED);
            }
            (Some(_) | None, _) => report.add(name, EXTRA),
        }
    }
    let mut missing: Vec<&AgentCurrentRow> =
        expected.all_current().filter(|row| !seen.contains(&row.newest)).collect();
    missing.sort_unstable_by_key(|row| row.newest);
    for row in missing {
        report.add(row_of(row.plan.as_str().as_bytes(), row.step.as_str().as_bytes()), MISSING);
    }
    Ok(report.findings)
}

/// Compares the counters in `agent_slo_minute` with the outcomes recorded in each minute.
fn compare_minutes(link: &Link, expected: &AgentProjection) -> rusqlite::Result<Vec<Finding>> {
    let mut report = Report::new(MINUTE);
    let row_of = |minute: i64| format!("minute {minute}");
    let sql = "SELECT tenant_id, minute, total, over_p95, over_p99, errors FROM agent_slo_minute \
               ORDER BY tenant_id, minute";
    let mut statement = link.connection.prepare(sql)?;
    let mut rows = statement.query(())?;
    let tenant = expected.tenant().map(|tenant| tenant.as_str());
    let mut wanted = expected.minutes_since(i64::MIN).peekable();
    while let Some(row) = rows.next()? {
        let minute: i64 = row.get(1)?;
        if row.get_ref(0)?.as_str().ok() != tenant {
            report.add(row_of(minute), EXTRA);
            continue;
        }
        while let Some((missing, _)) = wanted.next_if(|(wanted, _)| *wanted < minute) {
            report.add(row_of(missing), MISSING);
        }
        match wanted.next_if(|(wanted, _)| *wanted == minute) {
            None => report.add(row_of(minute), EXTRA),
            Some((_, counters)) if !has_counters(row, counters)? => {
                report.add(row_of(minute), "the counters do not match the outcomes");
            }
            Some(_) => {}
        }
    }
    wanted.for_each(|(missing, _)| report.add(row_of(missing), MISSING));
    Ok(report.findings)
}

fn has_counters(row: &Row<'_>, counters: &AgentSlo) -> rusqlite::Result<bool> {
    let AgentSlo { total, over_p95, over_p99, errors } = *counters;
    for (column, count) in (2..).zip([total, over_p95, over_p99, errors]) {
        if row.get_ref(column)? != ValueRef::Integer(count.cast_signed()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs SQLite's integrity check on a table, which compares the indexes of the table with its rows.
fn check_indexes(link: &Link, table: &'static str) -> rusqlite::Result<Vec<Finding>> {
    let sql = format!("PRAGMA integrity_check({table})");
    let mut statement = link.connection.prepare(&sql)?;
    let found = statement.query_map((), |row| row.get::<_, String>(0))?;
    let found = found.collect::<rusqlite::Result<Vec<String>>>()?;
    let wrong = found.into_iter().filter(|message| message != "ok");
    Ok(wrong
        .map(|message| Finding {
            subject: Subject::Database,
            message: format!("the table `{table}`: {message}"),
        })
        .collect())
}
