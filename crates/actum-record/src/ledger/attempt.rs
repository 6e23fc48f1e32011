//! What an action says of its repair and of its rollback.

use serde::{Deserialize, Serialize};

/// Whether something was tried, and whether it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Whether it was tried.
    pub attempted: bool,
    /// Whether it was done.
    pub ok: bool,
}
