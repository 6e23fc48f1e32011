//! Meaning of each code, in one sentence.

use super::ErrorCode;

impl ErrorCode {
    /// Describes the code in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::EnvelopeInvalid => "The task envelope is none.",
            Self::NotApproved => "The protocol layer did not approve the task.",
            Self::NotValidated => "The protocol layer did not validate the task.",
            Self::PlanChanged => "The plan is another than the one that was approved.",
            Self::ConfigChanged => "The config is another than the one that was approved.",
            Self::ApprovalInvalid => {
                "A signed approval does not count: nobody known signed it, or it is about something else."
            }
            Self::ApprovalExpired => "A signed approval has expired.",
            Self::ApprovalMissing => "A person has to agree, and no signed approval says so.",
            Self::InputMissing => "A document that the envelope names cannot be read.",
            Self::TaskIdTaken => {
                "The task id stands for a task that was carried out, and whose effect is in force."
            }
            Self::InvalidJson => "A document is not sound JSON.",
            Self::InvalidYaml => "A document is not sound YAML.",
            Self::SchemaViolation => "A value is not of the form that its field has.",
            Self::DuplicateKey => "A name stands twice in one object.",
            Self::UnknownField => "A field is one that nobody reads.",
            Self::UnknownActionType => "There is no such type of action.",
            Self::UnknownOperation => "There is no such operation for this type of action.",
            Self::InputTooLarge => "A document is larger than is read.",
            Self::PathTraversal => "A path leads outside the project.",
            Self::InvalidPath => "A text is no path of the project.",
            Self::SymlinkRefused => "A symbolic link lies on the way to a target.",
            Self::DuplicateActionId => "Two actions have one id.",
            Self::UnknownDependency => "An action waits for one that is not in the plan.",
            Self::DependencyCycle => "Actions wait for each other.",
            Self::SelfDependency => "An action waits for itself.",
            Self::UnorderedActions => "Two actions that could run at once touch one file.",
            Self::LimitExceeded => "Something is more than its limit.",
            Self::FileTooLarge => "A file is larger than its limit.",
            Self::BackupTooLarge => "The backups would take more room than their limit.",
            Self::NotAvailable => "Actions of this type cannot be carried out here.",
            Self::NotReversible => {
                "What cannot be taken back may not run where a failure rolls back."
            }
            Self::PipelineUnknown => "The operator's policy declares no pipeline of this name.",
            Self::PipelineParameter => {
                "A parameter of a pipeline is missing, unknown, or has a value that is not allowed."
            }
            Self::PipelineNotLast => {
                "An action comes after an external pipeline, which has to be last."
            }
            Self::PipelineNotStarted => {
                "An external pipeline was not started, and the change of its plan is published."
            }
            Self::ExternalEndUnknown => {
                "An external pipeline began, and the process of the task ended before it said how that ended."
            }
            Self::PipelineFailed => "A step of a pipeline failed.",
            Self::PipelineOutput => {
                "A pipeline changed a path that is not among its outputs, or left what no run can hold."
            }
            Self::SqlNotAllowed => "A statement of this kind is not allowed in an SQL step.",
            Self::SecretInContent => "New content holds what looks like a credential.",
            Self::UndeclaredExecutable => "New content would run, and the plan does not say so.",
            Self::PatternNotFound => "The text to replace is not in the file.",
            Self::PatternCount => {
                "The text to replace is in the file more or less often than the plan says."
            }
            Self::LineOutOfRange => "The file has no such line.",
            Self::HunkMismatch => "A hunk does not apply where it says.",
            Self::SelectorInvalid => "A text is no JSONPath.",
            Self::SelectorNoMatch => "A JSONPath selects nothing.",
            Self::SelectorSeveral => "A JSONPath selects more than one place.",
            Self::PropertyExists => "A property to add is there already.",
            Self::PropertyMissing => "A property to remove is not there.",
            Self::AmbiguousKey => "A name on the way to a place stands twice in its object.",
            Self::SourceNotParseable => "A file to edit as JSON or YAML is not sound as it is.",
            Self::ResultNotParseable => {
                "An edit would leave a file that is not sound JSON or YAML."
            }
            Self::ResultNotSchema => "An update would leave a schema that is none.",
            Self::PreconditionFailed => "A precondition does not hold.",
            Self::PostconditionFailed => "A postcondition does not hold.",
            Self::ValidationRuleFailed => "A validation rule does not hold after the run.",
            Self::YamlNotEditable => {
                "A YAML value cannot be replaced alone: an alias, an anchor that is referred to, a tag or a name that is no string is in the way."
            }
            Self::FileNotFound => "The target does not exist.",
            Self::FileExists => "A file to make exists already.",
            Self::NotAFile => "The target is no regular file, or lies below one.",
            Self::HashMismatch => "A file has another content than it has to have.",
            Self::DiskFull => "There is no room left.",
            Self::InputOutput => "The file system failed.",
            Self::ActionTimeout => "An action took longer than it may.",
            Self::ReportUnwritable => "The reports cannot be written, so nothing runs.",
            Self::CheckpointFailed => "The checkpoint cannot be made, so nothing runs.",
            Self::ChangedAfterRun => {
                "A file has another content after the run than the run gave it."
            }
            Self::SqlSyntax => "A query is not SQL.",
            Self::SqlCount => "A query has no statement, or too many.",
            Self::SqlBinding => {
                "A statement names what is not in the database, or has wrong types."
            }
            Self::SqlResult => "The rows of a query cannot be saved as Parquet.",
            Self::SqlParameter => {
                "A parameter is missing, not used, or of a type that the statement cannot take."
            }
            Self::SqlFailed => "A statement failed while it ran.",
            Self::SqlNoRows => "The last statement gave no row, and the plan wants one.",
            Self::SqlOpenTransaction => "A transaction is open after the last statement.",
            Self::DatabaseInUse => "Another process has the database open.",
            Self::DatabaseUnreadable => {
                "The target is no database, a damaged one, or one of a later version of DuckDB."
            }
            Self::SqlResources => "The statements needed more memory or room than they may have.",
            Self::DirtyTarget => "A target has changes that are not committed.",
            Self::NoRepository => "There is no repository to commit to.",
            Self::DetachedHead => "No branch is checked out.",
            Self::UnbornHead => "The repository has no commit yet.",
            Self::MergeInProgress => "A merge, rebase, cherry-pick or revert is not finished.",
            Self::ShallowRepository => "The repository lacks commits that a revert could need.",
            Self::BareRepository => "The repository has no working tree.",
            Self::LinkedWorktree => "The working tree is a linked one.",
            Self::RevertConflict => "Later changes stand where a revert would change something.",
            Self::PermissionDenied => "The file system does not let a target be changed.",
            Self::OutOfScope => "A target is not among what may be changed.",
            Self::PolicyDenied => "A gate refused the plan.",
            Self::ProtectedFileViolation => "A target is protected.",
            Self::ProtectedReportViolation => {
                "A target is the rollback manifest or a backup of a report."
            }
            Self::DependencyFailed => "An action that this one waits for failed.",
            Self::DependencySkipped => "An action that this one waits for was skipped.",
            Self::InternalError => "Something failed that nobody foresaw.",
            Self::RollbackFailed => "The rollback did not end; the workspace needs attention.",
            Self::TaskTimeout => "The task took longer than it may.",
            Self::Cancelled => "The run was cancelled.",
        }
    }
}
