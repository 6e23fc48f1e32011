//! External pipelines (EX-9) have effects outside the workspace, which cannot be rolled back. They therefore run last,
//! after the change of the plan is published.

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

/// Skip reason for an external pipeline that was not started.
pub(super) const NOT_STARTED: &str = "The pipeline was not started, because external pipelines run after the plan's change is published";
/// Error message for an external pipeline whose result is unknown because the task's process ended too early.
const END_UNKNOWN: &str = "the task was interrupted before the pipeline's result was recorded, so its effects outside the workspace are unknown; check them manually";

/// Progress of an external pipeline, recorded in the notes on a running task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NotedPipeline {
    /// Id of the action that runs the pipeline.
    pub(super) action: CleanText,
    pub(super) state: NotedState,
}

/// Progress of an external pipeline when it was last recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NotedState {
    NotStarted,
    Started,
    Ended(ActionOutcome),
}

impl NotedPipeline {
    /// Returns the outcome of the pipeline's action, given that the process of the task has ended.
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

    /// Returns the problem to report for the pipeline, unless it completed or was skipped.
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

/// Returns the declaration of an action's pipeline, if the action runs an external pipeline.
pub(super) fn declaration<'s>(script: Script<'s>, action: &Action) -> Option<&'s DeclaredPipeline> {
    let Ok(Some(runner)) = script.pipelines else { return None };
    let declared = runner.declared(&action.work.pipeline()?.name).ok()?;
    declared.external.then_some(declared)
}

/// Returns the external pipelines of a plan, in the order in which they run. Pipelines that cannot be resolved are
/// omitted, because [`findings`](super::findings) rejects such plans.
///
/// # Errors
/// Returns [`CanonicalError`] if a declaration cannot be written as canonical JSON.
pub fn external_pipelines(script: Script<'_>) -> Result<Vec<ExternalPipeline>, CanonicalError> {
    let actions = script.graph.order().iter().filter_map(|index| script.plan.actions.get(*index));
    let pipelines = actions.filter_map(|action| pipeline(script, action).transpose());
    pipelines.collect()
}

/// Returns the external pipeline that an action runs. Returns `None` for other actions, and if the pipeline cannot be
/// resolved.
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

/// Reports each external pipeline in a plan that rolls back on failure, and each action that follows an external
/// pipeline.
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
                        "the effects of the external pipeline `{}` cannot be rolled back, but the plan rolls back on failure; set \
                         `rollback_on_failure` to `false` in `execution_instructions`",
                        declared.name
                    );
                    findings.push(finding(ErrorCode::NotReversible, why));
                }
            }
            (None, Some(before)) => {
                let why = format!(
                    "the earlier action `{}` runs an external pipeline, which must come last; reorder the actions",
                    before.id
                );
                findings.push(Finding::AfterExternal { action: index, id: action.id.clone(), why });
            }
            (None, None) => {}
        }
    }
    findings
}

/// Result of an external pipeline of a task.
pub(super) struct ExternalResult {
    /// Record of the pipeline run for the receipt.
    pub(super) run: ExternalRun,
    /// Result of the pipeline's action. `None` if the rehearsal did not reach the action.
    pub(super) action: Option<Rehearsed>,
}

/// Times and result of an external pipeline that was started.
pub(super) struct Executed {
    pub(super) started: Timestamp,
    pub(super) completed: Timestamp,
    pub(super) ran: PipelineRan,
    /// Problem of the last step that ran, if it failed.
    pub(super) problem: Option<ActionProblem>,
}

impl ExternalResult {
    /// Creates the result of an external pipeline of which no step was started. `reason` is shown in the report.
    pub(super) fn skipped(
        pipeline: &ExternalPipeline,
        deferred: Option<&Rehearsed>,
        reason: String,
    ) -> Self {
        let run = ExternalRun::without_steps(pipeline.clone(), ExternalEnd::NotStarted);
        let end = ActionEnd::Skipped { reason };
        Self { run, action: deferred.map(|deferred| Rehearsed { end, ..deferred.clone() }) }
    }

    /// Creates the result of an external pipeline that was started.
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
                    "Pipeline '{}' ran {steps} outside the workspace; their effects cannot be rolled back",
                    pipeline.name
                );
                (ExternalEnd::Succeeded, ActionEnd::Completed { output, did: Vec::new() })
            }
            Some(problem) => {
                let message = format!(
                    "{}; effects that the pipeline already had outside the workspace remain",
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

    /// Returns whether all steps of the pipeline succeeded.
    pub(super) fn succeeded(&self) -> bool {
        self.run.ended == ExternalEnd::Succeeded
    }
}

/// Returns the time limit of an external pipeline, which is the shorter of the plan's and the operator's limit.
pub(super) fn time(script: Script<'_>, action: &Action) -> Duration {
    let allowed = script.config.timeout(action);
    let own = declaration(script, action).and_then(|declared| declared.timeout);
    own.map_or(allowed, |own| own.min(allowed))
}
