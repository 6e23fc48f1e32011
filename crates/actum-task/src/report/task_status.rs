//! Status lines for the protocol layer during and at the end of a task, each a line of JSON (EX-24).

use actum_core::plain_id::PlainId;
use actum_core::{Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::error::{ErrorObject, ErrorReport};
use super::execution::{ActionsSummary, ExecutionReport, ReportStatus};
use super::schemas::TASK_STATUS;
use super::{ReportError, document};
use crate::ErrorCode;

/// Format of the lines.
pub const TASK_STATUS_FORMAT: &str = "actum.task-status/1";

/// Line to the protocol layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskStatus {
    /// Progress of the task.
    Update(StatusUpdate),
    /// Outcome of the task: the last line.
    Final(Box<StatusEnvelope>),
}

/// Only format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TaskStatusFormat {
    /// Value of [`TASK_STATUS_FORMAT`].
    #[default]
    #[serde(rename = "actum.task-status/1")]
    V1,
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusUpdate {
    /// Format of the line.
    pub format: TaskStatusFormat,
    /// Index of the line in the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Id of the plan; absent before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Time of the line.
    pub time: Timestamp,
    /// Current phase.
    pub phase: Phase,
    /// Id of the action that the line refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// Status of that action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<ActionStatus>,
    /// Error code, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<u16>,
    /// Number of actions that have finished so far.
    pub actions_done: u32,
    /// Number of all actions.
    pub actions_total: u32,
    /// Additional message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<CleanText>,
}

/// Phase of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// Task was received.
    Received,
    /// Plan, configuration and approval are being checked.
    Validating,
    /// Previous plan is being archived.
    Archiving,
    /// Data for a rollback is being stored.
    Checkpoint,
    /// Actions are running.
    Executing,
    /// Results are being verified.
    Verifying,
    /// Run is being rolled back.
    RollingBack,
    /// Reports are being written.
    Reporting,
}

/// Status of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionStatus {
    /// Action started.
    Started,
    /// Action completed.
    Success,
    /// Action failed.
    Failed,
    /// Action was skipped.
    Skipped,
}

/// Outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEnvelope {
    /// Format of the line.
    pub format: TaskStatusFormat,
    /// Index of the line in the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Id of the plan; absent if the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Time of the line.
    pub time: Timestamp,
    /// Outcome in the terms of the reports.
    pub status: EnvelopeStatus,
    /// Status that all entry points share (D-1).
    pub outcome: Status,
    /// Id of the execution report, or of the error report of a rejected task.
    pub report_id: PlainId,
    /// Report directory, from the workspace root; absent if nothing could be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_directory: Option<String>,
    /// Number of actions by outcome; absent if the task was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_summary: Option<ActionsSummary>,
    /// True if the run was rolled back.
    pub rollback_performed: bool,
    /// Error that decided the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// Outcome of a task in the terms of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EnvelopeStatus {
    /// All actions are done.
    Success,
    /// Some actions are done and in effect.
    Partial,
    /// No action is done, or an operator must intervene.
    Failed,
    /// Completed actions were rolled back.
    RolledBack,
    /// Run was cancelled.
    Cancelled,
    /// Task did not start.
    Rejected,
}

/// Facts that identify a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFacts {
    /// Index of the line in the task, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: PlainId,
    /// Time of the line.
    pub time: Timestamp,
    /// Report directory, from the workspace root.
    pub report_directory: Option<String>,
}

impl StatusEnvelope {
    /// Builds the final line of a task that was started.
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

    /// Builds the final line of a task that was rejected.
    pub fn of_rejection(line: LineFacts, report: &ErrorReport) -> Self {
        let LineFacts { sequence, task_id, time, report_directory } = line;
        Self {
            format: TaskStatusFormat::V1,
            sequence,
            task_id,
            plan_id: report.plan_id.clone(),
            time,
            status: EnvelopeStatus::Rejected,
            // Pending until the operator approves it (D-1).
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

/// Maps a report status onto the status that all entry points share (D-1).
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
    /// Returns the outcome of a task that was started.
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
    /// Reads a line. Ignores unknown members.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake.
    pub fn read(line: &[u8]) -> Result<Self, ReportError> {
        document::read(line, &TASK_STATUS)
    }

    /// Writes the line, including its newline.
    ///
    /// # Errors
    /// [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write_line(self, Self::read)
    }
}
