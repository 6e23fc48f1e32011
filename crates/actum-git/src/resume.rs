//! Completion of a commit whose process was killed.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read as _};

use actum_core::{Digest, FileState, RelPath, RunId};
use git2::{Commit, DiffFile, Index, Oid, Repository as Raw};

use crate::bounded::Bounded;
use crate::check::{git_mode, is_staged};
use crate::commit::Committed;
use crate::head::Head;
use crate::id::CommitId;
use crate::index::{IndexOutcome, IndexProblem, LeftIndex, Pending};
use crate::lock::remove;
use crate::message::{reverted_by, run_of};
use crate::problem::{GitProblem, ResultExt};
use crate::repository::{Handle, Repository};
use crate::tree::Entry;

/// Commit that may be half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left<'a> {
    /// The commit of a run, which left these files.
    Run(RunId, &'a [(RelPath, Option<FileState>)]),
    /// The commit that reverts this one.
    Revert(CommitId),
}

/// Result of the search for it.
#[derive(Debug)]
pub struct Resumed {
    /// The commit, if the branch has it, and the outcome for the index.
    pub commit: Option<Committed>,
    /// Locks that block git, by their names in `.git`. It is unknown whether a process that no longer runs left them,
    /// or a live process has them.
    pub locks: Vec<String>,
}

const DOING: &str = "looking for a commit that was cut off";

/// Number of later commits on a branch up to which the commit is found.
const LATER_MAX: usize = 1000;

impl Repository {
    /// Completes the commit of a process that no longer runs, and returns it, if the branch has it. The index that the
    /// process had prepared replaces the current one if HEAD is at that commit; otherwise it is removed. The locks that
    /// are known to belong to that process are removed with it. Any other staged changes remain. While the lock existed
    /// no process could stage any, and if the lock was removed the index is not touched.
    ///
    /// # Errors
    /// [`GitProblem`] where HEAD or a commit cannot be read.
    pub fn resume(&self, left: Left<'_>) -> Result<Resumed, GitProblem> {
        let handle = self.handle()?;
        let raw = &handle.raw;
        // The lock of the index, if one was left, is held until this is over.
        let index = Pending::left(raw);
        let head = Head::read(raw)?;
        let found = left.found(raw, head.commit).doing(DOING)?;
        let at_head = found.as_ref().filter(|commit| commit.id() == head.commit);
        let outcome = match at_head {
            Some(commit) => brought_along(raw, index, commit).doing(DOING)?,
            None => {
                drop(index);
                IndexOutcome::Updated
            }
        };
        if found.is_none() {
            unlock_branch(&handle, &head, left).doing(DOING)?;
        }
        let commit =
            found.map(|commit| Committed { id: CommitId::from_oid(commit.id()), index: outcome });
        Ok(Resumed { commit, locks: locks(&handle, &head) })
    }
}

impl Repository {
    /// Finds the commit without changing anything, and the run that it names.
    ///
    /// # Errors
    /// [`GitProblem`] where HEAD or a commit cannot be read.
    pub fn find(&self, left: Left<'_>) -> Result<Option<(CommitId, Option<RunId>)>, GitProblem> {
        let raw = &self.handle()?.raw;
        let head = Head::read(raw)?;
        let found = left.found(raw, head.commit).doing(DOING)?;
        Ok(found.map(|commit| {
            let message = String::from_utf8_lossy(commit.message_raw_bytes());
            (CommitId::from_oid(commit.id()), run_of(&message))
        }))
    }
}

