//! What a process left that was cut off while it committed.

use std::fs::OpenOptions;
use std::io::Read as _;

use actum_core::RunId;
use git2::Oid;

use crate::commit::Committed;
use crate::head::Head;
use crate::id::CommitId;
use crate::index::{IndexOutcome, LeftIndex, Pending};
use crate::lock::remove;
use crate::message::{reverted_by, run_of};
use crate::problem::{Doing, GitProblem};
use crate::repository::{Handle, Repository};

/// Which commit may have been left half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// That of a run.
    Run(RunId),
    /// The one that reverts this one.
    Revert(CommitId),
}

/// What was found of it.
#[derive(Debug)]
pub struct Resumed {
    /// The commit, where HEAD is at it, and what became of the index.
    pub commit: Option<Committed>,
    /// Locks that are in git's way, as they are called in `.git`: whether a process that is no more left them, or one
    /// that is at work has them, nobody can tell.
    pub locks: Vec<String>,
}

const DOING: &str = "looking for a commit that was cut off";

impl Left {
    fn is(self, handle: &Handle, commit: Oid) -> Result<bool, git2::Error> {
        let commit = handle.raw.find_commit(commit)?;
        let message = String::from_utf8_lossy(commit.message_raw_bytes());
        Ok(match self {
            Self::Run(run) => run_of(&message) == Some(run),
            Self::Revert(reverted) => reverted_by(&message) == Some(reverted),
        })
    }
}

impl Repository {
    /// Ends what a process began that is no more, and gives the commit, where HEAD is at it. The index that it had
    /// made ready takes its place where the branch was moved, and goes where it was not; with it go the locks that
    /// are known to be of that process. Whatever else somebody staged stays so: as long as the lock was there nobody
    /// could, and where somebody took it away the index is left alone.
    ///
    /// # Errors
    /// [`GitProblem`] where HEAD cannot be read.
    pub fn resume(&self, left: Left) -> Result<Resumed, GitProblem> {
        let handle = self.handle()?;
        // Under its lock, where it was left, until this is over.
        let index = Pending::left(&handle.raw);
        let head = Head::read(&handle.raw)?;
        if left.is(&handle, head.commit).doing(DOING)? {
            let index = match index {
                Ok(LeftIndex::None) => IndexOutcome::Updated,
                Ok(LeftIndex::Ready(pending)) => pending
                    .publish()
                    .map_or_else(IndexOutcome::NotUpdated, |()| IndexOutcome::Updated),
                Err(problem) => IndexOutcome::NotUpdated(problem),
            };
            let commit = Some(Committed { id: CommitId::of(head.commit), index });
            return Ok(Resumed { commit, locks: locks(&handle, &head) });
        }
        drop(index);
        unlock_branch(&handle, &head, left).doing(DOING)?;
        Ok(Resumed { commit: None, locks: locks(&handle, &head) })
    }
}

/// Lets the lock of the branch go where it holds the very commit: nobody else was to move the branch there.
fn unlock_branch(handle: &Handle, head: &Head, left: Left) -> std::io::Result<()> {
    let lock = handle.raw.path().join(format!("{}.lock", head.branch));
    let mut held = String::new();
    let Ok(file) = OpenOptions::new().read(true).open(&lock) else { return Ok(()) };
    let is_read = file.take(64).read_to_string(&mut held).is_ok();
    let commit = Oid::from_str(held.trim_end()).ok().filter(|_| is_read);
    match commit.is_some_and(|commit| left.is(handle, commit).unwrap_or(false)) {
        true => remove(&lock),
        false => Ok(()),
    }
}

/// The locks that are there now.
fn locks(handle: &Handle, head: &Head) -> Vec<String> {
    let names = ["index.lock".to_owned(), "HEAD.lock".to_owned(), format!("{}.lock", head.branch)];
    let is_there = |name: &String| handle.raw.path().join(name).symlink_metadata().is_ok();
    names.into_iter().filter(is_there).collect()
}
