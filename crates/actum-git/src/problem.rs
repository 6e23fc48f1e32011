//! Problems with a repository, and the state of the changes after each.

use std::path::PathBuf;

use actum_core::path::Quoted;
use actum_core::{RelPath, RunId};

use crate::id::CommitId;
use crate::unfit::Unfit;

/// Reason why an operation on a repository failed. Each message states what is true about changes afterwards.
#[derive(Debug, thiserror::Error)]
pub enum GitProblem {
    /// The directory is no repository of its own.
    #[error(
        "opening the repository at `{}`: there is no `.git` in it; make one with `git init`, or open the \
         directory in which it is", shown(.root)
    )]
    NoRepository {
        /// The directory.
        root: PathBuf,
    },
    /// The repository has no work tree.
    #[error(
        "opening the repository at `{}`: it is bare, so it has no files to commit; use a clone with a work \
         tree", shown(.root)
    )]
    Bare {
        /// The directory.
        root: PathBuf,
    },
    /// `.git` leads elsewhere.
    #[error(
        "opening the repository at `{}`: its `.git` leads to another directory, as that of a linked work \
         tree or of a submodule does; use the main work tree", shown(.root)
    )]
    LinkedWorktree {
        /// The directory.
        root: PathBuf,
    },
    /// The repository belongs to another user.
    #[error(
        "opening the repository at `{}`: it belongs to another user, and git does not trust it; add it to \
         `safe.directory` of your own git settings if you do", shown(.root)
    )]
    OtherOwner {
        /// The directory.
        root: PathBuf,
    },
    /// The repository is of a kind that is not supported.
    #[error(
        "opening the repository at `{}`: {what}, which actum does not support; the checkpoint of the run is \
         the way back", shown(.root)
    )]
    Unsupported {
        /// The directory.
        root: PathBuf,
        /// Property that is not supported.
        what: String,
    },
    /// HEAD names a commit, and no branch.
    #[error(
        "looking for the branch to commit to: HEAD is detached; check out a branch with `git switch`"
    )]
    DetachedHead,
    /// The branch has no commit yet.
    #[error(
        "looking for the commit to build on: the branch `{branch}` has none yet; make a first commit"
    )]
    UnbornHead {
        /// The branch that HEAD names.
        branch: String,
    },
    /// Another operation of git is not finished.
    #[error(
        "looking at the state of the repository: {what} is not finished; finish or abort it with git"
    )]
    InProgress {
        /// The operation.
        what: &'static str,
    },
    /// The repository does not have all its commits.
    #[error(
        "reverting `{commit}`: the repository is shallow, so commits that the revert could need are missing; \
         fetch them with `git fetch --unshallow`"
    )]
    Shallow {
        /// The commit.
        commit: CommitId,
    },
    /// A file has changes that are not committed.
    #[error(
        "checking `{path}` against HEAD: {dirt}, so that a commit would sweep in work that is not the run's; \
         commit or stash it"
    )]
    Dirty {
        /// The first such file.
        path: RelPath,
        /// Obstacle to the commit.
        dirt: Dirt,
    },
    /// A path cannot be committed in its current form.
    #[error(
        "checking whether `{path}` can be committed: {unfit}; the checkpoint of the run is the way back"
    )]
    Unfit {
        /// The first such file.
        path: RelPath,
        /// Reason why it is unfit.
        unfit: Unfit,
    },
    /// A file is given that was not checked, or is given twice.
    #[error(
        "committing `{path}`: it is not among what was checked before the run, or is given twice; check \
         exactly what is to be committed"
    )]
    NotChecked {
        /// The file.
        path: RelPath,
    },
    /// HEAD moved since the files were checked.
    #[error(
        "committing to `{branch}`: HEAD moved since the files were checked; check them again; no branch was \
         moved"
    )]
    HeadMoved {
        /// The branch that was checked out then.
        branch: String,
    },
    /// Another process holds a lock on HEAD or on the branch.
    #[error(
        "committing to `{branch}`: another process is changing it or HEAD; retry later, or remove the file \
         that ends with `.lock` if no process has it; no branch was moved"
    )]
    Busy {
        /// The branch.
        branch: String,
    },
    /// The commit exists, but the disk did not confirm it.
    #[error(
        "committing to `{branch}`: the branch is at `{commit}` now, but the disk did not confirm it; look at \
         `git log`, and do not rely on it after a power cut"
    )]
    NotDurable {
        /// The branch.
        branch: String,
        /// The commit.
        commit: CommitId,
        /// Error of the disk.
        source: Box<GitProblem>,
    },
    /// The commit cannot be reverted for the run.
    #[error("reverting `{commit}` for run `{run}`: {why}; name the commit of that run")]
    NotOfRun {
        /// The commit.
        commit: CommitId,
        /// The run.
        run: RunId,
        /// Reason for the refusal.
        why: &'static str,
    },
    /// Later commits changed what the revert would change.
    #[error(
        "reverting `{commit}`: later commits changed the same places of {}; take these back first, or use the \
         checkpoint of the run", listed(.paths)
    )]
    RevertConflict {
        /// The commit.
        commit: CommitId,
        /// The files, by their paths; never empty.
        paths: Vec<RelPath>,
    },
    /// git's data cannot be read or written.
    #[error("{doing}: {source}; no branch was moved")]
    Git {
        /// Attempted operation.
        doing: &'static str,
        /// Error of libgit2.
        source: git2::Error,
    },
    /// A file of the repository cannot be read or written.
    #[error("{doing}: {source}; no branch was moved")]
    Disk {
        /// Attempted operation.
        doing: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// Difference between a file and HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dirt {
    /// HEAD does not have it.
    #[error("it is not in HEAD")]
    Untracked,
    /// HEAD has it, and the work tree did not.
    #[error("it is in HEAD, but not in the work tree")]
    Removed,
    /// Its content differs.
    #[error("its content is not that in HEAD")]
    Content,
    /// Its executable bit differs.
    #[error("its executable bit is not that in HEAD")]
    Mode,
    /// HEAD has another object there than a file.
    #[error("HEAD has something else than a file there")]
    Kind,
    /// The index has it in another form than HEAD.
    #[error("it has staged changes")]
    Staged,
}

impl GitProblem {
    /// Returns true if it concerns a user's edits of the files: nothing else could roll the run back without losing
    /// them.
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

/// Adds the attempted operation to an error.
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

/// Number of paths that a message names.
const LISTED_MAX: usize = 5;

fn listed(paths: &[RelPath]) -> String {
    let mut text: Vec<String> =
        paths.iter().take(LISTED_MAX).map(|path| format!("`{path}`")).collect();
    if let more @ 1.. = paths.len().saturating_sub(LISTED_MAX) {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}
