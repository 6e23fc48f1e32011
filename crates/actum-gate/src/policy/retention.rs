//! Reads how much history `actum gc` keeps, as set under `[retention]`.

use actum_record::ledger::Retention;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Reads the `[retention]` table. Returns `None` if it is missing.
pub(super) fn read(table: Option<Table<'_>>) -> Result<Option<Retention>, Diagnostic> {
    let Some(table) = table else { return Ok(None) };
    table.only(&["runs", "days"], Secret::No)?;
    let count = |key, default| table.get(key).map_or(Ok(default), |value| value.count());
    let Retention { runs, days } = Retention::default();
    Ok(Some(Retention { runs: count("runs", runs)?, days: count("days", days)? }))
}
