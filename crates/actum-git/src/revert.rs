//! Computes the file contents that revert the commit of a run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use actum_core::{FileMode, FileState, RelPath, RunId};
use git2::{Commit, DiffOptions, Index, MergeOptions, ObjectType, Oid, Repository as Raw};

use crate::bounded::Bounded;
use crate::check::{Before, Checked};
use crate::commit::{Change, NewFile};
use crate::head::Head;
use crate::id::CommitId;
use crate::message::{Message, run_of};
use crate::problem::{GitProblem, ResultExt};
use crate::repository::Repository;
use crate::tree::{EXECUTABLE, REGULAR};

/// Computed revert of a commit. It takes effect only once its files have been written and committed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a revert has no effect until its files are written and committed"]
pub struct Revert {
    commit: CommitId,
    subject: String,
    checked: Checked,
    files: Vec<Restored>,
}

/// Path that a revert changes, with the file to restore there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Path of the file.
    pub path: RelPath,
    /// File to write, or `None` if the path must be removed.
    pub to: Option<RestoredFile>,
}

/// File to restore. Of the file's mode, git stores only the executable bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Whether the file must be executable.
    pub executable: bool,
}

impl Revert {
    /// Returns the id of the commit to revert.
    pub fn commit(&self) -> CommitId {
        self.commit
    }

    /// Returns the files that the revert changes relative to HEAD, sorted by path. The list is empty if later commits
    /// already reverted everything.
    pub fn files(&self) -> &[Restored] {
        &self.files
    }

    /// Returns the check of the files against HEAD, which [`Repository::commit`] requires.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Returns the files of the revert as changes for [`Repository::commit`].
    pub fn changes(&self) -> Vec<Change<'_>> {
        let mode = |file: &RestoredFile| FileMode::REGULAR.with_executable(file.executable);
        let mut changes = Vec::new();
        for Restored { path, to } in &self.files {
            let after = to.as_ref().map(|file| NewFile { bytes: &file.bytes, mode: mode(file) });
            changes.push(Change { path, after });
        }
        changes
    }

    /// Returns the message for a commit of this revert by `run`. Its subject is `Revert "…"`, and it has the trailers
    /// `Actum-Reverts` and `Actum-Run`.
    pub fn message(&self, run: RunId) -> Message {
        Message::of_revert(run, self.commit, &self.subject)
    }
}

const DOING: &str = "computing the revert";

impl Repository {
    /// Computes the file contents that revert the commit of a run, while keeping later changes to other parts of the
    /// files. The computation happens in memory and writes neither to the repository nor to the work tree.
    ///
    /// `current` is called for each path that the revert changes, and must return the state of that file in the work
    /// tree.
    ///
    /// # Errors
    /// Returns [`GitProblem::NotOfRun`] if the commit does not name `run`, is not in the history of HEAD, or does not
    /// have exactly one parent. Returns [`GitProblem::RevertConflict`] if later commits changed the same lines,
    /// [`GitProblem::Shallow`] in a shallow clone, and the errors of [`Repository::check`] for the changed files.
    pub fn revert(
        &self,
        commit: CommitId,
        run: RunId,
        mut current: impl FnMut(&RelPath) -> Option<FileState>,
    ) -> Result<Revert, GitProblem> {
        let handle = self.handle()?;
        let raw = &handle.raw;
        handle.is_at_rest()?;
        if raw.is_shallow() {
            return Err(GitProblem::Shallow { commit });
        }
        let head = Head::read(raw)?;
        let reverted = commit_of_run(raw, &head, commit, run)?;
        // New objects are written to this in-memory backend, so they disappear together with the handle.
        let odb = raw.odb().doing(DOING)?;
        let _memory = odb.add_new_mempack_backend(i32::MAX).doing(DOING)?;
        let ours = raw.bounded_commit(head.commit).doing(DOING)?;
        let mut options = MergeOptions::new();
        options.find_renames(false);
        let mut result = raw.revert_commit(&reverted, &ours, 0, Some(&options)).doing(DOING)?;
        if result.has_conflicts() {
            return Err(GitProblem::RevertConflict { commit, paths: conflicts(&result)? });
        }
        let tree = result.write_tree_to(raw).doing(DOING)?;
        let files = files(raw, &ours, tree)?;
        let before =
            |file: &Restored| Before { path: file.path.clone(), state: current(&file.path) };
        let checked = self.check(&files.iter().map(before).collect::<Vec<_>>())?;
        if checked.head != head {
            return Err(GitProblem::HeadMoved { branch: head.branch_name() });
        }
        let subject = String::from_utf8_lossy(reverted.summary_bytes().unwrap_or_default());
        Ok(Revert { commit, subject: subject.into_owned(), checked, files })
    }
}

