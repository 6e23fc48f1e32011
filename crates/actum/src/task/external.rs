//! External pipelines (EX-9) have effects outside the workspace, so they run last, after the change of the plan is
//! published. No rollback reverts these effects.

use std::time::Duration;

use actum_core::Timestamp;
use actum_core::canonical::CanonicalError;
use actum_gate::policy::DeclaredPipeline;
use actum_record::receipt::{ExternalEnd, ExternalPipeline, ExternalRun};
use actum_task::report::{ActionOutcome, CleanText, SkippedAction};
use actum_task::{Action, ErrorCode, Finding};
use serde::{Deserialize, Serialize};

use super::pipeline::PipelineRan;
use super::problem::{ActionProblem, TaskProblem};
use super::rehearsal::{ActionEnd, Rehearsed, Script};

/// Reason for an external pipeline that was not started.
pub(super) const NOT_STARTED: &str =
    "It was not started: external pipelines run after the change of the plan is published";
/// Message about a pipeline whose process ended before its result was recorded.
const END_UNKNOWN: &str = "the task was cut off before the end of the pipeline was recorded, so its effects outside of the workspace are not known; check them by hand";

/// External pipeline, as the notes on a task have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NotedPipeline {
    /// Id of its action.
    pub(super) action: CleanText,
    pub(super) state: NotedState,
}

/// State of an external pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NotedState {
    NotStarted,
    Started,
    Ended(ActionOutcome),
}

impl NotedPipeline {
    /// Returns the outcome of its action, when the process of the task is gone.
    pub(super) fn outcome(&self) -> ActionOutcome {
        let action_id = self.action.clone();
        match &self.state {
            NotedState::NotStarted => {
                let reason = CleanText::fixed(NOT_STARTED);
                ActionOutcome::Skipped(SkippedAction { action_id, reason })
            }
            NotedState::Started => {
                let (code, message) =
                    (ErrorCode::ExternalEndUnknown, CleanText::fixed(END_UNKNOWN));
                ActionOutcome::failed(action_id, code.number(), message)
            }
            NotedState::Ended(outcome) => outcome.clone(),
        }
    }

    /// Returns the problem of its outcome, if any.
    pub(super) fn problem(&self) -> Option<TaskProblem> {
        let (code, message) = match &self.state {
            NotedState::NotStarted => (ErrorCode::PipelineNotStarted, NOT_STARTED.to_owned()),
            NotedState::Started => (ErrorCode::ExternalEndUnknown, END_UNKNOWN.to_owned()),
            NotedState::Ended(ActionOutcome::Failed(failed)) => {
                let code = ErrorCode::of_number(failed.error_code);
                let code = code.unwrap_or(ErrorCode::PipelineFailed);
                (code, failed.error_message.as_str().to_owned())
            }
            NotedState::Ended(ActionOutcome::Completed(_) | ActionOutcome::Skipped(_)) => {
                return None;
            }
        };
        let message = format!("the action `{}`: {message}", self.action);
        Some(TaskProblem::new(code, message))
    }
}

/// Returns the declaration of the pipeline of an action, if it is external.
pub(super) fn declaration<'s>(script: Script<'s>, action: &Action) -> Option<&'s DeclaredPipeline> {
    let Ok(Some(runner)) = script.pipelines else { return None };
    let declared = runner.declared(&action.work.pipeline()?.name).ok()?;
    declared.external.then_some(declared)
}

/// Returns the external pipelines of a plan, in the order in which they run. A pipeline that the policy does not
/// declare as external is left out; [`findings`](super::findings) reject its plan.
///
/// # Errors
/// [`CanonicalError`] if a declaration cannot be written.
pub fn external_pipelines(script: Script<'_>) -> Result<Vec<ExternalPipeline>, CanonicalError> {
    let actions = script.graph.order().iter().filter_map(|index| script.plan.actions.get(*index));
    let pipelines = actions.filter_map(|action| pipeline(script, action).transpose());
    pipelines.collect()
}

/// Returns the external pipeline of an action.
pub(super) fn pipeline(
    script: Script<'_>,
    action: &Action,
) -> Result<Option<ExternalPipeline>, CanonicalError> {
    let Ok(Some(runner)) = script.pipelines else { return Ok(None) };
    let (Some(declared), Some(named)) = (declaration(script, action), action.work.pipeline())
    else {
        return Ok(None);
    };
    let Ok((_, steps)) = runner.resolve(named) else { return Ok(None) };
    Ok(Some(ExternalPipeline {
        action: action.id.to_string(),
        declaration: declared.digest()?,
        env: declared.env.clone(),
        name: declared.name.clone(),
        steps,
    }))
}

