//! Looking at a workspace as it is: no lock, no recovery, no file changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use actum_core::{RelPath, RunId};

use crate::disk::{Disk, LinuxDisk, Time};
use crate::error::{Doing, ErrorKind, Result};
use crate::history::{self, RunRef};
use crate::home::{Home, IfMissing};
use crate::journal::Scan;
use crate::journal::record::{End, Entry, Intent, Outcome, RunKind};
use crate::journal::runs::{LoggedRun, RunReader};
use crate::transaction::{Change, ChangeKind};
use crate::workspace::Workspace;

/// How many times a journal that is being written at this moment is read.
const TRIES: usize = 16;

/// The state of a workspace at one moment.
pub struct View<D: Disk = LinuxDisk> {
    disk: D,
    home: Home<D::Handle>,
    told: Vec<LoggedRun>,
    torn: bool,
    other_epoch: bool,
    blocked: BTreeMap<RelPath, RunId>,
}

/// All about one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Its name.
    pub run: RunId,
    /// Why it was made.
    pub kind: RunKind,
    /// How it ended.
    pub outcome: Outcome,
    /// The run that undid it and was not undone itself.
    pub undone_by: Option<RunId>,
    /// When it began.
    pub time: Time,
    /// Who or what asked for it.
    pub label: String,
    /// What it changed, ordered by path.
    pub changes: Vec<Change>,
    /// The same with the images before and after.
    pub entries: Vec<Entry>,
}

/// What a person should know about a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// A run that has begun and not ended: it is under way, or the next run will take it back.
    pub unfinished: Option<RunId>,
    /// Whether the next command that may change anything recovers first.
    pub recovery_due: bool,
    /// Paths that wait for a person, and the run that left them so.
    pub blocked: BTreeMap<RelPath, RunId>,
    /// How many runs there are.
    pub runs: usize,
}

impl View<LinuxDisk> {
    /// Looks at the workspace at `root`.
    ///
    /// # Errors
    /// `NotAWorkspace`; `Damaged` and `NewerFormat` when the journal cannot be trusted; `Io`.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(LinuxDisk, root.as_ref())
    }
}

impl<D: Disk> View<D> {
    /// [`View::open`] on another disk.
    ///
    /// # Errors
    /// As [`View::open`].
    pub fn open_on(disk: D, root: &Path) -> Result<Self> {
        let home = Home::open(&disk, root, IfMissing::Refuse)?;
        let epoch =
            disk.epoch(&home.root).doing(|| "find out which boot and mount this is".to_owned())?;
        let mut tries = 0;
        let (told, torn, other_epoch) = loop {
            tries += 1;
            let read = || {
                let mut journal = home.journal_to_read(&disk)?;
                let other_epoch = journal.epoch() != epoch;
                let scan = Scan::of(journal.epoch(), epoch);
                let (told, torn) =
                    RunReader::without_post_bytes().read_all(&mut journal, &disk, scan)?;
                Ok((told, torn, other_epoch))
            };
            match read() {
                Ok(seen) => break seen,
                Err(crate::error::Error { kind: ErrorKind::Damaged { .. }, .. })
                    if tries < TRIES => {}
                Err(error) => return Err(error),
            }
        };
        let blocked = crate::recovery::lost::read_blocked(&disk, &home.state)?;
        Ok(Self { disk, home, told, torn, other_epoch, blocked })
    }

    /// The runs that ended, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn runs(&self) -> Result<Vec<RunRef>> {
        Ok(self.all_runs()?.refs)
    }

    /// All about one run.
    ///
    /// # Errors
    /// `UnknownRun`, `DamagedHistory`, `Io`.
    pub fn show(&self, run: RunId) -> Result<RunReport> {
        let runs = self.all_runs()?;
        report(&runs, runs.find(run)?)
    }

    /// The newest runs, newest first, with all about each that can be read. The listing is read
    /// once.
    ///
    /// # Errors
    /// `Io`; a damaged record is the error of its run alone.
    pub fn newest(&self, count: usize) -> Result<Vec<(RunRef, Result<RunReport>)>> {
        let runs = self.all_runs()?;
        Ok(runs.refs.iter().rev().take(count).map(|run| (*run, report(&runs, run))).collect())
    }

    /// What a person should know.
    ///
    /// # Errors
    /// `Io`.
    pub fn status(&self) -> Result<WorkspaceStatus> {
        let unfinished = self.told.last().filter(|told| told.end.is_none());
        let recovery_due =
            self.torn || unfinished.is_some() || (self.other_epoch && !self.told.is_empty());
        Ok(WorkspaceStatus {
            unfinished: unfinished.map(|told| told.intent.run),
            recovery_due,
            blocked: self.blocked.clone(),
            runs: self.runs()?.len(),
        })
    }

    fn all_runs(&self) -> Result<Runs<'_, D>> {
        Runs::new(&self.disk, &self.home, self.tail())
    }

    fn tail(&self) -> impl Iterator<Item = (u64, &Intent, &End)> {
        self.told.iter().filter_map(|told| Some((told.sequence, &told.intent, told.end.as_ref()?)))
    }
}

