//! Table of the error codes, with the number, name and response of each.

use super::Response;

/// Error code of a task, which identifies the kind of an error in reports and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// 1000: The task envelope is invalid.
    EnvelopeInvalid,
    /// 1001: The protocol layer did not approve the task.
    NotApproved,
    /// 1002: The protocol layer did not validate the task.
    NotValidated,
    /// 1003: The plan differs from the approved plan.
    PlanChanged,
    /// 1004: The config differs from the approved config.
    ConfigChanged,
    /// 1005: A signed approval is invalid because no known key signed it or it does not cover this task.
    ApprovalInvalid,
    /// 1006: A signed approval has expired.
    ApprovalExpired,
    /// 1007: The task requires an operator's approval, but no signed approval exists (D-3).
    ApprovalMissing,
    /// 1008: A document that the envelope names cannot be read.
    InputMissing,
    /// 1009: The task id belongs to an executed task whose changes are still in effect (D-8).
    TaskIdTaken,
    /// 1010: A document is not valid JSON.
    InvalidJson,
    /// 1011: A document is not valid YAML.
    InvalidYaml,
    /// 1012: A value does not match the schema of its field.
    SchemaViolation,
    /// 1013: A name occurs twice in the same object.
    DuplicateKey,
    /// 1014: A document contains an unknown field (D-4).
    UnknownField,
    /// 1015: The action type does not exist.
    UnknownActionType,
    /// 1016: The operation does not exist for this action type.
    UnknownOperation,
    /// 1017: A document exceeds its size limit.
    InputTooLarge,
    /// 1020: A path leads outside the project (EX-5).
    PathTraversal,
    /// 1021: A text is not a valid path in the project.
    InvalidPath,
    /// 1022: The path of a target contains a symbolic link (EX-5).
    SymlinkRefused,
    /// 1030: Two actions have the same id (EX-8).
    DuplicateActionId,
    /// 1031: An action depends on an action that is not in the plan (EX-8).
    UnknownDependency,
    /// 1032: Actions depend on each other in a cycle (EX-8).
    DependencyCycle,
    /// 1033: An action depends on itself (EX-8).
    SelfDependency,
    /// 1034: Two actions that could run concurrently touch the same file.
    UnorderedActions,
    /// 1040: A value exceeds its limit (EX-21).
    LimitExceeded,
    /// 1041: A file exceeds its size limit (EX-21).
    FileTooLarge,
    /// 1042: The backups would exceed their size limit (EX-21).
    BackupTooLarge,
    /// 1050: Actions of this type cannot be executed by this build or on this host.
    NotAvailable,
    /// 1051: An irreversible action is not allowed in a plan that rolls back on failure (EX-12).
    NotReversible,
    /// 1052: The operator's policy declares no pipeline with this name (EX-9).
    PipelineUnknown,
    /// 1053: A parameter of a pipeline is missing, unknown, or has a value that is not allowed (EX-9).
    PipelineParameter,
    /// 1054: An action follows an external pipeline, which must be last (EX-9).
    PipelineNotLast,
    /// 1060: New content seems to contain a credential (EX-20).
    SecretInContent,
    /// 1061: New content would be executable, but the plan does not declare it (EX-20).
    UndeclaredExecutable,
    /// 1100: The text to replace does not occur in the file.
    PatternNotFound,
    /// 1101: The text to replace occurs in the file more or less often than the plan states.
    PatternCount,
    /// 1102: The file has no line with this number.
    LineOutOfRange,
    /// 1103: A hunk does not apply at its stated line.
    HunkMismatch,
    /// 1104: A JSONPath is invalid.
    SelectorInvalid,
    /// 1105: A JSONPath selects nothing.
    SelectorNoMatch,
    /// 1106: A JSONPath selects more than one value.
    SelectorSeveral,
    /// 1107: A property to add already exists.
    PropertyExists,
    /// 1108: A property to remove does not exist.
    PropertyMissing,
    /// 1109: A name on the path to a value occurs twice in its object.
    AmbiguousKey,
    /// 1110: A file to edit as JSON or YAML is already invalid before the edit.
    SourceNotParseable,
    /// 1111: An edit would result in invalid JSON or YAML (EX-20).
    ResultNotParseable,
    /// 1112: An update would result in an invalid schema.
    ResultNotSchema,
    /// 1113: A precondition is not met (EX-12).
    PreconditionFailed,
    /// 1114: A postcondition is not met (EX-12).
    PostconditionFailed,
    /// 1115: A validation rule is not met after the run (EX-12).
    ValidationRuleFailed,
    /// 1116: A YAML value cannot be replaced on its own because of an alias, an anchor in use, a tag, or a name that is
    /// not a string.
    YamlNotEditable,
    /// 1120: A query is not valid SQL (EX-11).
    SqlSyntax,
    /// 1121: A query contains no statement or too many (EX-11).
    SqlCount,
    /// 1122: A statement refers to something missing in the database, or has wrong types (EX-11).
    SqlBinding,
    /// 1123: The rows of a query cannot be saved as Parquet (EX-11).
    SqlResult,
    /// 1124: A parameter is missing, unused, or of a type that the statement does not accept (EX-11).
    SqlParameter,
    /// 1125: A statement failed during its execution (EX-11).
    SqlFailed,
    /// 1126: The last statement returned no rows, but the plan requires at least one (EX-11).
    SqlNoRows,
    /// 1127: A transaction is still open after the last statement (EX-11).
    SqlOpenTransaction,
    /// 1128: A statement of this kind is not allowed in an SQL step (EX-11).
    SqlNotAllowed,
    /// 1130: A step of a pipeline failed (EX-9).
    PipelineFailed,
    /// 1131: A pipeline changed a path that is not among its outputs, or left a file that a run cannot record (EX-9).
    PipelineOutput,
    /// 1132: An external pipeline was not started, although the changes of its plan are published (EX-9).
    PipelineNotStarted,
    /// 2001: The target does not exist (EX-3).
    FileNotFound,
    /// 2002: A file to create already exists (EX-3).
    FileExists,
    /// 2003: The target is not a regular file, or its path leads through one.
    NotAFile,
    /// 2004: The content of a file differs from the expected content.
    HashMismatch,
    /// 2005: The disk is full.
    DiskFull,
    /// 2006: The file system reported an error.
    InputOutput,
    /// 2007: An action exceeded its time limit (EX-21).
    ActionTimeout,
    /// 2008: The reports cannot be written, so no action runs (EX-13).
    ReportUnwritable,
    /// 2009: The checkpoint cannot be created, so no action runs (EX-7).
    CheckpointFailed,
    /// 2010: The content of a file after the run differs from what the run wrote (EX-12).
    ChangedAfterRun,
    /// 2011: Another process has the database open (EX-11).
    DatabaseInUse,
    /// 2012: The target is not a database, is damaged, or was written by a later version of DuckDB (EX-11).
    DatabaseUnreadable,
    /// 2013: The statements exceeded their limit for memory or disk space (EX-21).
    SqlResources,
    /// 2020: A target has uncommitted changes (EX-17).
    DirtyTarget,
    /// 2021: There is no git repository to commit to.
    NoRepository,
    /// 2022: No branch is checked out.
    DetachedHead,
    /// 2023: The git repository has no commit yet.
    UnbornHead,
    /// 2024: A merge, rebase, cherry-pick or revert is in progress.
    MergeInProgress,
    /// 2025: The repository lacks commits that a revert could need.
    ShallowRepository,
    /// 2026: The repository has no working tree.
    BareRepository,
    /// 2027: The working tree is a linked worktree.
    LinkedWorktree,
    /// 2028: Later changes conflict with a revert.
    RevertConflict,
    /// 3001: The file system permissions do not allow a target to be changed.
    PermissionDenied,
    /// 3002: A target is outside the allowed scope.
    OutOfScope,
    /// 3003: A gate denied the plan.
    PolicyDenied,
    /// 3100: A target is a protected file (EX-4).
    ProtectedFileViolation,
    /// 3101: A target is the rollback manifest or a backup of a report (EX-4).
    ProtectedReportViolation,
    /// 4001: An action that this action depends on failed.
    DependencyFailed,
    /// 4002: An action that this action depends on was skipped.
    DependencySkipped,
    /// 5000: An unexpected internal error occurred.
    InternalError,
    /// 5001: The rollback did not finish; the workspace needs attention.
    RollbackFailed,
    /// 5002: The task exceeded its time limit (EX-21).
    TaskTimeout,
    /// 5003: The run was cancelled (EX-22).
    Cancelled,
    /// 5004: The outcome of an external pipeline is unknown because the process of the task ended first (EX-9).
    ExternalEndUnknown,
}

