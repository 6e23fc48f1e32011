//! Errors of repository operations, and what each of them means for the changes.

use std::path::PathBuf;

use actum_core::path::Quoted;
use actum_core::{RelPath, RunId};

use crate::id::CommitId;
use crate::unfit::Unfit;

/// Reason why an operation on a repository failed. Each message is also correct about which changes were made.
#[derive(Debug, thiserror::Error)]
pub enum GitProblem {
    /// The directory is not the root of a git repository.
    #[error(
        "cannot open the repository at `{}`: it has no `.git` directory; run `git init`, or open the \
         directory that contains `.git`", shown(.root)
    )]
    NoRepository {
        /// Root of the work tree.
        root: PathBuf,
    },
    /// The repository has no work tree.
    #[error(
        "cannot use the repository at `{}`: it is bare, so it has no files to commit; use a clone with a \
         work tree", shown(.root)
    )]
    Bare {
        /// Root of the work tree.
        root: PathBuf,
    },
    /// `.git` refers to a directory elsewhere.
    #[error(
        "cannot use the repository at `{}`: its `.git` refers to another directory, like that of a linked \
         work tree or submodule; use the main work tree", shown(.root)
    )]
    LinkedWorktree {
        /// Root of the work tree.
        root: PathBuf,
    },
    /// The repository belongs to another user.
    #[error(
        "cannot open the repository at `{}`: it belongs to another user, so git does not trust it; if you \
         trust it, add it to `safe.directory` in your git settings", shown(.root)
    )]
    OtherOwner {
        /// Root of the work tree.
        root: PathBuf,
    },
    /// The repository has a property that is not supported.
    #[error(
        "cannot use the repository at `{}`: {what}, which actum does not support; use the checkpoint of the \
         run to roll back", shown(.root)
    )]
    Unsupported {
        /// Root of the work tree.
        root: PathBuf,
        /// Description of the property that is not supported.
        what: String,
    },
    /// HEAD refers to a commit instead of a branch.
    #[error("cannot commit because HEAD is detached; check out a branch with `git switch`")]
    DetachedHead,
    /// The branch has no commits yet.
    #[error(
        "cannot commit because the branch `{branch}` has no commits yet; create an initial commit"
    )]
    UnbornHead {
        /// Branch that HEAD refers to.
        branch: String,
    },
    /// Another git operation is not finished.
    #[error(
        "cannot use the repository because {what} is not finished; finish or abort it with git"
    )]
    InProgress {
        /// Name of the unfinished operation.
        what: &'static str,
    },
    /// The repository is a shallow clone and lacks some commits.
    #[error(
        "cannot revert `{commit}`: the repository is shallow and may lack commits that the revert needs; \
         fetch them with `git fetch --unshallow`"
    )]
    Shallow {
        /// Id of the commit.
        commit: CommitId,
    },
    /// A file has uncommitted changes.
    #[error(
        "cannot commit `{path}`: {dirt}, so a commit would include changes that the run did not make; \
         commit or stash them first"
    )]
    Dirty {
        /// Path of the first affected file.
        path: RelPath,
        /// Difference between the file and HEAD.
        dirt: Dirt,
    },
    /// A file cannot be committed in its current form.
    #[error("cannot commit `{path}`: {unfit}; use the checkpoint of the run to roll back")]
    Unfit {
        /// Path of the first affected file.
        path: RelPath,
        /// Reason why the file cannot be committed.
        unfit: Unfit,
    },
    /// A file was not checked before, or is listed twice.
    #[error(
        "cannot commit `{path}`: the file was not checked before the run, or is listed twice; check \
         exactly the files to commit"
    )]
    NotChecked {
        /// Path of the file.
        path: RelPath,
    },
    /// HEAD moved since the files were checked.
    #[error(
        "cannot commit to `{branch}`: HEAD moved since the files were checked; check them again; no branch \
         was moved"
    )]
    HeadMoved {
        /// Branch that was checked out at the time of the check.
        branch: String,
    },
    /// Another process holds a lock on HEAD or on the branch.
    #[error(
        "cannot commit to `{branch}`: another process is changing the branch or HEAD; retry later, or remove \
         the leftover `.lock` file if no git process is running; no branch was moved"
    )]
    Busy {
        /// Short name of the branch.
        branch: String,
    },
    /// The commit was created, but the disk did not confirm it.
    #[error(
        "the branch `{branch}` now points to `{commit}`, but the disk did not confirm the write; after a \
         power failure, check it with `git log`"
    )]
    NotDurable {
        /// Short name of the branch.
        branch: String,
        /// Id of the commit.
        commit: CommitId,
        /// Error that the disk reported.
        source: Box<GitProblem>,
    },
    /// The commit cannot be reverted for the given run.
    #[error("cannot revert `{commit}` for run `{run}`: {why}; specify the commit of that run")]
    NotOfRun {
        /// Id of the commit.
        commit: CommitId,
        /// Id of the run.
        run: RunId,
        /// Reason why the commit cannot be reverted.
        why: &'static str,
    },
    /// Later commits changed the same parts that the revert would change.
    #[error(
        "cannot revert `{commit}`: later commits changed the same parts of {}; revert them first, or use \
         the checkpoint of the run", listed(.paths)
    )]
    RevertConflict {
        /// Id of the commit.
        commit: CommitId,
        /// Paths of the affected files. The list is never empty.
        paths: Vec<RelPath>,
    },
    /// libgit2 cannot read or write data of the repository.
    #[error("error while {doing}: {source}; no branch was moved")]
    Git {
        /// Operation that was attempted.
        doing: &'static str,
        /// Error that libgit2 reported.
        source: git2::Error,
    },
    /// A file of the repository cannot be read or written.
    #[error("error while {doing}: {source}; no branch was moved")]
    Disk {
        /// Operation that was attempted.
        doing: &'static str,
        /// Error that the operating system reported.
        source: std::io::Error,
    },
}

