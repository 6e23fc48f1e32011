//! Order of past runs, and the subset of them that is in effect.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use actum_core::{RelPath, RunId};

use crate::disk::Disk;
use crate::error::{ErrorKind, PathConflict, Result};
use crate::history::{self, RunRef};
use crate::home::Home;
use crate::journal::record::{End, Image, Intent, Outcome, RunKind};
use crate::workspace::Workspace;

impl<D: Disk> Workspace<D> {
    /// Returns all ended runs, from the history and from the journal.
    pub(crate) fn runs(&self) -> Result<Runs<'_, D>> {
        let listed = history::list(&self.disk, &self.home.history)?;
        Ok(Runs::new(&self.disk, &self.home, listed, self.ended()))
    }

    /// Returns the newest committed change that has not been undone. The history is only listed if the journal contains
    /// no such change.
    pub(crate) fn newest_in_effect(&self) -> Result<Option<RunId>> {
        match Runs::new(&self.disk, &self.home, Vec::new(), self.ended()).newest_in_effect() {
            Some(run) => Ok(Some(run)),
            None => Ok(self.runs()?.newest_in_effect()),
        }
    }

    /// Returns the runs from `run` on. If `run` is in the journal, the history is not listed, because only later runs
    /// can undo it.
    pub(crate) fn runs_since(&self, run: RunId) -> Result<Runs<'_, D>> {
        if !self.tail.iter().any(|ended| ended.intent.run == run) {
            return self.runs();
        }
        Ok(Runs::new(&self.disk, &self.home, Vec::new(), self.ended()))
    }

    /// Finds, for each conflict, the newest change in effect after `run` that touched the path. Stores that change in
    /// the conflict if `is_now` confirms that the path is still as the change left it. Otherwise, something other than
    /// a run changed the path. Undos are skipped, because undoing one would restore yet another change.
    pub(crate) fn name_later_runs(
        &self,
        run: RunId,
        conflicts: &mut [PathConflict],
        is_now: impl Fn(&RelPath, &Image) -> bool,
    ) -> Result<()> {
        let runs = self.runs()?;
        let mut open: BTreeSet<_> =
            conflicts.iter().map(|conflict| conflict.path.clone()).collect();
        let later = runs.refs.iter().rev().take_while(|known| known.run != run);
        let in_effect = |known: &&RunRef| {
            known.kind == RunKind::Apply
                && known.outcome == Outcome::Committed
                && runs.undone_by(known.run).is_none()
        };
        for known in later.filter(in_effect) {
            if open.is_empty() {
                break;
            }
            // A damaged record does not show which paths its run changed, so their conflicts name no run.
            let Ok((intent, _)) = runs.read_found(known) else { continue };
            for conflict in conflicts.iter_mut() {
                let entry = intent.entries.iter().find(|entry| entry.path == conflict.path);
                let Some(entry) = entry.filter(|_| open.remove(&conflict.path)) else { continue };
                conflict.by = is_now(&entry.path, &entry.post).then_some(known.run);
            }
        }
        Ok(())
    }

    /// Returns the ended runs that are still in the journal, with their sequence numbers.
    fn ended(&self) -> impl Iterator<Item = (u64, &Intent, &End)> {
        self.tail.iter().map(|run| (run.sequence, &run.intent, &run.end))
    }
}

/// All ended runs, oldest first.
pub(crate) struct Runs<'a, D: Disk> {
    disk: &'a D,
    home: &'a Home<D::Handle>,
    refs: Vec<RunRef>,
    /// Undone runs, each with the run that undid it.
    undone: BTreeMap<RunId, RunId>,
    tail: BTreeMap<RunId, (&'a Intent, &'a End)>,
}

