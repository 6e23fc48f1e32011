//! Errors of tasks and the error report of a run (EX-18).

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::execution::ReportStatus;
use super::schemas::ERROR_REPORT;
use super::{ReportError, document};
use crate::{ErrorCategory, ErrorCode, RecoveryAction};

/// Error of a task as listed in reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Id of the error.
    pub error_id: PlainId,
    /// Error code, from 1000 to 5999.
    pub error_code: u16,
    /// Category of the error code.
    pub error_category: ErrorCategory,
    /// Name of the error code in capitals, such as `FILE_NOT_FOUND`.
    pub error_type: String,
    /// Description of the error in one sentence.
    pub message: CleanText,
    /// Details about the subject of the error.
    pub details: ErrorDetails,
    /// Recovery that was performed after the error.
    pub recovery_action: RecoveryAction,
    /// Time at which the error occurred.
    pub timestamp: Timestamp,
}

/// Subject of an error. Fields that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorDetails {
    /// Id of the action that the error concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// Target path of the action, as written in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CleanText>,
    /// Type of the action that the error concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<CleanText>,
    /// Targets in the plan that no plan may change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// JSON path of the faulty value in the plan or the config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_path: Option<CleanText>,
    /// Line of the faulty value, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column of the faulty value, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Permanent name of the reason that actum reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CleanText>,
    /// Error chain of an internal error (5xxx), with one error per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<CleanText>,
    /// Hints about what the reader can do to resolve the error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<CleanText>,
}

/// Target in a plan that no plan may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Id of the action that has the target.
    pub action_id: CleanText,
    /// Target path as written in the plan.
    pub target: CleanText,
    /// Reason why the target was rejected, such as `Protected file: agent system documentation`.
    pub reason: CleanText,
}

/// Outcome of a run that was rejected or had an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorStatus {
    /// The run did not start.
    Rejected,
    /// Some actions were completed, and their changes are in effect.
    Partial,
    /// No action was completed, or an operator must intervene.
    Failed,
    /// The run was rolled back.
    RolledBack,
    /// The run was cancelled.
    Cancelled,
}

/// Report of a run that was rejected or had an error. The fields of the main error are part of the report itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Id of the error report.
    pub report_id: PlainId,
    /// Id of the plan. Absent if the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Outcome of the run.
    pub status: ErrorStatus,
    /// Error that determined the outcome of the run.
    #[serde(flatten)]
    pub error: ErrorObject,
    /// Further errors of the run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_errors: Vec<ErrorObject>,
    /// Id of the run in the workspace and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl ErrorReport {
    /// Returns all errors of the run. The error that determined the outcome comes first.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorObject> {
        std::iter::once(&self.error).chain(&self.other_errors)
    }

    /// Returns the errors about which the operator must be alerted (EX-18).
    pub fn alerts(&self) -> impl Iterator<Item = &ErrorObject> {
        self.errors().filter(|error| {
            let code = ErrorCode::of_number(error.error_code);
            code.is_some_and(|code| code.response().alerts_operator())
        })
    }

    /// Parses an error report. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns [`ReportError`] with the first problem.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &ERROR_REPORT)
    }

    /// Serializes the report in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a value does not match the schema, for example an error code that belongs to no category.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl ErrorStatus {
    /// Returns the status as written in the error report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Partial => "PARTIAL",
            Self::Failed => "FAILED",
            Self::RolledBack => "ROLLED_BACK",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Converts the status of an execution report. Returns `None` if the run succeeded.
    pub fn from_report(status: ReportStatus) -> Option<Self> {
        match status {
            ReportStatus::Success => None,
            ReportStatus::Partial => Some(Self::Partial),
            ReportStatus::Failed => Some(Self::Failed),
            ReportStatus::RolledBack => Some(Self::RolledBack),
            ReportStatus::Cancelled => Some(Self::Cancelled),
        }
    }
}
