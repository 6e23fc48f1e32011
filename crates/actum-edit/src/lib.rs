//! Pure functions that parse input formats, and apply edits and operations to file contents.
#![doc = include_str!("../README.md")]

mod byte_text;
pub mod change_set;
mod codex_marker;
pub mod edit;
pub mod format;
pub mod hunk;
pub mod line_diff;
pub mod nearest_match;
pub mod operation;
mod search;
pub mod splice;

pub use change_set::{ChangeSet, Hunk, Patch};
pub use edit::{Edit, EditError};
pub use hunk::{HunkError, LineHunk};
pub use operation::{EmptyParents, ModeChange, Operation};
pub use splice::Splice;
