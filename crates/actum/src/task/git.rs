//! Git commit of a task, and its rollback by a commit that reverts it (EX-17).
//!
//! The system config requests the commit. If it is not possible, the run stays unchanged and is rolled back by its
//! checkpoint. The report states the reason.

use std::collections::BTreeMap;
use std::path::Path;

use actum_core::{Digest, FileMode, FileState, RelPath, RunId, Timestamp};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_git::{
    Author, Before, Change, Checked, CommitId, Committed, GitProblem, IndexOutcome, Left, Message,
    NewFile, Outcome, Repository, Restored, Resumed, RunNote,
};
use actum_record::ledger::Actor;
use actum_record::receipt::PathEffect;
use actum_task::limits::FILE_BYTES_MAX;
use actum_task::report::FileChange;

use serde::Serialize;

use super::checkpoint;
use super::documents::clean;
use super::git_code::code_of;
use super::input::Task;
use super::outputs::Outputs;
use super::run::TaskActions;

/// Commit of a run, as far as it is known before the run.
pub(super) enum Committing {
    /// Not requested.
    Unasked,
    /// Possible.
    Ready(Repository, Checked),
    /// Not possible, for this reason.
    Unfit(String),
}

/// Committed run.
pub(super) struct CommittedRun {
    pub(super) id: String,
    /// Note for the user, if any.
    pub(super) note: Option<String>,
}

impl CommittedRun {
    fn of(Committed { id, index }: Committed) -> Self {
        let note = match index {
            IndexOutcome::Updated => None,
            IndexOutcome::NotUpdated(problem) => {
                Some(format!("the run is committed, and git's index does not know it: {problem}"))
            }
        };
        Self { id: id.to_string(), note }
    }
}

/// Commit that a task with `git.commit` makes of its run, as the repository is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedCommit {
    /// Branch that is checked out.
    pub branch: String,
    /// Author: `Ada <ada@example.org>`.
    pub author: String,
}

impl PlannedCommit {
    /// Reads the branch and the author of a commit to the repository at `root` for a task of `actor`.
    ///
    /// # Errors
    /// Sentence with the reason why the run would not be committed.
    pub fn find(root: &Path, actor: &Actor, now: Timestamp) -> Result<Self, String> {
        let found = Repository::open(root).and_then(|it| it.branch().map(|branch| (it, branch)));
        let (repository, branch) = found.map_err(|problem| not_committed(&problem))?;
        let author = author(&repository, actor, now)?.shown();
        Ok(Self { branch, author })
    }
}

impl Committing {
    /// Checks, before the run, that a run with these actions could be committed to the repository at `root`.
    pub(super) fn new(task: &Task, root: &Path, acted: &TaskActions) -> Self {
        if !task.config.commit {
            return Self::Unasked;
        }
        if !acted.problems.is_empty() {
            return Self::Unfit(
                "the run was not committed: not all of the plan was done".to_owned(),
            );
        }
        let effects = &acted.effects;
        let looked = Repository::open(root).and_then(|repository| {
            let before = checkpoint::apart(effects)
                .into_iter()
                .map(|(path, change)| Before { path, state: kept(&change) });
            let checked = repository.check(&before.collect::<Vec<_>>())?;
            Ok((repository, checked))
        });
        match looked {
            Ok((repository, checked)) => Self::Ready(repository, checked),
            Err(problem) => Self::Unfit(not_committed(&problem)),
        }
    }

    /// Commits the run.
    ///
    /// # Errors
    /// Reason why it was not committed, for the report.
    pub(super) fn commit(
        self,
        (task, run): (&Task, RunId),
        (effects, outputs): (&[PathEffect], &Outputs),
        (actor, now): (&Actor, Timestamp),
    ) -> Result<Option<CommittedRun>, String> {
        let (repository, checked) = match self {
            Self::Unasked => return Ok(None),
            Self::Unfit(why) => return Err(why),
            Self::Ready(repository, checked) => (repository, checked),
        };
        let mut contents = Vec::new();
        for (path, change) in checkpoint::apart(effects) {
            let after = match left(&change) {
                None => None,
                Some(left) => {
                    let read = outputs.read(&path, left.size);
                    let bytes = read.ok().flatten();
                    let Some(bytes) = bytes.filter(|bytes| Digest::of(bytes) == left.sha256) else {
                        return Err(format!(
                            "the run was not committed: `{path}` was changed by somebody else since"
                        ));
                    };
                    Some((bytes, left.mode))
                }
            };
            contents.push((path, after));
        }
        let changes: Vec<_> = contents.iter().map(change).collect();
        let message = Message::of_run(&RunNote {
            run,
            task: Some(task.id.as_str()),
            plan: Some(task.plan_id.as_str()),
            subject: &subject(task),
            body: clean(task.plan.description.as_deref().unwrap_or_default()).as_str(),
        });
        let done = author(&repository, actor, now).and_then(|author| {
            let committed = repository.commit(&checked, &changes, &message, &author);
            committed.map_err(|problem| not_committed(&problem))
        })?;
        Ok(match done {
            Outcome::Unchanged => None,
            Outcome::Committed(committed) => Some(CommittedRun::of(committed)),
        })
    }
}

