//! Errors of tasks: the error object, and the report of a run with an error (EX-18).

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::execution::ReportStatus;
use super::schemas::ERROR_REPORT;
use super::{ReportError, document};
use crate::{ErrorCategory, ErrorCode, RecoveryAction};

/// Error of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Id of the error.
    pub error_id: PlainId,
    /// Error code, from 1000 to 5999.
    pub error_code: u16,
    /// Category of the error.
    pub error_category: ErrorCategory,
    /// Name of the error in capitals, for example `FILE_NOT_FOUND`.
    pub error_type: String,
    /// Description of the error in one sentence.
    pub message: CleanText,
    /// Subject of the error.
    pub details: ErrorDetails,
    /// Recovery that was carried out.
    pub recovery_action: RecoveryAction,
    /// Time of the error.
    pub timestamp: Timestamp,
}

/// Subject of an error. Members that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorDetails {
    /// Id of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// Path, as written in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CleanText>,
    /// Type of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<CleanText>,
    /// Targets that no plan may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// JSON path of the value in the plan or the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_path: Option<CleanText>,
    /// Line of the value, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column of the value, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Permanent name of actum's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CleanText>,
    /// Error chain of an internal error (5xxx), one error a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<CleanText>,
    /// Hints that the reader can act on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<CleanText>,
}

/// Target that no plan may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Id of the action.
    pub action_id: CleanText,
    /// Path, as written in the plan.
    pub target: CleanText,
    /// Reason for the rejection, for example `Protected file: agent system documentation`.
    pub reason: CleanText,
}

/// Outcome of a run with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorStatus {
    /// Run did not start.
    Rejected,
    /// Some actions are done and in effect.
    Partial,
    /// No action is done, or an operator must intervene.
    Failed,
    /// Run was rolled back.
    RolledBack,
    /// Run was cancelled.
    Cancelled,
}

/// Report of a run that was rejected or had an error. It has the members of that error and those that
/// identify the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Id of the report.
    pub report_id: PlainId,
    /// Id of the plan; absent if the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// Outcome of the run.
    pub status: ErrorStatus,
    /// Error that decided the outcome.
    #[serde(flatten)]
    pub error: ErrorObject,
    /// Other errors, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_errors: Vec<ErrorObject>,
    /// Run in the workspace and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl ErrorReport {
    /// Returns all errors, starting with the one that decided the outcome.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorObject> {
        std::iter::once(&self.error).chain(&self.other_errors)
    }

    /// Returns the errors that are reported to the operator (EX-18).
    pub fn alerts(&self) -> impl Iterator<Item = &ErrorObject> {
        self.errors().filter(|error| {
            let code = ErrorCode::of_number(error.error_code);
            code.is_some_and(|code| code.response().tells_a_person())
        })
    }

    /// Reads a report. Ignores unknown members.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &ERROR_REPORT)
    }

    /// Writes the report in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// [`ReportError`] if a value does not match the schema, for example a code outside all categories.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl ErrorStatus {
    /// Returns the word used in the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Partial => "PARTIAL",
            Self::Failed => "FAILED",
            Self::RolledBack => "ROLLED_BACK",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Maps the status of an execution report; `None` if the run succeeded.
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