/// Difference between a file and HEAD that prevents a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dirt {
    /// HEAD does not contain the file.
    #[error("it is not in HEAD")]
    Untracked,
    /// HEAD contains the file, but the work tree does not.
    #[error("it is in HEAD, but not in the work tree")]
    Removed,
    /// The content of the file differs from HEAD.
    #[error("its content differs from HEAD")]
    Content,
    /// The executable bit of the file differs from HEAD.
    #[error("its executable bit differs from HEAD")]
    Mode,
    /// HEAD has an object other than a regular file at the path.
    #[error("it is not a regular file in HEAD")]
    Kind,
    /// The index entry of the file differs from HEAD.
    #[error("it has staged changes")]
    Staged,
}

impl GitProblem {
    /// Returns true if the problem is caused by a user's edits of the files. In this case, no other way of rolling back
    /// would keep these edits either.
    pub fn is_about_edits(&self) -> bool {
        match self {
            Self::Dirty { .. } | Self::RevertConflict { .. } => true,
            Self::NoRepository { .. }
            | Self::OtherOwner { .. }
            | Self::Unsupported { .. }
            | Self::Bare { .. }
            | Self::LinkedWorktree { .. }
            | Self::DetachedHead
            | Self::UnbornHead { .. }
            | Self::InProgress { .. }
            | Self::HeadMoved { .. }
            | Self::Busy { .. }
            | Self::Shallow { .. }
            | Self::Unfit { .. }
            | Self::NotOfRun { .. }
            | Self::NotChecked { .. }
            | Self::Git { .. }
            | Self::Disk { .. }
            | Self::NotDurable { .. } => false,
        }
    }
}

/// Extension trait that adds the attempted operation to an error.
pub(crate) trait ResultExt<T> {
    fn doing(self, doing: &'static str) -> Result<T, GitProblem>;
}

impl<T> ResultExt<T> for Result<T, git2::Error> {
    fn doing(self, doing: &'static str) -> Result<T, GitProblem> {
        self.map_err(|source| GitProblem::Git { doing, source })
    }
}

impl<T> ResultExt<T> for Result<T, std::io::Error> {
    fn doing(self, doing: &'static str) -> Result<T, GitProblem> {
        self.map_err(|source| GitProblem::Disk { doing, source })
    }
}

fn shown(path: &std::path::Path) -> String {
    Quoted(path.as_os_str().as_encoded_bytes()).to_string()
}

/// Maximum number of paths that a message lists.
const LISTED_MAX: usize = 5;

fn listed(paths: &[RelPath]) -> String {
    let mut text: Vec<String> =
        paths.iter().take(LISTED_MAX).map(|path| format!("`{path}`")).collect();
    if let more @ 1.. = paths.len().saturating_sub(LISTED_MAX) {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}
