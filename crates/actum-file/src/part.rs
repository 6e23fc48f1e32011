//! Parts of a file task. Each part is the change that one run makes in one base directory.

use actum::{Engine, EntryPoint, FileTask, Observer, Records, Request, Verified};
use actum_core::{RelPath, RunId};
use actum_edit::{EmptyParents, Operation};
use actum_record::ledger::Actor;
use actum_workspace::disk::Disk;
use actum_workspace::{ChangeKind, HardLinks, Limits, SourceFile, TakenAttributes, Transaction};

use crate::cause::Cause;
use crate::manifest::{FileWork, Manifest};
use crate::ports::{LeaseCheck, LeaseFacts, LeaseNeed, TaskLog, TaskRoot, TaskStart};
use crate::quota::Bounds;
use crate::worker::ByteWorker;

/// Task whose lease was found valid, with everything that is needed to carry it out.
pub(crate) struct Task<'t, D: Disk> {
    pub(crate) manifest: &'t Manifest,
    pub(crate) lease: &'t LeaseFacts,
    pub(crate) actor: &'t Actor,
    pub(crate) records: &'t Records,
    pub(crate) leases: &'t dyn LeaseCheck,
    pub(crate) log: &'t dyn TaskLog,
    pub(crate) bounds: Bounds<'t>,
    pub(crate) worker: &'t mut dyn ByteWorker<D>,
    /// Start of the task, once it is recorded or about to be recorded.
    pub(crate) start: Option<TaskStart>,
}

impl<D: Disk> Task<'_, D> {
    /// Checks that the task may continue: that it is not cancelled or out of time, and that its lease is still valid.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.bounds.check()?;
        let work = &self.manifest.work;
        let need = LeaseNeed {
            capability: work.capability(),
            task: &self.manifest.task,
            manifest: self.manifest.digest,
            source: work.source(),
            destination: work.destination(),
            actor: self.actor,
            is_started: self.start.is_some(),
        };
        self.leases.check(&need, self.records.now())?;
        Ok(())
    }

    /// Starts the task, and returns the ledger entries that record the start.
    fn start(&mut self, roots: Vec<TaskRoot>) -> Result<Vec<actum_ledger::NewEntry>, Cause> {
        let work = &self.manifest.work;
        let start = TaskStart {
            time: self.records.now(),
            task: self.manifest.task.clone(),
            manifest: self.manifest.digest,
            capability: work.capability(),
            source: work.source().clone(),
            destination: work.destination().cloned(),
            lease: self.lease.lease.record(),
            roots,
            actor: self.actor.clone(),
        };
        let entries = self.log.start(&start, self.lease.lease.document())?;
        self.start = Some(start);
        Ok(entries)
    }

    /// Builds the request for one part of the task.
    pub(crate) fn request(&self, operations: Vec<Operation>) -> Request {
        let work = &self.manifest.work;
        let label = match work {
            FileWork::Move { source, destination } => format!("move `{source}` to `{destination}`"),
            FileWork::Copy { source, destination } => format!("copy `{source}` to `{destination}`"),
            FileWork::Delete { source } => format!("delete `{source}`"),
        };
        let file_task = FileTask {
            task: self.manifest.task.clone(),
            manifest: self.manifest.digest,
            capability: work.capability().as_capability(),
            limits: self.lease.lease.quotas(),
        };
        let limits = Limits { hard_links: HardLinks::Refuse, ..Limits::default() };
        Request {
            actor: self.actor.clone(),
            entry_point: EntryPoint::FileTask,
            file_task: Some(file_task),
            lease: Some(self.lease.lease.clone()),
            ..Request::apply(operations)
        }
        .labelled(label)
        .within(limits)
    }

    /// Lets the worker hash the source file, and compares the digest with the one that the transaction computed.
    fn read(&mut self, transaction: &mut Transaction<'_, D>, path: &RelPath) -> Result<(), Cause> {
        let source = transaction.open_source(path)?;
        self.bounds.check_space(source.size())?;
        self.bounds.check_storage(source.size())?;
        let state = transaction.file_state(path)?;
        match self.worker.hash(source.handle(), &self.bounds)? == state.sha256 {
            true => Ok(()),
            false => Err(Cause::OtherBytes),
        }
    }

    /// Lets the worker copy the source to a staged file, and adds this file to the transaction.
    fn copy(
        &mut self,
        transaction: &mut Transaction<'_, D>,
        source: &SourceFile<D>,
        to: &RelPath,
        attributes: TakenAttributes,
    ) -> Result<(), Cause> {
        transaction.check_absent(to)?;
        transaction.check_directory(to)?;
        self.bounds.check_space(source.size())?;
        let staged = transaction.stage_file()?;
        self.worker.copy(source.handle(), staged.handle(), &self.bounds)?;
        let state = transaction.take_copy(to, staged, source, attributes)?;
        Ok(self.bounds.check_space(state.size)?)
    }
}

