//! The codes of what can go wrong with a task, in one table (EX-18).
//!
//! The ranges are those of section 8 of the seed: 1000-1999 validation, 2000-2999 file system, 3000-3999
//! permission, of which 3100-3199 are protected files and nothing else, 4000-4999 dependency, 5000-5999
//! internal. Of validation, 1000-1099 are about the documents and 1100-1199 about one action as it meets
//! its file.

mod about;
mod code;
mod to_do;

pub use code::ErrorCode;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The category of an error (8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorCategory {
    /// 1000-1999: a document, or what it asks for, is not sound.
    #[serde(rename = "VALIDATION_ERROR")]
    Validation,
    /// 2000-2999: the file system, or git, is not as it would have to be.
    #[serde(rename = "FILE_SYSTEM_ERROR")]
    FileSystem,
    /// 3000-3999 but 3100-3199: something may not be done.
    #[serde(rename = "PERMISSION_ERROR")]
    Permission,
    /// 3100-3199: a protected file would be changed.
    #[serde(rename = "PROTECTED_FILE_ERROR")]
    ProtectedFile,
    /// 4000-4999: an action that another waits for was not carried out.
    #[serde(rename = "DEPENDENCY_ERROR")]
    Dependency,
    /// 5000-5999: the engine itself.
    #[serde(rename = "INTERNAL_ERROR")]
    Internal,
}

/// What is done about it (8.1 and the recovery matrix of 8.3).
///
/// Where an action fails, the soft constraints decide what becomes of the others: with `stop_on_error` the
/// run stops, with `rollback_on_failure` it is taken back then. `StopAndRollBack` and what follows it do so
/// whatever the constraints say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Response {
    /// Nothing runs.
    Reject,
    /// Nothing runs, and a person is told.
    RejectAndAlert,
    /// The action has failed.
    SkipAction,
    /// The action is not begun, and neither is what waits for it; the others go on.
    SkipDependents,
    /// The run goes on and keeps its checkpoint; it is not committed.
    UseCheckpoint,
    /// The run stops and is taken back.
    StopAndRollBack,
    /// The run stops, is taken back, and a person is told.
    StopRollBackAndEscalate,
    /// What is left is for a person to do, who is told.
    Escalate,
}

/// The word of reports for what was done (8.2, 12.2). It is the one that the response leads to; a report of
/// a run that was taken back says `ROLLED_BACK` of each error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecoveryAction {
    /// Nothing was begun.
    Rejected,
    /// It was left out.
    Skipped,
    /// Everything is as before.
    RolledBack,
    /// A person has to do something.
    ManualRequired,
}

impl ErrorCode {
    /// The number (`error_code`).
    pub fn number(self) -> u16 {
        self.row().number
    }

    /// The code with this number.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// The word for it (`error_type`).
    pub fn error_type(self) -> &'static str {
        self.row().error_type
    }

    /// What is done about it.
    pub fn response(self) -> Response {
        self.row().response
    }

    /// The category, which follows from the number.
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

    /// The word of reports for what is done about it.
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
    /// Whether the run stops and is taken back, whatever the soft constraints say (EX-18).
    pub fn overrides_constraints(self) -> bool {
        match self {
            Self::Reject
            | Self::RejectAndAlert
            | Self::StopAndRollBack
            | Self::StopRollBackAndEscalate => true,
            Self::SkipAction | Self::SkipDependents | Self::UseCheckpoint | Self::Escalate => false,
        }
    }

    /// What is done, in a sentence.
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

    /// Whether nothing of the plan is begun.
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

    /// Whether a person is told: on stderr, in the ledger and in the queue (EX-18).
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
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Validation,
        Self::FileSystem,
        Self::Permission,
        Self::ProtectedFile,
        Self::Dependency,
        Self::Internal,
    ];

    /// The word of reports (`error_category`).
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
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Rejected, Self::Skipped, Self::RolledBack, Self::ManualRequired];

    /// The word of reports (`recovery_action`).
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

/// As its number.
impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}
