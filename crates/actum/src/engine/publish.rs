//! Publish: records the intent, announces it in the journal, then applies all of it or nothing.

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

/// Ended run whose end is not recorded yet. The workspace stays locked.
#[must_use = "how it ended is not recorded"]
pub(crate) struct Published<'e, D: Disk> {
    pub(crate) records: &'e Records,
    pub(crate) signer: SigningKey,
    pub(crate) intent: Intent,
    pub(crate) end: End<'e, D>,
    /// External pipelines, once they ran.
    pub(crate) external: Option<Vec<ExternalRun>>,
}

impl<D: Disk> Published<'_, D> {
    /// Returns true if the change is visible and durable.
    pub(crate) fn is_committed(&self) -> bool {
        match &self.end {
            End::Unstaged(_) => false,
            End::Announced(published) => published.is_committed(),
        }
    }
}

/// Ledger content of a run before its effects.
pub(crate) struct Intent {
    pub(crate) started: EffectStarted,
    pub(crate) entry: EntryRef,
    pub(crate) paths: Vec<PathEffect>,
}

/// End of a run.
pub(crate) enum End<'e, D: Disk> {
    /// The change could not be staged, and nothing was touched.
    Unstaged(actum_workspace::Error),
    /// The run was announced.
    Announced(Box<actum_workspace::Published<'e, D>>),
}

impl<'e, D: Disk> Verified<'e, D> {
    /// Records the intent, durably, and makes the change visible. While the ledger's thread waits for its disk,
    /// `checkpoint` is called and the new content is staged. Nothing is announced or touched before all of that is
    /// done.
    ///
    /// # Errors
    /// `Ledger`, `Record`: nothing was changed. A failed change is no error here; `settle` records it.
    pub(crate) fn publish(
        self,
        checkpoint: impl FnOnce() -> actum_workspace::Result<()>,
    ) -> Result<Published<'e, D>> {
        let Self { mut cleared, commands, rollback_files, told: _ } = self;
        if let Err(denial) = check_lease(&cleared.staged) {
            // The gates judge again, which records the denial.
            cleared.staged.let_pass()?;
            return Err(denial);
        }
        // The whole plan may have been answered while the checks ran.
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
            door: request.door.as_str().to_owned(),
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

/// Checks that the lease has not expired since the gates judged: the checks before can take long.
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
