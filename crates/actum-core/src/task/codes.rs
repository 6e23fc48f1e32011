//! The codes of what can go wrong with a task, in one table (EX-18).
//!
//! The ranges are those of section 8 of the seed: 1000-1999 validation, 2000-2999 file system, 3000-3999
//! permission, of which 3100-3199 are protected files and nothing else, 4000-4999 dependency, 5000-5999
//! internal. Of validation, 1000-1099 are about the documents and 1100-1199 about one action as it meets
//! its file.

use std::fmt;

use serde::{Serialize, Serializer};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// 1000: The task envelope is none.
    EnvelopeInvalid,
    /// 1001: The protocol layer did not approve the task.
    NotApproved,
    /// 1002: The protocol layer did not validate the task.
    NotValidated,
    /// 1003: The plan is another than the one that was approved.
    PlanChanged,
    /// 1004: The config is another than the one that was approved.
    ConfigChanged,
    /// 1005: A signed approval does not count: nobody known signed it, or it is about something else.
    ApprovalInvalid,
    /// 1006: A signed approval has expired.
    ApprovalExpired,
    /// 1007: A person has to agree, and no signed approval says so (D-3).
    ApprovalMissing,
    /// 1008: A document that the envelope names cannot be read.
    InputMissing,
    /// 1010: A document is not sound JSON.
    InvalidJson,
    /// 1011: A document is not sound YAML.
    InvalidYaml,
    /// 1012: A value is not of the form that its field has.
    SchemaViolation,
    /// 1013: A name stands twice in one object.
    DuplicateKey,
    /// 1014: A field is one that nobody reads (D-4).
    UnknownField,
    /// 1015: There is no such type of action.
    UnknownActionType,
    /// 1016: There is no such operation for this type of action.
    UnknownOperation,
    /// 1017: A document is larger than is read.
    InputTooLarge,
    /// 1020: A path leads outside the project (EX-5).
    PathTraversal,
    /// 1021: A text is no path of the project.
    InvalidPath,
    /// 1022: A symbolic link lies on the way to a target (EX-5).
    SymlinkRefused,
    /// 1030: Two actions have one id (EX-8).
    DuplicateActionId,
    /// 1031: An action waits for one that is not in the plan (EX-8).
    UnknownDependency,
    /// 1032: Actions wait for each other (EX-8).
    DependencyCycle,
    /// 1033: An action waits for itself (EX-8).
    SelfDependency,
    /// 1034: Two actions that could run at once touch one file.
    UnorderedActions,
    /// 1040: Something is more than its limit (EX-21).
    LimitExceeded,
    /// 1041: A file is larger than its limit (EX-21).
    FileTooLarge,
    /// 1042: The backups would take more room than their limit (EX-21).
    BackupTooLarge,
    /// 1050: This build cannot carry out actions of this type.
    NotAvailable,
    /// 1051: What cannot be taken back may not run where a failure rolls back (EX-12).
    NotReversible,
    /// 1060: New content holds what looks like a credential (EX-20).
    SecretInContent,
    /// 1061: New content would run, and the plan does not say so (EX-20).
    UndeclaredExecutable,
    /// 1100: The text to replace is not in the file.
    PatternNotFound,
    /// 1101: The text to replace is in the file more or less often than the plan says.
    PatternCount,
    /// 1102: The file has no such line.
    LineOutOfRange,
    /// 1103: A hunk does not apply where it says.
    HunkMismatch,
    /// 1104: A text is no JSONPath.
    SelectorInvalid,
    /// 1105: A JSONPath selects nothing.
    SelectorNoMatch,
    /// 1106: A JSONPath selects more than one place.
    SelectorSeveral,
    /// 1107: A property to add is there already.
    PropertyExists,
    /// 1108: A property to remove is not there.
    PropertyMissing,
    /// 1109: A name on the way to a place stands twice in its object.
    AmbiguousKey,
    /// 1110: A file to edit as JSON or YAML is not sound as it is.
    SourceNotParseable,
    /// 1111: An edit would leave a file that is not sound JSON or YAML (EX-20).
    ResultNotParseable,
    /// 1112: An update would leave a schema that is none.
    ResultNotSchema,
    /// 1113: A precondition does not hold (EX-12).
    PreconditionFailed,
    /// 1114: A postcondition does not hold (EX-12).
    PostconditionFailed,
    /// 1115: A validation rule does not hold after the run (EX-12).
    ValidationRuleFailed,
    /// 2001: The target does not exist (EX-3).
    FileNotFound,
    /// 2002: A file to make exists already (EX-3).
    FileExists,
    /// 2003: The target is no regular file, or lies below one.
    NotAFile,
    /// 2004: A file has another content than it has to have.
    HashMismatch,
    /// 2005: There is no room left.
    DiskFull,
    /// 2006: The file system failed.
    InputOutput,
    /// 2007: An action took longer than it may (EX-21).
    ActionTimeout,
    /// 2008: The reports cannot be written, so nothing runs (EX-13).
    ReportUnwritable,
    /// 2009: The checkpoint cannot be made, so nothing runs (EX-7).
    CheckpointFailed,
    /// 2020: A target has changes that are not committed (EX-17).
    DirtyTarget,
    /// 2021: There is no repository to commit to.
    NoRepository,
    /// 2022: No branch is checked out.
    DetachedHead,
    /// 2023: The repository has no commit yet.
    UnbornHead,
    /// 2024: A merge, rebase, cherry-pick or revert is not finished.
    MergeInProgress,
    /// 2025: The repository lacks commits that a revert could need.
    ShallowRepository,
    /// 2026: The repository has no working tree.
    BareRepository,
    /// 2027: The working tree is a linked one.
    LinkedWorktree,
    /// 2028: Later changes stand where a revert would change something.
    RevertConflict,
    /// 3001: The file system does not let a target be changed.
    PermissionDenied,
    /// 3002: A target is not among what may be changed.
    OutOfScope,
    /// 3003: A gate refused the plan.
    PolicyDenied,
    /// 3100: A target is protected (EX-4).
    ProtectedFileViolation,
    /// 3101: A target is the rollback manifest or a backup of a report (EX-4).
    ProtectedReportViolation,
    /// 4001: An action that this one waits for failed.
    DependencyFailed,
    /// 4002: An action that this one waits for was skipped.
    DependencySkipped,
    /// 5000: Something failed that nobody foresaw.
    InternalError,
    /// 5001: The rollback did not end; the workspace needs attention.
    RollbackFailed,
    /// 5002: The task took longer than it may (EX-21).
    TaskTimeout,
    /// 5003: The run was cancelled (EX-22).
    Cancelled,
}

