//! Verify: declared checks run on the staged state before it is visible.

use actum_action::Check;
use actum_record::command::CommandsRun;
use actum_record::receipt::{PathEffect, RollbackFiles};
use actum_workspace::disk::Disk;

use crate::command::{Checked, CommandError, StagedView};
use crate::engine::clear::Cleared;
use crate::engine::stage::Staged;
use crate::error::Result;

/// A cleared change that passed its checks.
#[must_use = "what is verified is not published"]
pub struct Verified<'e, D: Disk> {
    pub(crate) cleared: Cleared<'e, D>,
    /// Commands that ran for the change.
    pub(crate) commands: CommandsRun,
    /// Check results for the action's envelope.
    pub(crate) told: Vec<Check>,
    /// Digests of the task's rollback files. Other requests have none.
    pub(crate) rollback_files: Option<RollbackFiles>,
}

impl<'e, D: Disk> Cleared<'e, D> {
    /// Runs the checks of the request on a view of the workspace with the staged change. Their own changes in the
    /// view are dropped. Required digests of files are checked while a change is staged, and again when it is
    /// published.
    ///
    /// # Errors
    /// `Unverified` if a check fails; `Command` if one cannot be run.
    pub(crate) fn verify(mut self) -> Result<Verified<'e, D>> {
        let commands = &self.staged.request.commands;
        let (made, sandbox) = (commands.made.clone(), commands.sandbox.clone());
        let Checked { records: verified, sandbox: of_checks, told } =
            self.staged.check(&self.paths)?;
        let sandbox = sandbox.or(of_checks);
        let commands = CommandsRun { made, verified, sandbox };
        Ok(Verified { cleared: self, commands, told, rollback_files: None })
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Runs the checks of the request, if it has any, on the staged change.
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

    /// Returns the workspace with the staged change, for commands and steps that read or extend it. The view has
    /// nothing that is staged later.
    ///
    /// # Errors
    /// `Command` if there is no runner, or the view cannot be laid out; `Workspace`.
    pub fn view(&mut self) -> Result<StagedView> {
        let runner = self.begun.runner.as_deref().ok_or(CommandError::NoRunner)?;
        StagedView::of(runner, &mut self.begun.transaction)
    }
}
