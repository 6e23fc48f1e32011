//! Repair and rollback, as an action reports them.

use serde::{Deserialize, Serialize};

/// Attempt, and its success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// True if it was tried.
    pub attempted: bool,
    /// True if it was done.
    pub ok: bool,
}
