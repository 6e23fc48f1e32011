//! A workspace: a directory whose changes are transactions.

use std::collections::BTreeMap;
use std::path::Path;

use actum_core::{Budget, ChangeSet, Operation, RelPath, RunId, Scope};

use crate::disk::{Disk, Epoch, LinuxDisk};
use crate::error::{Doing, Error, ErrorKind, Result};
use crate::history;
use crate::home::{Birth, Heap, Home};
use crate::journal::{Journal, Scan};
use crate::record::{Body, End, Image, Intent, Outcome, RunKind, Side, keep_name};
use crate::recovery::{Recovery, Telling};
use crate::transaction::Transaction;

/// The id that [`Workspace::apply`] gives: the name of the run that applied the change set.
pub type ChangeSetId = RunId;

/// When the journal holds this many bytes of settled runs, they go into the history first.
const TAIL_BYTES_MAX: u64 = 2 << 20;
/// The same for the number of runs.
const TAIL_RUNS_MAX: usize = 256;

/// What a run may touch and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Which paths.
    pub scope: Scope,
    /// How much.
    pub budget: Budget,
    /// What happens to files with more than one name.
    pub hard_links: HardLinks,
}

/// What happens to a file with more than one name (hard link) when it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardLinks {
    /// It is parted from its other names, which keep the old content; the run reports it.
    Break,
    /// The run is refused.
    Refuse,
}

impl Default for Limits {
    /// Every path, any amount; hard links are broken and reported.
    fn default() -> Self {
        Self {
            scope: Scope::everything(),
            budget: Budget::unlimited(),
            hard_links: HardLinks::Break,
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
    pub(crate) tail: Vec<Settled>,
    /// Whether `tail` and the journal's position are known.
    pub(crate) loaded: bool,
    pub(crate) blocked: BTreeMap<RelPath, RunId>,
    pub(crate) recovery: Option<Recovery>,
    /// The journal or the tree may not be as this handle believes.
    pub(crate) poisoned: bool,
    limits: Limits,
}

/// A run that ended, in the form in which it goes into the history.
pub(crate) struct Settled {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: End,
    /// Names in the keep directory that undo does not need.
    pub(crate) superfluous: Vec<Vec<u8>>,
}

impl Settled {
    pub(crate) fn new(sequence: u64, intent: Intent, end: End) -> Self {
        let mut superfluous = Vec::new();
        let moved = intent.moved();
        for (index, entry) in intent.entries.iter().enumerate() {
            let kept =
                |image: &Image| image.file().is_some_and(|file| matches!(file.body, Body::Kept));
            if kept(&entry.post) {
                superfluous.push(keep_name(intent.run, index, Side::Post));
            }
            // A moved inode moves back; its kept image is a second name of the live file.
            let needed = entry.back.is_none()
                && !moved.contains(&index)
                && end.outcome == Outcome::Committed;
            if kept(&entry.pre) && !needed {
                superfluous.push(keep_name(intent.run, index, Side::Pre));
            }
        }
        Self { sequence, intent: intent.into_history(), end, superfluous }
    }
}

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
        Self::open_with(LinuxDisk, root.as_ref(), Birth::Refuse)
    }

    /// Sets a damaged journal aside and starts a new one. The files stay as they are: whatever
    /// the old journal had still to finish is for the person who asked for this to judge. Gives
    /// the path of the old journal, relative to the root.
    ///
    /// # Errors
    /// `JournalSound`; `Busy`, `NotAWorkspace`, `NewerFormat`, `Io`.
    pub fn set_aside_journal(root: impl AsRef<Path>) -> Result<String> {
        let disk = LinuxDisk;
        let home = Home::open(&disk, root.as_ref(), Birth::Refuse)?;
        let epoch = disk.epoch(&home.root).doing(|| "tell this boot from others".to_owned())?;
        let journal = home.journal(&disk).and_then(|mut journal| {
            let scan = Scan::of(journal.epoch(), epoch);
            Telling::of_ended().hear_all(&mut journal, &disk, scan)
        });
        match journal {
            Ok(_) => return Err(ErrorKind::JournalSound.into()),
            Err(Error { kind: ErrorKind::Damaged { .. }, .. }) => {}
            Err(other) => return Err(other),
        }
        let newest = history::list(&disk, &home.history)?.last().map_or(0, |run| run.sequence);
        home.set_aside_journal(&disk, newest)
    }
}

impl<D: Disk> Workspace<D> {
    /// [`Workspace::open`] on another disk.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_on(disk: D, root: &Path) -> Result<Self> {
        Self::open_with(disk, root, Birth::Make)
    }

    fn open_with(disk: D, root: &Path, birth: Birth) -> Result<Self> {
        let home = Home::open(&disk, root, birth)?;
        let journal = home.journal(&disk)?;
        let epoch = disk.epoch(&home.root).doing(|| "tell this boot from others".to_owned())?;
        let mut workspace = Self {
            identity: disk.identity(),
            umask: disk.umask(),
            disk,
            home,
            journal,
            epoch,
            tail: Vec::new(),
            loaded: false,
            blocked: BTreeMap::new(),
            recovery: None,
            poisoned: false,
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
        for operation in operations {
            transaction.operate(operation)?;
        }
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
        if self.journal.tail_bytes() > TAIL_BYTES_MAX || self.tail.len() > TAIL_RUNS_MAX {
            self.checkpoint(None)?;
        }
        Transaction::new(self, lock, kind, options.label, options.limits)
    }

    /// Takes the lock and sees to it that this handle knows what others have done.
    pub(crate) fn lock(&mut self, wait: bool, why: &str) -> Result<D::Handle> {
        if self.poisoned {
            return Err(ErrorKind::Poisoned.into());
        }
        let lock = self.home.lock(&self.disk, wait, why)?;
        self.catch_up()?;
        Ok(lock)
    }

    /// Puts ended runs into the history, makes everything durable, and lets the journal forget
    /// them. `working` is the run under way, whose staged files stay.
    pub(crate) fn checkpoint(&mut self, working: Option<RunId>) -> Result<()> {
        if self.tail.is_empty() && self.journal.tail_bytes() == 0 {
            return Ok(());
        }
        self.checkpoint_always(working)
    }

    pub(crate) fn checkpoint_always(&mut self, working: Option<RunId>) -> Result<()> {
        for Settled { sequence, intent, end, .. } in &self.tail {
            history::write(&self.disk, &self.home.history, *sequence, intent, end)?;
        }
        let forgotten = self
            .disk
            .sync_all(&self.home.state, crate::disk::Barrier::Checkpoint)
            .and_then(|()| self.journal.forget(&self.disk, self.epoch));
        if let Err(error) = forgotten.doing(|| "put past runs into the history".to_owned()) {
            self.poisoned = true;
            return Err(error);
        }
        let mut displaced = Heap::default();
        for Settled { intent, superfluous, .. } in self.tail.drain(..) {
            for file in intent.entries.iter().filter_map(|entry| entry.pre.file()) {
                displaced.files = displaced.files.saturating_add(1);
                displaced.bytes = displaced.bytes.saturating_add(file.size);
            }
            for name in superfluous {
                // A name that stays is found again by `gc`.
                drop(self.disk.unlink(&self.home.keep, &name));
            }
        }
        self.sweep_stage(working, displaced);
        Ok(())
    }
}
