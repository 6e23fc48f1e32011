//! Verification of the stored plans and the index of open ones (AA-5).

use std::collections::HashMap;

use actum_core::RunId;

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::projection::KnownPlan;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::rows::plan as plan_of_row;

type Plans = HashMap<RunId, KnownPlan>;

const OTHER: &str = "the stored state does not match the entries";

/// Compares the stored plans and their index with the plans that were computed from the entries.
pub(in crate::sqlite) fn check(link: &Link, plans: &Plans) -> Result<Vec<Finding>, LedgerError> {
    let problems = rows(link, plans).and_then(|mut problems| {
        problems.extend(open(link, plans)?);
        Ok(problems)
    });
    let problems = problems.map_err(|error| fault("read", &link.path, error))?;
    Ok(problems.into_iter().map(|(subject, message)| Finding { subject, message }).collect())
}

type Problems = Vec<(Subject, String)>;

/// Compares the rows of plans with the expected plans.
fn rows(link: &Link, plans: &Plans) -> rusqlite::Result<Problems> {
    let sql = "SELECT plan, workspace, queued, answer, answered, started, open FROM plan";
    let mut problems = Problems::new();
    let mut count = 0;
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut kept = statement.query(())?;
    while let Some(row) = kept.next()? {
        count += 1;
        let plan = RunId::from_random(row.get::<_, i64>(0)?.cast_unsigned());
        let known = plans.get(&plan).map(|known| &known.row);
        let is_right = match (plan_of_row(row), known) {
            (Ok(row_now), Some(known)) => {
                row_now == *known && row.get::<_, i64>(6)? == i64::from(known.is_open())
            }
            (Ok(_) | Err(_), _) => false,
        };
        if !is_right {
            problems.push((Subject::Plan(plan), OTHER.to_owned()));
        }
    }
    if count != plans.len() {
        let message = "the number of plans does not match the entries";
        problems.push((Subject::Database, message.to_owned()));
    }
    Ok(problems)
}

/// Compares the index of open plans with the expected plans.
fn open(link: &Link, plans: &Plans) -> rusqlite::Result<Problems> {
    let sql = "SELECT plan, queued FROM plan INDEXED BY plan_open WHERE open = 1 ORDER BY queued";
    let mut statement = link.connection.prepare_cached(sql)?;
    let found =
        statement.query_map((), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u64>(1)?)))?;
    let found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    let rows = plans.values().map(|known| &known.row).filter(|row| row.is_open());
    let mut expected: Vec<_> =
        rows.map(|row| (row.plan.bits().cast_signed(), row.queued)).collect();
    expected.sort_unstable_by_key(|(_, queued)| *queued);
    let message = "the index of open plans does not match the entries";
    Ok(match found == expected {
        true => Problems::new(),
        false => vec![(Subject::Database, message.to_owned())],
    })
}
