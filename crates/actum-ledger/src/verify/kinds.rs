//! The index that finds the entries of some kinds, beside the entries themselves (AA-13).

use actum_core::ledger::EntryKind;

use super::{Finding, Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::link::Link;
use crate::sqlite::{fault, has_kinds};

pub(super) fn check(link: &Link, fold: &Fold) -> Result<Vec<Finding>, LedgerError> {
    let mut findings = Vec::new();
    // Where it is missing entries are looked through, and that it is missing is told with the tables.
    if !has_kinds(link)? {
        return Ok(findings);
    }
    for kind in [EntryKind::ActionEnded, EntryKind::CatalogChanged] {
        let found = found(link, kind).map_err(|error| fault("read", &link.path, error))?;
        let entries = fold.indexed().iter().filter(|(of, _)| *of == kind).map(|(_, index)| index);
        if !found.iter().eq(entries) {
            let message = format!(
                "what finds entries of the kind {} finds others than there are",
                kind.as_str()
            );
            findings.push(Finding { subject: Subject::Database, message });
        }
    }
    Ok(findings)
}

/// What the index finds.
fn found(link: &Link, kind: EntryKind) -> rusqlite::Result<Vec<u64>> {
    let kind = kind.as_str();
    let sql =
        format!("SELECT seq FROM entry INDEXED BY entry_kind WHERE kind = '{kind}' ORDER BY seq");
    let mut statement = link.connection.prepare_cached(&sql)?;
    let found = statement.query_map((), |row| row.get(0))?;
    found.collect()
}