/// Finds external pipelines in a plan that rolls back after a failure, and actions that follow one.
pub fn external_findings(script: Script<'_>) -> Vec<Finding> {
    let rolls_back = script.plan.constraints(script.config.constraints).rollback_on_failure;
    let mut findings = Vec::new();
    let mut before: Option<&Action> = None;
    for &index in script.graph.order() {
        let Some(action) = script.plan.actions.get(index) else { continue };
        let finding =
            |code, why| Finding::Pipeline { action: index, id: action.id.clone(), code, why };
        match (declaration(script, action), before) {
            (Some(declared), _) => {
                before = Some(action);
                if rolls_back {
                    let why = format!(
                        "nothing takes back the effects of the external pipeline `{}`, and the plan rolls back after a failure; set \
                         `rollback_on_failure` to `false` in `execution_instructions`",
                        declared.name
                    );
                    findings.push(finding(ErrorCode::NotReversible, why));
                }
            }
            (None, Some(before)) => {
                let why = format!(
                    "the action `{}` before it runs an external pipeline; move this action before it",
                    before.id
                );
                findings.push(Finding::AfterExternal { action: index, id: action.id.clone(), why });
            }
            (None, None) => {}
        }
    }
    findings
}

/// External pipeline of a task, with its result.
pub(super) struct ExternalResult {
    /// Record for the receipt.
    pub(super) run: ExternalRun,
    /// Result of its action; `None` if the rehearsal did not reach it.
    pub(super) action: Option<Rehearsed>,
}

/// Time and result of a started pipeline.
pub(super) struct Executed {
    pub(super) started: Timestamp,
    pub(super) completed: Timestamp,
    pub(super) ran: PipelineRan,
    /// Problem of the last step.
    pub(super) problem: Option<ActionProblem>,
}

impl ExternalResult {
    /// Creates the result of a pipeline of which no step was started, for this reason.
    pub(super) fn skipped(
        pipeline: &ExternalPipeline,
        deferred: Option<&Rehearsed>,
        reason: String,
    ) -> Self {
        let run = ExternalRun::without_steps(pipeline.clone(), ExternalEnd::NotStarted);
        let end = ActionEnd::Skipped { reason };
        Self { run, action: deferred.map(|deferred| Rehearsed { end, ..deferred.clone() }) }
    }

    /// Creates the result of a started pipeline.
    pub(super) fn executed(
        pipeline: &ExternalPipeline,
        deferred: &Rehearsed,
        executed: Executed,
    ) -> Self {
        let Executed { started, completed, ran, problem } = executed;
        let (ended, end) = match problem {
            None => {
                let steps = match ran.commands.len() {
                    1 => "1 step".to_owned(),
                    count => format!("{count} steps"),
                };
                let output = format!(
                    "Pipeline '{}' ran {steps} outside of the workspace; nothing takes back what it did there",
                    pipeline.name
                );
                (ExternalEnd::Succeeded, ActionEnd::Completed { output, did: Vec::new() })
            }
            Some(problem) => {
                let message = format!(
                    "{}; what it did outside of the workspace before stays",
                    problem.message
                );
                let ended = match (problem.code, ran.commands.is_empty()) {
                    (ErrorCode::ExternalEndUnknown, _) => ExternalEnd::Unknown,
                    (_, true) => ExternalEnd::NotStarted,
                    (_, false) => ExternalEnd::Failed,
                };
                (ended, ActionEnd::Failed(ActionProblem { message, ..problem }))
            }
        };
        let run = ExternalRun {
            commands: ran.commands.clone(),
            ended,
            pipeline: pipeline.clone(),
            sandbox: ran.sandbox.clone(),
        };
        let pipeline = Some(Box::new(ran));
        let action = Rehearsed { started, completed, end, pipeline, ..deferred.clone() };
        Self { run, action: Some(action) }
    }

    /// Returns true if all steps succeeded.
    pub(super) fn succeeded(&self) -> bool {
        self.run.ended == ExternalEnd::Succeeded
    }
}

/// Returns the time limit of a pipeline: the shorter of those of the plan and the operator.
pub(super) fn time(script: Script<'_>, action: &Action) -> Duration {
    let allowed = script.config.timeout(action);
    let own = declaration(script, action).and_then(|declared| declared.timeout);
    own.map_or(allowed, |own| own.min(allowed))
}
