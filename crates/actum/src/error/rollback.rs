//! Reasons for a task that cannot be rolled back.

use actum_core::RunId;
use actum_git::GitProblem;

use super::Error;

/// Failure to roll back a task.
#[derive(Debug, thiserror::Error)]
pub enum RollbackRefused {
    /// The workspace has no report of such a task.
    #[error("there is no report of a task `{task}` in this workspace")]
    Unknown {
        /// Requested task.
        task: String,
    },
    /// The task changed no file, so there is nothing to roll back.
    #[error(
        "cannot roll back the task of `{report}`: it changed no file, or its rollback manifest was removed"
    )]
    Nothing {
        /// Directory of its reports.
        report: String,
    },
    /// The task was rolled back already.
    #[error("the task of `{report}` was taken back before")]
    Executed {
        /// Directory of its reports.
        report: String,
    },
    /// The rollback manifest has expired.
    #[error("the rollback manifest of `{report}` has expired")]
    Expired {
        /// Directory of its reports.
        report: String,
    },
    /// The commit cannot be reverted, since its files were changed afterwards.
    #[error("git cannot roll back the task of `{report}`: {source}{alert}")]
    Git {
        /// Directory of its reports.
        report: String,
        /// Clause with the path of the alert for the operator, if one had to be raised.
        alert: String,
        /// Cause.
        source: Box<GitProblem>,
    },
    /// The task may be rolled back in part only.
    #[error("{source}{alert}")]
    Open {
        /// Clause with the path of the alert for the operator.
        alert: String,
        /// Cause.
        source: Box<Error>,
    },
    /// The rollback failed after files came back that a killed script had moved aside.
    #[error(
        "{source}; {}, which a killed rollback script had moved aside, came back before that",
        listed(put_back)
    )]
    PutBack {
        /// Restored files, from the root of the workspace.
        put_back: Vec<String>,
        /// Cause.
        source: Box<Error>,
    },
    /// A rollback file does not match its digest in the receipt of the run.
    #[error(
        "`{file}` is not what the task left there, by the receipt of the run {run}: it was rewritten since, so nothing is \
         done by it"
    )]
    Rewritten {
        /// File, from the root of the workspace.
        file: String,
        /// Run of the task.
        run: RunId,
    },
    /// The rollback manifest cannot be used.
    #[error("the rollback manifest of `{report}` cannot be used: {why}")]
    Unusable {
        /// Directory of its reports.
        report: String,
        /// Problem of the manifest.
        why: String,
    },
}

/// Lists files for a message.
pub(crate) fn listed(put_back: &[String]) -> String {
    let names: Vec<_> = put_back.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}
