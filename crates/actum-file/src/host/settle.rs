//! Settles tasks whose process ended early, using the journals and the ledger (FE-1, FE-8, FE-11).

use actum::{Engine, Receipt, Records};
use actum_core::{RunId, Status};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, RunOptions};

use super::{Accepted, FileTaskEnd, Host, HostError, Settled, Success, take_mark, undo};
use crate::base::Located;
use crate::cause::{Cause, is_transient};
use crate::manifest::{FileCapability, FileWork, Manifest};
use crate::ports::{TaskRoot, TaskStart};
use crate::recovery::RecoveryReference;

/// Builds the recovery reference of a deletion from its receipt. Returns `None` for other capabilities.
pub(super) fn recovery(
    capability: FileCapability,
    root: &TaskRoot,
    receipt: &Receipt,
) -> Option<String> {
    match capability {
        FileCapability::FileMove | FileCapability::FileCopy => None,
        FileCapability::FileDelete => {
            let before = receipt.statement.predicate.paths.first()?.before?;
            let TaskRoot { workspace, run, .. } = *root;
            Some(RecoveryReference { workspace, run, content: before.sha256 }.to_string())
        }
    }
}

/// Returns the receipt of a run that succeeded, or `None` if the run had no effect. The inner error means that the run failed and
/// its effect is unknown.
fn succeeded(
    records: &Records,
    run: RunId,
) -> Result<Result<Option<Receipt>, Cause>, actum::Error> {
    let recorded = records.recorded(run)?;
    let receipt = recorded.and_then(|recorded| recorded.receipt).map(|(receipt, _)| receipt);
    Ok(match receipt.as_ref().map(|receipt| receipt.statement.predicate.status) {
        Some(Status::Succeeded) => Ok(receipt),
        Some(Status::Failed) => Err(Cause::Unknown),
        Some(Status::Reverted | Status::Rejected | Status::Queued) | None => Ok(None),
    })
}

