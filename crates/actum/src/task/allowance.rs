//! Time limit of an action: its own timeout, the remaining time of its task (EX-21), and cancellation (EX-22).

use std::time::Duration;

use actum_core::{FileState, RelPath, Timestamp};
use actum_task::ErrorCode;
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::problem::ActionProblem;
use super::rehearsal::{RehearsalObserver, later};

/// Time of an action, checked between its phases and between the pieces of a large file that it reads.
pub(super) struct Allowance<'w> {
    pub(super) watch: &'w dyn RehearsalObserver,
    /// Start and limit of the action; `None` for work whose own time is limited elsewhere.
    pub(super) action: Option<(Timestamp, Duration)>,
    /// Deadline of the whole task.
    pub(super) task_end: Timestamp,
}

impl Allowance<'_> {
    /// Fails once the action has to end.
    ///
    /// # Errors
    /// `Cancelled`, `ActionTimeout`, `TaskTimeout`.
    pub(super) fn check(&self) -> Result<(), ActionProblem> {
        self.end().map_or(Ok(()), Err)
    }

    /// Returns the state of a file. A large one is read no further once the action has to end.
    ///
    /// # Errors
    /// The outer ones are those of [`check`](Self::check), the inner ones those of [`Transaction::file_state`].
    pub(super) fn file_state<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
    ) -> Result<actum_workspace::Result<FileState>, ActionProblem> {
        let mut end = None;
        let state = transaction.file_state_unless(path, &mut || {
            end = self.end();
            end.is_some()
        });
        end.map_or(Ok(state), Err)
    }

    fn end(&self) -> Option<ActionProblem> {
        if self.watch.is_cancelled() {
            let code = ErrorCode::Cancelled;
            return Some(ActionProblem::new(code, code.about()));
        }
        let now = self.watch.now();
        match self.action {
            Some((started, limit)) if now > later(started, limit) => Some(too_late(limit)),
            Some(_) | None if now > self.task_end => {
                let code = ErrorCode::TaskTimeout;
                Some(ActionProblem::new(code, code.about()))
            }
            Some(_) | None => None,
        }
    }
}

/// Action that took longer than its limit.
pub(super) fn too_late(limit: Duration) -> ActionProblem {
    let message = format!("it took longer than the {} s that it may", limit.as_secs());
    ActionProblem::new(ErrorCode::ActionTimeout, message)
}