/// Returns the root and run of a transaction, for the record of the task start.
fn root_of<D: Disk>(transaction: &Transaction<'_, D>, root: &str) -> Result<TaskRoot, Cause> {
    let (workspace, run) = (transaction.workspace_id()?, transaction.run());
    Ok(TaskRoot { workspace, root: root.to_owned(), run })
}

/// Checks that a transaction contains only the expected change.
fn check_change<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    path: &RelPath,
    kind: &ChangeKind,
) -> Result<(), Cause> {
    match &*transaction.changes() {
        [change] if change.path == *path && change.kind == *kind => Ok(()),
        _ => Err(Cause::OtherChange),
    }
}

/// Task within a single base directory, which needs only one run.
pub(crate) struct Whole<'p, 't, D: Disk> {
    pub(crate) task: &'p mut Task<'t, D>,
    pub(crate) root: &'p str,
    pub(crate) source: &'p RelPath,
    pub(crate) destination: Option<&'p RelPath>,
    pub(crate) run: Option<TaskRoot>,
}

impl<D: Disk> Whole<'_, '_, D> {
    /// Returns the operations that describe the change.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let (from, parents) = (self.source.clone(), EmptyParents::Keep);
        let to = self.destination.cloned();
        let operation = match (&self.task.manifest.work, to) {
            (FileWork::Move { .. }, Some(to)) => Some(Operation::Rename { from, to, parents }),
            (FileWork::Copy { .. }, Some(to)) => Some(Operation::Copy { from, to }),
            (FileWork::Delete { .. }, None) => {
                Some(Operation::Delete { path: from, expected: None, parents })
            }
            (FileWork::Move { .. } | FileWork::Copy { .. }, None)
            | (FileWork::Delete { .. }, Some(_)) => None,
        };
        operation.into_iter().collect()
    }

    /// Makes the change in the transaction.
    pub(crate) fn make(&mut self, transaction: &mut Transaction<'_, D>) -> Result<(), Cause> {
        self.run = Some(root_of(transaction, self.root)?);
        self.task.bounds.check_files(1)?;
        match (&self.task.manifest.work, self.destination) {
            (FileWork::Move { .. }, Some(to)) => {
                transaction.check_absent(to)?;
                transaction.check_directory(to)?;
                self.task.read(transaction, self.source)?;
                transaction.rename(self.source, to, EmptyParents::Keep)?;
                let kind = ChangeKind::Renamed { from: self.source.clone() };
                check_change(transaction, to, &kind)
            }
            (FileWork::Copy { .. }, Some(to)) => {
                let source = transaction.open_source(self.source)?;
                self.task.copy(transaction, &source, to, TakenAttributes::New)?;
                check_change(transaction, to, &ChangeKind::Created)
            }
            (FileWork::Delete { .. }, None) => {
                self.task.read(transaction, self.source)?;
                transaction.delete(self.source, None, EmptyParents::Keep)?;
                check_change(transaction, self.source, &ChangeKind::Deleted)
            }
            (FileWork::Move { .. } | FileWork::Copy { .. }, None)
            | (FileWork::Delete { .. }, Some(_)) => Err(Cause::OtherChange),
        }
    }
}

