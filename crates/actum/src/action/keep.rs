//! Keeps the change of an action: checks it, repairs it at most once, and then publishes or drops it (AA-6).

use actum_edit::Operation;
use actum_gate::CommandLine;
use actum_record::command::CommandRecord;
use actum_sandbox::Stdin;
use actum_workspace::disk::Disk;
use std::ops::ControlFlow;

use super::action_error::ActionError;
use super::action_report::ActionReport;
use super::scope::Places;
use super::{built_in, package};
use crate::command::{Accepted, Runner, Trial, Tried};
use crate::engine::clear::Cleared;
use crate::engine::observer::Observer;
use crate::engine::stage::{Stage, Staged};
use crate::engine::verify::Verified;
use crate::engine::{Engine, Hold, Rules};
use crate::plugin::Steps;
use crate::request::{Commands, Request, Work};

/// Check that an action has in addition to its check commands.
#[derive(Clone, Copy)]
pub(super) enum OwnChecks<'k, 's> {
    /// Compares the staged change with the requested work.
    Asked(&'k Work),
    /// No additional check, because the change was captured from a command.
    Captured,
    /// Runs the `verify.js` and `rollback.js` of a package.
    Package(&'k Steps<'s>),
}

/// Observer that reports the steps of an action's run and runs the action's own checks.
struct ActionObserver<'k, 's> {
    places: Places,
    own: OwnChecks<'k, 's>,
    /// Whether package steps or check commands run on the staged change.
    runs_something: bool,
    hold: Option<Hold>,
    rules: Rules,
    report: &'k mut ActionReport,
}

/// Reason why the observer stopped the run of an action.
enum ActionStop {
    ActionError(ActionError),
    /// The checks passed, but there is no change to publish.
    NothingToPublish,
}

impl<E: Into<ActionError>> From<E> for ActionStop {
    fn from(error: E) -> Self {
        Self::ActionError(error.into())
    }
}

impl<D: Disk> Observer<D> for ActionObserver<'_, '_> {
    type Stop = ActionStop;

    fn staged(&mut self, staged: &mut Staged<'_, D>) -> Result<(), ActionStop> {
        let Self { places, own, runs_something, hold, rules: _, report } = self;
        report.is_begun = true;
        let change = staged.begun.transaction.effects();
        places.check(&change)?;
        report.held = report.held.take().or_else(|| hold.as_ref().map(|hold| hold()));
        if let OwnChecks::Package(steps) = own {
            if report.acting.is_none() && !change.is_empty() {
                staged.let_pass()?;
                report.begin(staged, None)?;
            }
            package::verify(steps, &staged.view()?, &change, report)?;
        }
        if !change.is_empty() {
            return Ok(());
        }
        let agreed = staged.let_pass()?.agreed()?;
        if agreed.is_some() || *runs_something && report.acting.is_none() {
            report.begin(staged, agreed)?;
        }
        report.changed(&change);
        // Even an action without changes succeeds only if its checks pass.
        let checked = staged.check(&change)?;
        report.checked(Ok(&checked.results));
        Err(ActionStop::NothingToPublish)
    }

    fn cleared(&mut self, cleared: &mut Cleared<'_, D>) -> Result<(), ActionStop> {
        let staged = &mut cleared.staged;
        let check = match self.own {
            OwnChecks::Asked(Work::Apply(asked)) => {
                let repaired = repaired_operations(asked, &staged.request.work);
                built_in::of_change(&mut staged.begun.transaction, asked, repaired)?
            }
            OwnChecks::Asked(Work::Undo(_) | Work::Redo(_)) => Some(built_in::of_undo(staged)?),
            // For a captured change, the check would only compare the capture with itself.
            OwnChecks::Captured
            | OwnChecks::Package(_)
            | OwnChecks::Asked(Work::Adopt(_) | Work::Restore { .. }) => None,
        };
        let refusal = check.as_ref().filter(|check| !check.ok).map(built_in::refusal);
        self.report.checks.extend(check);
        if let Some(refusal) = refusal {
            return Err(refusal.into());
        }
        if self.runs_something && self.report.acting.is_none() {
            self.report.begin(&cleared.staged, None)?;
        }
        Ok(())
    }

