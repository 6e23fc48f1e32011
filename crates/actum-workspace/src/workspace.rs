//! Handle on a workspace, with its limits and options.
//!
//! The module `open.rs` opens workspaces; `transaction.rs` and `apply.rs` change them.

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
    /// Paths that the run may change.
    pub scope: Scope,
    /// Maximum amount of change that the run may make.
    pub budget: Budget,
    /// Handling of files with several hard links.
    pub hard_links: HardLinks,
    /// Handling of an existing file at a path to which another file is created, moved or copied.
    pub existing_files: ExistingFiles,
    /// Lines at which hunks may apply.
    pub hunk_places: HunkPlaces,
    /// Handling of files that were edited after the run that is undone.
    pub later_edits: LaterEdits,
}

/// Handling of files that were edited after the run that is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LaterEdits {
    /// The undo is rejected.
    Refuse,
    /// The undo reverts only the run's own changes, and the result reports the kept edits. The undo is rejected unless
    /// every change of the run, with its surrounding lines, is still at exactly one place in the file.
    Keep,
}

/// Handling of an existing file at a path to which another file is created, moved or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExistingFiles {
    /// The run is rejected, and the existing file is kept.
    Keep,
    /// The existing file is replaced. An undo restores it.
    Replace,
}

/// Lines at which hunks may apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HunkPlaces {
    /// Hunks apply only at the line numbers that they state.
    Stated,
    /// A hunk applies wherever its lines match, provided that they match at exactly one place. The run reports moved
    /// hunks.
    Searched,
}

/// Handling of changed files that have several hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HardLinks {
    /// The file is separated from its other hard links, which keep the old content. The run reports the separation.
    Break,
    /// The run is rejected.
    Refuse,
}

impl Default for Limits {
    /// Returns limits that allow any path and any amount of change. Hard links are broken and reported, existing files
    /// are kept, hunks apply only where stated, and an undo rejects files that were edited since.
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
    /// Limits of the run, and options for its changes.
    pub limits: Limits,
    /// One-line label for the log, such as the requester or the reason.
    pub label: String,
    /// Set if the run waits while another process holds the workspace.
    pub wait: bool,
}

/// Directory in which every change is a transaction.
///
/// A handle is used by one thread. Any number of handles and processes may have the same directory open, but only one
/// of them can hold it at a time.
pub struct Workspace<D: Disk = LinuxDisk> {
    pub(crate) disk: D,
    pub(crate) home: Home<D::Handle>,
    pub(crate) journal: Journal<D::Handle>,
    pub(crate) epoch: Epoch,
    /// User and group of new files, read once when the workspace is opened.
    pub(crate) identity: (u32, u32),
    pub(crate) umask: u32,
    /// Ended runs that are not in the history yet, oldest first.
    pub(crate) tail: Vec<EndedRun>,
    /// Set once `tail` and the position in the journal are known.
    pub(crate) loaded: bool,
    /// Number of journal bytes that were read to load `tail`.
    pub(crate) read_bytes: u64,
    pub(crate) blocked: BTreeMap<RelPath, RunId>,
    pub(crate) recovery: Option<Recovery>,
    /// Set if the file system stores timestamps with a resolution of one second.
    pub(crate) has_coarse_timestamps: bool,
    /// Set if the journal or the tree may differ from the state that this handle assumes.
    pub(crate) poisoned: bool,
    /// Private locations, inside which no change is allowed.
    pub(crate) private: Vec<RelPath>,
    /// Predicate that decides which contents messages must not quote.
    pub(crate) withholds: Withholds,
    pub(crate) limits: Limits,
}

/// Predicate on the path and content of a file. It returns true if messages must not quote the content.
pub type Withholds = Arc<dyn Fn(&RelPath, &[u8]) -> bool + Send + Sync>;

impl<D: Disk> Workspace<D> {
    /// Sets the limits of [`Workspace::apply`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the private locations, which no change may enter and no message may quote.
    pub fn set_private(&mut self, places: Vec<RelPath>) {
        self.private = places;
    }

    /// Sets the predicate that decides which contents messages must not quote. By default, all contents may be quoted.
    pub fn set_withholds(&mut self, withholds: Withholds) {
        self.withholds = withholds;
    }

    /// Returns the recovery performed since the workspace was opened, if there was one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Returns the blocked paths, each with the run that left it blocked.
    pub fn blocked(&self) -> &BTreeMap<RelPath, RunId> {
        &self.blocked
    }
}
