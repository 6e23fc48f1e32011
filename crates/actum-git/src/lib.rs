//! Git as the rollback of task plans (EX-17): a run that succeeded is committed, and rolled back by a revert that is
//! computed in memory.
//!
//! [`Repository::check`] reports before a run whether its files could be committed. [`Repository::commit`] makes a
//! commit of exactly these files on top of the HEAD that was checked. [`Repository::revert`] returns the content that
//! files need so that a commit is reverted. No file of the work tree is written here: the caller does that in a
//! transaction of its own, so that hooks, filters and checkouts of git never take part.
//!
//! This crate relies on libgit2, which starts no program: no hook, no `filter.*.clean`, no `core.fsmonitor`, no merge
//! driver. So the conversion that git itself would apply to a file's bytes on their way into a blob is not done here
//! either. A file to which git would do anything is not committed ([`Unfit::Converted`]).
//!
//! Settings are read as git reads them (the system's, the user's, the repository's), except variables whose name begins
//! with `GIT_`, which change nothing here. Settings can make a file unfit, or the repository one that is not supported.
//! Settings that could extend what is done are fixed here, above all others (`settings.rs`).

mod author;
mod bounded;
mod check;
mod commit;
mod conversion;
mod head;
mod id;
mod ignored;
mod index;
mod lock;
mod message;
mod objects;
mod problem;
mod repository;
mod resume;
mod revert;
mod settings;
mod special;
mod tracked;
mod tree;
mod unfit;

pub use author::{Author, AuthorError};
pub use check::{Before, Checked};
pub use commit::{Change, Committed, NewFile, Outcome};
pub use id::{CommitId, CommitIdError};
pub use ignored::IgnoredDirectories;
pub use index::{IndexOutcome, IndexProblem};
pub use message::{BODY_CHARS_MAX, Message, RunNote, SUBJECT_CHARS_MAX, VALUE_CHARS_MAX};
pub use problem::{Dirt, GitProblem};
pub use repository::Repository;
pub use resume::{Left, Resumed};
pub use revert::{Restored, RestoredFile, Revert};
pub use tracked::{FileFacts, TrackedFiles};
pub use unfit::{Conversion, Unfit};
