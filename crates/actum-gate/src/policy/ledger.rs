//! Reads the size limit of the ledger, as set under `[ledger]`.

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Reads the `[ledger]` table. Returns `None` if no limit is set.
pub(super) fn read(table: Option<Table<'_>>) -> Result<Option<u64>, Diagnostic> {
    let Some(table) = table else { return Ok(None) };
    table.only(&["max_bytes"], Secret::No)?;
    table.get("max_bytes").map(|value| value.count()).transpose()
}
