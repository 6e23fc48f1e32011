//! Why a task cannot be taken back.

use actum_core::RunId;
use actum_git::GitProblem;

use super::Error;

/// Why a task cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub enum RollbackRefused {
    /// There is no report of such a task.
    #[error("there is no report of a task `{task}` in this workspace")]
    Unknown {
        /// What was asked for.
        task: String,
    },
    /// It changed no file, so there is nothing to take back.
    #[error(
        "the task of `{report}` has nothing to be taken back with: it changed no file, or its rollback manifest was removed"
    )]
    Nothing {
        /// The directory of its reports.
        report: String,
    },
    /// It was taken back already.
    #[error("the task of `{report}` was taken back before")]
    Executed {
        /// The directory of its reports.
        report: String,
    },
    /// Its manifest has expired.
    #[error("the rollback manifest of `{report}` has expired")]
    Expired {
        /// The directory of its reports.
        report: String,
    },
    /// Its commit cannot be reverted, since somebody worked on its files.
    #[error("the task of `{report}` cannot be taken back by git: {source}{alert}")]
    Git {
        /// The directory of its reports.
        report: String,
        /// Where the alert is that was raised for a person, if one had to be.
        alert: String,
        /// Why.
        source: Box<GitProblem>,
    },
    /// It is neither taken back nor as it was, as far as is known.
    #[error("{source}{alert}")]
    Open {
        /// Where the alert is that was raised for a person.
        alert: String,
        /// Why.
        source: Box<Error>,
    },
    /// It could not be taken back, and before that files came back that a killed script had moved aside.
    #[error(
        "{source}; {}, which a killed rollback script had moved aside, came back before that",
        listed(put_back)
    )]
    PutBack {
        /// The files, from the root of the workspace.
        put_back: Vec<String>,
        /// Why.
        source: Box<Error>,
    },
    /// What takes it back is not what the receipt of its run has the digests of.
    #[error(
        "`{file}` is not what the task left there, by the receipt of the run {run}: it was rewritten since, so nothing is \
         done by it"
    )]
    Rewritten {
        /// The file, from the root of the workspace.
        file: String,
        /// The run.
        run: RunId,
    },
    /// Its manifest cannot be used.
    #[error("the rollback manifest of `{report}` cannot be used: {why}")]
    Unusable {
        /// The directory of its reports.
        report: String,
        /// Why.
        why: String,
    },
}

/// Names of files for a message.
pub(crate) fn listed(put_back: &[String]) -> String {
    let names: Vec<_> = put_back.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}
