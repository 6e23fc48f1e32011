//! Publishes a rehearsed task through the engine, after its rollback files are durable (EX-7).

use actum_core::{Digest, RelPath, RunId, ShellWord};
use actum_record::receipt::{
    ExternalPipeline, ExternalRun, PathEffect, QueryRecord, RollbackFiles,
};
use actum_task::report::{
    ManifestFacts, Phase, ROLLBACK_MANIFEST_FILE, ROLLBACK_SCRIPT_FILE, ReportName, Rollback,
    RollbackManifest,
};
use actum_task::{ErrorCode, TaskPlan};
use actum_workspace::{ErrorKind, LinuxDisk, Transaction};

use super::end::{Documents, End};
use super::{Place, TaskActions, TaskContext, request};
use crate::engine::clear::Cleared;
use crate::engine::observer::Observer;
use crate::engine::outcome::settled_status;
use crate::engine::stage::Begun;
use crate::engine::verify::Verified;
use crate::error::Error;
use crate::recorded::Receipt;
use crate::request::Request;
use crate::task::checkpoint;
use crate::task::documents::clean;
use crate::task::external::{ExternalResult, NotedPipeline, NotedState};
use crate::task::git::{CommittedRun, Committing};
use crate::task::notes::{Notes, Prepared};
use crate::task::outputs::{BackupError, OutputError};
use crate::task::problem::TaskProblem;
use crate::task::rehearsal::{RehearsalObserver, Rehearsed, Script, later};

/// Result of publishing the change of a task.
pub(super) enum Made {
    /// The change was published and recorded in the ledger.
    Done(Box<Receipt>, After),
    /// The workspace already has the requested state, so there was nothing to publish.
    Nothing,
    /// The change was not published, and the workspace is unchanged.
    Not(TaskProblem, Option<Error>),
    /// The change was neither published nor rolled back, or its end is not recorded, so the workspace needs attention.
    Open {
        run: RunId,
        problem: TaskProblem,
        error: Error,
        /// Results of the actions that run external pipelines.
        external: Vec<Rehearsed>,
    },
}

/// Results of the steps that follow the run.
pub(super) struct After {
    /// Files whose content no longer matches the result of the run.
    pub(super) changed: Vec<TaskProblem>,
    /// Git commit, if one was requested, or the reason why it is missing.
    pub(super) committed: Result<Option<CommittedRun>, String>,
    /// Results of the actions that run external pipelines.
    pub(super) external: Vec<Rehearsed>,
}

/// Observer that hooks the steps of a task into its engine run.
pub(super) struct TaskObserver<'m, 'o> {
    pub(super) desk: &'m mut TaskContext<'o>,
    pub(super) place: &'m Place<'m>,
    pub(super) script: Script<'m>,
    pub(super) rehearsed: &'m TaskActions,
    run: RunId,
    pub(super) notes: Notes,
    /// Digests of the rollback files, once the files are written.
    files: Option<RollbackFiles>,
    /// Git commit that is prepared and waits until the run is published.
    committing: Option<Committing>,
    /// Files whose content no longer matches the result of the run.
    changed: Vec<TaskProblem>,
    committed: Result<Option<CommittedRun>, String>,
    /// Results of the external pipelines that have run or were skipped so far.
    pub(super) external: Vec<ExternalResult>,
}

/// Reason why the observer stopped the run of a task.
pub(super) enum TaskStop {
    Problem(Box<TaskProblem>),
    Error(Error),
}

impl From<Error> for TaskStop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Observer<LinuxDisk> for TaskObserver<'_, '_> {
    type Stop = TaskStop;

    /// Writes the rollback files and prepares the reports before the change is verified.
    fn cleared(&mut self, cleared: &mut Cleared<'_, LinuxDisk>) -> Result<(), TaskStop> {
        let Self { desk, place, rehearsed, run, notes, files, .. } = self;
        desk.status.phase(Phase::Checkpoint);
        let kept = desk
            .keep_checkpoint(
                place,
                &rehearsed.effects,
                Some((*run, &mut cleared.staged.begun.transaction)),
            )
            .map_err(TaskStop::Problem)?;
        desk.activate(place.task).map_err(TaskStop::Problem)?;
        notes.archived_to.clone_from(&desk.archived_to);
        let pending = |pipeline: &ExternalPipeline| NotedPipeline {
            action: clean(&pipeline.action),
            state: NotedState::NotStarted,
        };
        notes.external = rehearsed.deferred().map(pending).collect();
        let end = End::new(rehearsed, Some(*run));
        let Documents { report, log, error } = desk.documents(place, rehearsed, end);
        let external = cleared.staged.request.external().iter();
        let external = external.map(|pipeline| pipeline.action.as_str()).collect();
        let outcomes = Some(report.outcomes_digest(&external).map_err(Error::from)?);
        *files = Some(RollbackFiles { outcomes, ..kept });
        notes.prepare(Prepared { run: *run, report, log, error }).keep(&desk.mark)?;
        desk.status.phase(Phase::Verifying);
        Ok(())
    }

