//! Begin: an action that runs something runs it once it may, on a view of the workspace (AA-5, AA-6).

use std::ops::ControlFlow;

use actum_core::action::{Check, ResultEnvelope};
use actum_core::command::{CommandEnd, CommandRecord};
use actum_core::{RiskTier, RunId, Status};
use actum_gate::CommandLine;
use actum_sandbox::Stdin;
use actum_workspace::disk::Disk;
use serde_json::{Map, Value, json};

use super::core_action::{Intake, Task, intake};
use super::halt::Halt;
use super::scope::Places;
use super::story::Story;
use crate::command::{Caches, CommandError, Runner, Trial, Tried, as_check};
use crate::engine::Engine;
use crate::engine::permit::Permit;
use crate::engine::stage::Stage;
use crate::error::Error;
use crate::plugin::{Call, Executed};
use crate::reason::Reason;
use crate::request::{Phase, Request, RequestedAction, Work};

impl<D: Disk> Engine<D> {
    /// Runs what the action runs, and keeps what that changed.
    pub(super) fn begin(&mut self, request: Request, story: &mut Story) -> Result<(), Halt> {
        let action = request.action.as_deref().ok_or(Error::NoAction)?.clone();
        let task = match (intake(&action.plan)?, action.package) {
            (_, Some(digest)) => {
                Task::Package(Box::new(self.package(&action.plan.action_type, digest)?))
            }
            (Some(Intake { task, .. }), None) => task,
            (None, None) => return Err(Error::NoAction.into()),
        };
        let runner = self.confined_runner(&request)?;
        let agreed = match self.permit(&request, story)? {
            Permitted::Answered => return Ok(()),
            Permitted::Now(permit) => permit.agreed,
        };
        story.agreed = agreed;
        story.is_begun = true;
        match task {
            Task::Command { line, accepted } => {
                let tried = self.try_out(&runner, &line, &Places::of(&action.plan.scope)?)?;
                story.output.extend(as_object(told(&tried)));
                if !tried.succeeded(&accepted) {
                    let message =
                        format!("the command `{}` failed: {}", line.quoted(), tried.record.ended);
                    return Err(Halt::reverted(Reason::CommandFailed, message));
                }
                let request = self.captured(request, &action, &runner, &tried, agreed)?;
                self.keep(request, None, story)
            }
            Task::Package(package) => {
                let steps = self.steps(&package, &runner)?;
                let call = Call { input: &action.plan.input, scope: &action.plan.scope };
                let done = steps.execute(call).map_err(|error| Halt::of_plugin(&error))?;
                must_be_tellable(&action, &done.output)?;
                story.returned = Some(done.output.clone());
                let request = executed(request, &action, done, agreed);
                self.keep(request, Some(&steps), story)
            }
            Task::Diagnosis(lines) => {
                let findings = self.findings(&runner, &lines)?;
                let problems = findings.iter().filter(|finding| !finding.ok).count();
                story.output.insert("findings".to_owned(), json!(findings));
                story.output.insert("problems".to_owned(), json!(problems));
                let mut checks = Vec::new();
                for line in &request.commands.checks {
                    let check = self.look(&runner, line)?;
                    let is_good = check.ok;
                    checks.push(check);
                    if !is_good {
                        break;
                    }
                }
                let failed = checks.iter().find(|check| !check.ok).map(|check| check.name.clone());
                story.checks = checks;
                match failed {
                    Some(name) => {
                        let message = format!("the check `{name}` failed");
                        Err(Halt::reverted(Reason::VerificationFailed, message))
                    }
                    None => Ok(()),
                }
            }
            // It would have been made without running anything.
            Task::Work(_) => Err(Error::NoAction.into()),
        }
    }

    /// What runs the commands of a request, confined as it says.
    pub(super) fn confined_runner(&self, request: &Request) -> Result<Runner, Halt> {
        let runner = self.runner.as_ref().ok_or(CommandError::NoRunner).map_err(Error::from)?;
        let runner = match &request.commands.confinement {
            Some(confinement) => runner.clone().confined_by(confinement.clone()),
            None => runner.clone(),
        };
        Ok(runner.finding_programs_outside())
    }

    /// Asks whether it may begin; what waits for a person goes into the queue, and nothing of it runs.
    fn permit(&mut self, request: &Request, story: &mut Story) -> Result<Permitted, Halt> {
        let id = story.id;
        let admitted = self.admit(request.clone())?;
        match self.stage(admitted)? {
            Stage::Staged(mut staged) => Ok(Permitted::Now(staged.permit(id)?)),
            Stage::Answered(done) => {
                story.made(&done);
                Ok(Permitted::Answered)
            }
        }
    }

