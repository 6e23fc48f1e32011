//! What a change is: the formats it is written in, its operations, and the edits that find their place in a file.
//!
//! Every edit keeps each byte that it does not replace, in JSON and YAML too. Everything here is a value or a
//! function of values: no I/O, clock, randomness, environment or async.

mod byte_text;
pub mod change_set;
pub mod edit;
pub mod format;
pub mod hunk;
pub mod line_diff;
pub mod operation;
pub mod splice;

pub use change_set::{ChangeSet, Hunk, Patch};
pub use edit::{Edit, EditError};
pub use hunk::{HunkError, LineHunk};
pub use operation::{EmptyParents, ModeChange, Operation};
pub use splice::Splice;