/// Row of the table, with the properties of one error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) number: u16,
    pub(super) error_type: &'static str,
    pub(super) response: Response,
}

impl ErrorCode {
    /// All codes in ascending order of their numbers.
    pub const ALL: [Self; 99] = [
        Self::EnvelopeInvalid,
        Self::NotApproved,
        Self::NotValidated,
        Self::PlanChanged,
        Self::ConfigChanged,
        Self::ApprovalInvalid,
        Self::ApprovalExpired,
        Self::ApprovalMissing,
        Self::InputMissing,
        Self::TaskIdTaken,
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
        Self::PipelineUnknown,
        Self::PipelineParameter,
        Self::PipelineNotLast,
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
        Self::YamlNotEditable,
        Self::SqlSyntax,
        Self::SqlCount,
        Self::SqlBinding,
        Self::SqlResult,
        Self::SqlParameter,
        Self::SqlFailed,
        Self::SqlNoRows,
        Self::SqlOpenTransaction,
        Self::SqlNotAllowed,
        Self::PipelineFailed,
        Self::PipelineOutput,
        Self::PipelineNotStarted,
        Self::FileNotFound,
        Self::FileExists,
        Self::NotAFile,
        Self::HashMismatch,
        Self::DiskFull,
        Self::InputOutput,
        Self::ActionTimeout,
        Self::ReportUnwritable,
        Self::CheckpointFailed,
        Self::ChangedAfterRun,
        Self::DatabaseInUse,
        Self::DatabaseUnreadable,
        Self::SqlResources,
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
        Self::ExternalEndUnknown,
    ];