/// Existing commit, and notes about git for the user.
pub(super) type Found = (Option<String>, Vec<String>);

/// Finds the commit of a run whose process is gone, in the repository at `root`. Updates git's index if that process
/// could not.
pub(super) fn resumed_run(root: &Path, run: RunId, effects: &[PathEffect]) -> Found {
    resumed(Repository::open(root), Left::Run(run, &left_files(effects)))
}

/// Finds the run that made the commit which reverts the one of a run with these effects.
///
/// # Errors
/// [`GitProblem`] if the repository at `root` cannot be read.
pub(super) fn reverting_run(
    root: &Path,
    run: RunId,
    effects: &[PathEffect],
) -> Result<Option<RunId>, GitProblem> {
    let repository = match Repository::open(root) {
        Ok(repository) => repository,
        Err(GitProblem::NoRepository { .. }) => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let Some((commit, _)) = repository.find(Left::Run(run, &left_files(effects)))? else {
        return Ok(None);
    };
    let reverting = repository.find(Left::Revert(commit))?;
    Ok(reverting.and_then(|(_, run)| run))
}

/// Lists the files of a change with their states after it.
fn left_files(effects: &[PathEffect]) -> Vec<(RelPath, Option<FileState>)> {
    let files = checkpoint::apart(effects).into_iter().map(|(path, change)| (path, left(&change)));
    files.collect()
}

/// Finds the commit that reverts another one, whose process is gone. Updates git's index if that process could not.
pub(super) fn resumed_revert(root: &Path, reverted: CommitId) -> Found {
    resumed(Repository::open(root), Left::Revert(reverted))
}

/// Returns true if the repository at `root` has a commit that reverts this one. Changes nothing.
pub(super) fn is_reverted(root: &Path, commit: CommitId) -> bool {
    let found = Repository::open(root).and_then(|repository| repository.find(Left::Revert(commit)));
    found.is_ok_and(|found| found.is_some())
}

fn resumed(repository: Result<Repository, GitProblem>, left: Left<'_>) -> Found {
    let resumed = repository.and_then(|repository| repository.resume(left));
    let Resumed { commit, locks } = match resumed {
        Ok(resumed) => resumed,
        Err(GitProblem::NoRepository { .. }) => return (None, Vec::new()),
        Err(problem) => {
            return (None, vec![format!("what became of it in git is not known: {problem}")]);
        }
    };
    let commit = commit.map(CommittedRun::of);
    let (id, note) = commit.map_or((None, None), |run| (Some(run.id), run.note));
    let locked = |lock: String| {
        format!(
            "the lock `.git/{lock}` is in the way of git; remove it where no git process is at work"
        )
    };
    (id, note.into_iter().chain(locks.into_iter().map(locked)).collect())
}

/// Computed revert, and the operations that write its files.
pub(super) struct Reverting {
    repository: Repository,
    revert: actum_git::Revert,
    pub(super) operations: Vec<Operation>,
}

impl Reverting {
    /// Computes the revert of the commit of a run with these effects.
    ///
    /// # Errors
    /// [`GitProblem`]; nothing was changed.
    pub(super) fn new(
        root: &Path,
        outputs: &Outputs,
        (commit, run, effects): (CommitId, RunId, &[PathEffect]),
    ) -> Result<Self, GitProblem> {
        let repository = Repository::open(root)?;
        let revert = repository.revert(commit, run, |path| state(outputs, path))?;
        let changes: BTreeMap<_, _> = checkpoint::apart(effects).into_iter().collect();
        let files = revert.files().iter();
        let mut operations: Vec<_> =
            files.flat_map(|file| operations(outputs, file, changes.get(&file.path))).collect();
        // Deletions come first to make room: a directory may replace a file.
        operations.sort_by_key(|operation| !matches!(operation, Operation::Delete { .. }));
        Ok(Self { repository, revert, operations })
    }

    /// Returns the earlier commit that already did all of it, and notes about git.
    pub(super) fn done(&self) -> Found {
        resumed(Ok(self.repository.clone()), Left::Revert(self.revert.commit()))
    }

    /// Commits the revert, whose files `run` has written.
    ///
    /// # Errors
    /// Reason why it was not committed.
    pub(super) fn commit(
        &self,
        run: RunId,
        (actor, now): (&Actor, Timestamp),
    ) -> Result<Option<CommittedRun>, String> {
        let (checked, changes) = (self.revert.checked(), self.revert.changes());
        let author = author(&self.repository, actor, now)?;
        let message = self.revert.message(run);
        match self.repository.commit(checked, &changes, &message, &author) {
            Ok(Outcome::Unchanged) => Ok(None),
            Ok(Outcome::Committed(committed)) => Ok(Some(CommittedRun::of(committed))),
            Err(problem) => Err(not_committed(&problem)),
        }
    }
}

/// Returns the operations that restore a file as the revert requires. They also restore its mode from before the run,
/// of which git stores only whether it is executable.
fn operations(
    outputs: &Outputs,
    Restored { path, to }: &Restored,
    change: Option<&FileChange>,
) -> Vec<Operation> {
    let (path, now) = (path.clone(), state(outputs, path));
    let is_executable = |mode: FileMode| mode.bits() & 0o100 != 0;
    let before = change.and_then(kept).map(|kept| kept.mode);
    match (to, now) {
        (None, None) => Vec::new(),
        (None, Some(now)) => {
            vec![Operation::Delete {
                path,
                expected: Some(now.sha256),
                parents: EmptyParents::Remove,
            }]
        }
        (Some(to), None) => {
            let mode = match before.filter(|mode| is_executable(*mode) == to.executable) {
                Some(mode) => Some(ModeChange::Exact(mode)),
                None => to.executable.then_some(ModeChange::Executable(true)),
            };
            vec![Operation::Create { path, content: to.bytes.clone(), mode }]
        }
        (Some(to), Some(now)) => {
            let (content, expected) = (to.bytes.clone(), Some(now.sha256));
            // The mode is restored only if it did not change since the run.
            let is_left = change.and_then(left).is_some_and(|left| left.mode == now.mode);
            let before = before.filter(|mode| is_left && is_executable(*mode) == to.executable);
            let mode = match before {
                Some(mode) => (mode != now.mode).then_some(ModeChange::Exact(mode)),
                None => (is_executable(now.mode) != to.executable)
                    .then_some(ModeChange::Executable(to.executable)),
            };
            let chmod = mode.map(|mode| Operation::Chmod { path: path.clone(), mode });
            let write = Operation::Write { path, content, expected };
            std::iter::once(write).chain(chmod).collect()
        }
    }
}

fn state(outputs: &Outputs, path: &RelPath) -> Option<FileState> {
    let stat = outputs.stat(path).ok()??;
    let bytes = outputs.read(path, FILE_BYTES_MAX).ok()??;
    Some(FileState { sha256: Digest::of(&bytes), size: stat.size, mode: stat.mode })
}

fn change(content: &(RelPath, Option<(Vec<u8>, FileMode)>)) -> Change<'_> {
    let (path, after) = content;
    let after = after.as_ref().map(|(bytes, mode)| NewFile { bytes, mode: *mode });
    Change { path, after }
}

