//! Time limits of actions: the action's own timeout, the remaining time of its task (EX-21), and cancellation (EX-22).

use std::time::Duration;

use actum_core::{FileState, RelPath, Timestamp};
use actum_task::ErrorCode;
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::problem::ActionProblem;
use super::rehearsal::{RehearsalObserver, later};

/// Time that an action may still use. It is checked between the phases of the action and while large files are read.
pub(super) struct Allowance<'w> {
    pub(super) watch: &'w dyn RehearsalObserver,
    /// Start time and time limit of the action. `None` for work that enforces its own limit.
    pub(super) action: Option<(Timestamp, Duration)>,
    /// Deadline of the entire task.
    pub(super) task_end: Timestamp,
}

impl Allowance<'_> {
    /// Returns an error if the action has exceeded a time limit or the task was cancelled.
    ///
    /// # Errors
    /// `Cancelled`, `ActionTimeout`, `TaskTimeout`.
    pub(super) fn check(&self) -> Result<(), ActionProblem> {
        self.end().map_or(Ok(()), Err)
    }

    /// Returns the state of a file. Reading a large file stops early if the action exceeds a time limit or is cancelled.
    ///
    /// # Errors
    /// The outer result has the errors of [`check`](Self::check), the inner result those of [`Transaction::file_state`].
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

/// Creates the problem of an action that exceeded its time limit.
pub(super) fn too_late(limit: Duration) -> ActionProblem {
    let message = format!("the action exceeded its time limit of {} s", limit.as_secs());
    ActionProblem::new(ErrorCode::ActionTimeout, message)
}
