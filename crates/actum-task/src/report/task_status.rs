//! Status lines that inform the protocol layer about the progress and the outcome of a task, each a line of JSON (EX-24).

use actum_core::plain_id::PlainId;
use actum_core::{Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::error::{ErrorObject, ErrorReport};
use super::execution::{ActionsSummary, ExecutionReport, ReportStatus};
use super::schemas::TASK_STATUS;
use super::{ReportError, document};
use crate::ErrorCode;

/// Name and version of the format of status lines.
pub const TASK_STATUS_FORMAT: &str = "actum.task-status/1";

/// Status line for the protocol layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskStatus {
    /// Progress of the task.
    Update(StatusUpdate),
    /// Outcome of the task, which is always the last line.
    Final(Box<StatusEnvelope>),
}

/// The only format that a status line can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TaskStatusFormat {
    /// Written as the value of [`TASK_STATUS_FORMAT`].
    #[default]
    #[serde(rename = "actum.task-status/1")]
    V1,
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusUpdate {
    /// Format of the status line.
    pub format: TaskStatusFormat,
    /// Index of the line among the status lines of the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Id of the plan. Absent until the plan has been read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Time at which the line was written.
    pub time: Timestamp,
    /// Current phase of the task.
    pub phase: Phase,
    /// Id of the action that the line refers to, if it refers to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// Status of the action that the line refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<ActionStatus>,
    /// Error code, if the action failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<u16>,
    /// Number of actions that have finished so far.
    pub actions_done: u32,
    /// Number of all actions in the plan.
    pub actions_total: u32,
    /// Additional message for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<CleanText>,
}

/// Phase of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// The task was received.
    Received,
    /// The plan, the config and the approval are being checked.
    Validating,
    /// The previous plan is being archived.
    Archiving,
    /// The data for a rollback is being stored.
    Checkpoint,
    /// The actions are running.
    Executing,
    /// The results are being verified.
    Verifying,
    /// The run is being rolled back.
    RollingBack,
    /// The reports are being written.
    Reporting,
}

/// Status of an action in a status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionStatus {
    /// The action started.
    Started,
    /// The action was completed.
    Success,
    /// The action failed.
    Failed,
    /// The action was skipped.
    Skipped,
}

/// Outcome of a task, written as its last status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEnvelope {
    /// Format of the status line.
    pub format: TaskStatusFormat,
    /// Index of the line among the status lines of the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Id of the plan. Absent if the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Time at which the line was written.
    pub time: Timestamp,
    /// Outcome as named in the reports of tasks.
    pub status: EnvelopeStatus,
    /// Outcome as one of the statuses that all entry points share (D-1).
    pub outcome: Status,
    /// Id of the execution report, or of the error report if the task was rejected.
    pub report_id: PlainId,
    /// Path of the report directory, relative to the workspace root. Absent if no report could be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_directory: Option<String>,
    /// Number of actions by outcome. Absent if the task was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_summary: Option<ActionsSummary>,
    /// Whether the run was rolled back.
    pub rollback_performed: bool,
    /// Error that determined the outcome, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// Outcome of a task as named in its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EnvelopeStatus {
    /// All actions were completed.
    Success,
    /// Some actions were completed, and their changes are in effect.
    Partial,
    /// No action was completed, or an operator must intervene.
    Failed,
    /// The completed actions were rolled back.
    RolledBack,
    /// The run was cancelled.
    Cancelled,
    /// The task did not start.
    Rejected,
}

/// Values that every final status line has, regardless of the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFacts {
    /// Index of the line among the status lines of the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Time at which the line is written.
    pub time: Timestamp,
    /// Path of the report directory, relative to the workspace root.
    pub report_directory: Option<String>,
}

impl StatusEnvelope {
    /// Creates the final status line of a task that started.
    pub fn of_report(
        line: LineFacts,
        report: &ExecutionReport,
        error: Option<ErrorObject>,
    ) -> Self {
        let LineFacts { sequence, task_id, time, report_directory } = line;
        let rollback_performed = report.rollback_performed();
        Self {
            format: TaskStatusFormat::V1,
            sequence,
            task_id,
            plan_id: Some(report.facts().plan_id.clone()),
            time,
            status: EnvelopeStatus::from_report(report.status()),
            outcome: outcome(report.status(), rollback_performed),
            report_id: report.facts().report_id.clone(),
            report_directory,
            actions_summary: Some(report.summary()),
            rollback_performed,
            error,
        }
    }

    /// Creates the final status line of a task that was rejected.
    pub fn of_rejection(line: LineFacts, report: &ErrorReport) -> Self {
        let LineFacts { sequence, task_id, time, report_directory } = line;
        Self {
            format: TaskStatusFormat::V1,
            sequence,
            task_id,
            plan_id: report.plan_id.clone(),
            time,
            status: EnvelopeStatus::Rejected,
            // A task without an approval is pending until the operator approves it (D-1).
            outcome: match report.error.error_code == ErrorCode::ApprovalMissing.number() {
                true => Status::Queued,
                false => Status::Rejected,
            },
            report_id: report.report_id.clone(),
            report_directory,
            actions_summary: None,
            rollback_performed: false,
            error: Some(report.error.clone()),
        }
    }
}

/// Converts the status of a report to the status that all entry points share (D-1).
pub fn outcome(status: ReportStatus, rollback_performed: bool) -> Status {
    match status {
        ReportStatus::Success => Status::Succeeded,
        ReportStatus::Partial | ReportStatus::Failed => Status::Failed,
        ReportStatus::RolledBack => Status::Reverted,
        ReportStatus::Cancelled if rollback_performed => Status::Reverted,
        ReportStatus::Cancelled => Status::Rejected,
    }
}

impl EnvelopeStatus {
    /// Converts the status of an execution report to the outcome of the task.
    pub fn from_report(status: ReportStatus) -> Self {
        match status {
            ReportStatus::Success => Self::Success,
            ReportStatus::Partial => Self::Partial,
            ReportStatus::Failed => Self::Failed,
            ReportStatus::RolledBack => Self::RolledBack,
            ReportStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl TaskStatus {
    /// Parses a status line. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns [`ReportError`] with the first problem.
    pub fn read(line: &[u8]) -> Result<Self, ReportError> {
        document::read(line, &TASK_STATUS)
    }

    /// Serializes the status line, including its newline.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write_line(self, Self::read)
    }
}
