//! Record of whether an action was repaired or rolled back.

use serde::{Deserialize, Serialize};

/// Whether a repair or rollback was attempted, and whether it succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Whether the repair or rollback was attempted.
    pub attempted: bool,
    /// Whether the repair or rollback succeeded.
    pub ok: bool,
}
