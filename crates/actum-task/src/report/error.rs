//! Errors of tasks: the object that tells one, and the report of a run that had one (EX-18).

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::execution::ReportStatus;
use super::schemas::ERROR_REPORT;
use super::{ReportError, document};
use crate::{ErrorCategory, ErrorCode, RecoveryAction};

/// One error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Its id.
    pub error_id: PlainId,
    /// Its number, from 1000 to 5999.
    pub error_code: u16,
    /// What kind of error it is.
    pub error_category: ErrorCategory,
    /// Which error it is, in capitals: `FILE_NOT_FOUND`, say.
    pub error_type: String,
    /// What went wrong, in a sentence.
    pub message: CleanText,
    /// Of what.
    pub details: ErrorDetails,
    /// What was done about it.
    pub recovery_action: RecoveryAction,
    /// When.
    pub timestamp: Timestamp,
}

/// What an error is of. Each member is there where it applies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorDetails {
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<CleanText>,
    /// The path, as the plan names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CleanText>,
    /// The type of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<CleanText>,
    /// Each target that no plan may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The value in the plan or the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_path: Option<CleanText>,
    /// The line it is in, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The permanent name of actum's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CleanText>,
    /// The chain of errors of an internal error (5xxx), a line each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<CleanText>,
    /// What the reader can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<CleanText>,
}

/// A target that no plan may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The action.
    pub action_id: CleanText,
    /// The path, as the plan names it.
    pub target: CleanText,
    /// Why not: `Protected file: agent system documentation`, say.
    pub reason: CleanText,
}

/// How a run with an error ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorStatus {
    /// It was not begun.
    Rejected,
    /// Some of it is done and in effect.
    Partial,
    /// None of it is done, or a person must look.
    Failed,
    /// It was taken back.
    RolledBack,
    /// Somebody cancelled it.
    Cancelled,
}

/// The report of a run that was refused or had an error: the members of that error beside those that
/// say of which run it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// The id of the report.
    pub report_id: PlainId,
    /// The plan; absent where that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlainId>,
    /// How it ended.
    pub status: ErrorStatus,
    /// The error that decided how it ended.
    #[serde(flatten)]
    pub error: ErrorObject,
    /// The other errors there were, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_errors: Vec<ErrorObject>,
    /// The run in the workspace and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl ErrorReport {
    /// All errors, that which decided how it ended first.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorObject> {
        std::iter::once(&self.error).chain(&self.other_errors)
    }

    /// Those of which a person is told (EX-18).
    pub fn alerts(&self) -> impl Iterator<Item = &ErrorObject> {
        self.errors().filter(|error| {
            let code = ErrorCode::of_number(error.error_code);
            code.is_some_and(|code| code.response().tells_a_person())
        })
    }

    /// Reads a report. Members that are not known are passed over.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &ERROR_REPORT)
    }

    /// Writes the report, as what [`read`](Self::read) takes it back from.
    ///
    /// # Errors
    /// [`ReportError`] when something is not as the schema has it: a code of no category, say.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl ErrorStatus {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Partial => "PARTIAL",
            Self::Failed => "FAILED",
            Self::RolledBack => "ROLLED_BACK",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// How a run ended that has an execution report as well; `None` where it succeeded.
    pub fn of(status: ReportStatus) -> Option<Self> {
        match status {
            ReportStatus::Success => None,
            ReportStatus::Partial => Some(Self::Partial),
            ReportStatus::Failed => Some(Self::Failed),
            ReportStatus::RolledBack => Some(Self::RolledBack),
            ReportStatus::Cancelled => Some(Self::Cancelled),
        }
    }
}
