//! Read-only view of a workspace, which recovers nothing, changes no file and never waits for the lock.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use actum_core::{RelPath, RunId};
use actum_record::receipt::PathEffect;

use crate::change::{Change, facts};
use crate::disk::{Disk, LinuxDisk, Time};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::history::contents::Contents;
use crate::history::runs::Runs;
use crate::history::{self, RunRef};
use crate::home::lost_names::list_saved;
use crate::home::{Home, IfMissing, ToRead};
use crate::journal::Scan;
use crate::journal::record::{End, Image, Intent, Outcome, RunKind};
use crate::journal::runs::{LoggedRun, RunReader};
use crate::path_change::PathChange;

/// Maximum number of attempts to read a journal while another process writes to it.
const TRIES: usize = 16;

/// Read-only view of a workspace, with the journal as it was when the view was opened.
pub struct View<D: Disk = LinuxDisk> {
    pub(crate) disk: D,
    pub(crate) home: Home<D::Handle>,
    logged: Vec<LoggedRun>,
    torn: bool,
    other_epoch: bool,
    blocked: BTreeMap<RelPath, RunId>,
    /// Runs in the history, listed on first use. The listing is read after the journal, so a run that moves from the
    /// journal to the history in between is not missed.
    listed: OnceCell<Vec<RunRef>>,
}

/// Report on one run, with the changes that it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Id of the run.
    pub run: RunId,
    /// Kind of the run: a change, or the undo of another run.
    pub kind: RunKind,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Run that undid this run, unless that undo was itself undone.
    pub undone_by: Option<RunId>,
    /// Time at which the run began.
    pub time: Time,
    /// Label of the run, which names its requester or the reason for it.
    pub label: String,
    /// Changes that the run made, ordered by path.
    pub changes: Vec<ShownChange>,
}

/// Change that a run made to one path, with the images before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownChange {
    /// Effect of the run on the path.
    pub change: Change,
    /// Image before the run; for a renamed file, the image at its old path.
    pub before: Image,
    /// Image after the run.
    pub after: Image,
}

/// Status of a workspace, as shown to its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// Run that has begun but not ended. Either it is still in progress, or the next run will roll it back.
    pub unfinished: Option<RunId>,
    /// True if the unfinished run was interrupted, which is the case if no process holds the workspace.
    pub interrupted: bool,
    /// True if the next command that can change files will first perform a recovery.
    pub recovery_due: bool,
    /// Blocked paths, each with the run that left it blocked.
    pub blocked: BTreeMap<RelPath, RunId>,
    /// Names of other programs' files that recoveries moved to `.actum/lost` and that the user has not removed yet. A
    /// recovery that was killed or failed may not have reported them.
    pub saved: Vec<Vec<u8>>,
    /// Number of ended runs.
    pub runs: usize,
}

impl ShownChange {
    /// Converts the change to the form used in records that outlive the workspace, such as receipts.
    pub fn effect(&self) -> PathEffect {
        let of = |image: &Image| {
            image.file().map(|file| facts(file.digest, file.size, &file.attributes))
        };
        self.change.effect(of(&self.before), of(&self.after))
    }
}

impl View<LinuxDisk> {
    /// Opens a view of the workspace at `root`.
    ///
    /// # Errors
    /// `NotAWorkspace`; `Damaged` or `NewerFormat` if the journal cannot be trusted; `Io`.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(LinuxDisk, root.as_ref())
    }
}

impl<D: Disk> View<D> {
    /// Opens a view of a workspace on another [`Disk`], like [`View::open`].
    ///
    /// # Errors
    /// Same errors as [`View::open`].
    pub fn open_on(disk: D, root: &Path) -> Result<Self> {
        let home = Home::open(&disk, root, IfMissing::Refuse)?;
        let epoch =
            disk.epoch(&home.root).doing(|| "determine the current boot and mount".to_owned())?;
        let mut tries = 0;
        let (logged, torn, other_epoch) = loop {
            tries += 1;
            let read = || {
                let mut journal = home.journal_to_read(&disk)?;
                let other_epoch = journal.epoch() != epoch;
                let scan = Scan::new(journal.epoch(), epoch);
                let (logged, torn) =
                    RunReader::without_post_bytes().read_all(&mut journal, &disk, scan)?;
                Ok((logged, torn, other_epoch))
            };
            match read() {
                Ok(seen) => break seen,
                Err(crate::error::Error { kind: ErrorKind::Damaged { .. }, .. })
                    if tries < TRIES => {}
                Err(error) => return Err(error),
            }
        };
        let blocked = home.read_blocked(&disk)?;
        Ok(Self { disk, home, logged, torn, other_epoch, blocked, listed: OnceCell::new() })
    }

