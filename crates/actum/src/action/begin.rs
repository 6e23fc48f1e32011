//! Begins an action: once the gates permit it, runs its commands or its package on a view of the workspace (AA-5,
//! AA-6).

use std::ops::ControlFlow;

use actum_action::{Check, PlanEnvelope, ResultEnvelope};
use actum_core::{RiskTier, Status};
use actum_gate::CommandLine;
use actum_record::command::{CommandEnd, CommandRecord};
use actum_sandbox::Stdin;
use actum_workspace::disk::Disk;
use serde_json::{Map, Value, json};

use super::action_error::ActionError;
use super::action_report::ActionReport;
use super::core_action::Task;
use super::keep::OwnChecks;
use super::propose::Proposed;
use super::scope::Places;
use crate::command::{Accepted, Caches, CommandError, Runner, Trial, Tried, as_check};
use crate::engine::Engine;
use crate::engine::stage::Stage;
use crate::error::Error;
use crate::plugin::{Call, Executed, Steps};
use crate::reason::Reason;
use crate::request::{Phase, Request, RequestedAction, Work};

/// Note in the output of a diagnosis that has neither commands nor checks.
const NOTHING_CHECKED: &str =
    "nothing was checked because the plan has neither commands nor checks";

impl<D: Disk> Engine<D> {
    /// Performs the task of a proposed action.
    pub(super) fn perform(
        &mut self,
        proposed: Proposed,
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        let Proposed { request, task } = proposed;
        let is_to_run = request.begins_action();
        match task {
            Task::Work(asked) => self.keep(request, OwnChecks::Asked(&asked), report),
            Task::Command { line, accepted } if is_to_run => {
                self.run_command(request, (&line, &accepted), report)
            }
            Task::Diagnosis(lines) if is_to_run => self.diagnose(request, &lines, report),
            // The command has run before, and its captured change was approved since.
            Task::Command { .. } | Task::Diagnosis(_) => {
                self.keep(request, OwnChecks::Captured, report)
            }
            Task::Package(package) => {
                let steps = self.steps(&package, &self.confined_runner(&request)?)?;
                match is_to_run {
                    true => self.run_package(request, &steps, report),
                    false => {
                        // The package has run before, and its captured change was approved since. Return its recorded
                        // output.
                        let action = request.action.as_deref();
                        report.returned = action.and_then(|action| action.output.clone());
                        self.keep(request, OwnChecks::Package(&steps), report)
                    }
                }
            }
        }
    }

    /// Runs the command of an action on a view of the workspace, and keeps its changes if it succeeds.
    fn run_command(
        &mut self,
        request: Request,
        (line, accepted): (&CommandLine, &Accepted),
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        let runner = self.confined_runner(&request)?;
        if self.permit(&request, report)? == Permitted::Answered {
            return Ok(());
        }
        let tried = self.try_out(&runner, line, &Places::new(&report.plan.scope)?)?;
        report.output.extend(describe_command(&tried));
        report.command_ms = tried.record.wall_ms;
        if !tried.succeeded(accepted) {
            let message = format!("the command `{}` failed: {}", line.quoted(), tried.record.ended);
            return Err(ActionError::reverted(Reason::CommandFailed, message));
        }
        let made = tried.request(tried.captured()?, request.commands.checks.clone(), &runner)?;
        let mut commands = made.commands;
        commands.repair.clone_from(&request.commands.repair);
        let action = |action| RequestedAction { commands: Vec::new(), ..action };
        let request = has_run(Request { work: made.work, commands, ..request }, report, action);
        self.keep(request, OwnChecks::Captured, report)
    }

    /// Runs the code of a package on a view of the workspace, and keeps its changes if it succeeds.
    fn run_package(
        &mut self,
        request: Request,
        steps: &Steps<'_>,
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        if self.permit(&request, report)? == Permitted::Answered {
            return Ok(());
        }
        let call = Call { input: &report.plan.input, scope: &report.plan.scope };
        let done = steps.execute(call).map_err(|error| ActionError::of_plugin(&error))?;
        check_reportable(&report.plan, &done.output)?;
        report.returned = Some(done.output.clone());
        let Executed { output, captured, record, sandbox, .. } = done;
        report.command_ms = record.wall_ms;
        let mut commands = request.commands.clone();
        let line = request.action.as_ref().and_then(|action| action.commands.first());
        let argv = line.map_or(record.argv, |line| line.argv().to_vec());
        commands.made.push(CommandRecord { argv, ..record });
        commands.sandbox = Some(sandbox);
        let work = Work::Apply(captured.operations);
        let action = |action| RequestedAction { output: Some(output), ..action };
        let request = has_run(Request { work, commands, ..request }, report, action);
        self.keep(request, OwnChecks::Package(steps), report)
    }

