//! Advice for the error codes, which `actum explain` shows.

use super::ErrorCode;

const ABOUT_APPROVAL: &str =
    "Have the current version of the task approved; `actum plan approve` writes an envelope.";
const AS_THE_MESSAGE_SAYS: &str =
    "Correct the document at the position in the message, and check it with `actum plan lint`.";
const LOOK_AT_THE_FILE: &str =
    "Compare the action with the current file, correct it, and check it with `actum plan preview`.";
const SPLIT: &str = "Split the plan into several tasks.";
const BY_CHECKPOINT: &str = "If the run need not be committed, do nothing: its checkpoint can undo it. Otherwise, fix the repository and commit the changes.";

impl ErrorCode {
    /// Returns advice on how to resolve the error, in one to three sentences.
    pub fn to_do(self) -> &'static str {
        match self {
            Self::NotApproved
            | Self::NotValidated
            | Self::PlanChanged
            | Self::ConfigChanged
            | Self::ApprovalInvalid
            | Self::ApprovalExpired => ABOUT_APPROVAL,
            Self::ApprovalMissing => {
                "Get an operator's approval with `actum plan approve`, which shows and signs the change, or with `actum queue` and `actum approve`."
            }
            Self::InputMissing => {
                "Put the document at the path in the envelope, which is relative to the envelope's directory."
            }
            Self::TaskIdTaken => {
                "Give the task a different id (`actum plan approve --task ID`), or undo the earlier task with `actum rollback`."
            }
            Self::EnvelopeInvalid => {
                "Correct the envelope, or create a new one with `actum plan approve`."
            }
            Self::InvalidJson
            | Self::InvalidYaml
            | Self::SchemaViolation
            | Self::DuplicateKey
            | Self::UnknownField
            | Self::UnknownActionType
            | Self::UnknownOperation
            | Self::DuplicateActionId
            | Self::UnknownDependency
            | Self::DependencyCycle
            | Self::SelfDependency => AS_THE_MESSAGE_SAYS,
            Self::UnorderedActions => {
                "Add a `depends_on` to one of the two actions, or leave `execution_order` at `sequential`."
            }
            Self::PathTraversal | Self::InvalidPath => {
                "Name the target by its path relative to the project root, without `.` and `..`."
            }
            Self::SymlinkRefused => "Name the file by a path that contains no symbolic link.",
            Self::InputTooLarge => {
                "Make the document smaller, for example by splitting its content over several tasks."
            }
            Self::LimitExceeded | Self::BackupTooLarge => SPLIT,
            Self::FileTooLarge => {
                "Leave the file out, or check whether the limit in the system config is lower than necessary."
            }
            Self::NotAvailable => {
                "Run `actum doctor` to see what is missing, or leave the action out."
            }
            Self::PipelineUnknown => {
                "Correct the name; `actum policy check` lists the pipelines. Only the operator can declare a new one."
            }
            Self::PipelineParameter => {
                "Set the parameters that the pipeline declares to values that it accepts."
            }
            Self::PipelineNotLast => {
                "Move the external pipelines to the end of the plan, or the other actions to a separate plan."
            }
            Self::PipelineNotStarted => {
                "Fix the cause, and then run the pipeline with a separate plan."
            }
            Self::ExternalEndUnknown => {
                "Check what the pipeline did outside the workspace. To run it again, create a new plan."
            }
            Self::PipelineFailed => {
                "Fix the problem that the step reports. The pipeline's changes to the workspace were discarded, but effects of an external pipeline elsewhere remain."
            }
            Self::PipelineOutput => {
                "Make the pipeline write only to its outputs, or ask the operator to declare more outputs."
            }
            Self::SqlNotAllowed => {
                "Remove the statement, because an SQL step can read and change only its own database."
            }
            Self::SqlSyntax | Self::SqlCount | Self::SqlBinding | Self::SqlFailed => {
                "Correct the query. The database is unchanged."
            }
            Self::SqlResult => {
                "End the query with a `SELECT` whose columns can be stored as Parquet."
            }
            Self::SqlParameter => {
                "Give each `$name` in the query a value in `parameters`, and remove unused values."
            }
            Self::SqlNoRows => {
                "Correct the query, or remove `expect_results` if an empty result is acceptable."
            }
            Self::SqlOpenTransaction => "End the query with `COMMIT`.",
            Self::DatabaseInUse => "Close the program that has the database open.",
            Self::DatabaseUnreadable => {
                "Check the file, and compare the version of DuckDB (`actum doctor`) with the one that wrote it."
            }
            Self::SqlResources => "Change the query to process less data at a time.",
            Self::NotReversible => {
                "Leave the action out, or set `rollback_on_failure` to `false` in the plan."
            }
            Self::SecretInContent => {
                "Remove the credential from the content, and refer to it by name instead."
            }
            Self::UndeclaredExecutable => {
                "If the file should be executable, set `\"executable\": true` in the operation."
            }
            Self::PatternNotFound
            | Self::PatternCount
            | Self::LineOutOfRange
            | Self::HunkMismatch
            | Self::SelectorNoMatch
            | Self::SelectorSeveral
            | Self::PropertyExists
            | Self::PropertyMissing
            | Self::AmbiguousKey
            | Self::ResultNotParseable
            | Self::ResultNotSchema => LOOK_AT_THE_FILE,
            Self::SelectorInvalid => {
                "Write the path in the form `$.name[0]['other name']`, which selects a single value."
            }
            Self::YamlNotEditable => {
                "Edit the value as text with `text_replace`, `line_insert` or `hunks`."
            }
            Self::SourceNotParseable => {
                "Fix the file first, or edit it as text with `text_replace`, `line_insert` or `hunks`."
            }
            Self::PreconditionFailed | Self::PostconditionFailed | Self::ValidationRuleFailed => {
                "Run `actum plan preview` to see which condition is not met, and correct the plan or the condition."
            }
            Self::FileNotFound => "Correct the target, or create the file with an earlier action.",
            Self::FileExists => {
                "Modify the existing file instead, or delete it first. The task may already have been executed."
            }
            Self::NotAFile => "Name a regular file, not a directory, link or device.",
            Self::HashMismatch => {
                "Find out who changed the file, and update the plan for its current content."
            }
            Self::DiskFull => {
                "Free disk space, for example with `actum gc`, which removes the oldest history. Then run the task again."
            }
            Self::InputOutput => "Check the system error in the message, and try again.",
            Self::ActionTimeout | Self::TaskTimeout => {
                "Split the plan, or raise the time limit in the system config."
            }
            Self::ReportUnwritable | Self::CheckpointFailed => {
                "Make sure that `agent/agent_outputs` is writable and has free space, and run the task again."
            }
            Self::ChangedAfterRun => {
                "Find out which process changed the file; `actum diff` shows the difference. The run is in effect, and `actum rollback` refuses to overwrite the change."
            }
            Self::DirtyTarget
            | Self::NoRepository
            | Self::DetachedHead
            | Self::UnbornHead
            | Self::MergeInProgress
            | Self::ShallowRepository
            | Self::BareRepository
            | Self::LinkedWorktree => BY_CHECKPOINT,
            Self::RevertConflict => {
                "Revert the later commits first, or restore the files manually from the task's backups, which are next to its reports."
            }
            Self::PermissionDenied => {
                "Run actum as a user who may write to the target, or remove the target from the plan."
            }
            Self::OutOfScope => {
                "Remove the target from the plan, or have the operator allow it in the policy."
            }
            Self::PolicyDenied => {
                "Run `actum plan preview` to see which gate denies the plan, and `actum policy explain` to see why."
            }
            Self::ProtectedFileViolation => {
                "Remove the target from the plan, and have the user change it or the operator unprotect it. If only the profile `agent-executor` protects it, `actum apply` can change it. Replace a file that has several hard links with a copy first."
            }
            Self::ProtectedReportViolation => {
                "Remove the target from the plan, because plans cannot change reports."
            }
            Self::DependencyFailed | Self::DependencySkipped => {
                "Fix the action that this action depends on."
            }
            Self::InternalError => {
                "Check the reports to see which changes are in effect. If there are none, the task can be run again."
            }
            Self::RollbackFailed => {
                "Run `actum status` to see what remains and `actum recover` to finish it. Check the files before you run the task again."
            }
            Self::Cancelled => {
                "No action is required. All changes were rolled back, and the task can be run again."
            }
        }
    }
}
