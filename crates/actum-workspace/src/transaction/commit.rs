//! The commit: stage, INTENT, publish, verify, COMMIT. Two barriers, whatever the number of
//! files, unless an image is too large for the journal.

use actum_core::{Budget, PathCost, RelPath, RunId};

use crate::change::{Change, Lines};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result, State};
use crate::transaction::Transaction;
use crate::transaction::stage::{displaced, moved_sources};

/// A run that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Its name.
    pub run: RunId,
    /// What it changed, ordered by path.
    pub changes: Vec<Change>,
    /// Paths whose file was parted from its other names (hard links).
    pub broken_links: Vec<RelPath>,
}

impl<D: Disk> Transaction<'_, D> {
    /// Makes all steps visible at once, and durable.
    ///
    /// # Errors
    /// Any [`ErrorKind`]; its state says whether the workspace is untouched, restored, or needs a
    /// person.
    pub fn commit(mut self) -> Result<Committed> {
        self.check_budget()?;
        let changes = self.changes();
        let broken_links = std::mem::take(&mut self.broken_links);
        let mut nodes = std::mem::take(&mut self.nodes);
        let moved = moved_sources(&nodes);
        nodes.retain(|path, node| node.changes() || moved.contains(path));
        self.sweep = true;
        let intent = self.stage_all(&nodes, &moved, &changes)?;
        let displaced: Vec<_> = nodes.values().map(displaced).collect();
        drop(nodes);
        let result = self.workspace.run(intent, &displaced);
        // After a commit what was displaced is swept later; after a failure that leaves anything
        // open recovery needs what is staged.
        self.sweep = match &result {
            Ok(_) => false,
            Err(Error { state: State::Restored | State::Unchanged, .. }) => {
                !self.workspace.poisoned
            }
            Err(_) => false,
        };
        Ok(Committed { run: result?, changes, broken_links })
    }

    /// Whether the steps so far stay within the budget; the commit checks the same.
    ///
    /// # Errors
    /// `Budget` with the budget status (FO-4).
    pub fn check_budget(&mut self) -> Result<()> {
        if self.limits.budget == Budget::unlimited() {
            return Ok(());
        }
        let files = self.changes().into_iter().filter(|change| change.kind.is_of_file());
        let costs = files.map(|change| {
            let Lines { added, removed } = change.extent.lines();
            PathCost { path: change.path, added, removed }
        });
        let checked = self.limits.budget.check(costs.collect());
        checked.map(drop).map_err(|status| ErrorKind::Budget { status }.into())
    }
}