    /// Returns all ended runs, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn runs(&self) -> Result<Vec<RunRef>> {
        Ok(self.all_runs()?.refs().to_vec())
    }

    /// Returns all ended runs, each with the undo of it that is in effect, if there is one. Reads no records of runs.
    ///
    /// # Errors
    /// `Io`.
    pub fn undone_by(&self) -> Result<BTreeMap<RunId, Option<RunId>>> {
        let runs = self.all_runs()?;
        Ok(runs.refs().iter().map(|known| (known.run, runs.undone_by(known.run))).collect())
    }

    /// Returns the report on one run.
    ///
    /// # Errors
    /// `UnknownRun`, `DamagedHistory`, `Io`.
    pub fn show(&self, run: RunId) -> Result<RunReport> {
        let runs = self.all_runs()?;
        report(&runs, runs.find(run)?)
    }

    /// Returns the newest `count` runs, newest first, each with its report or the error that occurred while reading it.
    /// The history is only listed once.
    ///
    /// # Errors
    /// `Io` if the history cannot be listed. A damaged record only affects the report on its own run.
    pub fn newest(&self, count: usize) -> Result<Vec<(RunRef, Result<RunReport>)>> {
        let runs = self.all_runs()?;
        Ok(runs.refs().iter().rev().take(count).map(|run| (*run, report(&runs, run))).collect())
    }

    /// Returns the changes of one run, with the contents that can still be found. The result is empty if the run was
    /// rolled back.
    ///
    /// # Errors
    /// `UnknownRun`, `DamagedHistory`, `Io`.
    pub fn diff(&self, run: RunId) -> Result<Vec<PathChange>> {
        let runs = self.all_runs()?;
        Contents::since(&self.disk, &self.home, &runs, run)?.changes(run, run)
    }

    /// Returns the net changes between the states after the runs `from` and `to`. They include the changes of `to`, but
    /// not those of `from`.
    ///
    /// # Errors
    /// Same errors as [`View::diff`], and `RunsReversed` if `to` is older than `from`.
    pub fn diff_between(&self, from: RunId, to: RunId) -> Result<Vec<PathChange>> {
        let runs = self.all_runs()?;
        let place = |run| {
            let found = runs.refs().iter().position(|known| known.run == run);
            found.ok_or(ErrorKind::UnknownRun { run })
        };
        let (start, end) = (place(from)?, place(to)?);
        if start > end {
            return Err(ErrorKind::RunsReversed { from, to }.into());
        }
        let between = runs.refs().get(start + 1..=end).unwrap_or_default();
        let mut made = between.iter().filter(|known| known.outcome == Outcome::Committed);
        let Some(first) = made.next() else { return Ok(Vec::new()) };
        let last = made.next_back().unwrap_or(first);
        Contents::since(&self.disk, &self.home, &runs, first.run)?.changes(first.run, last.run)
    }

    /// Returns the status of the workspace, as shown to its user.
    ///
    /// # Errors
    /// `Io`.
    pub fn status(&self) -> Result<WorkspaceStatus> {
        let unfinished = self.logged.last().filter(|logged| logged.end.is_none());
        let recovery_due =
            self.torn || unfinished.is_some() || (self.other_epoch && !self.logged.is_empty());
        Ok(WorkspaceStatus {
            unfinished: unfinished.map(|logged| logged.intent.run),
            interrupted: match unfinished {
                Some(logged) => self.is_interrupted(logged.sequence)?,
                None => false,
            },
            recovery_due,
            blocked: self.blocked.clone(),
            saved: list_saved(&self.disk, &self.home.lost)?,
            runs: self.all_runs()?.refs().len(),
        })
    }

    /// Returns true if the run whose INTENT has the sequence number `intent` is unfinished while no process holds the
    /// lock. Reads the journal again under the lock, because the run may have ended in the meantime.
    fn is_interrupted(&self, intent: u64) -> Result<bool> {
        let _lock = match self.home.lock_to_read(&self.disk)? {
            ToRead::Held(lock) => Some(lock),
            ToRead::Missing => None,
            ToRead::Busy => return Ok(false),
        };
        let mut journal = self.home.journal_to_read(&self.disk)?;
        let scan = if self.other_epoch { Scan::Everything } else { Scan::Tail };
        let (logged, _) =
            RunReader::without_post_bytes().read_all(&mut journal, &self.disk, scan)?;
        Ok(logged.last().is_some_and(|run| run.sequence == intent && run.end.is_none()))
    }

    pub(crate) fn all_runs(&self) -> Result<Runs<'_, D>> {
        let listed = match self.listed.get() {
            Some(listed) => listed,
            None => {
                let listed = history::list(&self.disk, &self.home.history)?;
                self.listed.get_or_init(|| listed)
            }
        };
        Ok(Runs::new(&self.disk, &self.home, listed.clone(), self.tail()))
    }

    fn tail(&self) -> impl Iterator<Item = (u64, &Intent, &End)> {
        self.logged
            .iter()
            .filter_map(|logged| Some((logged.sequence, &logged.intent, logged.end.as_ref()?)))
    }
}

fn report<D: Disk>(runs: &Runs<'_, D>, found: &RunRef) -> Result<RunReport> {
    let (intent, end) = runs.read_found(found)?;
    let run = found.run;
    Ok(RunReport {
        run,
        kind: intent.kind,
        outcome: end.outcome,
        undone_by: runs.undone_by(run),
        time: intent.time,
        label: intent.label.clone(),
        changes: changes(&intent),
    })
}

/// Returns the changes of a run in the form in which they are reported.
fn changes(intent: &Intent) -> Vec<ShownChange> {
    let renames = intent.renames();
    let shown = intent.entries.iter().enumerate().flat_map(|(index, entry)| {
        let source = |index: usize| intent.entries.get(index);
        let before = renames.before(index).and_then(source);
        let before = before.map_or(&Image::Absent, |before| &before.pre);
        let from = renames.from(index).and_then(source).map(|from| &from.path);
        let sides = (before.held(), entry.post.held());
        let changes = Change::all(&entry.path, from, sides, entry.extent);
        changes.map(|change| ShownChange {
            change,
            before: before.clone(),
            after: entry.post.clone(),
        })
    });
    shown.collect()
}
