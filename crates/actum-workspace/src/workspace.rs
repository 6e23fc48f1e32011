//! Handle on a workspace, with its limits and options.
//!
//! `open.rs` opens it, `transaction.rs` and `apply.rs` change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use actum_core::{Budget, RelPath, RunId, Scope};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Epoch, LinuxDisk};
use crate::home::Home;
use crate::journal::Journal;
use crate::journal::ended::EndedRun;
use crate::recovery_report::Recovery;

/// Limits and options of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Paths that the run may touch.
    pub scope: Scope,
    /// Amount of change that the run may make.
    pub budget: Budget,
    /// Handling of files with more than one name.
    pub hard_links: HardLinks,
    /// Handling of a file at a path where one is created, moved or copied to.
    pub existing_files: ExistingFiles,
    /// Places where hunks may apply.
    pub hunk_places: HunkPlaces,
    /// Handling, in an undo, of files that were edited since.
    pub later_edits: LaterEdits,
}

/// Handling, in an undo, of a file that was edited since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LaterEdits {
    /// The undo is refused.
    Refuse,
    /// The undo reverts only what the run changed. All of it must still be in the file, each piece with the lines
    /// around it at exactly one place; otherwise it is refused. The run reports it.
    Keep,
}

/// Handling of a file at a path where one is created, moved or copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExistingFiles {
    /// The run is refused.
    Keep,
    /// The file is replaced; undo restores it.
    Replace,
}

/// Places where hunks may apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HunkPlaces {
    /// At the line numbers that they state.
    Stated,
    /// At the only place where their lines are, if there is exactly one; the run reports it.
    Searched,
}

/// Handling of a changed file with more than one name (hard link).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HardLinks {
    /// The file is separated from its other names, which keep the old content; the run reports it.
    Break,
    /// The run is refused.
    Refuse,
}

impl Default for Limits {
    /// Allows every path and any amount. Hard links are broken and reported, no file is replaced, hunks apply at their
    /// stated lines, and an undo restores the bytes before it.
    fn default() -> Self {
        Self {
            scope: Scope::everything(),
            budget: Budget::unlimited(),
            hard_links: HardLinks::Break,
            existing_files: ExistingFiles::Keep,
            hunk_places: HunkPlaces::Stated,
            later_edits: LaterEdits::Refuse,
        }
    }
}

/// Options of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// Limits and options for its changes.
    pub limits: Limits,
    /// A line for the log: the requester or the reason.
    pub label: String,
    /// True if the run waits for another process that holds the workspace.
    pub wait: bool,
}

/// Directory whose changes are transactions.
///
/// A handle belongs to one thread. Any number of handles and processes can be open on one directory; one of them at a
/// time holds it.
pub struct Workspace<D: Disk = LinuxDisk> {
    pub(crate) disk: D,
    pub(crate) home: Home<D::Handle>,
    pub(crate) journal: Journal<D::Handle>,
    pub(crate) epoch: Epoch,
    /// User and group of new files, and the bits removed from their mode. Read once.
    pub(crate) identity: (u32, u32),
    pub(crate) umask: u32,
    /// Runs that ended and are not in the history yet, oldest first.
    pub(crate) tail: Vec<EndedRun>,
    /// True if `tail` and the journal's position are known.
    pub(crate) loaded: bool,
    /// Number of bytes of the journal that were read to know them.
    pub(crate) read_bytes: u64,
    pub(crate) blocked: BTreeMap<RelPath, RunId>,
    pub(crate) recovery: Option<Recovery>,
    /// True if the file system has timestamps of whole seconds only.
    pub(crate) has_coarse_timestamps: bool,
    /// True if the journal or the tree may differ from what this handle assumes.
    pub(crate) poisoned: bool,
    /// Places that no change leads into.
    pub(crate) private: Vec<RelPath>,
    /// Rule that decides whether messages may quote a content.
    pub(crate) withholds: Withholds,
    pub(crate) limits: Limits,
}

/// Predicate on the path and the content of a file: true if no message may quote the content.
pub type Withholds = Arc<dyn Fn(&RelPath, &[u8]) -> bool + Send + Sync>;

impl<D: Disk> Workspace<D> {
    /// Sets the limits of [`Workspace::apply`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets places that no change leads into, and that no message quotes.
    pub fn set_private(&mut self, places: Vec<RelPath>) {
        self.private = places;
    }

    /// Sets the rule by which messages quote no content of a file. Without it any content may be quoted.
    pub fn set_withholds(&mut self, withholds: Withholds) {
        self.withholds = withholds;
    }

    /// Returns what was recovered since the workspace was opened, if anything was.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Returns the blocked paths, each with the run that left it so.
    pub fn blocked(&self) -> &BTreeMap<RelPath, RunId> {
        &self.blocked
    }
}
