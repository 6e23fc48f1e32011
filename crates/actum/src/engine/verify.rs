//! Verifies a cleared change by running its declared checks on the staged files, before the change becomes visible.

use actum_action::Check;
use actum_record::command::CommandsRun;
use actum_record::receipt::{PathEffect, RollbackFiles};
use actum_workspace::disk::Disk;

use crate::command::{Checked, CommandError, StagedView};
use crate::engine::clear::Cleared;
use crate::engine::stage::Staged;
use crate::error::Result;

/// Cleared change that has passed its checks.
#[must_use = "a verified change has no effect until it is published"]
pub struct Verified<'e, D: Disk> {
    pub(crate) cleared: Cleared<'e, D>,
    /// Commands that ran for the change, including its checks.
    pub(crate) commands: CommandsRun,
    /// Check results in the form in which an action's result reports them.
    pub(crate) results: Vec<Check>,
    /// Digests of the rollback files of a task. `None` for all other requests.
    pub(crate) rollback_files: Option<RollbackFiles>,
}

impl<'e, D: Disk> Cleared<'e, D> {
    /// Runs the checks of the request on a view of the workspace with the staged change. Changes that the checks make
    /// in the view are dropped.
    ///
    /// Digests that the request requires of files are not checked here, but when the change is staged and again when it
    /// is published.
    ///
    /// # Errors
    /// `Unverified` if a check fails; `Command` if a check cannot be run.
    pub(crate) fn verify(mut self) -> Result<Verified<'e, D>> {
        let commands = &self.staged.request.commands;
        let (made, sandbox) = (commands.made.clone(), commands.sandbox.clone());
        let Checked { records: verified, sandbox: of_checks, results } =
            self.staged.check(&self.paths)?;
        let sandbox = sandbox.or(of_checks);
        let commands = CommandsRun { made, verified, sandbox };
        Ok(Verified { cleared: self, commands, results, rollback_files: None })
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Runs the checks of the request on the staged change. Succeeds if there are none.
    pub(crate) fn check(&mut self, change: &[PathEffect]) -> Result<Checked> {
        let checks = &self.request.commands.checks;
        if checks.is_empty() {
            return Ok(Checked::default());
        }
        let runner = self.begun.runner.as_deref().ok_or(CommandError::NoRunner)?;
        let mut runner = runner.clone();
        if let Some(confinement) = &self.request.commands.confinement {
            runner = runner.confined_by(confinement.clone());
        }
        let staged = StagedView::of_change(&runner, &mut self.begun.transaction, change)?;
        Checked::all(&runner, checks, &staged)
    }

    /// Creates a view of the workspace with the staged change, for commands and steps that read or extend it. The view
    /// does not include changes that are staged later.
    ///
    /// # Errors
    /// `Command` if there is no runner or the view cannot be created; `Workspace` if the staged change cannot be read.
    pub fn view(&mut self) -> Result<StagedView> {
        let runner = self.begun.runner.as_deref().ok_or(CommandError::NoRunner)?;
        StagedView::new(runner, &mut self.begun.transaction)
    }
}