fn commit_of_run<'r>(
    raw: &'r Raw,
    head: &Head,
    commit: CommitId,
    run: RunId,
) -> Result<Commit<'r>, GitProblem> {
    let refused = |why| Err(GitProblem::NotOfRun { commit, run, why });
    let found = match raw.bounded_commit(commit.oid()) {
        Ok(found) => found,
        Err(error) if error.code() == git2::ErrorCode::NotFound => {
            return refused("the commit does not exist");
        }
        Err(source) => return Err(GitProblem::Git { doing: DOING, source }),
    };
    if run_of(&String::from_utf8_lossy(found.message_raw_bytes())) != Some(run) {
        return refused("its `Actum-Run` trailer is missing or names a different run");
    }
    match found.parent_count() {
        0 => return refused("it has no parent commit to revert to"),
        1 => {}
        _ => return refused("it is a merge commit"),
    }
    let is_ancestor = || raw.graph_descendant_of(head.commit, found.id()).doing(DOING);
    if head.commit != found.id() && !is_ancestor()? {
        return refused("it is not in the history of the checked-out branch");
    }
    Ok(found)
}

/// Returns the files that differ between HEAD and a tree, with their content in the tree.
fn files(raw: &Raw, head: &Commit<'_>, tree: Oid) -> Result<Vec<Restored>, GitProblem> {
    let (old, new) =
        (raw.bounded_tree(head.tree_id()).doing(DOING)?, raw.bounded_tree(tree).doing(DOING)?);
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let diff = raw.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)).doing(DOING)?;
    let mut files = Vec::new();
    for delta in diff.deltas() {
        let Some(path) = delta.new_file().path_bytes().or(delta.old_file().path_bytes()) else {
            continue;
        };
        let path = rel_path(path)?;
        let to = match new.get_path(OsStr::from_bytes(path.as_bytes()).as_ref()) {
            Ok(entry) if entry.kind() == Some(ObjectType::Tree) => None,
            Ok(entry) if [REGULAR, EXECUTABLE].contains(&entry.filemode()) => {
                let blob = raw.bounded_blob(entry.id()).doing(DOING)?;
                let (bytes, executable) = (blob.content().to_vec(), entry.filemode() == EXECUTABLE);
                Some(RestoredFile { bytes, executable })
            }
            Ok(_) => {
                return Err(odd("the revert would create an object that is not a regular file"));
            }
            Err(error) if error.code() == git2::ErrorCode::NotFound => None,
            Err(source) => return Err(GitProblem::Git { doing: DOING, source }),
        };
        files.push(Restored { path, to });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

fn conflicts(index: &Index) -> Result<Vec<RelPath>, GitProblem> {
    let mut paths = Vec::new();
    for conflict in index.conflicts().doing(DOING)? {
        let conflict = conflict.doing(DOING)?;
        let sides = [conflict.our, conflict.their, conflict.ancestor];
        if let Some(side) = sides.into_iter().flatten().next() {
            paths.push(rel_path(&side.path)?);
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn rel_path(path: &[u8]) -> Result<RelPath, GitProblem> {
    RelPath::new(path).map_err(|_| odd("the commit contains a path that no run may change"))
}

fn odd(what: &str) -> GitProblem {
    GitProblem::Git { doing: DOING, source: git2::Error::from_str(what) }
}
