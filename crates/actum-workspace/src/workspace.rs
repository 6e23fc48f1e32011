//! A workspace: a directory whose changes are transactions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use actum_core::{Budget, RelPath, RunId, Scope};
use actum_edit::{ChangeSet, Operation};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Epoch, LinuxDisk};
use crate::error::{Doing, Error, ErrorKind, Result};
use crate::history::checkpoint::EndedRun;
use crate::home::{Home, IfMissing, Lock};
use crate::journal::Journal;
use crate::journal::record::RunKind;
use crate::recovery::Recovery;
use crate::transaction::Transaction;

/// The id that [`Workspace::apply`] gives: the name of the run that applied the change set.
pub type ChangeSetId = RunId;

/// When the journal holds this many bytes of settled runs, they go into the history first.
const TAIL_BYTES_MAX: u64 = 2 << 20;
/// The same for who had to read them, since the next process would have to as well: a process that
/// makes one run pays more for reading the runs before it than for its part in tidying them up.
const READ_BYTES_MAX: u64 = 512 << 10;
/// The same for the number of runs.
const TAIL_RUNS_MAX: usize = 256;

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
    limits: Limits,
}

/// Rule by which messages quote no content of a file: of its path and its content.
pub type Withholds = Arc<dyn Fn(&RelPath, &[u8]) -> bool + Send + Sync>;

impl Workspace<LinuxDisk> {
    /// Opens the workspace at `root`, making its state directory when there is none, and recovers
    /// what an earlier process left unfinished.
    ///
    /// # Errors
    /// `Damaged` or `NewerFormat` when the journal cannot be trusted, `State` or `Io` when the
    /// directory cannot be used. A workspace that is in use is opened; the first run waits or
    /// fails.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(LinuxDisk, root.as_ref())
    }

    /// Opens the workspace at `root` if there is one.
    ///
    /// # Errors
    /// As [`Workspace::open`], and `NotAWorkspace`.
    pub fn open_existing(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(LinuxDisk, root.as_ref(), IfMissing::Refuse)
    }
}

impl<D: Disk> Workspace<D> {
    /// [`Workspace::open`] on another disk.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_on(disk: D, root: &Path) -> Result<Self> {
        Self::open_with(disk, root, IfMissing::Create)
    }

    fn open_with(disk: D, root: &Path, if_missing: IfMissing) -> Result<Self> {
        let home = Home::open(&disk, root, if_missing)?;
        let journal = home.journal(&disk)?;
        let epoch =
            disk.epoch(&home.root).doing(|| "find out which boot and mount this is".to_owned())?;
        let mut workspace = Self {
            identity: disk.identity(),
            umask: disk.umask(),
            disk,
            home,
            journal,
            epoch,
            tail: Vec::new(),
            loaded: false,
            read_bytes: 0,
            blocked: BTreeMap::new(),
            recovery: None,
            has_coarse_timestamps: false,
            poisoned: false,
            private: Vec::new(),
            withholds: Arc::new(|_, _| false),
            limits: Limits::default(),
        };
        match workspace.home.lock(&workspace.disk, false, "opening") {
            Ok(_lock) => workspace.catch_up()?,
            Err(error) if matches!(error.kind, ErrorKind::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(workspace)
    }

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

    /// Applies a change set: all of it or nothing (FO-1, FO-2).
    ///
    /// # Errors
    /// Any [`ErrorKind`]; the error says the state of the workspace.
    pub fn apply(&mut self, change_set: &ChangeSet) -> Result<ChangeSetId> {
        let operations =
            change_set.operations().map_err(|source| ErrorKind::ChangeSet { source })?;
        let options = RunOptions {
            limits: self.limits.clone(),
            label: "apply a change set".to_owned(),
            wait: false,
        };
        self.apply_operations(&operations, options)
    }

    /// Takes back a change set, byte for byte, in a run of its own that can be taken back in turn
    /// (FO-5). The limits of [`Workspace::with_limits`] do not bind it.
    ///
    /// # Errors
    /// `ChangedSince` when a path has changed since; `AlreadyUndone`, `UnknownRun`, and any other
    /// [`ErrorKind`].
    pub fn revert(&mut self, id: ChangeSetId) -> Result<ChangeSetId> {
        let options = RunOptions { label: format!("revert {id}"), ..RunOptions::default() };
        Ok(self.begin_undo(id, options)?.commit()?.run)
    }

    /// Does the operations in one run.
    ///
    /// # Errors
    /// Any [`ErrorKind`].
    pub fn apply_operations(
        &mut self,
        operations: &[Operation],
        options: RunOptions,
    ) -> Result<RunId> {
        let mut transaction = self.begin(options)?;
        transaction.operate_all(operations)?;
        Ok(transaction.commit()?.run)
    }

    /// Begins a transaction: takes the lock and recovers what is unfinished.
    ///
    /// # Errors
    /// `Busy` when another process is at work and the options do not say to wait; `Poisoned`;
    /// `Damaged`, `Io` and any other that recovery meets.
    pub fn begin(&mut self, options: RunOptions) -> Result<Transaction<'_, D>> {
        self.begin_as(RunKind::Apply, options)
    }

    pub(crate) fn begin_as(
        &mut self,
        kind: RunKind,
        options: RunOptions,
    ) -> Result<Transaction<'_, D>> {
        let lock = self.lock(options.wait, &options.label)?;
        if self.journal.tail_bytes() > TAIL_BYTES_MAX
            || self.read_bytes > READ_BYTES_MAX
            || self.tail.len() > TAIL_RUNS_MAX
        {
            match self.checkpoint(None) {
                // There may be room for the run itself, which may be what makes room.
                Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                    if source.kind() == std::io::ErrorKind::StorageFull && !self.poisoned => {}
                tidied => tidied?,
            }
        }
        Transaction::new(self, lock, kind, options.label, options.limits)
    }

    /// Takes the lock and sees to it that this handle knows what others have done.
    pub(crate) fn lock(&mut self, wait: bool, why: &str) -> Result<Lock<D>> {
        if self.poisoned {
            return Err(ErrorKind::Poisoned.into());
        }
        let lock = self.home.lock(&self.disk, wait, why)?;
        self.catch_up()?;
        Ok(lock)
    }
}
