//! What the protocol layer is told while a task runs, and at its end: a line of JSON each (EX-24).

use actum_core::plain_id::PlainId;
use actum_core::{Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::error::{ErrorObject, ErrorReport};
use super::execution::{ActionsSummary, ExecutionReport, ReportStatus};
use super::schemas::TASK_STATUS;
use super::{ReportError, document};
use crate::ErrorCode;

/// The format of the lines.
pub const TASK_STATUS_FORMAT: &str = "actum.task-status/1";

/// A line to the protocol layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskStatus {
    /// How far the task is.
    Update(StatusUpdate),
    /// How it ended: the last line.
    Final(Box<StatusEnvelope>),
}

/// The only format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TaskStatusFormat {
    /// [`TASK_STATUS_FORMAT`].
    #[default]
    #[serde(rename = "actum.task-status/1")]
    V1,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusUpdate {
    /// The format.
    pub format: TaskStatusFormat,
    /// Its place among the lines of the task, counted from 0.
    pub sequence: u32,
    /// The task.
    pub task_id: PlainId,
    /// The plan; absent before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// When.
    pub time: Timestamp,
    /// What is being done.
    pub phase: Phase,
    /// The action that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<ActionStatus>,
    /// The code of what is wrong, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<u16>,
    /// How many actions came to something so far.
    pub actions_done: u32,
    /// How many there are.
    pub actions_total: u32,
    /// What there is to say besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<CleanText>,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// The task has arrived.
    Received,
    /// Plan, configuration and approval are checked.
    Validating,
    /// The plan that was in force before goes to the archive.
    Archiving,
    /// What is needed to take the run back is kept.
    Checkpoint,
    /// Actions are carried out.
    Executing,
    /// What was done is checked.
    Verifying,
    /// What was done is taken back.
    RollingBack,
    /// The reports are written.
    Reporting,
}

/// What became of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionStatus {
    /// It has begun.
    Started,
    /// It was carried out.
    Success,
    /// It could not be.
    Failed,
    /// It was not tried.
    Skipped,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEnvelope {
    /// The format.
    pub format: TaskStatusFormat,
    /// Its place among the lines of the task, counted from 0.
    pub sequence: u32,
    /// The task.
    pub task_id: PlainId,
    /// The plan; absent where that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// When.
    pub time: Timestamp,
    /// How it ended, in the words of the reports.
    pub status: EnvelopeStatus,
    /// Status that all entry points share (D-1).
    pub outcome: Status,
    /// The execution report, or the error report of a task that was refused.
    pub report_id: PlainId,
    /// The directory of the reports, from the root of the workspace; absent where nothing could be
    /// written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_directory: Option<String>,
    /// How many actions came to what; absent where the task was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_summary: Option<ActionsSummary>,
    /// Whether what was done was taken back.
    pub rollback_performed: bool,
    /// The error that decided how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// How a task ended, in the words of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EnvelopeStatus {
    /// All is done.
    Success,
    /// Some of it is done and in effect.
    Partial,
    /// None of it is done, or a person must look.
    Failed,
    /// What was done was taken back.
    RolledBack,
    /// Somebody cancelled it.
    Cancelled,
    /// It was not begun.
    Rejected,
}

/// Which line it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFacts {
    /// Its place among the lines of the task, counted from 0.
    pub sequence: u32,
    /// The task.
    pub task_id: PlainId,
    /// When.
    pub time: Timestamp,
    /// The directory of the reports, from the root of the workspace.
    pub report_directory: Option<String>,
}

impl StatusEnvelope {
    /// The end of a task that was begun.
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
            status: EnvelopeStatus::of(report.status()),
            outcome: outcome(report.status(), rollback_performed),
            report_id: report.facts().report_id.clone(),
            report_directory,
            actions_summary: Some(report.summary()),
            rollback_performed,
            error,
        }
    }

    /// The end of a task that was refused.
    pub fn of_rejection(line: LineFacts, report: &ErrorReport) -> Self {
        let LineFacts { sequence, task_id, time, report_directory } = line;
        Self {
            format: TaskStatusFormat::V1,
            sequence,
            task_id,
            plan_id: report.plan_id.clone(),
            time,
            status: EnvelopeStatus::Rejected,
            // It waits for a person, who can let it go (D-1).
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

/// Statuses of reports, by those that all entry points share (D-1).
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
    /// How a task ended that was begun.
    pub fn of(status: ReportStatus) -> Self {
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
    /// Reads a line. Members that are not known are passed over.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake.
    pub fn read(line: &[u8]) -> Result<Self, ReportError> {
        document::read(line, &TASK_STATUS)
    }

    /// Writes the line, with the end of it.
    ///
    /// # Errors
    /// [`ReportError`] when something is longer than the schema lets it be.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write_line(self, Self::read)
    }
}
