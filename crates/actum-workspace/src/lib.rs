//! A transactional directory: a change to many files is applied all or nothing, is durable once it
//! is acknowledged, and can be undone.
//!
//! ```no_run
//! use actum_edit::{ChangeSet, Hunk, Patch};
//! use actum_workspace::Workspace;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut workspace = Workspace::open("my-project")?;
//! let mut change_set = ChangeSet::new();
//! change_set.patches.push(Patch {
//!     path: "greeting.txt".into(),
//!     hunks: vec![Hunk {
//!         old_start: 1,
//!         old_lines: 1,
//!         new_start: 1,
//!         new_lines: 1,
//!         lines: "-hello\n+good day\n".into(),
//!     }],
//!     expected_prev_sha256: None,
//! });
//! let id = workspace.apply(&change_set)?;
//! workspace.revert(id)?;
//! # Ok(()) }
//! ```
//!
//! The protocol is told in `ARCHITECTURE.md`; [`Workspace::apply`] is its short door,
//! [`Transaction`] the long one.

mod change;
pub mod disk;
mod error;
pub mod examination;
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod home;
mod identity;
mod journal;
pub mod path_change;
mod private;
mod recovery;
mod run;
mod transaction;
mod tree;
mod witness;
mod workspace;

pub use change::{Change, ChangeKind, Extent, Lines, Modes};
pub use disk::LinuxDisk;
pub use error::{
    Attempt, Difference, Error, ErrorKind, NeededFor, NotAFile, PathConflict, Quoting, Result,
    State,
};
pub use history::RunRef;
pub use history::drift::Drift;
pub use history::ending::Ending;
pub use history::gc::{GcOptions, GcReport};
pub use history::view::{RunReport, ShownChange, View, WorkspaceStatus};
pub use home::STATE_DIRECTORY;
pub use journal::record::{Attributes, FileImage, Image, Outcome, RunKind};
pub use private::{PrivatePlace, is_ledger_home};
pub use recovery::Recovery;
pub use recovery::set_aside::SetAside;
pub use transaction::Transaction;
pub use transaction::commit::{Committed, Held, Prepared, Published};
pub use transaction::content::INLINE_BYTES_MAX;
pub use transaction::new_content::{
    AROUND_BYTES, NEW_CONTENT_BYTES_MAX, NewContent, PARTS_MAX, Part,
};
pub use transaction::stage::INLINE_TOTAL_MAX;
pub use witness::{RootWithin, notes_at, unusable_witness};
pub use workspace::{
    ChangeSetId, ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits, RunOptions, Withholds,
    Workspace,
};
