//! Verification of the stored lease blocks (FE-17).

use std::collections::HashMap;

use actum_record::lease::LeaseId;

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::log::LeaseRow;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::rows::lease as lease_of_row;

/// Compares the stored lease blocks with the blocks that were computed from the entries.
pub(in crate::sqlite) fn check(
    link: &Link,
    leases: &HashMap<LeaseId, LeaseRow>,
) -> Result<Vec<Finding>, LedgerError> {
    find_deviations(link, leases).map_err(|error| fault("read", &link.path, error))
}

fn find_deviations(
    link: &Link,
    leases: &HashMap<LeaseId, LeaseRow>,
) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut report = |subject, message: &str| {
        findings.push(Finding { subject, message: message.to_owned() });
    };
    let sql = "SELECT lease, granted, revoked, used FROM lease ORDER BY lease";
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut rows = statement.query(())?;
    let (mut count, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        count += 1;
        match lease_of_row(row) {
            Ok(row) => {
                if last.is_some_and(|last| last >= row.lease) {
                    report(Subject::Database, "the lease blocks are not sorted by id");
                }
                last = Some(row.lease);
                if leases.get(&row.lease) != Some(&row) {
                    report(
                        Subject::Lease(row.lease),
                        "the stored state does not match the entries",
                    );
                }
            }
            Err(_) => report(Subject::Database, "the row of a lease block cannot be read"),
        }
    }
    if count != leases.len() {
        report(Subject::Database, "the number of lease blocks does not match the entries");
    }
    Ok(findings)
}
