//! Error codes of tasks in a single table (EX-18).
//!
//! The ranges are defined in section 8 of the seed: 1000-1999 validation, 2000-2999 file system, 3000-3999 permission,
//! 4000-4999 dependency, 5000-5999 internal. The range 3100-3199 is reserved for protected files. Among the validation
//! errors, 1000-1099 concern the documents, and 1100-1199 concern a single action and its file.

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
    /// 4000-4999: an action was not executed because of an action that it depends on.
    #[serde(rename = "DEPENDENCY_ERROR")]
    Dependency,
    /// 5000-5999: the engine failed, a limit of the task was exceeded, or the task was cancelled.
    #[serde(rename = "INTERNAL_ERROR")]
    Internal,
}

/// Response of the engine to an error (8.1 and the recovery matrix of 8.3).
///
/// When an action fails, the soft constraints determine the effect on the other actions. With `stop_on_error`, the run
/// stops. With `rollback_on_failure`, it is then rolled back. `StopAndRollBack` and `StopRollBackAndEscalate` ignore
/// these constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Response {
    /// The run does not start.
    Reject,
    /// The run does not start, and the operator is alerted.
    RejectAndAlert,
    /// The action fails.
    SkipAction,
    /// The action and its dependents are skipped, and other actions continue.
    SkipDependents,
    /// The run continues and can be rolled back from its checkpoint, but is not committed to git.
    UseCheckpoint,
    /// The run stops and is rolled back.
    StopAndRollBack,
    /// The run stops and is rolled back, and the operator is alerted.
    StopRollBackAndEscalate,
    /// The operator is alerted and must complete the remaining work.
    Escalate,
}

/// Recovery action that a report states for an error (8.2, 12.2). It follows from the response, except that the report
/// of a rolled back run states `ROLLED_BACK` for each error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecoveryAction {
    /// The run did not start.
    Rejected,
    /// The action was skipped.
    Skipped,
    /// All changes were rolled back.
    RolledBack,
    /// The operator must intervene.
    ManualRequired,
}

impl ErrorCode {
    /// Returns the number of the code, which reports call `error_code`.
    pub fn number(self) -> u16 {
        self.row().number
    }

    /// Returns the code with the given number, if it exists.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// Returns the name of the code, which reports call `error_type`.
    pub fn error_type(self) -> &'static str {
        self.row().error_type
    }

    /// Returns the response of the engine to the error.
    pub fn response(self) -> Response {
        self.row().response
    }

    /// Returns the category of the error, which follows from the number.
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

    /// Returns the recovery action that a report states for the error.
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
    /// Returns whether the response applies regardless of the soft constraints (EX-18).
    pub fn overrides_constraints(self) -> bool {
        match self {
            Self::Reject
            | Self::RejectAndAlert
            | Self::StopAndRollBack
            | Self::StopRollBackAndEscalate => true,
            Self::SkipAction | Self::SkipDependents | Self::UseCheckpoint | Self::Escalate => false,
        }
    }

    /// Describes the response in one or two sentences.
    pub fn about(self) -> &'static str {
        match self {
            Self::Reject => {
                "The plan is rejected. If the error occurs in an action, all changes are rolled back."
            }
            Self::RejectAndAlert => {
                "The plan is rejected and the operator is alerted; `actum queue` lists the alert."
            }
            Self::SkipAction => {
                "The action failed. The soft constraints of the plan determine whether the task continues. By default, \
                 it is rolled back completely."
            }
            Self::SkipDependents => {
                "The action is skipped, and so are the actions that depend on it."
            }
            Self::UseCheckpoint => {
                "The task continues but is not committed to git. Its checkpoint can undo it."
            }
            Self::StopAndRollBack => "The task stops, and all of its changes are rolled back.",
            Self::StopRollBackAndEscalate => {
                "The task is rolled back and the operator is alerted; `actum queue` lists the alert."
            }
            Self::Escalate => {
                "The operator must intervene and is alerted; `actum queue` lists the alert."
            }
        }
    }

    /// Returns whether the response is not to start the run at all.
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

    /// Returns whether the operator is alerted on stderr, in the ledger and in the queue (EX-18).
    pub fn alerts_operator(self) -> bool {
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
    /// All categories in ascending order of their codes.
    pub const ALL: [Self; 6] = [
        Self::Validation,
        Self::FileSystem,
        Self::Permission,
        Self::ProtectedFile,
        Self::Dependency,
        Self::Internal,
    ];

    /// Returns the name of the category, which reports call `error_category`.
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
    /// All recovery actions.
    pub const ALL: [Self; 4] =
        [Self::Rejected, Self::Skipped, Self::RolledBack, Self::ManualRequired];

    /// Returns the name of the recovery action, which reports call `recovery_action`.
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

/// Serializes the code as its number.
impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}
