//! Host of the File Executor. It holds the lock, the keys and the ledger, and publishes changes, while a worker reads and writes
//! the bytes of files.

mod settle;

use std::time::Duration;

use actum::{Engine, Records, Request, Which};
use actum_core::{Digest, RunId, Timestamp};
use actum_ledger::{Activity, ActivityMark, LedgerError};
use actum_record::keyring::Keyring;
use actum_record::ledger::{Actor, WorkspaceId};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, RunOptions, TakenAttributes};

use crate::base::{BaseDirectories, Located, OpenError};
use crate::cause::Cause;
use crate::manifest::{Asked, FileWork, Manifest};
use crate::part::{DestinationPart, SourcePart, Task, Whole};
use crate::ports::{LeaseCheck, LeaseFacts, LeaseNeed, TaskLog, TaskStart};
use crate::quota::Bounds;
use crate::recovery::{RecoveryError, RecoveryReference};
use crate::result::{
    ExecutionResult, Output, ResultSummary, SignResultError, TaskStatus, UndoMetadata,
};
use crate::verify::{ResultProblem, verify};
use crate::worker::ByteWorker;
use actum_record::lease::{BaseDirectory, LeaseId, TaskName};

/// Delay before another attempt to use a busy workspace.
const BUSY_WAIT: Duration = Duration::from_millis(2);

/// Executor of file tasks.
pub struct Host<'h, D: Disk> {
    /// Ledger, keys and clock of the installation.
    pub records: Records,
    /// Base directories from the operator's policy.
    pub bases: BaseDirectories,
    /// Opens the engine of a base directory after checking its location.
    pub open: &'h dyn Fn(&BaseDirectory) -> Result<Engine<D>, OpenError>,
    /// Worker that reads and writes the bytes of files.
    pub worker: &'h mut dyn ByteWorker<D>,
    /// Check of the lease that came with the request.
    pub leases: &'h dyn LeaseCheck,
    /// Log of file tasks.
    pub log: &'h dyn TaskLog,
    /// Actor that requests the task.
    pub actor: Actor,
    /// Returns whether cancellation has been requested.
    pub is_cancelled: &'h dyn Fn() -> bool,
}

/// Signed result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTaskEnd {
    /// Content of the result.
    pub result: ExecutionResult,
    /// Signed envelope that contains the result.
    pub envelope: Vec<u8>,
    /// Whether this is the stored result of an earlier request (FE-11).
    pub is_stored: bool,
}

