//! Verification of the data that a database stores in addition to the entries, which are its schema, rows and indexes.

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

/// Finds differences between the schema of the database and the expected one, and entries with a negative index.
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
        let message = format!("there is an entry with the negative index {first}");
        findings.push(Finding { subject: Subject::Log, message });
    }
    Ok(findings)
}