    fn try_out(
        &mut self,
        runner: &Runner,
        line: &CommandLine,
        places: &Places,
    ) -> Result<Tried, Halt> {
        let (policy, _) = self.rules.read()?;
        // A cache is changed for good, whatever becomes of the action: only where the plan may write.
        let caches = match places.cover_all(runner.caches()) {
            true => Caches::Passed,
            false => Caches::Forgotten,
        };
        let trial = Trial::start(runner, &policy, line.argv(), Stdin::Empty, caches)?;
        Ok(trial.wait(|_, _| ControlFlow::Continue(()))?)
    }

    /// The request to make what a command changed.
    fn captured(
        &self,
        request: Request,
        action: &RequestedAction,
        runner: &Runner,
        tried: &Tried,
        agreed: Option<RunId>,
    ) -> Result<Request, Halt> {
        let checks = request.commands.checks.clone();
        let made = tried.request(tried.captured()?, checks, runner)?;
        let mut commands = made.commands;
        commands.repair.clone_from(&request.commands.repair);
        let action = RequestedAction {
            commands: Vec::new(),
            phase: Phase::HasRun,
            agreed,
            ..action.clone()
        };
        Ok(Request {
            work: made.work,
            commands,
            // What a person agreed to is no longer a reason to ask one. What it changed may be.
            declared: request.declared.filter(|_| agreed.is_none()),
            action: Some(Box::new(action)),
            plan: None,
            // An approval that was used up is not to come to nothing because somebody else is at work.
            wait: request.wait || agreed.is_some(),
            ..request
        })
    }

    /// What commands find that only look.
    fn findings(&mut self, runner: &Runner, lines: &[CommandLine]) -> Result<Vec<Check>, Halt> {
        lines.iter().map(|line| self.look(runner, line)).collect()
    }

    fn look(&mut self, runner: &Runner, line: &CommandLine) -> Result<Check, Halt> {
        let (policy, _) = self.rules.read()?;
        let trial = Trial::start(runner, &policy, line.argv(), Stdin::Empty, Caches::Forgotten)?;
        let tried = trial.wait(|_, _| ControlFlow::Continue(()))?;
        Ok(as_check(line, &tried.record, &tried.outcome))
    }
}

/// What a package returned has to fit into a result, before anything of what it did is kept.
fn must_be_tellable(action: &RequestedAction, output: &Value) -> Result<(), Halt> {
    let name = action.plan.action_type.clone();
    let result = ResultEnvelope {
        output: output.clone(),
        ..ResultEnvelope::new(Status::Succeeded, name, RiskTier::R4)
    };
    result.write().map(drop).map_err(|error| {
        let message = format!("what the package returned cannot be told: {error}");
        Halt::reverted(Reason::PluginFailed, message)
    })
}

/// The request to make what a package changed.
fn executed(
    request: Request,
    action: &RequestedAction,
    done: Executed,
    agreed: Option<RunId>,
) -> Request {
    let Executed { output, captured, record, sandbox, .. } = done;
    let mut commands = request.commands.clone();
    let argv = action.commands.first().map_or(record.argv, |line| line.argv().to_vec());
    commands.made.push(CommandRecord { argv, ..record });
    commands.sandbox = Some(sandbox);
    let output = Some(output);
    let action = RequestedAction { phase: Phase::HasRun, output, agreed, ..action.clone() };
    Request {
        work: Work::Apply(captured.operations),
        commands,
        // What a person agreed to is no longer a reason to ask one. What it changed may be.
        declared: request.declared.filter(|_| agreed.is_none()),
        action: Some(Box::new(action)),
        plan: None,
        // An approval that was used up is not to come to nothing because somebody else is at work.
        wait: request.wait || agreed.is_some(),
        ..request
    }
}

/// Whether an action may begin.
enum Permitted {
    Now(Permit),
    /// It was carried out before, under the same key.
    Answered,
}

/// How a command ended, as the output of an action has it.
pub(super) fn told(tried: &Tried) -> Value {
    let mut told = Map::new();
    match &tried.record.ended {
        CommandEnd::Code(code) => told.insert("exitCode".to_owned(), json!(code)),
        CommandEnd::Signal(signal) => told.insert("signal".to_owned(), json!(signal)),
        CommandEnd::Stopped(why) => told.insert("stopped".to_owned(), json!(why)),
    };
    told.insert("durationMs".to_owned(), json!(tried.record.wall_ms));
    told.insert("stdout".to_owned(), json!(Check::excerpt(&tried.outcome.stdout)));
    told.insert("stderr".to_owned(), json!(Check::excerpt(&tried.outcome.stderr)));
    Value::Object(told)
}

fn as_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
