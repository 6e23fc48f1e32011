//! Error codes of tasks, in one table (EX-18).
//!
//! The ranges are those of section 8 of the seed: 1000-1999 validation, 2000-2999 file system, 3000-3999
//! permission, 4000-4999 dependency, 5000-5999 internal. Only protected files use 3100-3199. Of validation,
//! 1000-1099 are about the documents, and 1100-1199 about one action and its file.

mod about;
mod code;
mod to_do;

pub use code::ErrorCode;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Category of an error (8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorCategory {
    /// 1000-1999: a document or its content is invalid.
    #[serde(rename = "VALIDATION_ERROR")]
    Validation,
    /// 2000-2999: the file system or git is not in the required state.
    #[serde(rename = "FILE_SYSTEM_ERROR")]
    FileSystem,
    /// 3000-3999 except 3100-3199: an operation is not permitted.
    #[serde(rename = "PERMISSION_ERROR")]
    Permission,
    /// 3100-3199: a protected file would change.
    #[serde(rename = "PROTECTED_FILE_ERROR")]
    ProtectedFile,
    /// 4000-4999: an action that another one depends on was not carried out.
    #[serde(rename = "DEPENDENCY_ERROR")]
    Dependency,
    /// 5000-5999: the engine failed.
    #[serde(rename = "INTERNAL_ERROR")]
    Internal,
}

/// Response to an error (8.1 and the recovery matrix of 8.3).
///
/// When an action fails, the soft constraints decide about the others: with `stop_on_error` the run stops, and with
/// `rollback_on_failure` it is then rolled back. `StopAndRollBack` and the variants after it ignore the constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Response {
    /// Run does not start.
    Reject,
    /// Run does not start, and the operator is alerted.
    RejectAndAlert,
    /// Action failed.
    SkipAction,
    /// Action and its dependents are skipped; the others continue.
    SkipDependents,
    /// Run continues and keeps its checkpoint, but is not committed.
    UseCheckpoint,
    /// Run stops and is rolled back.
    StopAndRollBack,
    /// Run stops and is rolled back, and the operator is alerted.
    StopRollBackAndEscalate,
    /// Remaining work is left to the operator, who is alerted.
    Escalate,
}

/// Recovery as named in reports (8.2, 12.2). It is the one that the response leads to. The report of a rolled
/// back run has `ROLLED_BACK` for each error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecoveryAction {
    /// Run did not start.
    Rejected,
    /// Action was skipped.
    Skipped,
    /// All changes were reverted.
    RolledBack,
    /// Operator must intervene.
    ManualRequired,
}

impl ErrorCode {
    /// Returns the number of the code (`error_code`).
    pub fn number(self) -> u16 {
        self.row().number
    }

    /// Returns the code with this number.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// Returns the name of the code (`error_type`).
    pub fn error_type(self) -> &'static str {
        self.row().error_type
    }

    /// Returns the response to the error.
    pub fn response(self) -> Response {
        self.row().response
    }

    /// Returns the category, which follows from the number.
    pub fn category(self) -> ErrorCategory {
        match self.number() {
            ..2000 => ErrorCategory::Validation,
            2000..3000 => ErrorCategory::FileSystem,
            3100..3200 => ErrorCategory::ProtectedFile,
            3000..4000 => ErrorCategory::Permission,
            4000..5000 => ErrorCategory::Dependency,
            5000.. => ErrorCategory::Internal,
        }
    }

    /// Returns the recovery as named in reports.
    pub fn recovery_action(self) -> RecoveryAction {
        match self.response() {
            Response::Reject | Response::RejectAndAlert => RecoveryAction::Rejected,
            Response::SkipAction | Response::SkipDependents | Response::UseCheckpoint => {
                RecoveryAction::Skipped
            }
            Response::StopAndRollBack | Response::StopRollBackAndEscalate => {
                RecoveryAction::RolledBack
            }
            Response::Escalate => RecoveryAction::ManualRequired,
        }
    }
}

impl Response {
    /// Returns true if the run stops and is rolled back, whatever the soft constraints are (EX-18).
    pub fn overrides_constraints(self) -> bool {
        match self {
            Self::Reject
            | Self::RejectAndAlert
            | Self::StopAndRollBack
            | Self::StopRollBackAndEscalate => true,
            Self::SkipAction | Self::SkipDependents | Self::UseCheckpoint | Self::Escalate => false,
        }
    }

    /// Describes the response in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Reject => {
                "Nothing of the plan is begun; where that is found in an action, everything is as before."
            }
            Self::RejectAndAlert => {
                "Nothing of the plan is begun, and a person is told: `actum queue` lists it."
            }
            Self::SkipAction => {
                "The action has failed. Its constraints say what becomes of the task: without any it is rolled back, \
                 and everything is as before."
            }
            Self::SkipDependents => "The action is not begun, and neither is what waits for it.",
            Self::UseCheckpoint => {
                "The task goes on and is not committed; its checkpoint takes it back."
            }
            Self::StopAndRollBack => "The task is rolled back, and everything is as before.",
            Self::StopRollBackAndEscalate => {
                "The task is rolled back, and a person is told: `actum queue` lists it."
            }
            Self::Escalate => "A person has to look, and is told: `actum queue` lists it.",
        }
    }

    /// Returns true if the plan does not start at all.
    pub fn is_refusal(self) -> bool {
        match self {
            Self::Reject | Self::RejectAndAlert => true,
            Self::SkipAction
            | Self::SkipDependents
            | Self::UseCheckpoint
            | Self::StopAndRollBack
            | Self::StopRollBackAndEscalate
            | Self::Escalate => false,
        }
    }

    /// Returns true if the operator is alerted: on stderr, in the ledger and in the queue (EX-18).
    pub fn tells_a_person(self) -> bool {
        match self {
            Self::RejectAndAlert | Self::StopRollBackAndEscalate | Self::Escalate => true,
            Self::Reject
            | Self::SkipAction
            | Self::SkipDependents
            | Self::UseCheckpoint
            | Self::StopAndRollBack => false,
        }
    }
}

impl ErrorCategory {
    /// All categories.
    pub const ALL: [Self; 6] = [
        Self::Validation,
        Self::FileSystem,
        Self::Permission,
        Self::ProtectedFile,
        Self::Dependency,
        Self::Internal,
    ];

    /// Returns the word used in reports (`error_category`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION_ERROR",
            Self::FileSystem => "FILE_SYSTEM_ERROR",
            Self::Permission => "PERMISSION_ERROR",
            Self::ProtectedFile => "PROTECTED_FILE_ERROR",
            Self::Dependency => "DEPENDENCY_ERROR",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

impl RecoveryAction {
    /// All recoveries.
    pub const ALL: [Self; 4] =
        [Self::Rejected, Self::Skipped, Self::RolledBack, Self::ManualRequired];

    /// Returns the word used in reports (`recovery_action`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Skipped => "SKIPPED",
            Self::RolledBack => "ROLLED_BACK",
            Self::ManualRequired => "MANUAL_REQUIRED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number(), self.error_type())
    }
}

/// Serialises a code as its number.
impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}