/// The category of an error (8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCategory {
    /// 1000-1999: a document, or what it asks for, is not sound.
    Validation,
    /// 2000-2999: the file system, or git, is not as it would have to be.
    FileSystem,
    /// 3000-3999 but 3100-3199: something may not be done.
    Permission,
    /// 3100-3199: a protected file would be changed.
    ProtectedFile,
    /// 4000-4999: an action that another waits for was not carried out.
    Dependency,
    /// 5000-5999: the engine itself.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    number: u16,
    error_type: &'static str,
    response: Response,
    about: &'static str,
}

impl ErrorCode {
    /// All of them, by their numbers.
    pub const ALL: [Self; 77] = [
        Self::EnvelopeInvalid,
        Self::NotApproved,
        Self::NotValidated,
        Self::PlanChanged,
        Self::ConfigChanged,
        Self::ApprovalInvalid,
        Self::ApprovalExpired,
        Self::ApprovalMissing,
        Self::InputMissing,
        Self::InvalidJson,
        Self::InvalidYaml,
        Self::SchemaViolation,
        Self::DuplicateKey,
        Self::UnknownField,
        Self::UnknownActionType,
        Self::UnknownOperation,
        Self::InputTooLarge,
        Self::PathTraversal,
        Self::InvalidPath,
        Self::SymlinkRefused,
        Self::DuplicateActionId,
        Self::UnknownDependency,
        Self::DependencyCycle,
        Self::SelfDependency,
        Self::UnorderedActions,
        Self::LimitExceeded,
        Self::FileTooLarge,
        Self::BackupTooLarge,
        Self::NotAvailable,
        Self::NotReversible,
        Self::SecretInContent,
        Self::UndeclaredExecutable,
        Self::PatternNotFound,
        Self::PatternCount,
        Self::LineOutOfRange,
        Self::HunkMismatch,
        Self::SelectorInvalid,
        Self::SelectorNoMatch,
        Self::SelectorSeveral,
        Self::PropertyExists,
        Self::PropertyMissing,
        Self::AmbiguousKey,
        Self::SourceNotParseable,
        Self::ResultNotParseable,
        Self::ResultNotSchema,
        Self::PreconditionFailed,
        Self::PostconditionFailed,
        Self::ValidationRuleFailed,
        Self::FileNotFound,
        Self::FileExists,
        Self::NotAFile,
        Self::HashMismatch,
        Self::DiskFull,
        Self::InputOutput,
        Self::ActionTimeout,
        Self::ReportUnwritable,
        Self::CheckpointFailed,
        Self::DirtyTarget,
        Self::NoRepository,
        Self::DetachedHead,
        Self::UnbornHead,
        Self::MergeInProgress,
        Self::ShallowRepository,
        Self::BareRepository,
        Self::LinkedWorktree,
        Self::RevertConflict,
        Self::PermissionDenied,
        Self::OutOfScope,
        Self::PolicyDenied,
        Self::ProtectedFileViolation,
        Self::ProtectedReportViolation,
        Self::DependencyFailed,
        Self::DependencySkipped,
        Self::InternalError,
        Self::RollbackFailed,
        Self::TaskTimeout,
        Self::Cancelled,
    ];

