//! Commit of a transaction, in five phases: stage, INTENT, publish, verify, COMMIT. It takes two disk barriers for any
//! number of files, unless an image is too large for the journal.

use std::collections::{BTreeSet, HashMap, hash_map};
use std::sync::Arc;

use actum_core::scope::ScopeError;
use actum_core::{Budget, PathCost, RelPath, RunId};

use crate::baseline::contents_left;
use crate::change::{Change, Lines};
use crate::disk::{Disk, Time};
use crate::error::{Error, ErrorKind, Result, ResultExt, State};
use crate::journal::record::Intent;
use crate::run::publish::Displaced;
use crate::transaction::Transaction;
use crate::transaction::stage::moved_sources;
use crate::transaction::take::TakenFrom;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// Run that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Id of the run.
    pub run: RunId,
    /// Changes made by the run, ordered by path.
    pub changes: Arc<[Change]>,
    /// Paths whose file was separated from its other hard links.
    pub broken_links: Vec<RelPath>,
}

/// Transaction that is ready to be published: its content is staged and its intent is complete, but nothing is
/// announced or visible yet. Dropping it leaves no trace.
#[must_use = "a prepared transaction changes nothing until it is published"]
pub struct Prepared<'w, D: Disk> {
    transaction: Transaction<'w, D>,
    intent: Intent,
    displaced: Vec<Displaced>,
    changes: Arc<[Change]>,
    broken_links: Vec<RelPath>,
}

/// Run that was either committed or rolled back. The workspace stays locked while this value exists, so that the caller
/// can record the outcome outside of the workspace before another run begins.
#[must_use = "the result reports how the run ended"]
pub struct Published<'w, D: Disk> {
    result: Result<Committed>,
    transaction: Transaction<'w, D>,
}

impl<'w, D: Disk> Transaction<'w, D> {
    /// Makes all steps visible and durable.
    ///
    /// # Errors
    /// Any [`ErrorKind`]. The state of the error records whether the workspace is untouched, was restored, or needs
    /// attention.
    pub fn commit(self) -> Result<Committed> {
        self.prepare()?.publish().into_result()
    }

