//! Advice for each code, in one sentence.

use super::ErrorCode;

const ABOUT_APPROVAL: &str =
    "See to it that the task is approved as it is now: `actum plan approve` writes an envelope.";
const AS_THE_MESSAGE_SAYS: &str =
    "Correct the document at the place that the message names; `actum plan lint` checks it.";
const LOOK_AT_THE_FILE: &str =
    "Look at the file as it is now, correct the action, and see with `actum plan preview`.";
const SPLIT: &str = "Split the plan into several tasks.";
const BY_CHECKPOINT: &str = "Nothing, if the run need not be committed: its checkpoint takes it back. Else put the repository right, and commit.";

impl ErrorCode {
    /// Returns the advice for the code, in one sentence.
    pub fn to_do(self) -> &'static str {
        match self {
            Self::NotApproved
            | Self::NotValidated
            | Self::PlanChanged
            | Self::ConfigChanged
            | Self::ApprovalInvalid
            | Self::ApprovalExpired => ABOUT_APPROVAL,
            Self::ApprovalMissing => {
                "Have a person agree: `actum plan approve` shows the change and signs, or `actum queue` and `actum approve`."
            }
            Self::InputMissing => "Put the document where the envelope says, beside it.",
            Self::TaskIdTaken => {
                "Give the task another id (`actum plan approve --task ID`), or take back the one that has it with `actum rollback`."
            }
            Self::EnvelopeInvalid => {
                "Correct the envelope, or have `actum plan approve` write another."
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
                "Give one of the two a `depends_on`, or leave `execution_order` at `sequential`."
            }
            Self::PathTraversal | Self::InvalidPath => {
                "Name the target by its path from the root of the project, without `.` and `..`."
            }
            Self::SymlinkRefused => "Name the file by the path that leads over no symbolic link.",
            Self::InputTooLarge => {
                "Make the document smaller: content can be split over several tasks."
            }
            Self::LimitExceeded | Self::BackupTooLarge => SPLIT,
            Self::FileTooLarge => {
                "Leave the file out; the system config may have a lower limit than need be."
            }
            Self::NotAvailable => {
                "Let `actum doctor` say what is missing, or leave the action out."
            }
            Self::PipelineUnknown => {
                "Correct the name; `actum policy check` lists the pipelines. Only the operator declares one."
            }
            Self::PipelineParameter => {
                "Give the parameters that the pipeline has, with values that it takes."
            }
            Self::PipelineNotLast => {
                "Move the external pipelines to the end of the plan, or the other work into a plan of its own."
            }
            Self::PipelineNotStarted => "Run it by a plan of its own, once the reason is gone.",
            Self::ExternalEndUnknown => {
                "Look outside at what the pipeline did; to run it again takes a new plan."
            }
            Self::PipelineFailed => {
                "Correct what the step complains of. Nothing of the pipeline is kept in the workspace; what an external one did outside is done."
            }
            Self::PipelineOutput => {
                "Let the pipeline write to its outputs alone, or ask the operator to declare more of them."
            }
            Self::SqlNotAllowed => {
                "Take the statement out; a step reads and changes its one database, and nothing else."
            }
            Self::SqlSyntax | Self::SqlCount | Self::SqlBinding | Self::SqlFailed => {
                "Correct the query; the database is as it was."
            }
            Self::SqlResult => "End the query with a `SELECT` whose columns Parquet can hold.",
            Self::SqlParameter => "Give each `$name` of the query one value in `parameters`.",
            Self::SqlNoRows => {
                "Correct the query, or leave `expect_results` out where no row may be right."
            }
            Self::SqlOpenTransaction => "End the query with `COMMIT`.",
            Self::DatabaseInUse => "Close the program that has the database open.",
            Self::DatabaseUnreadable => {
                "Check the file, and the version of DuckDB (`actum doctor`) against the one that wrote it."
            }
            Self::SqlResources => "Let the query do its work in smaller parts.",
            Self::NotReversible => {
                "Leave the action out, or set `rollback_on_failure` to `false` in the plan."
            }
            Self::SecretInContent => {
                "Take the credential out of the content, and let the file refer to it by name."
            }
            Self::UndeclaredExecutable => {
                "Say `\"executable\": true` in the operation, where the file is meant to run."
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
                "Write the path as `$.name[0]['other name']`, which selects one place."
            }
            Self::YamlNotEditable => {
                "Edit the file as text, where the value is written: `text_replace`, `line_insert`, `hunks`."
            }
            Self::SourceNotParseable => {
                "Mend the file, or edit it as text: `text_replace`, `line_insert`, `hunks`."
            }
            Self::PreconditionFailed | Self::PostconditionFailed | Self::ValidationRuleFailed => {
                "See with `actum plan preview` what does not hold, and correct the plan, or what it expects."
            }
            Self::FileNotFound => "Correct the target, or make the file with an action before.",
            Self::FileExists => {
                "Modify the file that is there instead, or delete it first; it may be that the task was carried out already."
            }
            Self::NotAFile => "Name a regular file, and no directory, link or device.",
            Self::HashMismatch => {
                "Look at who changed the file meanwhile, and write the plan anew for what is there now."
            }
            Self::DiskFull => {
                "Make room: `actum gc` removes the oldest history; then run the task again."
            }
            Self::InputOutput => "Look at what the system says in the message, and try again.",
            Self::ActionTimeout | Self::TaskTimeout => {
                "Split the plan, or raise the time limit in the system config."
            }
            Self::ReportUnwritable | Self::CheckpointFailed => {
                "See to it that `agent/agent_outputs` can be written and has room, and run the task again."
            }
            Self::ChangedAfterRun => {
                "Find out which process changed the file; `actum diff` shows how. The run is in effect: `actum rollback` refuses to take back over the change."
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
                "Revert the later commits first, or put the files right by hand; the backups of the task are beside its reports."
            }
            Self::PermissionDenied => {
                "Run as a user who may write the target, or leave it out of the plan."
            }
            Self::OutOfScope => {
                "Leave the target out, or have the operator allow it in the policy."
            }
            Self::PolicyDenied => {
                "`actum plan preview` shows which gate says no, and `actum policy explain` why."
            }
            Self::ProtectedFileViolation => {
                "Leave the target out; a person changes it, or takes it from the protected paths. What the profile `agent-executor` alone protects, `actum apply` may change. A file with other names is copied over itself first."
            }
            Self::ProtectedReportViolation => {
                "Leave the target out: reports are not changed by plans."
            }
            Self::DependencyFailed | Self::DependencySkipped => {
                "Mend the action that this one waits for."
            }
            Self::InternalError => {
                "Look at what the reports say is in effect. Where everything is as before, the task can be run again."
            }
            Self::RollbackFailed => {
                "`actum status` says what is left, and `actum recover` ends it; look at the files before the task is run again."
            }
            Self::Cancelled => "Nothing: everything is as before, and the task can be run again.",
        }
    }
}
