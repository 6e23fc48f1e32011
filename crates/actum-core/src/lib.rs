//! The vocabulary of actum, pure: no I/O, clock, randomness, environment or async.
//!
//! Everything here is a value or a function of values, so an auditor can recompute whatever the
//! engine decided. The crate that acts on directories is `actum-workspace`.

pub mod action;
pub mod budget;
mod byte_text;
pub mod canonical;
pub mod change_set;
pub mod checkpoint;
pub mod command;
pub mod digest;
pub mod dsse;
pub mod edit;
pub mod format;
pub mod hunk;
pub mod json;
pub mod keyring;
pub mod ledger;
pub mod line_diff;
pub mod merkle;
pub mod near;
pub mod note;
pub mod operation;
pub mod path;
pub mod path_name;
pub mod path_rule;
pub mod receipt;
pub mod report;
pub mod run_id;
pub mod scope;
pub mod shell_word;
pub mod signer;
pub mod splice;
pub mod status;
pub mod task;
pub mod text;
pub mod tier;
pub mod timestamp;

pub use budget::{Budget, BudgetStatus, PathCost};
pub use change_set::{ChangeSet, Hunk, Patch};
pub use digest::{Digest, Hasher, Messages};
pub use edit::{Edit, EditError};
pub use hunk::{HunkError, LineHunk};
pub use operation::{EmptyParents, FileMode, ModeChange, Operation};
pub use path::{PathError, RelPath};
pub use path_rule::{PathRule, PathRuleError};
pub use run_id::RunId;
pub use scope::Scope;
pub use shell_word::ShellWord;
pub use splice::Splice;
pub use status::Status;
pub use tier::RiskTier;
pub use timestamp::Timestamp;

/// A count of things in memory as a number that is written down.
fn count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}
