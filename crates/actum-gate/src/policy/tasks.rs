//! Reads which task envelopes `actum run` accepts, as set under `[tasks]` (EX-1).

use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Kind of task envelopes that `actum run` accepts. If several policies set it, the strictest applies, so the
/// variants are ordered by strictness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskEnvelopes {
    /// Accepts all envelopes with the status `APPROVED`.
    #[default]
    Any,
    /// Accepts only envelopes with an approval that is signed by an approval key.
    Signed,
}

impl TaskEnvelopes {
    /// Returns true if every envelope is accepted, which is the default without a policy.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Reads the `[tasks]` table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::Any) };
        table.only(&["signed"], Secret::No)?;
        let is_signed = table.get("signed").map_or(Ok(false), |value| value.truth())?;
        Ok(if is_signed { Self::Signed } else { Self::Any })
    }
}
