//! What a process left that was cut off while it committed.

use actum_core::{RelPath, RunId};
use git2::{Commit, DiffFile, Repository as Raw};

use crate::check::is_staged;
use crate::commit::Committed;
use crate::head::Head;
use crate::id::CommitId;
use crate::index::{IndexOutcome, IndexProblem, Moved, NotReady, Pending};
use crate::lock::IndexLock;
use crate::message::{reverted_by, run_of};
use crate::problem::{Doing, GitProblem};
use crate::repository::Repository;
use crate::tree::Entry;

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
    /// The commit, where HEAD is at it.
    pub commit: Option<Committed>,
    /// Locks that are in git's way, as they are called in `.git`: whether a process that is no more left them, or one
    /// that is at work has them, nobody can tell.
    pub locks: Vec<String>,
}

const DOING: &str = "looking for a commit that was cut off";

impl Repository {
    /// Ends what a process began that is no more, and gives the commit, where HEAD is at it. The lock of the
    /// index that it left goes, and the commit's files are brought into the index where that has them still
    /// as they were before; what else was staged stays so.
    ///
    /// # Errors
    /// [`GitProblem`] where HEAD cannot be read.
    pub fn resume(&self, left: Left) -> Result<Resumed, GitProblem> {
        let handle = self.handle()?;
        IndexLock::let_go_of_left(handle.raw.path()).doing(DOING)?;
        let head = Head::read(&handle.raw)?;
        let commit = handle.raw.find_commit(head.commit).doing(DOING)?;
        let is_it = {
            let message = String::from_utf8_lossy(commit.message_raw_bytes());
            match left {
                Left::Run(run) => run_of(&message) == Some(run),
                Left::Revert(reverted) => reverted_by(&message) == Some(reverted),
            }
        };
        let mut locks = vec!["index.lock".to_owned(), "HEAD.lock".to_owned()];
        locks.push(format!("{}.lock", head.branch));
        locks.retain(|lock| handle.raw.path().join(lock).symlink_metadata().is_ok());
        if !is_it {
            return Ok(Resumed { commit: None, locks });
        }
        let index = match brought_along(&handle.raw, &commit)? {
            Ok(()) => IndexOutcome::Updated,
            Err(problem) => IndexOutcome::NotUpdated(problem),
        };
        Ok(Resumed { commit: Some(Committed { id: CommitId::of(head.commit), index }), locks })
    }
}

/// A file of a commit: what its parent has of it, and what the commit has.
struct File {
    path: RelPath,
    old: Option<Entry>,
    new: Option<Entry>,
}

/// Brings the files of a commit into the index, where that has them as they were before it.
fn brought_along(raw: &Raw, commit: &Commit<'_>) -> Result<Result<(), IndexProblem>, GitProblem> {
    let files = files(raw, commit)?;
    let index = raw.index().doing(DOING)?;
    let is_behind = |file: &&File| !is_staged(&index, &file.path, file.old);
    let behind = files.iter().filter(is_behind);
    let moved: Vec<_> =
        behind.map(|file| Moved { path: &file.path, old: file.old, new: file.new }).collect();
    if moved.is_empty() {
        return Ok(Ok(()));
    }
    match Pending::prepare(raw, &moved) {
        Ok(pending) => Ok(pending.publish()),
        Err(NotReady::Index(problem)) => Ok(Err(problem)),
        Err(NotReady::Stop(problem)) => Err(problem),
    }
}

/// What a commit changes against its parent; nothing where it has none.
fn files(raw: &Raw, commit: &Commit<'_>) -> Result<Vec<File>, GitProblem> {
    let Ok(parent) = commit.parent(0) else { return Ok(Vec::new()) };
    let (old, new) = (parent.tree().doing(DOING)?, commit.tree().doing(DOING)?);
    let diff = raw.diff_tree_to_tree(Some(&old), Some(&new), None).doing(DOING)?;
    let entry = |file: DiffFile<'_>| {
        file.exists().then(|| Entry { blob: file.id(), mode: i32::from(file.mode()) })
    };
    let mut files = Vec::new();
    for delta in diff.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        let path = new.path_bytes().or(old.path_bytes()).unwrap_or_default();
        // A run changes no other paths.
        if let Ok(path) = RelPath::new(path) {
            files.push(File { path, old: entry(old), new: entry(new) });
        }
    }
    Ok(files)
}