    fn verified(&mut self, verified: &mut Verified<'_, LinuxDisk>) -> Result<(), TaskStop> {
        if self.desk.status.is_cancelled() {
            let code = ErrorCode::Cancelled;
            return Err(TaskStop::Problem(Box::new(TaskProblem::new(code, code.about()))));
        }
        // The time limit of a task covers every phase up to the publication of its change (EX-21).
        let deadline = later(self.desk.started, self.place.task.config.timeouts.task);
        if self.desk.status.now() > deadline {
            let code = ErrorCode::TaskTimeout;
            return Err(TaskStop::Problem(Box::new(TaskProblem::new(code, code.about()))));
        }
        verified.rollback_files = self.files.take();
        Ok(())
    }

    /// Compares the published files with the expected state, then commits them, then runs the external pipelines. The
    /// commit comes first so that a pipeline can push it.
    fn published(&mut self, external: &[ExternalPipeline]) -> Option<Vec<ExternalRun>> {
        let (task, effects) = (self.place.task, &self.rehearsed.effects);
        let constraints = task.plan.constraints(task.config.constraints);
        if constraints.verify_hashes {
            self.changed = self.desk.changed_since(effects);
        }
        if let Some(committing) = self.committing.take() {
            self.committed = committing.commit(
                (task, self.run),
                (effects, &self.desk.outputs),
                (&self.place.actor, self.desk.status.now()),
            );
        }
        let held_back = match (self.changed.first(), &self.committed) {
            (Some(changed), _) => Some(changed.message.clone()),
            (None, Err(why)) => Some(why.clone()),
            (None, Ok(_)) => None,
        };
        Some(self.run_external(external, held_back.as_deref()))
    }

    fn checkpoint(&mut self) -> actum_workspace::Result<()> {
        let reported = std::mem::take(&mut self.desk.reported);
        let kept = self.desk.outputs.sync_with(&self.desk.mark).and_then(|()| reported.end());
        kept.map_err(|OutputError { doing, path, source }| {
            ErrorKind::Io { action: format!("{doing} `{path}`"), source }.into()
        })
    }
}

