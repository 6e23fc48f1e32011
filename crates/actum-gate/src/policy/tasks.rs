//! Task envelopes that `actum run` accepts: `[tasks]` (EX-1).

use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Accepted task envelopes. Of several policies the strictest applies, which is the last variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskEnvelopes {
    /// All envelopes with the status `APPROVED`.
    #[default]
    Any,
    /// Only envelopes with an approval signed by an approval key.
    Signed,
}

impl TaskEnvelopes {
    /// Returns true if every envelope is accepted, as without a policy.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Reads the table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::Any) };
        table.only(&["signed"], Secret::No)?;
        let is_signed = table.get("signed").map_or(Ok(false), |value| value.truth())?;
        Ok(if is_signed { Self::Signed } else { Self::Any })
    }
}
