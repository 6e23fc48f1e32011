//! Reports the status of a running task to the protocol layer (EX-24).

use actum_core::Timestamp;
use actum_core::plain_id::PlainId;
use actum_task::ErrorCode;
use actum_task::report::{
    ActionStatus, CleanText, ErrorReport, ExecutionReport, LineFacts, Phase, ReportName,
    StatusEnvelope, StatusUpdate, TaskStatus, TaskStatusFormat,
};

use super::documents::clean;
use super::external::NOT_STARTED;
use super::input::Task;
use super::problem::TaskProblem;
use super::rehearsal::{ActionEnd, RehearsalObserver, Rehearsed};
use crate::records::Clock;

/// Receives the progress of a running task, and can cancel it.
pub trait ProgressObserver {
    /// Called for each status update. The last update is the final envelope.
    fn report(&mut self, status: &TaskStatus);

    /// Returns true to cancel the task. The task is then rolled back, unless its change is already published (EX-22).
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Sends numbered status updates about one task to its progress observer.
pub(super) struct StatusWriter<'o> {
    pub(super) progress: &'o mut dyn ProgressObserver,
    clock: Clock,
    sequence: u32,
    task: PlainId,
    plan: Option<PlainId>,
    /// Ids of the task's actions, in plan order.
    actions: Vec<CleanText>,
    done: u32,
}

impl<'o> StatusWriter<'o> {
    pub(super) fn new(progress: &'o mut dyn ProgressObserver, clock: Clock, task: PlainId) -> Self {
        Self { progress, clock, sequence: 0, task, plan: None, actions: Vec::new(), done: 0 }
    }

    /// Sets the task that all later updates refer to.
    pub(super) fn set_task(&mut self, task: &Task) {
        self.task = task.id.clone();
        self.plan = Some(task.plan_id.clone());
        self.actions = task.plan.actions.iter().map(|action| clean(action.id.as_str())).collect();
    }

    /// Returns the ids of the task's actions, in plan order.
    pub(super) fn actions(&self) -> &[CleanText] {
        &self.actions
    }

    pub(super) fn phase(&mut self, phase: Phase) {
        self.update(phase, None, None);
    }

    pub(super) fn note(&mut self, phase: Phase, message: &str) {
        self.update(phase, None, Some(message));
    }

    /// Reports that an action, already reported as completed, has failed after all.
    pub(super) fn failed_late(&mut self, action: usize, problem: &TaskProblem) {
        let action = (action, ActionStatus::Failed, Some(problem.code));
        self.update(Phase::Executing, Some(action), Some(&problem.message));
    }

    fn update(
        &mut self,
        phase: Phase,
        action: Option<(usize, ActionStatus, Option<ErrorCode>)>,
        message: Option<&str>,
    ) {
        let id = action.and_then(|(action, ..)| self.actions.get(action));
        let update = StatusUpdate {
            format: TaskStatusFormat::V1,
            sequence: self.sequence,
            task_id: self.task.clone(),
            plan_id: self.plan.clone(),
            time: self.clock.now(),
            phase,
            action_id: id.cloned(),
            action_status: action.map(|(_, status, _)| status),
            error_code: action.and_then(|(_, _, code)| code).map(ErrorCode::number),
            actions_done: self.done,
            actions_total: u32::try_from(self.actions.len()).unwrap_or(u32::MAX),
            message: message.map(clean),
        };
        self.sequence += 1;
        self.progress.report(&TaskStatus::Update(update));
    }

    /// Sends the final envelope, which ends the status updates.
    pub(super) fn end(&mut self, how: EndLine<'_>, report: Option<&ReportName>) {
        let line = LineFacts {
            sequence: self.sequence,
            task_id: self.task.clone(),
            time: self.clock.now(),
            report_directory: report.map(ReportName::directory),
        };
        let envelope = match how {
            EndLine::Executed(report, error) => {
                StatusEnvelope::of_report(line, report, error.map(|report| report.error.clone()))
            }
            EndLine::Rejected(report) => StatusEnvelope::of_rejection(line, report),
        };
        self.progress.report(&TaskStatus::Final(Box::new(envelope)));
    }
}

/// Outcome of a task, as needed for its final envelope.
pub(super) enum EndLine<'r> {
    Executed(&'r ExecutionReport, Option<&'r ErrorReport>),
    Rejected(&'r ErrorReport),
}

impl RehearsalObserver for StatusWriter<'_> {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled()
    }

    fn began(&mut self, action: usize) {
        self.update(Phase::Executing, Some((action, ActionStatus::Started, None)), None);
    }

    fn ended(&mut self, rehearsed: &Rehearsed) {
        self.done += 1;
        let (status, code, message) = match &rehearsed.end {
            ActionEnd::Completed { output, .. } => (ActionStatus::Success, None, output.as_str()),
            ActionEnd::Failed(problem) => {
                (ActionStatus::Failed, Some(problem.code), problem.message.as_str())
            }
            ActionEnd::Skipped { reason } => (ActionStatus::Skipped, None, reason.as_str()),
            ActionEnd::Deferred(_) => (ActionStatus::Skipped, None, NOT_STARTED),
        };
        self.update(Phase::Executing, Some((rehearsed.action, status, code)), Some(message));
    }
}
