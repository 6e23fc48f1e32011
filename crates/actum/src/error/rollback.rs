//! Errors from rolling back a task.

use actum_core::RunId;
use actum_git::GitProblem;

use super::Error;

/// Error from rolling back a task.
#[derive(Debug, thiserror::Error)]
pub enum RollbackRefused {
    /// The workspace has no report of a task with this id.
    #[error("this workspace has no report of a task `{task}`")]
    Unknown {
        /// Id of the requested task.
        task: String,
    },
    /// There is nothing to roll back, because the task changed no file or its rollback manifest was removed.
    #[error(
        "cannot roll back the task of `{report}`: it changed no file, or its rollback manifest was removed"
    )]
    Nothing {
        /// Report directory of the task.
        report: String,
    },
    /// The task has already been rolled back.
    #[error("the task of `{report}` was already rolled back")]
    Executed {
        /// Report directory of the task.
        report: String,
    },
    /// The rollback manifest of the task has expired.
    #[error("the rollback manifest of `{report}` has expired")]
    Expired {
        /// Report directory of the task.
        report: String,
    },
    /// Git cannot revert the commit of the task, for example because its files were changed afterwards.
    #[error("git cannot roll back the task of `{report}`: {source}{alert}")]
    Git {
        /// Report directory of the task.
        report: String,
        /// Clause that names the alert for the operator, or an empty string if no alert was raised.
        alert: String,
        /// Error that made the rollback fail.
        source: Box<GitProblem>,
    },
    /// The rollback was interrupted by an error, so the task may be only partly rolled back.
    #[error("{source}{alert}")]
    Open {
        /// Clause that names the alert for the operator.
        alert: String,
        /// Error that made the rollback fail.
        source: Box<Error>,
    },
    /// The rollback failed after actum had restored files that a killed rollback script had moved aside.
    #[error(
        "{source}; before that, actum restored {}, which a killed rollback script had moved aside",
        listed(restored)
    )]
    PutBack {
        /// Restored files, relative to the root of the workspace.
        restored: Vec<String>,
        /// Error that made the rollback fail.
        source: Box<Error>,
    },
    /// A rollback file does not match its digest in the receipt of the task's run.
    #[error(
        "`{file}` was changed after the task wrote it and does not match the receipt of run {run}, so it was \
         not used"
    )]
    Rewritten {
        /// Rollback file, relative to the root of the workspace.
        file: String,
        /// Id of the run that recorded the task.
        run: RunId,
    },
    /// The rollback manifest is unreadable or invalid.
    #[error("cannot use the rollback manifest of `{report}`: {why}")]
    Unusable {
        /// Report directory of the task.
        report: String,
        /// Reason why the manifest cannot be used.
        why: String,
    },
}

/// Joins file names into a list for a message, each in backticks.
pub(crate) fn listed(restored: &[String]) -> String {
    let names: Vec<_> = restored.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}