    fn verified(&mut self, verified: &mut Verified<'_, D>) -> Result<(), ActionStop> {
        self.report.checked(Ok(&verified.results));
        if verified.cleared.staged.begun.runner.as_deref().is_some_and(Runner::is_stopped) {
            return Err(ActionError::interrupted().into());
        }
        self.report.join(&mut verified.cleared.staged, &self.rules)?;
        Ok(())
    }
}

/// Returns the operations that a repair appended to the requested ones.
fn repaired_operations<'w>(asked: &[Operation], work: &'w Work) -> &'w [Operation] {
    match work {
        Work::Apply(operations) => operations.strip_prefix(asked).unwrap_or_default(),
        Work::Undo(_) | Work::Redo(_) | Work::Adopt(_) | Work::Restore { .. } => &[],
    }
}

impl<D: Disk> Engine<D> {
    /// Carries out the request of an action. If a check fails, runs the repair command, if any, and tries once more.
    pub(super) fn keep(
        &mut self,
        request: Request,
        own: OwnChecks<'_, '_>,
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        report.agreed = report.agreed.or(request.plan);
        let repair = request.commands.repair.clone();
        let (refused, repair) = match (self.make(request.clone(), own, report), repair) {
            (
                Err(refused @ (ActionError::Unverified(_) | ActionError::PackageUnverified { .. })),
                Some(repair),
            ) => (refused, repair),
            (end, _) => return end,
        };
        self.let_go(report)?;
        report.repair.attempted = true;
        let Some(repaired) = self.repaired(request, &repair, report)? else { return Err(refused) };
        report.checks.clear();
        self.make(repaired, own, report)?;
        report.repair.ok = true;
        Ok(())
    }

    /// Makes a single attempt at carrying out the request of an action.
    fn make(
        &mut self,
        request: Request,
        own: OwnChecks<'_, '_>,
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        let places = Places::new(&report.plan.scope)?;
        let runs_something =
            matches!(own, OwnChecks::Package(_)) || !request.commands.checks.is_empty();
        self.let_go(report)?;
        let mut keeping = ActionObserver {
            places,
            own,
            runs_something,
            hold: self.hold.clone(),
            rules: self.rules.clone(),
            report: &mut *report,
        };
        match self.run_with(request, &mut keeping) {
            Ok(done) => report.made(&done),
            Err(ActionStop::NothingToPublish) => {}
            Err(ActionStop::ActionError(halt)) => {
                if let ActionError::Unverified(error) = &halt {
                    report.checked(Err(error));
                }
                return Err(halt);
            }
        }
        Ok(())
    }

    /// Releases the guard against interruption, so that a signal can interrupt a wait for the workspace lock. Keeps the
    /// guard if part of the action has already run, because the result must then report the interruption.
    pub(super) fn let_go(&self, report: &mut ActionReport) -> Result<(), ActionError> {
        match &self.runner {
            Some(runner) if runner.is_stopped() => Err(ActionError::interrupted()),
            Some(_) | None => {
                report.held = report.held.take().filter(|_| report.acting.is_some());
                Ok(())
            }
        }
    }

    /// Runs the repair command on the staged change, and returns the request extended by the changes that it made.
    /// Returns `None` if the repair command failed.
    fn repaired(
        &mut self,
        request: Request,
        repair: &CommandLine,
        report: &mut ActionReport,
    ) -> Result<Option<Request>, ActionError> {
        let Work::Apply(operations) = &request.work else { return Ok(None) };
        let runner = self.confined_runner(&request)?;
        let (policy, _) = self.rules.read(&self.records.ledger)?;
        let admitted = self.admit(request.clone())?;
        let Stage::Staged(mut staged) = self.stage(admitted)? else { return Ok(None) };
        let view = staged.view()?;
        let trial = Trial::start_over(&runner, &policy, repair.argv(), Stdin::Empty, &view)?;
        let tried: Tried = trial.wait(|_, _| ControlFlow::Continue(()))?;
        report.command_ms = report.command_ms.saturating_add(tried.record.wall_ms);
        report.output.insert("repair".to_owned(), super::begin::describe_command(&tried).into());
        if !tried.succeeded(&Accepted::new()) {
            return Ok(None);
        }
        let made: Vec<CommandRecord> =
            request.commands.made.iter().cloned().chain([tried.record.clone()]).collect();
        let captured = tried.request(tried.captured()?, Vec::new(), &runner)?;
        let Work::Apply(more) = captured.work else { return Ok(None) };
        let operations = operations.iter().cloned().chain(more).collect();
        let sandbox = captured.commands.sandbox.or(request.commands.sandbox.clone());
        let commands = Commands { made, sandbox, repair: None, ..request.commands.clone() };
        // Drop the approval, because it does not cover the repaired change.
        Ok(Some(Request { work: Work::Apply(operations), commands, plan: None, ..request }))
    }
}
