//! Commits the run of a task to git, and rolls a committed run back with a reverting commit (EX-17).
//!
//! The system config decides whether a run is committed. If committing is not possible, the run still takes effect and
//! can be rolled back with its checkpoint, and the report states the reason.

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

/// Result of checking, before a run, whether the run can be committed.
pub(super) enum Committing {
    /// The system config does not request a commit.
    Unasked,
    /// The run can be committed to this repository.
    Ready(Repository, Checked),
    /// The run cannot be committed, for the given reason.
    Unfit(String),
}

/// Git commit of a run or of a revert.
pub(super) struct CommittedRun {
    pub(super) id: String,
    /// Note for the user if git's index could not be updated.
    pub(super) note: Option<String>,
}

impl CommittedRun {
    fn new(Committed { id, index }: Committed) -> Self {
        let note = match index {
            IndexOutcome::Updated => None,
            IndexOutcome::NotUpdated(problem) => {
                Some(format!("the run was committed, but git's index was not updated: {problem}"))
            }
        };
        Self { id: id.to_string(), note }
    }
}

/// Branch and author of the commit that a task with `git.commit` would create in the current state of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedCommit {
    /// Branch that is currently checked out.
    pub branch: String,
    /// Author of the commit, such as `Ada <ada@example.org>`.
    pub author: String,
}

impl PlannedCommit {
    /// Determines the branch and the author of a commit to the repository at `root` for a task requested by `actor`.
    ///
    /// # Errors
    /// Returns a sentence that explains why the run would not be committed.
    pub fn find(root: &Path, actor: &Actor, now: Timestamp) -> Result<Self, String> {
        let found = Repository::open(root).and_then(|it| it.branch().map(|branch| (it, branch)));
        let (repository, branch) = found.map_err(|problem| not_committed(&problem))?;
        let author = author(&repository, actor, now)?.shown();
        Ok(Self { branch, author })
    }
}

impl Committing {
    /// Checks, before the run, whether a run with the effects of these actions can be committed to the repository at
    /// `root`.
    pub(super) fn new(task: &Task, root: &Path, acted: &TaskActions) -> Self {
        if !task.config.commit {
            return Self::Unasked;
        }
        if !acted.problems.is_empty() {
            return Self::Unfit(
                "the run was not committed: the plan was not executed completely".to_owned(),
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

    /// Commits the run. Returns `None` if no commit was requested or the repository is unchanged.
    ///
    /// # Errors
    /// Returns the reason why the run was not committed, for the report.
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
                            "the run was not committed: another process changed `{path}` after the run"
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
            Outcome::Committed(committed) => Some(CommittedRun::new(committed)),
        })
    }
}

/// Id of a commit that already exists, if any, and notes about git for the user.
pub(super) type Found = (Option<String>, Vec<String>);

/// Finds the commit of an interrupted run in the repository at `root`, and updates git's index if the interrupted
/// process did not do so.
pub(super) fn resumed_run(root: &Path, run: RunId, effects: &[PathEffect]) -> Found {
    resumed(Repository::open(root), Left::Run(run, &left_files(effects)))
}

/// Finds the run that created the commit which reverts the commit of `run`. The commit of `run` is identified by its
/// `effects`.
///
/// # Errors
/// Returns [`GitProblem`] if the repository at `root` cannot be read.
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

/// Lists the changed files with their states after the change.
fn left_files(effects: &[PathEffect]) -> Vec<(RelPath, Option<FileState>)> {
    let files = checkpoint::apart(effects).into_iter().map(|(path, change)| (path, left(&change)));
    files.collect()
}

/// Finds the commit that an interrupted process created to revert `reverted`, and updates git's index if that process
/// did not do so.
pub(super) fn resumed_revert(root: &Path, reverted: CommitId) -> Found {
    resumed(Repository::open(root), Left::Revert(reverted))
}

/// Returns whether the repository at `root` has a commit that reverts `commit`. Changes nothing.
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
            return (None, vec![format!("cannot determine whether git has the commit: {problem}")]);
        }
    };
    let commit = commit.map(CommittedRun::new);
    let (id, note) = commit.map_or((None, None), |run| (Some(run.id), run.note));
    let locked = |lock: String| {
        format!(
            "the leftover lock `.git/{lock}` blocks git; remove it if no git process is running"
        )
    };
    (id, note.into_iter().chain(locks.into_iter().map(locked)).collect())
}

/// Revert of a commit that was computed but not committed yet, with the operations that write its files.
pub(super) struct Reverting {
    repository: Repository,
    revert: actum_git::Revert,
    pub(super) operations: Vec<Operation>,
}

impl Reverting {
    /// Computes the revert of a run's commit, and the operations that restore the files. Changes nothing.
    ///
    /// # Errors
    /// Returns [`GitProblem`] if the commit cannot be reverted.
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
        // Deletions come first, because a directory may take the place of a deleted file.
        operations.sort_by_key(|operation| !matches!(operation, Operation::Delete { .. }));
        Ok(Self { repository, revert, operations })
    }

    /// Returns an existing commit that already reverts the run, if there is one, and notes about git.
    pub(super) fn done(&self) -> Found {
        resumed(Ok(self.repository.clone()), Left::Revert(self.revert.commit()))
    }

    /// Commits the revert after `run` has written its files.
    ///
    /// # Errors
    /// Returns the reason why the revert was not committed.
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
            Ok(Outcome::Committed(committed)) => Ok(Some(CommittedRun::new(committed))),
            Err(problem) => Err(not_committed(&problem)),
        }
    }
}

/// Returns the operations that restore a file as the revert requires. They also restore the exact mode from before the
/// run, because git stores only whether a file is executable.
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
            // The mode is restored only if it has not changed since the run.
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

/// Returns the author and committer of a commit, which is the identity configured in the repository. Without a
/// configured identity, returns the requester of the task with a placeholder as the email address.
fn author(repository: &Repository, actor: &Actor, now: Timestamp) -> Result<Author, String> {
    let identity = repository.identity().map_err(|problem| not_committed(&problem))?;
    let default_identity = || (actor.user.clone(), "actum@localhost".to_owned());
    let (name, email) = identity.unwrap_or_else(default_identity);
    Author::new(&name, &email, now).map_err(|error| format!("the run was not committed: {error}"))
}

/// Formats the reason why a run was not committed. The text does not say whether files changed, because it is used both
/// before and after the run.
fn not_committed(problem: &GitProblem) -> String {
    format!("the run was not committed: {problem} ({})", code_of(problem))
}