impl<'a, D: Disk> Runs<'a, D> {
    /// Combines the runs listed in the history with those in the journal.
    pub(super) fn new(
        disk: &'a D,
        home: &'a Home<D::Handle>,
        mut refs: Vec<RunRef>,
        tail: impl Iterator<Item = (u64, &'a Intent, &'a End)>,
    ) -> Self {
        let mut in_tail = BTreeMap::new();
        for (sequence, intent, end) in tail {
            in_tail.insert(intent.run, (intent, end));
            // A process killed between writing the history and clearing the journal leaves the run in both.
            refs.retain(|known| known.run != intent.run);
            refs.push(RunRef::new(sequence, intent, end));
        }
        // Iterate from newest to oldest, so that it is already known whether an undo was itself undone.
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

    pub(crate) fn find(&self, run: RunId) -> Result<&RunRef> {
        let found = self.refs.iter().find(|known| known.run == run);
        found.ok_or_else(|| ErrorKind::UnknownRun { run }.into())
    }

    /// Returns all runs, oldest first.
    pub(crate) fn refs(&self) -> &[RunRef] {
        &self.refs
    }

    pub(crate) fn read(&self, run: RunId) -> Result<(Cow<'a, Intent>, End)> {
        self.read_found(self.find(run)?)
    }

    pub(crate) fn read_found(&self, found: &RunRef) -> Result<(Cow<'a, Intent>, End)> {
        if let Some((intent, end)) = self.tail.get(&found.run) {
            return Ok((Cow::Borrowed(*intent), **end));
        }
        let (intent, end) = history::read(self.disk, &self.home.history, found)?;
        Ok((Cow::Owned(intent), end))
    }

    fn newest_in_effect(&self) -> Option<RunId> {
        self.in_effect().next()
    }

    /// Returns the committed changes that have not been undone, newest first.
    pub(crate) fn in_effect(&self) -> impl Iterator<Item = RunId> {
        let in_effect = |known: &&RunRef| {
            known.kind == RunKind::Apply
                && known.outcome == Outcome::Committed
                && !self.undone.contains_key(&known.run)
        };
        self.refs.iter().rev().filter(in_effect).map(|known| known.run)
    }

    /// Returns the undos that are in effect, newest first. The undo of an undo is not included, because it restored a
    /// change.
    pub(crate) fn undos_in_effect(&self) -> impl Iterator<Item = RunId> {
        let chains = Chains::new(&self.refs);
        self.refs.iter().rev().filter_map(move |known| {
            let in_effect =
                known.outcome == Outcome::Committed && !self.undone.contains_key(&known.run);
            let depth = chains.depth(known.run);
            (in_effect && depth.is_some_and(|depth| depth % 2 == 1)).then_some(known.run)
        })
    }

    /// Returns true if a run put a change into effect, either by applying it or by undoing its undo.
    pub(crate) fn puts_into_effect(&self, run: RunId) -> bool {
        Chains::new(&self.refs).depth(run).is_some_and(|depth| depth % 2 == 0)
    }

    /// Returns the run that undid `run`, unless that undo was itself undone.
    pub(crate) fn undone_by(&self, run: RunId) -> Option<RunId> {
        self.undone.get(&run).copied()
    }
}

/// Undos with the runs that they undo, and the runs that applied a change.
struct Chains {
    undoes: BTreeMap<RunId, RunId>,
    applied: BTreeSet<RunId>,
}

impl Chains {
    fn new(refs: &[RunRef]) -> Self {
        let mut chains = Self { undoes: BTreeMap::new(), applied: BTreeSet::new() };
        for known in refs {
            match known.kind {
                RunKind::Undo(of) => {
                    chains.undoes.insert(known.run, of);
                }
                RunKind::Apply => {
                    chains.applied.insert(known.run);
                }
            }
        }
        chains
    }

    /// Returns the number of undos between a run and the change at the end of its chain. Returns `None` if that change
    /// is no longer in the history, because then it is unknown whether the run removed or restored it.
    fn depth(&self, run: RunId) -> Option<usize> {
        let chain = std::iter::successors(Some(run), |run| self.undoes.get(run).copied());
        let (count, change) = chain.fold((0, run), |(count, _), run| (count + 1, run));
        self.applied.contains(&change).then_some(count - 1)
    }
}