    fn row(self) -> Row {
        use Response::{
            Escalate, Reject, RejectAndAlert, SkipAction, SkipDependents, StopAndRollBack,
            StopRollBackAndEscalate, UseCheckpoint,
        };
        let row = |number, error_type, response, about| Row { number, error_type, response, about };
        match self {
            Self::EnvelopeInvalid => {
                row(1000, "ENVELOPE_INVALID", Reject, "The task envelope is none.")
            }
            Self::NotApproved => {
                row(1001, "NOT_APPROVED", Reject, "The protocol layer did not approve the task.")
            }
            Self::NotValidated => row(
                1002,
                "PROTOCOL_NOT_VALIDATED",
                Reject,
                "The protocol layer did not validate the task.",
            ),
            Self::PlanChanged => row(
                1003,
                "PLAN_CHANGED",
                Reject,
                "The plan is another than the one that was approved.",
            ),
            Self::ConfigChanged => row(
                1004,
                "CONFIG_CHANGED",
                Reject,
                "The config is another than the one that was approved.",
            ),
            Self::ApprovalInvalid => row(
                1005,
                "APPROVAL_INVALID",
                Reject,
                "A signed approval does not count: nobody known signed it, or it is about something else.",
            ),
            Self::ApprovalExpired => {
                row(1006, "APPROVAL_EXPIRED", Reject, "A signed approval has expired.")
            }
            Self::ApprovalMissing => row(
                1007,
                "APPROVAL_MISSING",
                Reject,
                "A person has to agree, and no signed approval says so.",
            ),
            Self::InputMissing => row(
                1008,
                "INPUT_MISSING",
                Reject,
                "A document that the envelope names cannot be read.",
            ),
            Self::InvalidJson => row(1010, "INVALID_JSON", Reject, "A document is not sound JSON."),
            Self::InvalidYaml => row(1011, "INVALID_YAML", Reject, "A document is not sound YAML."),
            Self::SchemaViolation => row(
                1012,
                "SCHEMA_VIOLATION",
                Reject,
                "A value is not of the form that its field has.",
            ),
            Self::DuplicateKey => {
                row(1013, "DUPLICATE_KEY", Reject, "A name stands twice in one object.")
            }
            Self::UnknownField => {
                row(1014, "UNKNOWN_FIELD", Reject, "A field is one that nobody reads.")
            }
            Self::UnknownActionType => {
                row(1015, "UNKNOWN_ACTION_TYPE", Reject, "There is no such type of action.")
            }
            Self::UnknownOperation => row(
                1016,
                "UNKNOWN_OPERATION",
                Reject,
                "There is no such operation for this type of action.",
            ),
            Self::InputTooLarge => {
                row(1017, "INPUT_TOO_LARGE", Reject, "A document is larger than is read.")
            }
            Self::PathTraversal => {
                row(1020, "PATH_TRAVERSAL", Reject, "A path leads outside the project.")
            }
            Self::InvalidPath => {
                row(1021, "INVALID_PATH", Reject, "A text is no path of the project.")
            }
            Self::SymlinkRefused => {
                row(1022, "SYMLINK_REFUSED", Reject, "A symbolic link lies on the way to a target.")
            }
            Self::DuplicateActionId => {
                row(1030, "DUPLICATE_ACTION_ID", Reject, "Two actions have one id.")
            }
            Self::UnknownDependency => row(
                1031,
                "UNKNOWN_DEPENDENCY",
                Reject,
                "An action waits for one that is not in the plan.",
            ),
            Self::DependencyCycle => {
                row(1032, "DEPENDENCY_CYCLE", Reject, "Actions wait for each other.")
            }
            Self::SelfDependency => {
                row(1033, "SELF_DEPENDENCY", Reject, "An action waits for itself.")
            }
            Self::UnorderedActions => row(
                1034,
                "UNORDERED_ACTIONS",
                Reject,
                "Two actions that could run at once touch one file.",
            ),
            Self::LimitExceeded => {
                row(1040, "LIMIT_EXCEEDED", Reject, "Something is more than its limit.")
            }
            Self::FileTooLarge => {
                row(1041, "FILE_TOO_LARGE", Reject, "A file is larger than its limit.")
            }
            Self::BackupTooLarge => row(
                1042,
                "BACKUP_TOO_LARGE",
                Reject,
                "The backups would take more room than their limit.",
            ),
            Self::NotAvailable => row(
                1050,
                "NOT_AVAILABLE",
                Reject,
                "This build cannot carry out actions of this type.",
            ),
            Self::NotReversible => row(
                1051,
                "NOT_REVERSIBLE",
                Reject,
                "What cannot be taken back may not run where a failure rolls back.",
            ),
            Self::SecretInContent => row(
                1060,
                "SECRET_IN_CONTENT",
                Reject,
                "New content holds what looks like a credential.",
            ),
            Self::UndeclaredExecutable => row(
                1061,
                "UNDECLARED_EXECUTABLE",
                Reject,
                "New content would run, and the plan does not say so.",
            ),
            Self::PatternNotFound => row(
                1100,
                "PATTERN_NOT_FOUND",
                SkipAction,
                "The text to replace is not in the file.",
            ),
            Self::PatternCount => row(
                1101,
                "PATTERN_COUNT",
                SkipAction,
                "The text to replace is in the file more or less often than the plan says.",
            ),
            Self::LineOutOfRange => {
                row(1102, "LINE_OUT_OF_RANGE", SkipAction, "The file has no such line.")
            }
            Self::HunkMismatch => {
                row(1103, "HUNK_MISMATCH", SkipAction, "A hunk does not apply where it says.")
            }
            Self::SelectorInvalid => {
                row(1104, "JSONPATH_INVALID", SkipAction, "A text is no JSONPath.")
            }
            Self::SelectorNoMatch => {
                row(1105, "JSONPATH_NO_MATCH", SkipAction, "A JSONPath selects nothing.")
            }
            Self::SelectorSeveral => row(
                1106,
                "JSONPATH_SEVERAL_MATCHES",
                SkipAction,
                "A JSONPath selects more than one place.",
            ),
            Self::PropertyExists => {
                row(1107, "PROPERTY_EXISTS", SkipAction, "A property to add is there already.")
            }
            Self::PropertyMissing => {
                row(1108, "PROPERTY_MISSING", SkipAction, "A property to remove is not there.")
            }
            Self::AmbiguousKey => row(
                1109,
                "AMBIGUOUS_KEY",
                SkipAction,
                "A name on the way to a place stands twice in its object.",
            ),
            Self::SourceNotParseable => row(
                1110,
                "SOURCE_NOT_PARSEABLE",
                SkipAction,
                "A file to edit as JSON or YAML is not sound as it is.",
            ),
            Self::ResultNotParseable => row(
                1111,
                "RESULT_NOT_PARSEABLE",
                SkipAction,
                "An edit would leave a file that is not sound JSON or YAML.",
            ),
            Self::ResultNotSchema => row(
                1112,
                "RESULT_NOT_A_SCHEMA",
                SkipAction,
                "An update would leave a schema that is none.",
            ),
            Self::PreconditionFailed => {
                row(1113, "PRECONDITION_FAILED", SkipAction, "A precondition does not hold.")
            }
            Self::PostconditionFailed => {
                row(1114, "POSTCONDITION_FAILED", SkipAction, "A postcondition does not hold.")
            }
            Self::ValidationRuleFailed => row(
                1115,
                "VALIDATION_RULE_FAILED",
                StopAndRollBack,
                "A validation rule does not hold after the run.",
            ),
            Self::FileNotFound => {
                row(2001, "FILE_NOT_FOUND", SkipAction, "The target does not exist.")
            }
            Self::FileExists => {
                row(2002, "FILE_EXISTS", SkipAction, "A file to make exists already.")
            }
            Self::NotAFile => row(
                2003,
                "NOT_A_FILE",
                SkipAction,
                "The target is no regular file, or lies below one.",
            ),
            Self::HashMismatch => row(
                2004,
                "HASH_MISMATCH",
                StopAndRollBack,
                "A file has another content than it has to have.",
            ),
            Self::DiskFull => row(2005, "DISK_FULL", StopAndRollBack, "There is no room left."),
            Self::InputOutput => row(2006, "IO_ERROR", StopAndRollBack, "The file system failed."),
            Self::ActionTimeout => {
                row(2007, "ACTION_TIMEOUT", SkipAction, "An action took longer than it may.")
            }
            Self::ReportUnwritable => row(
                2008,
                "REPORT_UNWRITABLE",
                Reject,
                "The reports cannot be written, so nothing runs.",
            ),
            Self::CheckpointFailed => row(
                2009,
                "CHECKPOINT_FAILED",
                Reject,
                "The checkpoint cannot be made, so nothing runs.",
            ),
            Self::DirtyTarget => row(
                2020,
                "GIT_DIRTY_TARGET",
                UseCheckpoint,
                "A target has changes that are not committed.",
            ),
            Self::NoRepository => row(
                2021,
                "GIT_NO_REPOSITORY",
                UseCheckpoint,
                "There is no repository to commit to.",
            ),
            Self::DetachedHead => {
                row(2022, "GIT_DETACHED_HEAD", UseCheckpoint, "No branch is checked out.")
            }
            Self::UnbornHead => {
                row(2023, "GIT_UNBORN_HEAD", UseCheckpoint, "The repository has no commit yet.")
            }
            Self::MergeInProgress => row(
                2024,
                "GIT_MERGE_IN_PROGRESS",
                UseCheckpoint,
                "A merge, rebase, cherry-pick or revert is not finished.",
            ),
            Self::ShallowRepository => row(
                2025,
                "GIT_SHALLOW_REPOSITORY",
                UseCheckpoint,
                "The repository lacks commits that a revert could need.",
            ),
            Self::BareRepository => row(
                2026,
                "GIT_BARE_REPOSITORY",
                UseCheckpoint,
                "The repository has no working tree.",
            ),
            Self::LinkedWorktree => {
                row(2027, "GIT_LINKED_WORKTREE", UseCheckpoint, "The working tree is a linked one.")
            }
            Self::RevertConflict => row(
                2028,
                "GIT_REVERT_CONFLICT",
                Escalate,
                "Later changes stand where a revert would change something.",
            ),
            Self::PermissionDenied => row(
                3001,
                "PERMISSION_DENIED",
                SkipAction,
                "The file system does not let a target be changed.",
            ),
            Self::OutOfScope => {
                row(3002, "OUT_OF_SCOPE", Reject, "A target is not among what may be changed.")
            }
            Self::PolicyDenied => row(3003, "POLICY_DENIED", Reject, "A gate refused the plan."),
            Self::ProtectedFileViolation => {
                row(3100, "PROTECTED_FILE_VIOLATION", RejectAndAlert, "A target is protected.")
            }
            Self::ProtectedReportViolation => row(
                3101,
                "PROTECTED_REPORT_VIOLATION",
                RejectAndAlert,
                "A target is the rollback manifest or a backup of a report.",
            ),
            Self::DependencyFailed => row(
                4001,
                "DEPENDENCY_FAILED",
                SkipDependents,
                "An action that this one waits for failed.",
            ),
            Self::DependencySkipped => row(
                4002,
                "DEPENDENCY_SKIPPED",
                SkipDependents,
                "An action that this one waits for was skipped.",
            ),
            Self::InternalError => row(
                5000,
                "INTERNAL_ERROR",
                StopRollBackAndEscalate,
                "Something failed that nobody foresaw.",
            ),
            Self::RollbackFailed => row(
                5001,
                "ROLLBACK_FAILED",
                Escalate,
                "The rollback did not end; the workspace needs attention.",
            ),
            Self::TaskTimeout => row(
                5002,
                "TASK_TIMEOUT",
                StopRollBackAndEscalate,
                "The task took longer than it may.",
            ),
            Self::Cancelled => row(5003, "CANCELLED", StopAndRollBack, "The run was cancelled."),
        }
    }

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

    /// What it means, in a sentence.
    pub fn about(self) -> &'static str {
        self.row().about
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
            Self::StopAndRollBack | Self::StopRollBackAndEscalate => true,
            Self::Reject
            | Self::RejectAndAlert
            | Self::SkipAction
            | Self::SkipDependents
            | Self::UseCheckpoint
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

impl Serialize for ErrorCategory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for RecoveryAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
