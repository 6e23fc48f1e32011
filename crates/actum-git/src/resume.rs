//! Completes a commit whose process was killed before it had finished.

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

/// Identifies a commit that an interrupted process may have left incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left<'a> {
    /// Commit of a run, with the state of each file after the run (`None` for a removed file).
    Run(RunId, &'a [(RelPath, Option<FileState>)]),
    /// Commit that reverts the given commit.
    Revert(CommitId),
}

/// Outcome of [`Repository::resume`].
#[derive(Debug)]
pub struct Resumed {
    /// Interrupted commit and the result of updating the index, or `None` if the branch does not contain the commit.
    pub commit: Option<Committed>,
    /// Names of the lock files in `.git` that still block git. Each of them may be a leftover of a dead process or belong
    /// to a live one.
    pub locks: Vec<String>,
}

const DOING: &str = "looking for an interrupted commit";

/// Maximum number of commits to search, starting at HEAD and following first parents.
const LATER_MAX: usize = 1000;

impl Repository {
    /// Completes the commit of a process that was killed, and returns the commit if the branch contains it.
    ///
    /// If HEAD is at that commit, the index that the process had prepared replaces the current index; otherwise the
    /// prepared index is removed. Lock files that are known to belong to the process are removed as well. Other staged
    /// changes are kept, because no process could stage anything while the index was locked. If the lock is gone, the
    /// index is left unchanged.
    ///
    /// # Errors
    /// Returns [`GitProblem`] if HEAD or a commit cannot be read.
    pub fn resume(&self, left: Left<'_>) -> Result<Resumed, GitProblem> {
        let handle = self.handle()?;
        let raw = &handle.raw;
        // If the process left the index locked, the lock is held until this function returns.
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
    /// Looks for the commit without changing anything, and returns its id and the run that its message names.
    ///
    /// # Errors
    /// Returns [`GitProblem`] if HEAD or a commit cannot be read.
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
    /// Searches for the commit at HEAD and along its first parents.
    fn found<'r>(self, raw: &'r Raw, head: Oid) -> Result<Option<Commit<'r>>, git2::Error> {
        let mut at = Some(raw.bounded_commit(head)?);
        for _ in 0..LATER_MAX {
            let Some(commit) = at.take() else { break };
            if self.is(raw, &commit)? {
                return Ok(Some(commit));
            }
            // The search ends at the boundary of a shallow clone, where parent commits are missing.
            at = commit.parent_id(0).and_then(|parent| raw.bounded_commit(parent)).ok();
        }
        Ok(None)
    }

    /// Returns true if `commit` is the commit in question. The message must match, and for the commit of a run the
    /// changes must match too, so that an amended commit is not mistaken for it.
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

/// File that a commit changed, with its entries before and after the commit.
struct Change {
    path: RelPath,
    old: Option<Entry>,
    new: Option<Entry>,
}

/// Returns the differences between a commit and its first parent.
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
            git2::Error::from_str("the commit contains a path that no run may change")
        })?;
        changes.push(Change { path, old: entry(old), new: entry(new) });
    }
    Ok(changes)
}

/// Replaces the index with the prepared one if that was prepared for the commit at HEAD.
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
            // If an entry differs, the index was prepared for a different commit.
            match has(&pending.ready()?, |change| change.new) == changes.len() {
                true => pending.publish(),
                false => Err(IndexProblem::Behind),
            }
        }
        // Either the prepared index was already published, or the process was killed before it prepared one.
        Ok(LeftIndex::None) => match has(&raw.index()?, |change| change.old) {
            0 => Ok(()),
            _ => Err(IndexProblem::Behind),
        },
        Err(problem) => Err(problem),
    };
    Ok(published.map_or_else(IndexOutcome::NotUpdated, |()| IndexOutcome::Updated))
}

/// Removes the branch's lock file if it contains the id of the interrupted commit. No other process can have been about
/// to move the branch to that commit.
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

/// Returns the names of the lock files that exist for the index, HEAD and the branch.
fn locks(handle: &Handle, head: &Head) -> Vec<String> {
    let names = ["index.lock".to_owned(), "HEAD.lock".to_owned(), format!("{}.lock", head.branch)];
    let is_there = |name: &String| handle.raw.path().join(name).symlink_metadata().is_ok();
    names.into_iter().filter(is_there).collect()
}
