//! Verification of the indexes that find entries by their kind (AA-13, EX-18).

use actum_record::ledger::EntryKind;

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::schema::has_index;

/// Name of each index, with the kinds of entries that it covers.
const INDEXES: [(&str, &[EntryKind]); 5] = [
    ("entry_kind", &[EntryKind::ActionEnded, EntryKind::CatalogChanged]),
    ("entry_alert", &[EntryKind::AlertRaised, EntryKind::AlertSeen]),
    ("entry_forgotten", &[EntryKind::HistoryForgotten]),
    ("entry_lease", &[EntryKind::LeaseGranted, EntryKind::LeaseRevoked]),
    ("entry_slo_waived", &[EntryKind::SloWaived]),
];

/// Compares the indexes with `indexed`, which contains all entries of the covered kinds.
pub(in crate::sqlite) fn check(
    link: &Link,
    indexed: &[(EntryKind, u64)],
) -> Result<Vec<Finding>, LedgerError> {
    let mut findings = Vec::new();
    for (index, kinds) in INDEXES {
        // Queries work without the index, too. If it should exist, the schema check reports it as missing.
        if !has_index(link, index)? {
            continue;
        }
        for &kind in kinds {
            let found = found(link, index, kind);
            let found = found.map_err(|error| fault("read", &link.path, error))?;
            let entries = indexed.iter().filter(|(of, _)| *of == kind);
            if !found.iter().eq(entries.map(|(_, index)| index)) {
                let message =
                    format!("the index of {} entries does not match the entries", kind.as_str());
                findings.push(Finding { subject: Subject::Database, message });
            }
        }
    }
    Ok(findings)
}

/// Returns the entries of a kind that an index finds, in ascending order.
fn found(link: &Link, index: &str, kind: EntryKind) -> rusqlite::Result<Vec<u64>> {
    let kind = kind.as_str();
    let sql =
        format!("SELECT seq FROM entry INDEXED BY {index} WHERE kind = '{kind}' ORDER BY seq");
    let mut statement = link.connection.prepare_cached(&sql)?;
    let found = statement.query_map((), |row| row.get(0))?;
    found.collect()
}