impl<D: Disk> Workspace<D> {
    /// The runs that ended, in the history or not yet.
    pub(crate) fn runs(&self) -> Result<Runs<'_, D>> {
        Runs::new(&self.disk, &self.home, self.ended())
    }

    /// The newest change that was committed and is not undone. The history is only listed where
    /// none of the journal's runs is one.
    pub(crate) fn newest_in_effect(&self) -> Result<Option<RunId>> {
        match Runs::of(&self.disk, &self.home, Vec::new(), self.ended()).newest_in_effect() {
            Some(run) => Ok(Some(run)),
            None => Ok(self.runs()?.newest_in_effect()),
        }
    }

    /// The runs from `run` on: only those of the journal where that is enough, since a run can only
    /// be undone by a later one.
    pub(crate) fn runs_since(&self, run: RunId) -> Result<Runs<'_, D>> {
        if !self.tail.iter().any(|ended| ended.intent.run == run) {
            return self.runs();
        }
        Ok(Runs::of(&self.disk, &self.home, Vec::new(), self.ended()))
    }

    /// The runs that the journal still holds.
    fn ended(&self) -> impl Iterator<Item = (u64, &Intent, &End)> {
        self.tail.iter().map(|run| (run.sequence, &run.intent, &run.end))
    }
}

/// All runs that ended, oldest first.
pub(crate) struct Runs<'a, D: Disk> {
    disk: &'a D,
    home: &'a Home<D::Handle>,
    refs: Vec<RunRef>,
    /// The runs that are undone, each with the run that did it.
    undone: BTreeMap<RunId, RunId>,
    tail: BTreeMap<RunId, (&'a Intent, &'a End)>,
}

impl<'a, D: Disk> Runs<'a, D> {
    fn new(
        disk: &'a D,
        home: &'a Home<D::Handle>,
        tail: impl Iterator<Item = (u64, &'a Intent, &'a End)>,
    ) -> Result<Self> {
        Ok(Self::of(disk, home, history::list(disk, &home.history)?, tail))
    }

    fn of(
        disk: &'a D,
        home: &'a Home<D::Handle>,
        mut refs: Vec<RunRef>,
        tail: impl Iterator<Item = (u64, &'a Intent, &'a End)>,
    ) -> Self {
        let mut in_tail = BTreeMap::new();
        for (sequence, intent, end) in tail {
            in_tail.insert(intent.run, (intent, end));
            // A kill between writing the history and forgetting leaves a run in both.
            refs.retain(|known| known.run != intent.run);
            refs.push(RunRef::new(sequence, intent, end));
        }
        // From the newest: whether an undo was itself undone is known when it is reached.
        let mut undone = BTreeMap::new();
        for undoing in refs.iter().rev().filter(|run| run.outcome == Outcome::Committed) {
            if let RunKind::Undo(of) = undoing.kind
                && !undone.contains_key(&undoing.run)
            {
                undone.entry(of).or_insert(undoing.run);
            }
        }
        Self { disk, home, refs, undone, tail: in_tail }
    }

    fn find(&self, run: RunId) -> Result<&RunRef> {
        let found = self.refs.iter().find(|known| known.run == run);
        found.ok_or_else(|| ErrorKind::UnknownRun { run }.into())
    }

    pub(crate) fn read(&self, run: RunId) -> Result<(Cow<'a, Intent>, End)> {
        self.read_found(self.find(run)?)
    }

    fn read_found(&self, found: &RunRef) -> Result<(Cow<'a, Intent>, End)> {
        if let Some((intent, end)) = self.tail.get(&found.run) {
            return Ok((Cow::Borrowed(*intent), **end));
        }
        let (intent, end) = history::read(self.disk, &self.home.history, found)?;
        Ok((Cow::Owned(intent), end))
    }

    fn newest_in_effect(&self) -> Option<RunId> {
        let in_effect = |known: &&RunRef| {
            known.kind == RunKind::Apply
                && known.outcome == Outcome::Committed
                && !self.undone.contains_key(&known.run)
        };
        self.refs.iter().rev().find(in_effect).map(|known| known.run)
    }

    /// The run that undid `run` and was not undone itself.
    pub(crate) fn undone_by(&self, run: RunId) -> Option<RunId> {
        self.undone.get(&run).copied()
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
        changes: intent.entries.iter().filter_map(change).collect(),
        entries: intent.into_owned().entries,
    })
}

fn change(entry: &Entry) -> Option<Change> {
    use crate::journal::record::Image::{Absent, Directory, File};
    let kind = match (&entry.pre, &entry.post) {
        (File(pre), File(post)) if pre.digest == post.digest => ChangeKind::Attributes,
        (File(_), File(_)) => ChangeKind::Modified,
        (Absent | Directory(_), File(_)) => ChangeKind::Created,
        (File(_), Absent | Directory(_)) => ChangeKind::Deleted,
        (Absent | Directory(_), Directory(_)) => ChangeKind::DirectoryCreated,
        (Directory(_), Absent) => ChangeKind::DirectoryRemoved,
        (Absent, Absent) => return None,
    };
    Some(Change { path: entry.path.clone(), kind, added: entry.added, removed: entry.removed })
}
