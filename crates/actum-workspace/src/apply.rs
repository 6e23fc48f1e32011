//! Convenience methods that make a change in a single run: apply a change set, apply operations, or revert a change set.

use actum_core::RunId;
use actum_edit::{ChangeSet, Operation};

use crate::disk::Disk;
use crate::error::{ErrorKind, Result};
use crate::workspace::{RunOptions, Workspace};

/// ID of an applied change set, which is the ID of the run that applied it.
pub type ChangeSetId = RunId;

impl<D: Disk> Workspace<D> {
    /// Applies a change set atomically: either all of its changes or none (FO-1, FO-2).
    ///
    /// # Errors
    /// Any [`ErrorKind`]. The error also reports the resulting state of the workspace.
    pub fn apply(&mut self, change_set: &ChangeSet) -> Result<ChangeSetId> {
        let operations =
            change_set.operations().map_err(|source| ErrorKind::ChangeSet { source })?;
        let options = RunOptions {
            limits: self.limits.clone(),
            label: "apply a change set".to_owned(),
            wait: false,
        };
        self.apply_operations(&operations, options)
    }

    /// Reverts a change set byte for byte in a new run, which can itself be undone (FO-5). The limits of
    /// [`Workspace::with_limits`] do not apply to it.
    ///
    /// # Errors
    /// `ChangedSince` if a path has changed since the change set was applied, `AlreadyUndone`, `UnknownRun`, or any
    /// other [`ErrorKind`].
    pub fn revert(&mut self, id: ChangeSetId) -> Result<ChangeSetId> {
        let options = RunOptions { label: format!("revert {id}"), ..RunOptions::default() };
        Ok(self.begin_undo(id, options)?.commit()?.run)
    }

    /// Applies operations in a single run with the given options.
    ///
    /// # Errors
    /// Any [`ErrorKind`].
    pub fn apply_operations(
        &mut self,
        operations: &[Operation],
        options: RunOptions,
    ) -> Result<RunId> {
        let mut transaction = self.begin(options)?;
        transaction.operate_all(operations)?;
        Ok(transaction.commit()?.run)
    }
}
