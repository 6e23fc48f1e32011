//! Task envelopes that `actum run` takes: `[tasks]` (EX-1).

use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Task envelopes that are accepted. Of several policies the strictest counts, which is the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskEnvelopes {
    /// Every one that says `APPROVED`.
    #[default]
    Any,
    /// Those with an approval that an approval key signed.
    Signed,
}

impl TaskEnvelopes {
    /// Whether every envelope is accepted, as without a policy.
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
