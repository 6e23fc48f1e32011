//! Changes that are one run each: apply a change set or operations, or revert a change set.

use actum_core::RunId;
use actum_edit::{ChangeSet, Operation};

use crate::disk::Disk;
use crate::error::{ErrorKind, Result};
use crate::workspace::{RunOptions, Workspace};

/// Id of an applied change set: that of its run.
pub type ChangeSetId = RunId;

impl<D: Disk> Workspace<D> {
    /// Applies a change set: all of it or nothing (FO-1, FO-2).
    ///
    /// # Errors
    /// Any [`ErrorKind`]; the error states the condition of the workspace.
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

    /// Reverts a change set, byte for byte, in a run of its own that can itself be undone (FO-5). The limits of
    /// [`Workspace::with_limits`] do not bind it.
    ///
    /// # Errors
    /// `ChangedSince` when a path has changed since; `AlreadyUndone`, `UnknownRun`, and any other
    /// [`ErrorKind`].
    pub fn revert(&mut self, id: ChangeSetId) -> Result<ChangeSetId> {
        let options = RunOptions { label: format!("revert {id}"), ..RunOptions::default() };
        Ok(self.begin_undo(id, options)?.commit()?.run)
    }

    /// Applies operations in one run.
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
