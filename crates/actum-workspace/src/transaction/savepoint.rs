//! Savepoints, which roll back a group of steps if one of them fails.

use std::collections::BTreeSet;

use actum_core::RelPath;

use crate::disk::Disk;
use crate::transaction::Transaction;
use crate::transaction::node::Post;

/// Undo log of the open savepoints, in order of execution. The log is empty if no savepoint is open.
pub(crate) struct UndoLog<H> {
    /// Number of nested savepoints that are open.
    depth: usize,
    reversals: Vec<Reversal<H>>,
}

/// Reversal of one step at one path.
enum Reversal<H> {
    /// Forgets a path that the step read for the first time, so that it is read again.
    Forget(RelPath),
    /// Restores the previous target state of a path.
    Restore(RelPath, Post<H>),
}

/// Position to which a transaction can be rolled back.
struct Savepoint {
    reversals: usize,
    staged: u32,
    broken_links: usize,
    moved_hunks: usize,
}

impl<H> Default for UndoLog<H> {
    fn default() -> Self {
        Self { depth: 0, reversals: Vec::new() }
    }
}

impl<H> UndoLog<H> {
    fn push(&mut self, reversal: impl FnOnce() -> Reversal<H>) {
        if self.depth > 0 {
            self.reversals.push(reversal());
        }
    }
}

impl<D: Disk> Transaction<'_, D> {
    /// Carries out `steps` and rolls them back if they fail. The transaction stays usable, even after an error that
    /// would otherwise make it unusable. Files that were read only by the failed steps are read again when needed.
    ///
    /// # Errors
    /// Errors of `steps`.
    pub fn attempt<T, E>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let savepoint = Savepoint {
            reversals: self.undo_log.reversals.len(),
            staged: self.staged,
            broken_links: self.broken_links.len(),
            moved_hunks: self.moved_hunks.len(),
        };
        self.undo_log.depth += 1;
        let result = steps(self);
        self.undo_log.depth -= 1;
        if result.is_err() {
            self.roll_back(&savepoint);
        }
        if self.undo_log.depth == 0 {
            let reversals = std::mem::take(&mut self.undo_log.reversals);
            if result.is_ok() {
                self.remove_superseded(&reversals);
            }
        }
        result
    }

    /// Removes the staged files that were replaced by later steps and are no longer needed. A plan that changes a large
    /// file several times therefore needs space for only one copy. Any file that cannot be removed now is swept at the
    /// end.
    fn remove_superseded(&self, reversals: &[Reversal<D::Handle>]) {
        let replaced = reversals.iter().filter_map(|reversal| match reversal {
            Reversal::Forget(_) => None,
            Reversal::Restore(_, post) => post.staged_name(),
        });
        let mut replaced: BTreeSet<&[u8]> = replaced.collect();
        if replaced.is_empty() {
            return;
        }
        for name in self.nodes.values().filter_map(|node| node.post.staged_name()) {
            replaced.remove(name);
        }
        for name in replaced {
            self.workspace.remove_staged(name);
        }
    }

    /// Records that a path is read for the first time.
    pub(crate) fn record_lookup(&mut self, path: &RelPath) {
        self.undo_log.push(|| Reversal::Forget(path.clone()));
    }

    /// Records the target state that a path had before a step.
    pub(crate) fn record_change(&mut self, path: &RelPath, before: Post<D::Handle>) {
        self.outcome = None;
        self.undo_log.push(|| Reversal::Restore(path.clone(), before));
    }

    fn roll_back(&mut self, savepoint: &Savepoint) {
        self.outcome = None;
        for reversal in self.undo_log.reversals.drain(savepoint.reversals..).rev() {
            let (Reversal::Forget(path) | Reversal::Restore(path, _)) = &reversal;
            // The directory is listed again when its names are next needed.
            if let Some(parent) = path.parent() {
                self.names.remove(&parent);
            }
            match reversal {
                Reversal::Forget(path) => {
                    self.nodes.remove(&path);
                }
                Reversal::Restore(path, post) => {
                    if let Some(node) = self.nodes.get_mut(&path) {
                        node.post = post;
                    }
                }
            }
        }
        // Discard the cached inherited attributes, because their directories may be gone after the rollback.
        self.inherited.borrow_mut().clear();
        self.broken_links.truncate(savepoint.broken_links);
        self.moved_hunks.truncate(savepoint.moved_hunks);
        if self.staged > savepoint.staged {
            self.remove_staged_after(savepoint.staged);
        }
    }

    /// Removes all files that were staged under a higher number. Any file that cannot be removed now is swept at the
    /// end.
    fn remove_staged_after(&self, number: u32) {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let prefix = format!("{}.s", self.run);
        let later = |name: &[u8]| {
            let number_of =
                || std::str::from_utf8(name.strip_prefix(prefix.as_bytes())?).ok()?.parse().ok();
            number_of().is_some_and(|staged: u32| staged > number)
        };
        for name in disk.list(stage).unwrap_or_default().iter().filter(|name| later(name)) {
            self.workspace.remove_staged(name);
        }
    }
}
