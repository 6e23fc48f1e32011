//! Uses git to roll back task plans (EX-17). A successful run is committed, and a rollback reverts that commit in
//! memory.
//!
//! [`Repository::check`] determines before a run whether its files can be committed. [`Repository::commit`] commits
//! exactly these files on top of the HEAD that was checked. [`Repository::revert`] returns the content that files must
//! get so that a commit is reverted. This crate never writes files of the work tree. The caller does that in a
//! transaction of its own, so git's hooks, filters and checkouts are not involved.
//!
//! This crate uses libgit2, which starts no programs such as hooks, `filter.*.clean`, `core.fsmonitor` or merge
//! drivers. Content is therefore not converted as git would do when storing it in a blob. A file that git would convert
//! is not committed ([`Unfit::Converted`]).
//!
//! Settings of the system, the user and the repository are read as in git, but environment variables that start with
//! `GIT_` are ignored. Settings can make a file unfit for a commit, or make the repository unsupported. Settings that
//! could cause additional actions are overridden with fixed values (`settings.rs`).

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
