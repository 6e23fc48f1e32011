//! Size limit of a ledger: `[ledger]`.

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Reads the table; `None` if nothing is set.
pub(super) fn read(table: Option<Table<'_>>) -> Result<Option<u64>, Diagnostic> {
    let Some(table) = table else { return Ok(None) };
    table.only(&["max_bytes"], Secret::No)?;
    table.get("max_bytes").map(|value| value.count()).transpose()
}