impl TaskContext<'_> {
    /// Publishes the rehearsed change of a task.
    pub(super) fn make(
        &mut self,
        begun: Begun<'_, LinuxDisk>,
        (place, script): (&Place<'_>, Script<'_>),
        rehearsed: &TaskActions,
        notes: Notes,
    ) -> Made {
        let not = |error: Error| Made::Not(TaskProblem::of_error(&error), Some(error));
        let task = place.task;
        let documents = match task.documents(script) {
            Ok(documents) => documents,
            Err(error) => return not(error),
        };
        let consented = place.consent.check_change(&rehearsed.effects);
        let consented = consented.and_then(|()| place.consent.check_external(&documents.external));
        if let Err(problem) = consented {
            return Made::Not(problem, None);
        }
        let run = begun.transaction.run();
        let work = (rehearsed.operations.clone(), rehearsed.actions.as_slice());
        let request = request((script, &task.id), documents, work, place.actor.clone());
        let request = Request { queries: queries(&task.plan, rehearsed), ..request };
        let staged = match begun.done(request, place.attempt) {
            Ok(staged) => staged,
            Err(error) => return not(error),
        };
        let committing = Some(Committing::new(task, place.root, rehearsed));
        let mut making = TaskObserver {
            desk: self,
            place,
            script,
            rehearsed,
            run,
            notes,
            files: None,
            committing,
            changed: Vec::new(),
            committed: Ok(None),
            external: Vec::new(),
        };
        let end = staged.carry_out(&mut making);
        let TaskObserver { changed, committed, external, .. } = making;
        let external = external.into_iter().filter_map(|result| result.action).collect();
        match end {
            Ok(done) => Made::Done(Box::new(done.receipt), After { changed, committed, external }),
            Err(TaskStop::Problem(problem)) => Made::Not(*problem, None),
            Err(TaskStop::Error(Error::NothingToChange)) => Made::Nothing,
            Err(TaskStop::Error(error)) => match settled_status(error.workspace()) {
                Some(_) => not(error),
                None => {
                    let problem = TaskProblem::of_open_run(&error);
                    Made::Open { run, problem, error, external }
                }
            },
        }
    }

    /// Writes the files needed to roll back the run, and returns the digests of the manifest and the script. They
    /// become durable together with the other outputs.
    pub(super) fn keep_checkpoint(
        &mut self,
        place: &Place<'_>,
        effects: &[PathEffect],
        run: Option<(RunId, &mut Transaction<'_, LinuxDisk>)>,
    ) -> std::result::Result<RollbackFiles, Box<TaskProblem>> {
        let task = place.task;
        let manifest_id = self.ids.next();
        let broken =
            |code, why: &dyn std::fmt::Display| Box::new(TaskProblem::new(code, why.to_string()));
        let ids = &mut self.ids;
        let mut rollback = checkpoint::rollback_from_effects(effects, || ids.next())
            .map_err(|error| broken(ErrorCode::CheckpointFailed, &error))?;
        let (run, transaction) = run.unzip();
        let bytes_max = task.config.limits.backup_bytes_max;
        let kept = self.outputs.back_up(&place.directory, &mut rollback, transaction, bytes_max);
        kept.map_err(|error| match error {
            BackupError::TooLarge(bytes) => {
                let what =
                    format!("the backups would take {bytes} bytes, but the limit is {bytes_max}");
                broken(ErrorCode::BackupTooLarge, &what)
            }
            BackupError::Output(error) => unwritten(&rollback, &place.directory.name, &error),
        })?;
        let expires = task.config.manifest_ttl.map(|ttl| later(self.started, ttl));
        let script_file = place.directory.name.file(ROLLBACK_SCRIPT_FILE);
        let facts = ManifestFacts {
            manifest_id: manifest_id.clone(),
            plan_id: task.plan_id.clone(),
            created_at: self.started,
            expires_at: expires,
            notes: clean(&format!(
                "Run `actum rollback {}` to roll back the task, or `sh {}` if actum is not available.",
                ShellWord::operand(task.id.as_str().as_bytes()),
                ShellWord::path(script_file.as_bytes())
            )),
            run,
        };
        let manifest = RollbackManifest::new(facts, &rollback, &place.directory.name);
        let script = rollback.script(&manifest_id, &place.directory.name);
        let manifest =
            manifest.write().map_err(|error| broken(ErrorCode::CheckpointFailed, &error))?;
        let files = RollbackFiles {
            manifest: Digest::of(&manifest),
            outcomes: None,
            script: Digest::of(&script),
        };
        let write = || -> std::result::Result<RollbackFiles, OutputError> {
            place.directory.put(ROLLBACK_MANIFEST_FILE, Some(Ok(manifest)))?;
            self.manifest = Some(manifest_id);
            place.directory.write(ROLLBACK_SCRIPT_FILE, &script)?;
            Ok(files)
        };
        write().map_err(|error| unwritten(&rollback, &place.directory.name, &error))
    }

    /// Returns a problem for each file whose content no longer matches the result of the run (EX-12).
    pub(super) fn changed_since(&self, effects: &[PathEffect]) -> Vec<TaskProblem> {
        let files = effects.iter().filter_map(|effect| Some((&effect.path.0, effect.after?)));
        let changed = files.filter(|(path, left)| {
            !matches!(self.outputs.has_content(path, (left.sha256, left.size)), Ok(true))
        });
        changed
            .map(|(path, _)| TaskProblem {
                target: Some(path.clone()),
                ..TaskProblem::new(
                    ErrorCode::ChangedAfterRun,
                    format!("`{path}` was changed by another process after the run"),
                )
            })
            .collect()
    }
}

/// Returns the problem for rollback files that cannot be written.
fn unwritten(rollback: &Rollback, report: &ReportName, error: &OutputError) -> Box<TaskProblem> {
    let code = code_of(&error.source, ErrorCode::CheckpointFailed);
    let is_of =
        |path: &&RelPath| error.path == path.to_string() || error.path == report.backup(path);
    let target = rollback.checkpoints().iter().map(|it| &it.path).find(is_of).cloned();
    Box::new(TaskProblem { target, ..TaskProblem::new(code, error.to_string()) })
}

/// Maps an I/O error to an error code. Returns `otherwise` for an error that has no code of its own.
fn code_of(error: &std::io::Error, otherwise: ErrorCode) -> ErrorCode {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, QuotaExceeded, StorageFull};
    if [StorageFull, QuotaExceeded].contains(&error.kind()) {
        ErrorCode::DiskFull
    } else if [InvalidData, FileTooLarge].contains(&error.kind()) {
        ErrorCode::HashMismatch
    } else {
        otherwise
    }
}

/// Returns records of the SQL steps whose effects are part of the change.
fn queries(plan: &TaskPlan, rehearsed: &TaskActions) -> Vec<QueryRecord> {
    let ran = rehearsed.actions.iter().filter_map(|it| {
        let action = plan.actions.get(it.action)?;
        Some(it.sql.as_ref()?.record(action))
    });
    ran.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-14, EX-18: if a run is neither published nor rolled back, the operator is alerted, and no report claims that
    /// the workspace is unchanged.
    #[test]
    fn run_neither_published_nor_rolled_back_alerts_the_operator() {
        let kind =
            ErrorKind::Io { action: "restore `a`".to_owned(), source: std::io::Error::other("no") };
        let error = Error::from(actum_workspace::Error::from(kind));
        let problem = TaskProblem::of_open_run(&error);
        assert_eq!(problem.code, ErrorCode::RollbackFailed);
        assert!(problem.code.response().alerts_operator());
        assert!(problem.message.contains("restore `a`"), "{}", problem.message);
        assert_eq!(problem.reason, TaskProblem::of_error(&error).reason);
    }
}
