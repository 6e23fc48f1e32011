//! Files that a task writes: reports, change log, rollback manifest and script, executor prompt and status lines.
//!
//! Each document is computed only from data, ids and times that the caller passes. The five JSON documents are described by
//! schemas, from which both their parsers and the published JSON Schemas are derived.

mod change_log;
mod clean_text;
mod details;
mod diff_summary;
mod document;
mod error;
mod execution;
mod file_path;
mod manifest;
mod names;
mod prompt;
mod rollback;
mod schemas;
mod script;
mod summary;
mod task_status;

pub use change_log::{Change, ChangeLog, ChangeWord, FileAt, PresentFile};
pub use clean_text::{CleanText, REDACTED, Redact, TEXT_CHARS_MAX};
pub use details::{
    ActionDetails, ConfinementDetails, EngineDetails, PipelineDetails, SqlDetails,
    StatementDetails, StepDetails,
};
pub use diff_summary::{DiffSummary, PREVIEW_CHARS_MAX};
pub use error::{ErrorDetails, ErrorObject, ErrorReport, ErrorStatus, Violation};
pub use execution::{
    ActionOutcome, ActionsSummary, CompletedAction, CompletedWord, EXECUTOR_VERSION,
    ExecutionReport, FailedAction, FailedWord, ReportStatus, RollbackMethod, RunDetails, RunEnd,
    RunFacts, SkippedAction,
};
pub use file_path::{FilePath, NewPath};
pub use manifest::{
    BackupFormat, ManifestCheckpoint, ManifestEvent, ManifestFacts, ManifestStatus,
    RollbackManifest,
};
pub use names::{
    ARCHIVE_DIRECTORY, BACKUPS_DIRECTORY, CHANGE_LOG_FILE, CONFIG_FILE, ERROR_REPORT_FILE,
    EXECUTION_REPORT_FILE, PLAN_FILE, PROMPT_FILE, REPORT_FILES, REPORTS_DIRECTORY,
    ROLLBACK_MANIFEST_FILE, ROLLBACK_SCRIPT_FILE, ReportName, SUMMARY_FILE, TEMPORARY_PREFIX,
    archive_directory, backup_name, displaced_name, is_protected_report, path_of_backup,
};
pub use prompt::{executor_prompt, is_executor_prompt};
pub use rollback::{BackupDelta, Checkpoint, DirectoryChange, FileChange, Rollback, RollbackError};
pub use schemas::{ACTIONS_MAX, schemas};
pub use summary::{
    PlannedAction, PlannedSummary, implementation_summary, is_implementation_summary,
};
pub use task_status::{
    ActionStatus, EnvelopeStatus, LineFacts, Phase, StatusEnvelope, StatusUpdate,
    TASK_STATUS_FORMAT, TaskStatus, TaskStatusFormat, outcome,
};

use actum_document::Diagnostic;

/// Error for a task document that cannot be read, or that was about to be written but could not be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task document is invalid: {0}")]
pub struct ReportError(#[source] pub Diagnostic);
