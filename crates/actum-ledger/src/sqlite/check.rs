//! Verification of all that a database keeps beside the entries: its tables, its rows and its
//! indexes.

pub(super) mod agent;
pub(super) mod documents;
pub(super) mod file_tasks;
pub(super) mod kinds;
pub(super) mod leases;
pub(super) mod plans;
pub(super) mod runs;

use super::fault::fault;
use super::link::Link;
use super::schema;
use crate::error::LedgerError;
use crate::finding::{Finding, Subject};

/// Finds tables, indexes and triggers that are not those of this version, and entries before the first.
pub(super) fn structure(link: &Link) -> Result<Vec<Finding>, LedgerError> {
    let mut findings = Vec::new();
    schema::check_whole(link, &mut |message| {
        findings.push(Finding { subject: Subject::Database, message });
    })?;
    let first = || {
        let sql = "SELECT coalesce(min(seq), 0) FROM entry";
        link.connection.prepare_cached(sql)?.query_row((), |row| row.get::<_, i64>(0))
    };
    let first = first().map_err(|error| fault("read", &link.path, error))?;
    if first < 0 {
        let message = format!("an entry stands before its beginning, at {first}");
        findings.push(Finding { subject: Subject::Log, message });
    }
    Ok(findings)
}
