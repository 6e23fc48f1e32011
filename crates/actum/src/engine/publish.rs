//! Publishes a verified change: records the intent in the ledger, announces it in the journal, and then applies the
//! change completely or not at all.

use actum_core::{Digest, canonical};
use actum_gate::Policy;
use actum_ledger::{NewEntry, SigningKey};
use actum_record::ledger::{EffectStarted, EntryKind};
use actum_record::receipt::{EntryRef, ExternalRun, PathEffect, change_digest};
use actum_workspace::disk::Disk;

use crate::engine::clear::Cleared;
use crate::engine::stage::{Begun, PartOf, Staged};
use crate::engine::verify::Verified;
use crate::error::Result;
use crate::records::Records;

/// Run that has ended, but whose end is not recorded in the ledger yet. The workspace stays locked until it is.
#[must_use = "the end of the run is not recorded until it is settled"]
pub(crate) struct Published<'e, D: Disk> {
    pub(crate) records: &'e Records,
    pub(crate) signer: SigningKey,
    pub(crate) intent: Intent,
    pub(crate) end: End<'e, D>,
    /// How the external pipelines ended, once they have run.
    pub(crate) external: Option<Vec<ExternalRun>>,
}

impl<D: Disk> Published<'_, D> {
    /// Returns whether the change was committed, so that it is visible and durable.
    pub(crate) fn is_committed(&self) -> bool {
        match &self.end {
            End::Unstaged(_) => false,
            End::Announced(published) => published.is_committed(),
        }
    }
}

/// Intent of a run, as recorded in the ledger before the run has any effect.
pub(crate) struct Intent {
    pub(crate) started: EffectStarted,
    pub(crate) entry: EntryRef,
    pub(crate) paths: Vec<PathEffect>,
}

/// How far a run got when it was published.
pub(crate) enum End<'e, D: Disk> {
    /// The new content could not be staged, so no file was touched.
    Unstaged(actum_workspace::Error),
    /// The run was announced in the journal, and then committed or rolled back.
    Announced(Box<actum_workspace::Published<'e, D>>),
}

impl<'e, D: Disk> Verified<'e, D> {
    /// Records the intent durably, and makes the change visible.
    ///
    /// While the ledger syncs the intent in its own thread, `checkpoint` is called and the new content is staged. No
    /// file is touched, and nothing is announced in the journal, until all three are done.
    ///
    /// # Errors
    /// `Ledger`, `Record` if the intent could not be recorded; nothing was changed then. A change that could not be
    /// applied is not an error here, because `settle` records it.
    pub(crate) fn publish(
        self,
        checkpoint: impl FnOnce() -> actum_workspace::Result<()>,
    ) -> Result<Published<'e, D>> {
        let Self { mut cleared, commands, rollback_files, results: _ } = self;
        if let Err(denial) = check_lease(&cleared.staged) {
            // Ask the gates again, so that the denial is recorded.
            cleared.staged.let_pass()?;
            return Err(denial);
        }
        // Check again whether the queued plan is still pending, because it may have been answered while the checks ran.
        cleared.staged.check_whole_plan_waits()?;
        let Cleared { staged, bundle, policy: policy_bytes, paths, decision, approval, lease } =
            cleared;
        let Staged {
            begun,
            request,
            plan,
            attempt,
            undoes,
            undone: _,
            part_of,
            queued: _,
            accompanying,
        } = staged;
        let Begun { transaction, records, root, signer, workspace, .. } = begun;
        let lease_document = request.lease.as_ref().map(|lease| lease.document().to_vec());
        let (action, begins) = match part_of {
            Some(PartOf { action, begins }) => (Some(action), begins),
            None => (None, Vec::new()),
        };
        let started = EffectStarted {
            format: EffectStarted::FORMAT.to_owned(),
            time: records.clock.now(),
            tenant: records.tenant.clone(),
            workspace,
            root: root.to_owned(),
            run: transaction.run(),
            place: transaction.place(),
            action,
            undoes,
            request: request.key,
            attempt,
            actor: request.actor,
            door: request.entry_point.as_str().to_owned(),
            label: transaction.label().to_owned(),
            plan,
            change: change_digest(&paths)?,
            policy: Digest::of(&policy_bytes),
            decision,
            approval,
            lease,
            commands,
            external: request.task.map(|task| task.external).unwrap_or_default(),
            queries: request.queries,
            published_by: request.work.publisher(),
            rollback_files,
            engine: crate::records::ENGINE.to_owned(),
        };
        let body = canonical::to_vec(&started)?;
        let blobs = [bundle, policy_bytes].into_iter().chain(lease_document).collect();
        let entry = NewEntry { kind: EntryKind::EffectStarted, body, blobs };
        let entries = begins.into_iter().chain(accompanying).chain([entry]);
        let appended = records.ledger.append(entries.collect());
        let prepared = checkpoint().and_then(|()| transaction.prepare());
        let entry = records.entry(&appended.wait()?)?;
        let end = match prepared {
            Ok(prepared) => End::Announced(Box::new(prepared.publish())),
            Err(error) => End::Unstaged(error),
        };
        let intent = Intent { started, entry, paths };
        Ok(Published { records, signer, intent, end, external: None })
    }
}

/// Checks that the lease is still valid, because it may have expired while the checks ran.
fn check_lease<D: Disk>(Staged { begun, request, .. }: &Staged<'_, D>) -> Result<()> {
    if request.lease.is_none() {
        return Ok(());
    }
    let Begun { records, place, .. } = begun;
    request.check_lease(
        (&Policy::default(), (*place).clone()),
        &records.tenant,
        records.clock.now(),
    )
}
