//! Verify: declared checks see the staged state before anyone else does.

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
    /// What was run for it.
    pub(crate) commands: CommandsRun,
    /// Check results for the action's envelope.
    pub(crate) told: Vec<Check>,
    /// Digests of the task's rollback files; none of other requests.
    pub(crate) rollback_files: Option<RollbackFiles>,
}

impl<'e, D: Disk> Cleared<'e, D> {
    /// Runs the checks of the request on a view of the workspace with what is staged; what they change there is
    /// forgotten. Digests that files must have are checked while a change is staged, and once more when it is
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
    /// Runs the checks of the request, if it has any, on what is staged.
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

    /// The workspace with what is staged, for commands and steps that look at it or go on from there. What is
    /// staged afterwards is not in it.
    ///
    /// # Errors
    /// `Command` where nothing was given that runs commands, or it cannot be laid out; `Workspace`.
    pub fn view(&mut self) -> Result<StagedView> {
        let runner = self.begun.runner.as_deref().ok_or(CommandError::NoRunner)?;
        StagedView::of(runner, &mut self.begun.transaction)
    }
}
