//! Revert of the commit of a run: the content that its files need.

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

/// Revert that was computed, and not done: the files have to be written, and then committed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "nothing is reverted before its files are written and committed"]
pub struct Revert {
    commit: CommitId,
    subject: String,
    checked: Checked,
    files: Vec<Restored>,
}

/// Path with its restored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The path.
    pub path: RelPath,
    /// The file, or `None` if the path has to be removed.
    pub to: Option<RestoredFile>,
}

/// File to restore. git kept only the executable bit of its mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// True if it has to be executable.
    pub executable: bool,
}

impl Revert {
    /// Returns the commit that is reverted.
    pub fn commit(&self) -> CommitId {
        self.commit
    }

    /// Returns the changes against HEAD, sorted by path. Empty if later commits reverted everything already.
    pub fn files(&self) -> &[Restored] {
        &self.files
    }

    /// Returns the argument of [`Repository::commit`] for the commit of the revert.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Returns the files in the form that [`Repository::commit`] takes.
    pub fn changes(&self) -> Vec<Change<'_>> {
        let mode = |file: &RestoredFile| FileMode::REGULAR.with_executable(file.executable);
        let mut changes = Vec::new();
        for Restored { path, to } in &self.files {
            let after = to.as_ref().map(|file| NewFile { bytes: &file.bytes, mode: mode(file) });
            changes.push(Change { path, after });
        }
        changes
    }

    /// Returns the message of the commit of the revert, which `run` makes: `Revert "…"`, and the trailers
    /// `Actum-Reverts` and `Actum-Run`.
    pub fn message(&self, run: RunId) -> Message {
        Message::of_revert(run, self.commit, &self.subject)
    }
}

const DOING: &str = "computing the revert";

impl Repository {
    /// Computes in memory the content that files need so that the commit of a run is reverted, and later changes
    /// elsewhere remain. Nothing is written, neither in the repository nor in the work tree.
    ///
    /// `current` returns the file at a path in the work tree, for each path that the revert changes.
    ///
    /// # Errors
    /// [`GitProblem::NotOfRun`] if the commit does not name `run`, is not in HEAD's history, or is a merge;
    /// [`GitProblem::RevertConflict`] if later commits changed the same places. [`GitProblem::Shallow`]; and for the
    /// files that would change the errors of [`Repository::check`].
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
        // Merged or built objects are put there, and are gone with this handle.
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
            return refused("there is no such commit");
        }
        Err(source) => return Err(GitProblem::Git { doing: DOING, source }),
    };
    if run_of(&String::from_utf8_lossy(found.message_raw_bytes())) != Some(run) {
        return refused("its trailer `Actum-Run` does not name that run");
    }
    match found.parent_count() {
        0 => return refused("it has no parent to go back to"),
        1 => {}
        _ => return refused("it is a merge"),
    }
    let is_ancestor = || raw.graph_descendant_of(head.commit, found.id()).doing(DOING);
    if head.commit != found.id() && !is_ancestor()? {
        return refused("it is not in the history of the branch that is checked out");
    }
    Ok(found)
}

/// Returns the differences between HEAD and a tree.
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
            Ok(_) => return Err(odd("the revert would make something else than a file")),
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
    RelPath::new(path).map_err(|_| odd("the commit holds a path that no run can change"))
}

fn odd(what: &str) -> GitProblem {
    GitProblem::Git { doing: DOING, source: git2::Error::from_str(what) }
}