impl Left<'_> {
    /// Finds its commit, at HEAD or among its first parents.
    fn found<'r>(self, raw: &'r Raw, head: Oid) -> Result<Option<Commit<'r>>, git2::Error> {
        let mut at = Some(raw.bounded_commit(head)?);
        for _ in 0..LATER_MAX {
            let Some(commit) = at.take() else { break };
            if self.is(raw, &commit)? {
                return Ok(Some(commit));
            }
            // A shallow clone has no further commits.
            at = commit.parent_id(0).and_then(|parent| raw.bounded_commit(parent)).ok();
        }
        Ok(None)
    }

    /// Returns true if `commit` is this commit: by its message, and for a run also by its changes, which an amended one
    /// does not match.
    fn is(self, raw: &Raw, commit: &Commit<'_>) -> Result<bool, git2::Error> {
        let message = String::from_utf8_lossy(commit.message_raw_bytes());
        let (run, files) = match self {
            Self::Run(run, files) => (run, files),
            Self::Revert(reverted) => return Ok(reverted_by(&message) == Some(reverted)),
        };
        if run_of(&message) != Some(run) {
            return Ok(false);
        }
        let files: BTreeMap<_, _> = files.iter().map(|(path, left)| (path, left)).collect();
        for change in changes(raw, commit)? {
            let Some(left) = files.get(&change.path) else { return Ok(false) };
            let is_so = match (change.new, left) {
                (None, None) => true,
                (Some(new), Some(left)) => {
                    let blob = raw.bounded_blob(new.blob)?;
                    Digest::of(blob.content()) == left.sha256 && new.mode == git_mode(left.mode)
                }
                (None, Some(_)) | (Some(_), None) => false,
            };
            if !is_so {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// File of a commit, with its entry in the parent and in the commit.
struct Change {
    path: RelPath,
    old: Option<Entry>,
    new: Option<Entry>,
}

/// Returns the changes of a commit against its parent.
fn changes(raw: &Raw, commit: &Commit<'_>) -> Result<Vec<Change>, git2::Error> {
    let (old, new) = (
        raw.bounded_tree(raw.bounded_commit(commit.parent_id(0)?)?.tree_id())?,
        raw.bounded_tree(commit.tree_id())?,
    );
    let diff = raw.diff_tree_to_tree(Some(&old), Some(&new), None)?;
    let entry = |file: DiffFile<'_>| {
        file.exists().then(|| Entry { blob: file.id(), mode: i32::from(file.mode()) })
    };
    let mut changes = Vec::new();
    for delta in diff.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        let path = new.path_bytes().or(old.path_bytes()).unwrap_or_default();
        let path = RelPath::new(path).map_err(|_| {
            git2::Error::from_str("a commit of ours has a path that no run changes")
        })?;
        changes.push(Change { path, old: entry(old), new: entry(new) });
    }
    Ok(changes)
}

/// Replaces the index by the prepared one, if that is for the commit at HEAD.
fn brought_along(
    raw: &Raw,
    left: Result<LeftIndex, IndexProblem>,
    commit: &Commit<'_>,
) -> Result<IndexOutcome, git2::Error> {
    let changes = changes(raw, commit)?;
    let has = |index: &Index, side: fn(&Change) -> Option<Entry>| {
        changes.iter().filter(|change| !is_staged(index, &change.path, side(change))).count()
    };
    let published = match left {
        Ok(LeftIndex::Ready(pending)) => {
            // Otherwise it is for another commit.
            match has(&pending.ready()?, |change| change.new) == changes.len() {
                true => pending.publish(),
                false => Err(IndexProblem::Behind),
            }
        }
        // The index was replaced already, or none was ever prepared.
        Ok(LeftIndex::None) => match has(&raw.index()?, |change| change.old) {
            0 => Ok(()),
            _ => Err(IndexProblem::Behind),
        },
        Err(problem) => Err(problem),
    };
    Ok(published.map_or_else(IndexOutcome::NotUpdated, |()| IndexOutcome::Updated))
}

/// Removes the lock of the branch if it holds the very commit: no other process was to move the branch there.
fn unlock_branch(handle: &Handle, head: &Head, left: Left<'_>) -> io::Result<()> {
    let lock = handle.raw.path().join(format!("{}.lock", head.branch));
    let mut held = String::new();
    let Ok(file) = OpenOptions::new().read(true).open(&lock) else { return Ok(()) };
    let is_read = file.take(64).read_to_string(&mut held).is_ok();
    let commit = Oid::from_str(held.trim_end()).ok().filter(|_| is_read);
    let commit = commit.and_then(|commit| handle.raw.bounded_commit(commit).ok());
    match commit.is_some_and(|commit| left.is(&handle.raw, &commit).unwrap_or(false)) {
        true => remove(&lock),
        false => Ok(()),
    }
}

/// Returns the locks that exist now.
fn locks(handle: &Handle, head: &Head) -> Vec<String> {
    let names = ["index.lock".to_owned(), "HEAD.lock".to_owned(), format!("{}.lock", head.branch)];
    let is_there = |name: &String| handle.raw.path().join(name).symlink_metadata().is_ok();
    names.into_iter().filter(is_there).collect()
}