/// Reason why a request produced no signed result.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The result could not be signed.
    #[error(transparent)]
    Sign(#[from] SignResultError),
    /// The engine failed. If a change was published, the next request settles its task.
    #[error(transparent)]
    Engine(#[from] actum::Error),
    /// This process does not know the outcome of the change, and the next request settles the task.
    #[error("the outcome of the file task is not known yet: {0}")]
    Open(Box<Cause>),
    /// The log of file tasks failed.
    #[error("failed to record the file task: {0}")]
    Log(#[from] LedgerError),
    /// The stored result of an earlier request is not valid.
    #[error("the stored result of the file task is damaged: {0}")]
    Stored(#[from] ResultProblem),
}

/// Request for a file task whose lease was found valid.
struct Accepted {
    manifest: Manifest,
    /// Ids of the blocks of the lease.
    lease_ids: Vec<LeaseId>,
    requested: Timestamp,
}

/// Outcome of a file task that succeeded.
struct Success {
    runs: Vec<RunId>,
    /// Recovery reference, if the task deleted a file.
    recovery: Option<String>,
}

impl<D: Disk> Host<'_, D> {
    /// Carries out the task in `manifest`, and returns its signed result. Before that, settles tasks that earlier processes left
    /// open.
    ///
    /// # Errors
    /// Returns [`HostError`] if no result could be signed and stored. A task that fails has a result, so it is not an error.
    pub fn run(&mut self, manifest: &[u8]) -> Result<FileTaskEnd, HostError> {
        let requested = self.records.now();
        let manifest = match Manifest::read(manifest) {
            Ok(manifest) => manifest,
            Err(error) => return self.refuse(&Asked::new(manifest), &error.into(), requested),
        };
        self.recover()?;
        // Only the process that holds the mark may start and end the task.
        let Some(mark) = take_mark(&self.records, &manifest.task)? else {
            return self.answer(&manifest.asked(), &Cause::InProgress, requested);
        };
        let end = self.run_alone(manifest, requested);
        mark.end().map_err(actum::Error::from)?;
        end
    }

    /// Carries out a task while holding its mark, so that no other process can start or end it.
    fn run_alone(
        &mut self,
        manifest: Manifest,
        requested: Timestamp,
    ) -> Result<FileTaskEnd, HostError> {
        let logged = self.log.find(&manifest.task)?;
        if let Some(logged) = &logged
            && logged.manifest == manifest.digest
        {
            let Some(envelope) = &logged.result else {
                return self.answer(&manifest.asked(), &Cause::Unsettled, requested);
            };
            return self.stored(&manifest, envelope.clone());
        }
        let need = LeaseNeed {
            capability: manifest.work.capability(),
            task: &manifest.task,
            manifest: manifest.digest,
            source: manifest.work.source(),
            destination: manifest.work.destination(),
            actor: &self.actor,
            is_started: false,
        };
        let lease = match self.leases.check(&need, self.records.now()) {
            Ok(lease) => lease,
            Err(refusal) => return self.refuse(&manifest.asked(), &refusal.into(), requested),
        };
        if logged.is_some() {
            return self.answer(&manifest.asked(), &Cause::IdTaken, requested);
        }
        let blocks = lease.lease.record().blocks;
        let lease_ids = blocks.iter().map(|block| block.id).collect();
        self.carry_out(&Accepted { manifest, lease_ids, requested }, &lease)
    }

    /// Returns the stored result of an earlier request, byte for byte.
    fn stored(&self, manifest: &Manifest, envelope: Vec<u8>) -> Result<FileTaskEnd, HostError> {
        let keyring: &Keyring = self.records.keyring();
        let result = verify(&envelope, keyring, &manifest.task)?.result;
        Ok(FileTaskEnd { result, envelope, is_stored: true })
    }

    /// Signs and stores a refusal, which does not reserve the task id.
    fn refuse(
        &self,
        asked: &Asked,
        cause: &Cause,
        requested: Timestamp,
    ) -> Result<FileTaskEnd, HostError> {
        let end = self.answer(asked, cause, requested)?;
        self.log.refuse(&end.envelope)?;
        Ok(end)
    }

    /// Signs a failure without storing it.
    fn answer(
        &self,
        asked: &Asked,
        cause: &Cause,
        requested: Timestamp,
    ) -> Result<FileTaskEnd, HostError> {
        let failure = (cause.code(), cause.detail());
        let result = ExecutionResult::refused(asked, failure, requested, self.records.now());
        let envelope = result.sign(&self.records.signer()?)?;
        Ok(FileTaskEnd { result, envelope, is_stored: false })
    }

    /// Carries out an accepted task, and records its result.
    fn carry_out(
        &mut self,
        accepted: &Accepted,
        lease: &LeaseFacts,
    ) -> Result<FileTaskEnd, HostError> {
        let Accepted { manifest, requested, .. } = accepted;
        let (records, leases, log) = (self.records.clone(), self.leases, self.log);
        let now = || records.now();
        let quotas = lease.lease.quotas();
        let bounds = Bounds {
            deadline: Bounds::deadline(&quotas, *requested),
            quotas,
            now: &now,
            is_cancelled: self.is_cancelled,
        };
        let actor = self.actor.clone();
        let mut task = Task {
            manifest,
            lease,
            actor: &actor,
            records: &records,
            leases,
            log,
            bounds,
            worker: &mut *self.worker,
            start: None,
        };
        let done = change(&self.bases, self.open, &mut task);
        let done = match done {
            // The journal knows the outcome, and the next request reads it from there.
            Err(cause) if cause.is_open() => return Err(HostError::Open(Box::new(cause))),
            done => done,
        };
        let Task { start, .. } = task;
        let runs = start.iter().flat_map(|start| start.roots.iter().rev().map(|root| root.run));
        let runs: Vec<RunId> = runs.collect();
        let result = self.result(accepted, done, runs)?;
        let envelope = result.sign(&self.records.signer()?)?;
        self.log.end(&manifest.task, &envelope)?;
        Ok(FileTaskEnd { result, envelope, is_stored: false })
    }

    /// Builds the result of an accepted task.
    fn result(
        &self,
        Accepted { manifest, lease_ids, requested }: &Accepted,
        done: Result<Success, Cause>,
        runs: Vec<RunId>,
    ) -> Result<ExecutionResult, HostError> {
        let asked = manifest.asked();
        let logged = self.log.find(&manifest.task)?;
        let bound = |result: ExecutionResult| ExecutionResult {
            task_id: Some(manifest.task.clone()),
            lease: lease_ids.clone(),
            started: logged.and_then(|logged| logged.started),
            ..result
        };
        let time = self.records.now();
        Ok(match done {
            Err(cause) => {
                let failure = (cause.code(), cause.detail());
                let result = ExecutionResult::refused(&asked, failure, *requested, time);
                bound(ExecutionResult { runs, ..result })
            }
            Ok(Success { runs, recovery }) => bound(ExecutionResult {
                format: ExecutionResult::FORMAT.to_owned(),
                task_id: None,
                requested_task_id: Some(manifest.task.clone()),
                capability_id: asked.capability,
                status: TaskStatus::Success,
                output: Some(output(manifest, recovery)),
                error_code: None,
                detail: None,
                manifest: manifest.digest,
                lease: Vec::new(),
                runs,
                started: None,
                requested: *requested,
                time: time.max(*requested),
                engine: crate::ENGINE.to_owned(),
            }),
        })
    }
}

/// Takes the mark of a task, which shows that its process is alive and prevents other processes from starting or ending it.
/// Returns `None` if another process holds the mark.
fn take_mark(records: &Records, task: &TaskName) -> Result<Option<ActivityMark>, actum::Error> {
    let digest = Digest::of(task.as_str().as_bytes());
    let (high, low) = digest.as_bytes().split_at(8);
    let [id, workspace] = [high, low]
        .map(|bytes| bytes.iter().take(8).fold(0, |bits, byte| (bits << 8) | u64::from(*byte)));
    let (id, workspace) = (RunId::from_random(id), WorkspaceId::from_random(workspace));
    Ok(records.marks().take(Activity::FileTask, id, workspace)?)
}

/// Builds the output of a task that succeeded.
fn output(manifest: &Manifest, recovery: Option<String>) -> Output {
    let work = &manifest.work;
    let source = work.source().as_str().to_owned();
    let original_path = match work {
        FileWork::Move { .. } => Some(source.clone()),
        FileWork::Copy { .. } | FileWork::Delete { .. } => None,
    };
    let destination = work.destination().map(|path| path.as_str().to_owned());
    Output {
        task_id: manifest.task.clone(),
        capability_id: work.capability(),
        result_summary: ResultSummary { source, destination },
        undo_metadata: UndoMetadata { original_path, recovery },
    }
}

/// Function that opens the engine of a base directory.
type Open<'o, D> = &'o dyn Fn(&BaseDirectory) -> Result<Engine<D>, OpenError>;

fn open<D: Disk>(open: Open<'_, D>, base: &BaseDirectory) -> Result<Engine<D>, Cause> {
    open(base).map_err(|source| Cause::Base { base: base.as_str().to_owned(), source })
}

/// Makes the change of a task. Waits and tries again while another process uses one of its base directories.
fn change<D: Disk>(
    bases: &BaseDirectories,
    engines: Open<'_, D>,
    task: &mut Task<'_, D>,
) -> Result<Success, Cause> {
    let work = &task.manifest.work;
    let source = bases.locate(work.source())?;
    let destination = work.destination().map(|path| bases.locate(path)).transpose()?;
    loop {
        let done = match &destination {
            Some(destination) if destination.base != source.base => match work {
                FileWork::Move { .. } => move_between(engines, task, &source, destination),
                FileWork::Copy { .. } | FileWork::Delete { .. } => {
                    copy_between(engines, task, &source, destination)
                }
            },
            Some(_) | None => change_one(engines, task, &source, destination.as_ref()),
        };
        match done {
            Err(Cause::Engine(actum::Error::Workspace(error)))
                if matches!(error.kind, ErrorKind::Busy { .. }) && task.start.is_none() =>
            {
                task.bounds.check()?;
                std::thread::sleep(BUSY_WAIT);
            }
            done => return done,
        }
    }
}

/// Makes a change within a single base directory.
fn change_one<D: Disk>(
    engines: Open<'_, D>,
    task: &mut Task<'_, D>,
    source: &Located,
    destination: Option<&Located>,
) -> Result<Success, Cause> {
    let mut engine = open(engines, &source.base)?;
    let mut part = Whole {
        task,
        root: source.base.as_str(),
        source: &source.path,
        destination: destination.map(|located| &located.path),
        run: None,
    };
    let request = part.task.request(part.operations());
    let done = engine.run_staged(request, &mut part, |transaction, part| part.make(transaction))?;
    let recovery = part.run.as_ref().and_then(|root| {
        settle::recovery(part.task.manifest.work.capability(), root, &done.receipt)
    });
    finish(&engine);
    Ok(Success { runs: vec![done.run()], recovery })
}

/// Copies a file to another base directory, with a single run in the destination.
fn copy_between<D: Disk>(
    engines: Open<'_, D>,
    task: &mut Task<'_, D>,
    source: &Located,
    destination: &Located,
) -> Result<Success, Cause> {
    let mut from = open(engines, &source.base)?;
    let mut to = open(engines, &destination.base)?;
    let request = task.request(Vec::new());
    let label = request.label.clone().unwrap_or_default();
    let options = RunOptions { limits: request.limits.clone(), label, wait: false };
    // The open file is used after the lock on its workspace is released. This is safe because the copied bytes are compared with
    // it before the copy is adopted.
    let file = from.workspace_mut().begin(options)?.open_source(&source.path)?;
    let mut part = DestinationPart {
        task,
        root: destination.base.as_str(),
        path: &destination.path,
        file: &file,
        source: None,
        attributes: TakenAttributes::New,
        run: None,
    };
    part.task.bounds.check_files(1)?;
    let done = to.run_staged(request, &mut part, |transaction, part| part.make(transaction))?;
    finish(&to);
    Ok(Success { runs: vec![done.run()], recovery: None })
}

/// Moves a file to another base directory, with a run in each of them. The move succeeds if the run of the source commits.
/// Otherwise, the destination is undone.
fn move_between<D: Disk>(
    engines: Open<'_, D>,
    task: &mut Task<'_, D>,
    source: &Located,
    destination: &Located,
) -> Result<Success, Cause> {
    let mut from = open(engines, &source.base)?;
    let mut to = open(engines, &destination.base)?;
    let mut part = SourcePart {
        task,
        root: source.base.as_str(),
        path: &source.path,
        file: None,
        run: None,
        engine: &mut to,
        destination: (destination.base.as_str(), &destination.path),
        published: None,
    };
    let request = part.task.request(Vec::new());
    let done = from.run_staged(request, &mut part, |transaction, part| part.make(transaction));
    let (published, actor) = (part.published, part.task.actor.clone());
    let cause = match done {
        Ok(done) => {
            finish(&from);
            let runs = published.into_iter().chain([done.run()]).collect();
            return Ok(Success { runs, recovery: None });
        }
        Err(cause) => cause,
    };
    match (&cause, published) {
        // Only the journal knows whether the source was removed. The destination may be the only copy, so it must stay for now.
        (cause_of_source, _) if cause_of_source.is_open() => Err(cause),
        (_, None) => Err(cause),
        (_, Some(run)) => match undo(&mut to, run, &actor) {
            Ok(()) => Err(cause),
            Err(source) => {
                Err(Cause::NotUndone { cause: Box::new(cause), source: Box::new(source) })
            }
        },
    }
}

/// Undoes the destination of a move, unless that has already been done.
fn undo<D: Disk>(engine: &mut Engine<D>, run: RunId, actor: &Actor) -> Result<(), actum::Error> {
    let request = Request {
        entry_point: actum::EntryPoint::FileTask,
        actor: actor.clone(),
        wait: true,
        ..Request::undo(Which::Run(run))
    };
    match engine.run(request) {
        Ok(_) => Ok(()),
        Err(actum::Error::Workspace(error))
            if matches!(error.kind, ErrorKind::AlreadyUndone { .. }) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Waits for the background work of the ledger. Errors are ignored, because the next process signs a missing checkpoint.
fn finish<D: Disk>(engine: &Engine<D>) {
    drop(engine.finish());
}

impl<D: Disk> Host<'_, D> {
    /// Restores a deleted file with a normal run that undoes the deletion.
    ///
    /// # Errors
    /// Returns [`RecoveryError`] if no base directory has the deletion, or if the engine fails.
    pub fn restore(&mut self, reference: &RecoveryReference) -> Result<actum::Done, RecoveryError> {
        for base in self.bases.iter() {
            let Ok(mut engine) = (self.open)(base) else { continue };
            if engine.resume()? != reference.workspace {
                continue;
            }
            reference.check(&self.records)?;
            let request = Request {
                entry_point: actum::EntryPoint::FileTask,
                actor: self.actor.clone(),
                wait: true,
                ..Request::undo(Which::Run(reference.run))
            };
            return Ok(engine.run(request)?);
        }
        Err(RecoveryError::Unknown)
    }
}

/// Result of settling the tasks of processes that ended early.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Results of the tasks that were settled.
    pub ends: Vec<FileTaskEnd>,
    /// Tasks that stay open because they are still running, or because one of their base directories cannot be opened or is now
    /// a different workspace.
    pub open: Vec<TaskStart>,
}
