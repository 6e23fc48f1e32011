//! Settles a run: signs its result and records it in the ledger.

use actum_core::{RunId, Status, canonical};
use actum_ledger::{NewEntry, SigningKey};
use actum_record::dsse::Envelope;
use actum_record::ledger::{EffectStarted, EntryKind};
use actum_record::receipt::{EntryRef, ExternalRun, PAYLOAD_TYPE, Rollback, RunResult, Statement};
use actum_workspace::disk::Disk;
use actum_workspace::{Committed, State};

use crate::engine::outcome::Outcome;
use crate::engine::publish::{End, Intent, Published};
use crate::error::{Error, Result};
use crate::recorded::Receipt;
use crate::records::{Records, Witness};

/// Result of a request that was carried out.
#[derive(Debug)]
pub struct Done {
    /// Change that was committed, or `None` if an earlier run already carried out the request.
    pub committed: Option<Committed>,
    /// Signed receipt of the run that carried out the request.
    pub receipt: Receipt,
}

impl Done {
    pub(crate) fn before(receipt: Receipt) -> Self {
        Self { committed: None, receipt }
    }

    /// Returns the run that carried out the request, which may be an earlier one.
    pub fn run(&self) -> RunId {
        self.receipt.statement.predicate.run
    }
}

impl<D: Disk> Published<'_, D> {
    /// Signs and records how the run ended, and then unlocks the workspace.
    ///
    /// If the change could not be staged, the workspace is already unlocked. In that case, another process may record
    /// the end first, as that of a run that never began.
    ///
    /// # Errors
    /// `Workspace` if the run was not committed, which is recorded nevertheless; `Unsettled` if the end could not be
    /// recorded, so that the next run in the workspace has to do it.
    pub(crate) fn settle(self) -> Result<Done> {
        let Self { records, signer, intent, end, mut external } = self;
        let (result, lock) = match end {
            End::Unstaged(error) => (Err(error), None),
            End::Announced(published) => {
                let (result, lock) = published.into_parts();
                (result, Some(lock))
            }
        };
        let (run, at) = (intent.started.run, records.clock.now().max(intent.started.time));
        let mut settle = |outcome| {
            let receipt = records.record_end(&signer, &intent, (outcome, external.take()))?;
            if let Some(lock) = &lock {
                let keys = records.keys_in_force();
                let entry = receipt.entry(&intent.entry.origin);
                Witness::keep(entry, keys, |log, line| lock.keep_witness(log, line));
            }
            Ok(receipt)
        };
        let unsettled = |state, source, cause| {
            let source = Box::new(source);
            Error::Unsettled { run, state, source, cause }
        };
        match result {
            Ok(committed) => {
                let receipt = settle(Outcome::committed(at))
                    .map_err(|source| unsettled(State::Published, source, None))?;
                Ok(Done { committed: Some(committed), receipt })
            }
            Err(error) => match Outcome::failed(&error, at).map(&mut settle) {
                None | Some(Ok(_)) => Err(error.into()),
                Some(Err(source)) => Err(unsettled(error.state, source, Some(Box::new(error)))),
            },
        }
    }
}

impl Records {
    /// Signs how a run ended, and appends the receipt to the ledger. `external` is how the external pipelines ended, if
    /// known. If the run carried out a queued plan, also deletes the stored request of that plan.
    pub(crate) fn record_end(
        &self,
        signer: &SigningKey,
        intent: &Intent,
        (outcome, external): (Outcome, Option<Vec<ExternalRun>>),
    ) -> Result<Receipt> {
        let external = external.unwrap_or_else(|| {
            let ended = outcome.external_end();
            let pipelines = intent.started.external.iter().cloned();
            pipelines.map(|pipeline| ExternalRun::without_steps(pipeline, ended)).collect()
        });
        let result = RunResult { external, ..self.result(intent, outcome) };
        let statement = Statement::new(result);
        let payload = canonical::to_vec(&statement)?;
        let envelope = Envelope::sign(PAYLOAD_TYPE, payload, signer)?.to_vec()?;
        let entry =
            NewEntry { kind: EntryKind::EffectDone, body: envelope.clone(), blobs: Vec::new() };
        let EntryRef { index, leaf, .. } = self.entry(&self.ledger.append(vec![entry]).wait()?)?;
        if let Some(approval) = &intent.started.approval {
            self.forget_input(approval.plan);
        }
        Ok(Receipt { index, leaf, envelope, statement })
    }

    fn result(&self, intent: &Intent, outcome: Outcome) -> RunResult {
        let EffectStarted {
            time,
            tenant,
            workspace,
            run,
            undoes,
            request,
            attempt,
            actor,
            door,
            label,
            plan,
            change,
            policy,
            decision,
            approval,
            commands,
            queries,
            published_by,
            rollback_files,
            lease,
            engine,
            external: _,
            format: _,
            root: _,
            place: _,
            action: _,
        } = intent.started.clone();
        let Outcome { status, reason, at, settled_by } = outcome;
        RunResult {
            tenant,
            workspace,
            run,
            undoes,
            status,
            reason: reason.map(|reason| reason.name().to_owned()),
            plan,
            change,
            paths: intent.paths.clone(),
            policy,
            decision,
            approval,
            lease,
            commands: commands.made,
            sandbox: commands.sandbox,
            verification: commands.verified,
            queries,
            external: Vec::new(),
            published_by,
            rollback: (status == Status::Succeeded).then_some(Rollback { undo: run }),
            rollback_files: rollback_files.filter(|_| status == Status::Succeeded),
            request,
            attempt,
            actor,
            door,
            label,
            started: time,
            ended: at,
            settled: self.clock.now().max(at),
            intent: intent.entry.clone(),
            settled_by,
            engine,
        }
    }
}
