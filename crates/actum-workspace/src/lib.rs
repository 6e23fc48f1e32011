//! A transactional directory, in which a change to many files is applied completely or not at all, is durable once
//! it is acknowledged, and can be undone.
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
//! `ARCHITECTURE.md` describes the protocol. [`Workspace::apply`] applies a change in one call, and a [`Transaction`]
//! applies one step by step.

mod apply;
mod attributes;
mod baseline;
mod blocks;
mod capture;
mod change;
mod content;
mod digest_while_reading;
pub mod disk;
mod error;
pub mod examination;
mod file_by_path;
#[doc(hidden)]
pub mod fuzzing;
mod gc;
mod history;
mod home;
mod identity;
mod journal;
mod ledger_home;
mod open;
pub mod path_change;
mod read_file;
mod recovery;
mod recovery_report;
mod run;
mod snapshot;
mod transaction;
mod tree;
mod undo;
mod witness;
mod workspace;

pub use apply::ChangeSetId;
pub use attributes::Attributes;
pub use baseline::{
    BASELINE_FILES_MAX, BlobId, KnownFiles, NoKnownFiles, NotAdoptable, Turn, TurnEnd, TurnStart,
    Undeclared, UndeclaredChange,
};
pub use blocks::{BlockDelta, apply as apply_delta};
pub use capture::{Capture, RunningCapture};
pub use change::{Change, ChangeKind, Extent, Lines, Modes};
pub use content::INLINE_BYTES_MAX;
pub use digest_while_reading::{copy_file, digest_of_file};
pub use disk::LinuxDisk;
pub use error::{
    Attempt, Difference, Error, ErrorKind, NeededFor, NotAFile, PathConflict, PrivatePlace,
    Quoting, Result, State,
};
pub use gc::{GcOptions, GcReport};
pub use history::RunRef;
pub use history::drift::Drift;
pub use history::view::{RunReport, ShownChange, View, WorkspaceStatus};
pub use home::STATE_DIRECTORY;
pub use journal::record::{FileImage, Image, Outcome, RunKind};
pub use ledger_home::is_ledger_home;
pub use read_file::read_file;
pub use recovery::set_aside::SetAside;
pub use recovery_report::Recovery;
pub use snapshot::SnapshotId;
pub use transaction::Transaction;
pub use transaction::commit::{Committed, Held, Prepared, Published};
pub use transaction::ending::Ending;
pub use transaction::new_content::{NewContent, Part, Window};
pub use transaction::stage::INLINE_TOTAL_MAX;
pub use transaction::staged_directory::StagedDirectory;
pub use transaction::staged_file::{SourceFile, StagedFile, TakenAttributes};
pub use transaction::take::Taken;
pub use transaction::undeclared::{UndeclaredChanges, UndeclaredSelection};
pub use witness::{RootWithin, notes_at, unusable_witness};
pub use workspace::{
    ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits, RunOptions, Withholds, Workspace,
};