    /// Stages the result of the steps without publishing it.
    ///
    /// # Errors
    /// Any [`ErrorKind`]; the workspace is untouched.
    pub fn prepare(mut self) -> Result<Prepared<'w, D>> {
        self.check_limits()?;
        let changes = self.changes();
        let broken_links = std::mem::take(&mut self.broken_links);
        let mut nodes = std::mem::take(&mut self.nodes);
        let moved = moved_sources(&nodes);
        nodes.retain(|path, node| node.changes() || moved.contains(path));
        self.sweep = true;
        let (intent, displaced) = self.stage_all(&nodes, &moved, &changes)?;
        Ok(Prepared { transaction: self, intent, displaced, changes, broken_links })
    }

    /// Checks that all steps so far are within scope, and that together they are within budget. The commit repeats this
    /// check.
    ///
    /// # Errors
    /// `Scope`; `Budget` with the budget status (FO-4).
    pub fn check_limits(&mut self) -> Result<()> {
        self.check_directories()?;
        if self.limits.budget == Budget::unlimited() {
            return Ok(());
        }
        let changes = self.changes();
        let files = changes.iter().filter(|change| change.kind.is_of_file());
        let costs = files.map(|change| {
            let Lines { added, removed } = change.extent.lines();
            PathCost { path: change.path.clone(), added, removed }
        });
        let checked = self.limits.budget.check(costs.collect());
        checked.map(drop).map_err(|status| ErrorKind::Budget { status }.into())
    }

    /// Checks that a directory outside of the scope is created or removed only as the parent of a changed file.
    fn check_directories(&mut self) -> Result<()> {
        if self.limits.scope.allow.is_none() {
            return Ok(());
        }
        let changes = self.changes();
        let (files, directories): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| change.kind.is_of_file());
        let touched: BTreeSet<&RelPath> = files.iter().flat_map(|change| change.paths()).collect();
        for Change { path, .. } in directories {
            let has_file_below = || touched.iter().any(|file| file.starts_with(path));
            match self.limits.scope.check(path) {
                Err(source @ ScopeError::NotAllowed { .. }) if !has_file_below() => {
                    return Err(ErrorKind::Scope { source }.into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl<D: Disk> Transaction<'_, D> {
    /// Records the change time of every directory in which the run adds or removes entries. With it, recovery in a
    /// later epoch can detect removals between two runs, even if the second run changed the same directory again.
    fn note_directories(&self, intent: &mut Intent) -> Result<()> {
        let Workspace { disk, home, .. } = &*self.workspace;
        let tree = Tree::sharing(disk, &home.root, &self.parents);
        let mut known: HashMap<Option<RelPath>, Option<Time>> = HashMap::new();
        for entry in intent.entries.iter_mut().filter(|entry| entry.changes_names()) {
            let path = &entry.path;
            entry.directory_changed = match known.entry(path.parent()) {
                hash_map::Entry::Occupied(known) => *known.get(),
                hash_map::Entry::Vacant(unknown) => {
                    let doing = || format!("inspect the directory of `{path}`");
                    let parent = match tree.parent(path) {
                        Err(error) if error.is_in_the_way() => None,
                        found => found?,
                    };
                    let stat = parent.map(|it| disk.stat(&it)).transpose().doing(doing)?;
                    *unknown.insert(stat.map(|stat| stat.last_change()))
                }
            };
        }
        Ok(())
    }
}

impl<'w, D: Disk> Prepared<'w, D> {
    /// Announces the run in the journal, then makes it visible and durable. On failure, the run is rolled back.
    pub fn publish(self) -> Published<'w, D> {
        let Self { mut transaction, mut intent, displaced, changes, broken_links } = self;
        let noted = transaction.note_directories(&mut intent);
        let left = contents_left(&intent);
        let result = noted.and_then(|()| match &transaction.adoption {
            None => transaction.workspace.run(intent, displaced),
            Some(adoption) => {
                transaction.check_adopted(&intent, adoption)?;
                transaction.workspace.adopt(intent)
            }
        });
        let adopted = transaction.adoption.as_ref().map(|adoption| adoption.id);
        if let (Ok(_), Some(done)) = (&result, adopted.or(transaction.restored_snapshot)) {
            drop(transaction.workspace.remove_snapshot(done)); // the next snapshot retries
        }
        if result.is_ok() {
            for (id, TakenFrom { capture, files }) in std::mem::take(&mut transaction.captures) {
                transaction.workspace.remove_taken(id, &capture, &files);
            }
            transaction.workspace.keep_contents(&left);
        }
        // After a commit, displaced files are swept later. After an incomplete rollback, recovery still needs the
        // staged files.
        transaction.sweep = match &result {
            Ok(_) => false,
            Err(Error { state: State::Restored | State::Unchanged, .. }) => {
                !transaction.workspace.poisoned
            }
            Err(_) => false,
        };
        let result = result.map(|run| Committed { run, changes, broken_links });
        Published { result, transaction }
    }
}

/// Workspace lock of a run that has just ended.
#[must_use = "dropping it releases the lock, so another run may begin"]
pub struct Held<'w, D: Disk> {
    pub(crate) transaction: Transaction<'w, D>,
}

impl<'w, D: Disk> Published<'w, D> {
    /// Returns the outcome of the run and releases the workspace lock.
    ///
    /// # Errors
    /// Same errors as [`Transaction::commit`].
    pub fn into_result(self) -> Result<Committed> {
        self.result
    }

    /// Returns true if the run was committed, which means that the change is visible and durable.
    pub fn is_committed(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns the outcome of the run together with the workspace lock.
    pub fn into_parts(self) -> (Result<Committed>, Held<'w, D>) {
        (self.result, Held { transaction: self.transaction })
    }
}