pub(super) fn kept(change: &FileChange) -> Option<FileState> {
    match change {
        FileChange::Created { .. } => None,
        FileChange::Modified { kept, .. }
        | FileChange::Deleted { kept }
        | FileChange::Renamed { kept, .. } => Some(*kept),
    }
}

fn left(change: &FileChange) -> Option<FileState> {
    match change {
        FileChange::Deleted { .. } => None,
        FileChange::Created { left }
        | FileChange::Modified { left, .. }
        | FileChange::Renamed { left, .. } => Some(*left),
    }
}

fn subject(task: &Task) -> String {
    let count = task.plan.actions.len();
    let plural = if count == 1 { "" } else { "s" };
    format!("Task {}: {count} action{plural}", task.id)
}

/// Returns the author and committer: the identity of the repository. Without one it is the requester of the task, with
/// a placeholder for the unknown address.
fn author(repository: &Repository, actor: &Actor, now: Timestamp) -> Result<Author, String> {
    let identity = repository.identity().map_err(|problem| not_committed(&problem))?;
    let nobody = || (actor.user.clone(), "actum@localhost".to_owned());
    let (name, email) = identity.unwrap_or_else(nobody);
    Author::new(&name, &email, now).map_err(|error| format!("the run was not committed: {error}"))
}

/// Returns the reason why a run was not committed. It does not describe the files, which are changed by then or about
/// to be.
fn not_committed(problem: &GitProblem) -> String {
    format!("the run was not committed: {problem} ({})", code_of(problem))
}