    /// Runs commands that only inspect the workspace, reports their findings, and drops all their changes.
    fn diagnose(
        &mut self,
        request: Request,
        lines: &[CommandLine],
        report: &mut ActionReport,
    ) -> Result<(), ActionError> {
        let runner = self.confined_runner(&request)?;
        if self.permit(&request, report)? == Permitted::Answered {
            return Ok(());
        }
        let findings = lines.iter().map(|line| self.look(&runner, line));
        let findings = findings.collect::<Result<Vec<_>, _>>()?;
        let problems = findings.iter().filter(|finding| !finding.ok).count();
        report.command_ms = findings.iter().filter_map(|finding| finding.duration_ms).sum();
        report.output.insert("findings".to_owned(), json!(findings));
        report.output.insert("problems".to_owned(), json!(problems));
        if lines.is_empty() && request.commands.checks.is_empty() {
            report.output.insert("note".to_owned(), json!(NOTHING_CHECKED));
        }
        if runner.is_stopped() {
            return Err(ActionError::interrupted());
        }
        for line in &request.commands.checks {
            let check = self.look(&runner, line)?;
            let failed = (!check.ok).then(|| format!("the check `{}` failed", check.name));
            report.checks.push(check);
            if let Some(message) = failed {
                return Err(ActionError::reverted(Reason::VerificationFailed, message));
            }
        }
        Ok(())
    }

    /// Returns the runner for the commands of a request, with the confinement that the request specifies, if any.
    pub(super) fn confined_runner(&self, request: &Request) -> Result<Runner, ActionError> {
        let runner = self.runner.as_ref().ok_or(CommandError::NoRunner).map_err(Error::from)?;
        let runner = match &request.commands.confinement {
            Some(confinement) => runner.clone().confined_by(confinement.clone()),
            None => runner.clone(),
        };
        Ok(runner.finding_programs_outside())
    }

    /// Asks the gates whether the action may begin. If it needs an approval, it is queued and no part of it runs.
    fn permit(
        &mut self,
        request: &Request,
        report: &mut ActionReport,
    ) -> Result<Permitted, ActionError> {
        let hold = self.hold.clone();
        let admitted = self.admit(request.clone())?;
        match self.stage(admitted)? {
            Stage::Staged(mut staged) => {
                let agreed = staged.let_pass()?.agreed()?;
                report.held = hold.as_ref().map(|hold| hold());
                report.begin(&staged, agreed)?;
                report.is_begun = true;
                Ok(Permitted::Now)
            }
            Stage::Answered(done) => {
                report.made(&done);
                Ok(Permitted::Answered)
            }
        }
    }

    fn try_out(
        &mut self,
        runner: &Runner,
        line: &CommandLine,
        places: &Places,
    ) -> Result<Tried, ActionError> {
        let (policy, _) = self.rules.read(&self.records.ledger)?;
        // Changes in a cache stay even if the action fails, so the plan's scope must allow writing there.
        let caches = match places.cover_all(runner.caches()) {
            true => Caches::Passed,
            false => Caches::Forgotten,
        };
        let trial = Trial::start(runner, &policy, line.argv(), Stdin::Empty, caches)?;
        Ok(trial.wait(|_, _| ControlFlow::Continue(()))?)
    }

    fn look(&mut self, runner: &Runner, line: &CommandLine) -> Result<Check, ActionError> {
        let (policy, _) = self.rules.read(&self.records.ledger)?;
        let trial = Trial::start(runner, &policy, line.argv(), Stdin::Empty, Caches::Forgotten)?;
        let tried = trial.wait(|_, _| ControlFlow::Continue(()))?;
        Ok(as_check(line, &tried.record, &tried.outcome))
    }
}

/// Returns a request to apply the captured changes of an action that has run. `adds` updates its action.
fn has_run(
    request: Request,
    report: &ActionReport,
    adds: impl FnOnce(RequestedAction) -> RequestedAction,
) -> Request {
    let agreed = report.agreed;
    let action = request
        .action
        .map(|action| Box::new(RequestedAction { phase: Phase::HasRun, agreed, ..adds(*action) }));
    Request {
        action,
        // The declared tier was already approved and needs no second approval, but the captured change may need one.
        declared: request.declared.filter(|_| agreed.is_none()),
        plan: None,
        // The approval is already used up, so wait for a busy workspace instead of failing.
        wait: request.wait || agreed.is_some(),
        ..request
    }
}

/// Checks that the output of a package fits into a result envelope, before any of its changes are kept.
fn check_reportable(plan: &PlanEnvelope, output: &Value) -> Result<(), ActionError> {
    let result = ResultEnvelope {
        output: output.clone(),
        ..ResultEnvelope::new(Status::Succeeded, plan.action_type.clone(), RiskTier::R4)
    };
    result.write().map(drop).map_err(|error| {
        let message = format!("cannot report the output of the package: {error}");
        ActionError::reverted(Reason::PluginFailed, message)
    })
}

/// How the gates answered a request to begin an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permitted {
    /// The action was allowed and has begun.
    Now,
    /// The action was executed earlier under the same request key.
    Answered,
}

/// Describes a finished command in the form in which an action's output reports it.
pub(super) fn describe_command(tried: &Tried) -> Map<String, Value> {
    let mut result = Map::new();
    match &tried.record.ended {
        CommandEnd::Code(code) => result.insert("exitCode".to_owned(), json!(code)),
        CommandEnd::Signal(signal) => result.insert("signal".to_owned(), json!(signal)),
        CommandEnd::Stopped(why) => result.insert("stopped".to_owned(), json!(why)),
    };
    result.insert("durationMs".to_owned(), json!(tried.record.wall_ms));
    result.insert("stdout".to_owned(), json!(Check::excerpt(&tried.outcome.stdout)));
    result.insert("stderr".to_owned(), json!(Check::excerpt(&tried.outcome.stderr)));
    result
}
