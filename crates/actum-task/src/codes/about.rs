//! Descriptions of the error codes, which `actum explain` and reports show.

use super::ErrorCode;

impl ErrorCode {
    /// Describes the error in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::EnvelopeInvalid => "The task envelope is invalid.",
            Self::NotApproved => "The protocol layer did not approve the task.",
            Self::NotValidated => "The protocol layer did not validate the task.",
            Self::PlanChanged => "The plan differs from the approved plan.",
            Self::ConfigChanged => "The config differs from the approved config.",
            Self::ApprovalInvalid => {
                "A signed approval is invalid: no known key signed it, or it does not cover this task."
            }
            Self::ApprovalExpired => "A signed approval has expired.",
            Self::ApprovalMissing => {
                "The task requires an operator's approval, but no signed approval exists."
            }
            Self::InputMissing => "A document that the envelope names cannot be read.",
            Self::TaskIdTaken => {
                "The task id belongs to an executed task whose changes are still in effect."
            }
            Self::InvalidJson => "A document is not valid JSON.",
            Self::InvalidYaml => "A document is not valid YAML.",
            Self::SchemaViolation => "A value does not match the schema of its field.",
            Self::DuplicateKey => "A name occurs twice in the same object.",
            Self::UnknownField => "A document contains an unknown field.",
            Self::UnknownActionType => "The action type does not exist.",
            Self::UnknownOperation => "The operation does not exist for this action type.",
            Self::InputTooLarge => "A document exceeds its size limit.",
            Self::PathTraversal => "A path leads outside the project.",
            Self::InvalidPath => "A text is not a valid path in the project.",
            Self::SymlinkRefused => "The path of a target contains a symbolic link.",
            Self::DuplicateActionId => "Two actions have the same id.",
            Self::UnknownDependency => "An action depends on an action that is not in the plan.",
            Self::DependencyCycle => "Actions depend on each other in a cycle.",
            Self::SelfDependency => "An action depends on itself.",
            Self::UnorderedActions => {
                "Two actions that could run concurrently touch the same file."
            }
            Self::LimitExceeded => "A value exceeds its limit.",
            Self::FileTooLarge => "A file exceeds its size limit.",
            Self::BackupTooLarge => "The backups would exceed their size limit.",
            Self::NotAvailable => "Actions of this type cannot be executed here.",
            Self::NotReversible => {
                "An irreversible action is not allowed in a plan that rolls back on failure."
            }
            Self::PipelineUnknown => "The operator's policy declares no pipeline with this name.",
            Self::PipelineParameter => {
                "A parameter of a pipeline is missing, unknown, or has a value that is not allowed."
            }
            Self::PipelineNotLast => "An action follows an external pipeline, which must be last.",
            Self::PipelineNotStarted => {
                "An external pipeline was not started, although the changes of its plan are published."
            }
            Self::ExternalEndUnknown => {
                "The outcome of an external pipeline is unknown because the process of the task ended first."
            }
            Self::PipelineFailed => "A step of a pipeline failed.",
            Self::PipelineOutput => {
                "A pipeline changed a path that is not among its outputs, or left a file that a run cannot record."
            }
            Self::SqlNotAllowed => "A statement of this kind is not allowed in an SQL step.",
            Self::SecretInContent => "New content seems to contain a credential.",
            Self::UndeclaredExecutable => {
                "New content would be executable, but the plan does not declare it."
            }
            Self::PatternNotFound => "The text to replace does not occur in the file.",
            Self::PatternCount => {
                "The text to replace occurs in the file more or less often than the plan states."
            }
            Self::LineOutOfRange => "The file has no line with this number.",
            Self::HunkMismatch => "A hunk does not apply at its stated line.",
            Self::SelectorInvalid => "A JSONPath is invalid.",
            Self::SelectorNoMatch => "A JSONPath selects nothing.",
            Self::SelectorSeveral => "A JSONPath selects more than one value.",
            Self::PropertyExists => "A property to add already exists.",
            Self::PropertyMissing => "A property to remove does not exist.",
            Self::AmbiguousKey => "A name on the path to a value occurs twice in its object.",
            Self::SourceNotParseable => {
                "A file to edit as JSON or YAML is already invalid before the edit."
            }
            Self::ResultNotParseable => "An edit would result in invalid JSON or YAML.",
            Self::ResultNotSchema => "An update would result in an invalid schema.",
            Self::PreconditionFailed => "A precondition is not met.",
            Self::PostconditionFailed => "A postcondition is not met.",
            Self::ValidationRuleFailed => "A validation rule is not met after the run.",
            Self::YamlNotEditable => {
                "A YAML value cannot be replaced on its own because of an alias, an anchor in use, a tag, or a name that is not a string."
            }
            Self::FileNotFound => "The target does not exist.",
            Self::FileExists => "A file to create already exists.",
            Self::NotAFile => "The target is not a regular file, or its path leads through one.",
            Self::HashMismatch => "The content of a file differs from the expected content.",
            Self::DiskFull => "The disk is full.",
            Self::InputOutput => "The file system reported an error.",
            Self::ActionTimeout => "An action exceeded its time limit.",
            Self::ReportUnwritable => "The reports cannot be written, so no action runs.",
            Self::CheckpointFailed => "The checkpoint cannot be created, so no action runs.",
            Self::ChangedAfterRun => {
                "The content of a file after the run differs from what the run wrote."
            }
            Self::SqlSyntax => "A query is not valid SQL.",
            Self::SqlCount => "A query contains no statement or too many.",
            Self::SqlBinding => {
                "A statement refers to something missing in the database, or has wrong types."
            }
            Self::SqlResult => "The rows of a query cannot be saved as Parquet.",
            Self::SqlParameter => {
                "A parameter is missing, unused, or of a type that the statement does not accept."
            }
            Self::SqlFailed => "A statement failed during its execution.",
            Self::SqlNoRows => {
                "The last statement returned no rows, but the plan requires at least one."
            }
            Self::SqlOpenTransaction => "A transaction is still open after the last statement.",
            Self::DatabaseInUse => "Another process has the database open.",
            Self::DatabaseUnreadable => {
                "The target is not a database, is damaged, or was written by a later version of DuckDB."
            }
            Self::SqlResources => "The statements exceeded their limit for memory or disk space.",
            Self::DirtyTarget => "A target has uncommitted changes.",
            Self::NoRepository => "There is no git repository to commit to.",
            Self::DetachedHead => "No branch is checked out.",
            Self::UnbornHead => "The git repository has no commit yet.",
            Self::MergeInProgress => "A merge, rebase, cherry-pick or revert is in progress.",
            Self::ShallowRepository => "The repository lacks commits that a revert could need.",
            Self::BareRepository => "The repository has no working tree.",
            Self::LinkedWorktree => "The working tree is a linked worktree.",
            Self::RevertConflict => "Later changes conflict with a revert.",
            Self::PermissionDenied => {
                "The file system permissions do not allow a target to be changed."
            }
            Self::OutOfScope => "A target is outside the allowed scope.",
            Self::PolicyDenied => "A gate denied the plan.",
            Self::ProtectedFileViolation => "A target is a protected file.",
            Self::ProtectedReportViolation => {
                "A target is the rollback manifest or a backup of a report."
            }
            Self::DependencyFailed => "An action that this action depends on failed.",
            Self::DependencySkipped => "An action that this action depends on was skipped.",
            Self::InternalError => "An unexpected internal error occurred.",
            Self::RollbackFailed => "The rollback did not finish; the workspace needs attention.",
            Self::TaskTimeout => "The task exceeded its time limit.",
            Self::Cancelled => "The run was cancelled.",
        }
    }
}
