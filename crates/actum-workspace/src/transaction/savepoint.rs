//! Savepoints: steps that are rolled back together if one of them fails.

use std::collections::BTreeSet;

use actum_core::RelPath;

use crate::disk::Disk;
use crate::transaction::Transaction;
use crate::transaction::node::Post;

/// Undo log of the open savepoints, the latest step last; empty if none is open.
pub(crate) struct UndoLog<H> {
    /// Nesting of the open savepoints.
    depth: usize,
    reversals: Vec<Reversal<H>>,
}

/// Reversal of one step at one path.
enum Reversal<H> {
    /// Forgets a path that was read first in this step, so that it is read again.
    Forget(RelPath),
    /// Restores the former target state of a path.
    Restore(RelPath, Post<H>),
}

/// State of a transaction to which it is rolled back.
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
    /// Carries out `steps`, and rolls them back if they fail. The transaction remains usable, also after an error of a
    /// step that otherwise ends it. Files that only these steps read are read again by the next step that needs them.
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

    /// Removes the staged files that the steps replaced, and that no path still needs. So a plan that changes one large
    /// file several times needs space for one copy. What cannot be removed now is swept at the end.
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

    /// Records the target state of a path before a step.
    pub(crate) fn record_change(&mut self, path: &RelPath, before: Post<D::Handle>) {
        self.outcome = None;
        self.undo_log.push(|| Reversal::Restore(path.clone(), before));
    }

    fn roll_back(&mut self, savepoint: &Savepoint) {
        self.outcome = None;
        for reversal in self.undo_log.reversals.drain(savepoint.reversals..).rev() {
            let (Reversal::Forget(path) | Reversal::Restore(path, _)) = &reversal;
            // It is listed again when it is next needed.
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
        // The attributes that new entries of a directory inherit are read again, since the directory may be gone.
        self.inherited.borrow_mut().clear();
        self.broken_links.truncate(savepoint.broken_links);
        self.moved_hunks.truncate(savepoint.moved_hunks);
        if self.staged > savepoint.staged {
            self.remove_staged_after(savepoint.staged);
        }
    }

    /// Removes what was staged under a later number. What cannot be removed now is swept at the end.
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