impl<D: Disk> Host<'_, D> {
    /// Settles the tasks that earlier processes left open. The runs of each task determine its result. If a move between two base
    /// directories did not remove its source, the destination is undone.
    ///
    /// # Errors
    /// Returns [`HostError`] if a result cannot be signed or recorded. A task whose base directory is unavailable stays open, and
    /// is not an error.
    pub fn recover(&mut self) -> Result<Settled, HostError> {
        let mut settled = Settled::default();
        for start in self.log.open()? {
            match self.settle(&start) {
                Ok(Some(end)) => settled.ends.extend(end),
                // An unavailable base directory must not prevent other tasks from running.
                Ok(None) | Err(HostError::Engine(_)) => settled.open.push(start),
                Err(error) => return Err(error),
            }
        }
        Ok(settled)
    }

    /// Settles one task. Returns `None` if the task is still running, or if one of its base directories cannot be opened or is now
    /// a different workspace. The inner value is `None` if another process has already ended the task.
    fn settle(&mut self, start: &TaskStart) -> Result<Option<Option<FileTaskEnd>>, HostError> {
        let Some(first) = start.roots.first() else { return Ok(None) };
        let Some(mark) = take_mark(&self.records, &start.task)? else { return Ok(None) };
        let ended = self.log.find(&start.task)?.is_some_and(|logged| logged.result.is_some());
        if ended {
            mark.end().map_err(actum::Error::from)?;
            return Ok(Some(None));
        }
        let mut engines = Vec::with_capacity(start.roots.len());
        for root in &start.roots {
            let base = self.bases.iter().find(|base| base.as_str() == root.root);
            let Some(Ok(mut engine)) = base.map(self.open) else { return Ok(None) };
            if engine.resume()? != root.workspace {
                return Ok(None);
            }
            engines.push(engine);
        }
        // The run in the first root determines the outcome. It is the only run, or the run in the source of a move.
        let done = match succeeded(&self.records, first.run)? {
            Err(cause) => Err(cause),
            Ok(Some(receipt)) => {
                let runs = start.roots.iter().rev().map(|root| root.run).collect();
                Ok(Success { runs, recovery: recovery(start.capability, first, &receipt) })
            }
            Ok(None) => Err(Cause::Interrupted),
        };
        let done = match (done, &*start.roots, engines.as_mut_slice()) {
            (done, [_, destination], [from, to]) => {
                self.settle_destination(done, start, destination.run, (from, to))?
            }
            (done, _, _) => done,
        };
        let accepted = Accepted {
            manifest: manifest(start),
            lease_ids: start.lease.blocks.iter().map(|block| block.id).collect(),
            requested: start.time,
        };
        let runs = start.roots.iter().rev().map(|root| root.run).collect();
        let result = self.result(&accepted, done, runs)?;
        let envelope = result.sign(&self.records.signer()?)?;
        self.log.end(&start.task, &envelope)?;
        mark.end().map_err(actum::Error::from)?;
        Ok(Some(Some(FileTaskEnd { result, envelope, is_stored: false })))
    }

    /// Settles the destination of a move between two base directories, given the outcome of the run in its source.
    fn settle_destination(
        &self,
        done: Result<Success, Cause>,
        start: &TaskStart,
        run: RunId,
        (from, to): (&mut Engine<D>, &mut Engine<D>),
    ) -> Result<Result<Success, Cause>, HostError> {
        Ok(match (done, succeeded(&self.records, run)?) {
            // The source was removed, so the destination should have been published before.
            (Ok(_), Ok(None) | Err(_)) => Err(Cause::Unknown),
            // The source no longer has the content, so the destination may be the only copy and must not be undone.
            (Err(Cause::Interrupted), Ok(Some(receipt)))
                if !self.is_at_source(start, &receipt, from)? =>
            {
                Err(Cause::Unknown)
            }
            (Err(Cause::Interrupted), Ok(Some(_))) => match undo(to, run, &start.actor) {
                Ok(()) => Err(Cause::Interrupted),
                Err(source) if is_transient(&source) => return Err(source.into()),
                Err(source) => {
                    let cause = Box::new(Cause::Interrupted);
                    Err(Cause::NotUndone { cause, source: Box::new(source) })
                }
            },
            (Err(Cause::Interrupted), Err(cause)) => Err(cause),
            (done, _) => done,
        })
    }

    /// Checks whether the source of a move still has the content that was published at its destination.
    fn is_at_source(
        &self,
        start: &TaskStart,
        published: &Receipt,
        engine: &mut Engine<D>,
    ) -> Result<bool, actum::Error> {
        let Ok(Located { path, .. }) = self.bases.locate(&start.source) else { return Ok(false) };
        let label = "settle a move".to_owned();
        let options = RunOptions { label, wait: true, ..RunOptions::default() };
        let mut transaction = engine.workspace_mut().begin(options)?;
        let after =
            published.statement.predicate.paths.first().and_then(|path| path.after.as_ref());
        match transaction.file_state(&path) {
            Ok(state) => Ok(after.is_some_and(|after| after.sha256 == state.sha256)),
            Err(error) if matches!(error.kind, ErrorKind::Io { .. }) => Err(error.into()),
            Err(_) => Ok(false), // the source is missing or is no longer a file
        }
    }
}

/// Reconstructs the manifest of a task from the record of its start.
fn manifest(start: &TaskStart) -> Manifest {
    let source = start.source.clone();
    let work = match (start.capability, &start.destination) {
        (FileCapability::FileMove, Some(to)) => FileWork::Move { source, destination: to.clone() },
        (FileCapability::FileCopy, Some(to)) => FileWork::Copy { source, destination: to.clone() },
        (FileCapability::FileMove | FileCapability::FileCopy, None)
        | (FileCapability::FileDelete, _) => FileWork::Delete { source },
    };
    Manifest { task: start.task.clone(), work, digest: start.manifest }
}