    pub(super) fn row(self) -> Row {
        use Response::{
            Escalate, Reject, RejectAndAlert, SkipAction, SkipDependents, StopAndRollBack,
            StopRollBackAndEscalate, UseCheckpoint,
        };
        let (number, error_type, response) = match self {
            Self::EnvelopeInvalid => (1000, "ENVELOPE_INVALID", Reject),
            Self::NotApproved => (1001, "NOT_APPROVED", Reject),
            Self::NotValidated => (1002, "PROTOCOL_NOT_VALIDATED", Reject),
            Self::PlanChanged => (1003, "PLAN_CHANGED", Reject),
            Self::ConfigChanged => (1004, "CONFIG_CHANGED", Reject),
            Self::ApprovalInvalid => (1005, "APPROVAL_INVALID", Reject),
            Self::ApprovalExpired => (1006, "APPROVAL_EXPIRED", Reject),
            Self::ApprovalMissing => (1007, "APPROVAL_MISSING", Reject),
            Self::InputMissing => (1008, "INPUT_MISSING", Reject),
            Self::TaskIdTaken => (1009, "TASK_ID_TAKEN", Reject),
            Self::InvalidJson => (1010, "INVALID_JSON", Reject),
            Self::InvalidYaml => (1011, "INVALID_YAML", Reject),
            Self::SchemaViolation => (1012, "SCHEMA_VIOLATION", Reject),
            Self::DuplicateKey => (1013, "DUPLICATE_KEY", Reject),
            Self::UnknownField => (1014, "UNKNOWN_FIELD", Reject),
            Self::UnknownActionType => (1015, "UNKNOWN_ACTION_TYPE", Reject),
            Self::UnknownOperation => (1016, "UNKNOWN_OPERATION", Reject),
            Self::InputTooLarge => (1017, "INPUT_TOO_LARGE", Reject),
            Self::PathTraversal => (1020, "PATH_TRAVERSAL", Reject),
            Self::InvalidPath => (1021, "INVALID_PATH", Reject),
            Self::SymlinkRefused => (1022, "SYMLINK_REFUSED", Reject),
            Self::DuplicateActionId => (1030, "DUPLICATE_ACTION_ID", Reject),
            Self::UnknownDependency => (1031, "UNKNOWN_DEPENDENCY", Reject),
            Self::DependencyCycle => (1032, "DEPENDENCY_CYCLE", Reject),
            Self::SelfDependency => (1033, "SELF_DEPENDENCY", Reject),
            Self::UnorderedActions => (1034, "UNORDERED_ACTIONS", Reject),
            Self::LimitExceeded => (1040, "LIMIT_EXCEEDED", Reject),
            Self::FileTooLarge => (1041, "FILE_TOO_LARGE", Reject),
            Self::BackupTooLarge => (1042, "BACKUP_TOO_LARGE", Reject),
            Self::NotAvailable => (1050, "NOT_AVAILABLE", Reject),
            Self::NotReversible => (1051, "NOT_REVERSIBLE", Reject),
            Self::PipelineUnknown => (1052, "PIPELINE_UNKNOWN", Reject),
            Self::PipelineParameter => (1053, "PIPELINE_PARAMETER", Reject),
            Self::PipelineNotLast => (1054, "PIPELINE_NOT_LAST", Reject),
            Self::SecretInContent => (1060, "SECRET_IN_CONTENT", Reject),
            Self::UndeclaredExecutable => (1061, "UNDECLARED_EXECUTABLE", Reject),
            Self::PatternNotFound => (1100, "PATTERN_NOT_FOUND", SkipAction),
            Self::PatternCount => (1101, "PATTERN_COUNT", SkipAction),
            Self::LineOutOfRange => (1102, "LINE_OUT_OF_RANGE", SkipAction),
            Self::HunkMismatch => (1103, "HUNK_MISMATCH", SkipAction),
            Self::SelectorInvalid => (1104, "JSONPATH_INVALID", SkipAction),
            Self::SelectorNoMatch => (1105, "JSONPATH_NO_MATCH", SkipAction),
            Self::SelectorSeveral => (1106, "JSONPATH_SEVERAL_MATCHES", SkipAction),
            Self::PropertyExists => (1107, "PROPERTY_EXISTS", SkipAction),
            Self::PropertyMissing => (1108, "PROPERTY_MISSING", SkipAction),
            Self::AmbiguousKey => (1109, "AMBIGUOUS_KEY", SkipAction),
            Self::SourceNotParseable => (1110, "SOURCE_NOT_PARSEABLE", SkipAction),
            Self::ResultNotParseable => (1111, "RESULT_NOT_PARSEABLE", SkipAction),
            Self::ResultNotSchema => (1112, "RESULT_NOT_A_SCHEMA", SkipAction),
            Self::PreconditionFailed => (1113, "PRECONDITION_FAILED", SkipAction),
            Self::PostconditionFailed => (1114, "POSTCONDITION_FAILED", SkipAction),
            Self::ValidationRuleFailed => (1115, "VALIDATION_RULE_FAILED", StopAndRollBack),
            Self::YamlNotEditable => (1116, "YAML_NOT_EDITABLE", SkipAction),
            Self::SqlSyntax => (1120, "SQL_SYNTAX", SkipAction),
            Self::SqlCount => (1121, "SQL_STATEMENT_COUNT", SkipAction),
            Self::SqlBinding => (1122, "SQL_BINDING", SkipAction),
            Self::SqlResult => (1123, "SQL_RESULT_NOT_SAVED", SkipAction),
            Self::SqlParameter => (1124, "SQL_PARAMETER", SkipAction),
            Self::SqlFailed => (1125, "SQL_FAILED", SkipAction),
            Self::SqlNoRows => (1126, "SQL_NO_ROWS", SkipAction),
            Self::SqlOpenTransaction => (1127, "SQL_OPEN_TRANSACTION", SkipAction),
            Self::SqlNotAllowed => (1128, "SQL_STATEMENT_NOT_ALLOWED", SkipAction),
            Self::PipelineFailed => (1130, "PIPELINE_FAILED", SkipAction),
            Self::PipelineOutput => (1131, "PIPELINE_OUTPUT", SkipAction),
            Self::PipelineNotStarted => (1132, "PIPELINE_NOT_STARTED", Escalate),
            Self::FileNotFound => (2001, "FILE_NOT_FOUND", SkipAction),
            Self::FileExists => (2002, "FILE_EXISTS", SkipAction),
            Self::NotAFile => (2003, "NOT_A_FILE", SkipAction),
            Self::HashMismatch => (2004, "HASH_MISMATCH", StopAndRollBack),
            Self::DiskFull => (2005, "DISK_FULL", StopAndRollBack),
            Self::InputOutput => (2006, "IO_ERROR", StopAndRollBack),
            Self::ActionTimeout => (2007, "ACTION_TIMEOUT", SkipAction),
            Self::ReportUnwritable => (2008, "REPORT_UNWRITABLE", Reject),
            Self::CheckpointFailed => (2009, "CHECKPOINT_FAILED", Reject),
            Self::ChangedAfterRun => (2010, "CHANGED_AFTER_RUN", Escalate),
            Self::DatabaseInUse => (2011, "DATABASE_IN_USE", SkipAction),
            Self::DatabaseUnreadable => (2012, "DATABASE_UNREADABLE", SkipAction),
            Self::SqlResources => (2013, "SQL_RESOURCES", SkipAction),
            Self::DirtyTarget => (2020, "GIT_DIRTY_TARGET", UseCheckpoint),
            Self::NoRepository => (2021, "GIT_NO_REPOSITORY", UseCheckpoint),
            Self::DetachedHead => (2022, "GIT_DETACHED_HEAD", UseCheckpoint),
            Self::UnbornHead => (2023, "GIT_UNBORN_HEAD", UseCheckpoint),
            Self::MergeInProgress => (2024, "GIT_MERGE_IN_PROGRESS", UseCheckpoint),
            Self::ShallowRepository => (2025, "GIT_SHALLOW_REPOSITORY", UseCheckpoint),
            Self::BareRepository => (2026, "GIT_BARE_REPOSITORY", UseCheckpoint),
            Self::LinkedWorktree => (2027, "GIT_LINKED_WORKTREE", UseCheckpoint),
            Self::RevertConflict => (2028, "GIT_REVERT_CONFLICT", Escalate),
            Self::PermissionDenied => (3001, "PERMISSION_DENIED", SkipAction),
            Self::OutOfScope => (3002, "OUT_OF_SCOPE", Reject),
            Self::PolicyDenied => (3003, "POLICY_DENIED", Reject),
            Self::ProtectedFileViolation => (3100, "PROTECTED_FILE_VIOLATION", RejectAndAlert),
            Self::ProtectedReportViolation => (3101, "PROTECTED_REPORT_VIOLATION", RejectAndAlert),
            Self::DependencyFailed => (4001, "DEPENDENCY_FAILED", SkipDependents),
            Self::DependencySkipped => (4002, "DEPENDENCY_SKIPPED", SkipDependents),
            Self::InternalError => (5000, "INTERNAL_ERROR", StopRollBackAndEscalate),
            Self::RollbackFailed => (5001, "ROLLBACK_FAILED", Escalate),
            Self::TaskTimeout => (5002, "TASK_TIMEOUT", StopRollBackAndEscalate),
            Self::Cancelled => (5003, "CANCELLED", StopAndRollBack),
            Self::ExternalEndUnknown => (5004, "EXTERNAL_END_UNKNOWN", Escalate),
        };
        Row { number, error_type, response }
    }
}
