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

/// What a run may touch and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Which paths.
    pub scope: Scope,
    /// How much.
    pub budget: Budget,
    /// What happens to files with more than one name.
    pub hard_links: HardLinks,
    /// What happens to a file where one is to be made, or moved or copied to.
    pub existing_files: ExistingFiles,
    /// Where hunks may apply.
    pub hunk_places: HunkPlaces,
    /// What an undo does with files that were edited since.
    pub later_edits: LaterEdits,
}

/// What an undo does with a file that was edited since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LaterEdits {
    /// It is refused.
    Refuse,
    /// Only what the run changed is taken back, if all of it still stands in the file, each piece
    /// with the lines around it at exactly one place; else it is refused. The run reports it.
    Keep,
}

/// What happens to a file where one is to be made, or moved or copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExistingFiles {
    /// The run is refused.
    Keep,
    /// It is replaced; undo brings it back.
    Replace,
}

/// Where hunks may apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HunkPlaces {
    /// At the lines they say.
    Stated,
    /// Where their lines are, if there is exactly one such place; the run reports it.
    Searched,
}

/// What happens to a file with more than one name (hard link) when it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HardLinks {
    /// It is parted from its other names, which keep the old content; the run reports it.
    Break,
    /// The run is refused.
    Refuse,
}

impl Default for Limits {
    /// Every path, any amount; hard links are broken and reported; no file is replaced, hunks apply
    /// where they say, and an undo brings back the bytes before it.
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

/// How a run is begun.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// What it may touch and how.
    pub limits: Limits,
    /// A line for the log: who or what asked for it.
    pub label: String,
    /// Whether to wait for another process that is at work.
    pub wait: bool,
}

/// A directory whose changes are transactions.
///
/// The handle is for one thread; any number of handles and processes can be open on one directory,
/// one of them at a time being at work.
pub struct Workspace<D: Disk = LinuxDisk> {
    pub(crate) disk: D,
    pub(crate) home: Home<D::Handle>,
    pub(crate) journal: Journal<D::Handle>,
    pub(crate) epoch: Epoch,
    /// What new files get: user and group, and the bits taken off their mode. Read once.
    pub(crate) identity: (u32, u32),
    pub(crate) umask: u32,
    /// Runs that ended and are not in the history yet, oldest first.
    pub(crate) tail: Vec<EndedRun>,
    /// Whether `tail` and the journal's position are known.
    pub(crate) loaded: bool,
    /// How many bytes of the journal were read to know them.
    pub(crate) read_bytes: u64,
    pub(crate) blocked: BTreeMap<RelPath, RunId>,
    pub(crate) recovery: Option<Recovery>,
    /// Whether the file system has timestamps of whole seconds only.
    pub(crate) has_coarse_timestamps: bool,
    /// The journal or the tree may not be as this handle believes.
    pub(crate) poisoned: bool,
    /// Places that no change leads into.
    pub(crate) private: Vec<RelPath>,
    /// Whether no message quotes a file with a path and a content.
    pub(crate) withholds: Withholds,
    pub(crate) limits: Limits,
}

/// Rule by which messages quote no content of a file: of its path and its content.
pub type Withholds = Arc<dyn Fn(&RelPath, &[u8]) -> bool + Send + Sync>;

impl<D: Disk> Workspace<D> {
    /// The same workspace with other limits for [`Workspace::apply`].
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

    /// What was recovered since the workspace was opened, if anything was.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Paths that wait for a person, and the run that left them so.
    pub fn blocked(&self) -> &BTreeMap<RelPath, RunId> {
        &self.blocked
    }
}
