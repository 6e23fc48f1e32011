//! Core types of actum, without I/O, clocks, randomness, environment variables or async code.
//!
//! Everything here is a value or a pure function, so that an auditor can recompute every decision of the engine. The
//! crate `actum-workspace` accesses the file system.

mod action_name;
pub mod budget;
pub mod canonical;
mod core_action;
pub mod digest;
mod file_mode;
mod file_state;
pub mod json;
pub mod path;
pub mod path_name;
pub mod path_rule;
pub mod place;
pub mod plain_id;
pub mod run_id;
pub mod scope;
pub mod shell_word;
pub mod status;
pub mod suggestion;
pub mod text;
pub mod tier;
pub mod timestamp;

pub use action_name::{ActionName, ActionNameError, NAME_CHARS_MAX};
pub use budget::{Budget, BudgetStatus, PathCost};
pub use core_action::{CORE_ACTIONS, CoreAction, CoreEffect};
pub use digest::{Digest, Hasher, Messages};
pub use file_mode::FileMode;
pub use file_state::FileState;
pub use path::{PathError, RelPath};
pub use path_rule::{PathRule, PathRuleError};
pub use run_id::RunId;
pub use scope::Scope;
pub use shell_word::ShellWord;
pub use status::Status;
pub use tier::RiskTier;
pub use timestamp::Timestamp;

/// Converts a length or a number of items in memory to a `u64`.
pub fn count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}