impl<D: Disk> Observer<D> for Whole<'_, '_, D> {
    type Stop = Cause;

    fn verified(&mut self, verified: &mut Verified<'_, D>) -> Result<(), Cause> {
        self.task.check()?;
        let roots = self.run.iter().cloned().collect();
        for entry in self.task.start(roots)? {
            verified.append_with_intent(entry);
        }
        Ok(())
    }
}

/// Source of a move between two base directories. The run of the destination is published before this run.
pub(crate) struct SourcePart<'p, 't, D: Disk> {
    pub(crate) task: &'p mut Task<'t, D>,
    pub(crate) root: &'p str,
    pub(crate) path: &'p RelPath,
    pub(crate) file: Option<SourceFile<D>>,
    pub(crate) run: Option<TaskRoot>,
    /// Engine of the destination directory.
    pub(crate) engine: &'p mut Engine<D>,
    pub(crate) destination: (&'p str, &'p RelPath),
    /// Run of the destination, once that run has been published.
    pub(crate) published: Option<RunId>,
}

impl<D: Disk> SourcePart<'_, '_, D> {
    /// Opens the source file, and deletes it in the transaction.
    pub(crate) fn make(&mut self, transaction: &mut Transaction<'_, D>) -> Result<(), Cause> {
        self.run = Some(root_of(transaction, self.root)?);
        self.task.bounds.check_files(1)?;
        let source = transaction.open_source(self.path)?;
        self.task.bounds.check_space(source.size())?;
        self.file = Some(source);
        transaction.file_state(self.path)?;
        transaction.delete(self.path, None, EmptyParents::Keep)?;
        check_change(transaction, self.path, &ChangeKind::Deleted)
    }
}

impl<D: Disk> Observer<D> for SourcePart<'_, '_, D> {
    type Stop = Cause;

    fn verified(&mut self, _: &mut Verified<'_, D>) -> Result<(), Cause> {
        let (Some(file), Some(root)) = (self.file.take(), self.run.clone()) else {
            return Err(Cause::OtherChange);
        };
        self.task.check()?;
        let (destination, path) = self.destination;
        let mut part = DestinationPart {
            task: &mut *self.task,
            root: destination,
            path,
            attributes: file.attributes(),
            file: &file,
            source: Some(root),
            run: None,
        };
        let request = part.task.request(Vec::new());
        let done = self
            .engine
            .run_staged(request, &mut part, |transaction, part| part.make(transaction))?;
        self.published = Some(done.run());
        self.task.check()
    }
}

/// Destination of a move or copy between two base directories.
pub(crate) struct DestinationPart<'p, 't, D: Disk> {
    pub(crate) task: &'p mut Task<'t, D>,
    pub(crate) root: &'p str,
    pub(crate) path: &'p RelPath,
    pub(crate) file: &'p SourceFile<D>,
    /// Run of the source if the file is moved. A copy does not change the source.
    pub(crate) source: Option<TaskRoot>,
    pub(crate) attributes: TakenAttributes,
    pub(crate) run: Option<TaskRoot>,
}

impl<D: Disk> DestinationPart<'_, '_, D> {
    /// Copies the file to the destination in the transaction.
    pub(crate) fn make(&mut self, transaction: &mut Transaction<'_, D>) -> Result<(), Cause> {
        self.run = Some(root_of(transaction, self.root)?);
        self.task.copy(transaction, self.file, self.path, self.attributes.clone())?;
        check_change(transaction, self.path, &ChangeKind::Created)
    }
}

impl<D: Disk> Observer<D> for DestinationPart<'_, '_, D> {
    type Stop = Cause;

    fn verified(&mut self, verified: &mut Verified<'_, D>) -> Result<(), Cause> {
        self.task.check()?;
        let roots = self.source.iter().chain(&self.run).cloned().collect();
        for entry in self.task.start(roots)? {
            verified.append_with_intent(entry);
        }
        Ok(())
    }
}
