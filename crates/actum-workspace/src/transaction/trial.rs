//! Savepoints: steps that are tried together, of which nothing is left where one of them fails.

use actum_core::RelPath;

use crate::disk::Disk;
use crate::transaction::Transaction;
use crate::transaction::node::Post;

/// What takes back the steps that are tried now, the latest last; empty where none are.
pub(crate) struct Trials<H> {
    /// How many trials are nested in each other.
    depth: usize,
    reversals: Vec<Reversal<H>>,
}

/// What takes back one step at one path.
enum Reversal<H> {
    /// The path was not looked at before. It is forgotten, so that it is looked at again.
    Forget(RelPath),
    /// This was to be at the path.
    Restore(RelPath, Post<H>),
}

/// A state of a transaction.
struct Savepoint {
    reversals: usize,
    staged: u32,
    broken_links: usize,
    moved_hunks: usize,
}

impl<H> Default for Trials<H> {
    fn default() -> Self {
        Self { depth: 0, reversals: Vec::new() }
    }
}

impl<H> Trials<H> {
    fn note(&mut self, reversal: impl FnOnce() -> Reversal<H>) {
        if self.depth > 0 {
            self.reversals.push(reversal());
        }
    }
}

impl<D: Disk> Transaction<'_, D> {
    /// Tries `steps`. Where they fail, nothing of them is left: the transaction is as before, and can be used further,
    /// also after an error of a step that is otherwise the end of it. Files that only they looked at are looked at again
    /// by the next step that needs them.
    ///
    /// # Errors
    /// Those of `steps`.
    pub fn attempt<T, E>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let savepoint = Savepoint {
            reversals: self.trials.reversals.len(),
            staged: self.staged,
            broken_links: self.broken_links.len(),
            moved_hunks: self.moved_hunks.len(),
        };
        self.trials.depth += 1;
        let result = steps(self);
        self.trials.depth -= 1;
        if result.is_err() {
            self.roll_back(&savepoint);
        }
        if self.trials.depth == 0 {
            self.trials.reversals.clear();
        }
        result
    }

    /// Notes that a path is looked at for the first time.
    pub(crate) fn looked(&mut self, path: &RelPath) {
        self.trials.note(|| Reversal::Forget(path.clone()));
    }

    /// Notes what was to be at a path before a step.
    pub(crate) fn changed(&mut self, path: &RelPath, before: Post<D::Handle>) {
        self.outcome = None;
        self.trials.note(|| Reversal::Restore(path.clone(), before));
    }

    fn roll_back(&mut self, savepoint: &Savepoint) {
        self.outcome = None;
        for reversal in self.trials.reversals.drain(savepoint.reversals..).rev() {
            let (Reversal::Forget(path) | Reversal::Restore(path, _)) = &reversal;
            // It is listed again when it is asked about.
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
        // What new entries of a directory inherit is asked again, since the directory may be gone.
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
            self.workspace.remove(stage, name);
        }
    }
}
