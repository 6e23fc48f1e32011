//! Verification of the stored runs and their indexes (AEC-8).

use std::collections::HashMap;

use actum_core::RunId;
use rusqlite::Row;

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::log::RunRow;
use crate::projection::Known;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::rows::run as run_of_row;

/// Compares the stored runs and their indexes with the runs that were computed from the entries.
pub(in crate::sqlite) fn check(
    link: &Link,
    runs: &HashMap<RunId, Known>,
) -> Result<Vec<Finding>, LedgerError> {
    let failed = |error| fault("read", &link.path, error);
    let rows = rows(link, runs).map_err(failed)?;
    let open = open(link, runs).map_err(failed)?;
    let requests = requests(link, runs).map_err(failed)?;
    let problems = rows.into_iter().chain(open).chain(requests);
    Ok(problems
        .map(|(subject, message)| Finding { subject, message: message.to_owned() })
        .collect())
}

type Problems = Vec<(Subject, &'static str)>;

const OTHER: &str = "the stored state does not match the entries";

/// Compares the rows of runs with the expected runs.
fn rows(link: &Link, runs: &HashMap<RunId, Known>) -> rusqlite::Result<Problems> {
    let sql =
        "SELECT run, workspace, request, attempt, started, done, status FROM run ORDER BY run";
    let mut problems = Problems::new();
    let mut count = 0;
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut kept = statement.query(())?;
    let mut last = None;
    while let Some(row) = kept.next()? {
        count += 1;
        let bits: i64 = row.get(0)?;
        if last.is_some_and(|last| last >= bits) {
            problems.push((Subject::Database, "the runs are not sorted by id"));
        }
        last = Some(bits);
        match run_of_row(row) {
            Ok(row) if runs.get(&row.run).is_some_and(|known| known.row == row) => {}
            Ok(row) => problems.push((Subject::Run(row.run), OTHER)),
            Err(_) => {
                problems.push((Subject::Run(RunId::from_random(bits.cast_unsigned())), OTHER))
            }
        }
    }
    if count != runs.len() {
        problems.push((Subject::Database, "the number of runs does not match the entries"));
    }
    Ok(problems)
}

/// Compares the index of open runs with the expected runs.
fn open(link: &Link, runs: &HashMap<RunId, Known>) -> rusqlite::Result<Problems> {
    let sql = "SELECT run, workspace, started FROM run INDEXED BY run_open WHERE done IS NULL \
               ORDER BY workspace, started";
    let is_it = |row: &RunRow, found: &Row<'_>| {
        Ok(row.done.is_none()
            && found.get::<_, u64>(1)? == row.workspace.bits()
            && found.get::<_, u64>(2)? == row.started)
    };
    let order = |found: &Row<'_>| Ok((found.get::<_, i64>(1)?, found.get::<_, i64>(2)?));
    let expected = runs.values().filter(|known| known.row.done.is_none()).count();
    index(link, runs, sql, (is_it, order), expected)
}

/// Compares the index that finds runs by their request with the expected runs.
fn requests(link: &Link, runs: &HashMap<RunId, Known>) -> rusqlite::Result<Problems> {
    let sql = "SELECT run, workspace, request, attempt FROM run INDEXED BY run_request \
               WHERE request IS NOT NULL ORDER BY workspace, request, attempt";
    let is_it = |row: &RunRow, found: &Row<'_>| {
        Ok(found.get::<_, u64>(1)? == row.workspace.bits()
            && row.request.as_ref().map(|key| key.as_str()) == Some(found.get_ref(2)?.as_str()?)
            && found.get::<_, u32>(3)? == row.attempt)
    };
    let order = |found: &Row<'_>| {
        Ok((found.get::<_, i64>(1)?, found.get::<_, String>(2)?, found.get::<_, i64>(3)?))
    };
    let expected = runs.values().filter(|known| known.row.request.is_some()).count();
    index(link, runs, sql, (is_it, order), expected)
}

/// Checks that the rows of an index match the expected runs, are sorted without duplicates, and are complete.
fn index<O: PartialOrd>(
    link: &Link,
    runs: &HashMap<RunId, Known>,
    sql: &str,
    (is_it, order): (
        impl Fn(&RunRow, &Row<'_>) -> rusqlite::Result<bool>,
        impl Fn(&Row<'_>) -> rusqlite::Result<O>,
    ),
    expected: usize,
) -> rusqlite::Result<Problems> {
    let mut problems = Problems::new();
    let mut count = 0;
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut found = statement.query(())?;
    let mut last = None;
    while let Some(row) = found.next()? {
        count += 1;
        let run = RunId::from_random(row.get::<_, i64>(0)?.cast_unsigned());
        let now = order(row)?;
        let is_right = match runs.get(&run) {
            Some(known) => is_it(&known.row, row)? && last.is_none_or(|last| last < now),
            None => false,
        };
        if !is_right {
            problems
                .push((Subject::Run(run), "the index entry for the run is wrong or out of order"));
        }
        last = Some(now);
    }
    if count != expected {
        problems.push((Subject::Database, "an index contains too many or too few runs"));
    }
    Ok(problems)
}
