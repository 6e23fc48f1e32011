//! Answers to queued plans, which an approver signs and actum appends to the ledger.

use actum_core::{RunId, Timestamp, canonical};
use actum_gate::verify_answer;
use actum_ledger::{NewEntry, REQUEST_ENTRIES_MAX};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, Answer, EntryKind, Isolation, PlanAnswered};
use actum_record::signer::Signer;

use super::{APPROVED_MICROS, PlanState, QueueError, QueuedPlan};
use crate::error::Result;
use crate::records::Records;

/// Approver, together with the key that signs the answers.
pub struct Approver<'k> {
    /// User who answers the plan.
    pub by: Actor,
    /// Approval key that signs the answer.
    pub signer: &'k dyn Signer,
    /// Level of isolation that protects the approval key from other users.
    pub isolation: Isolation,
}

/// Answer to a plan, with an optional reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Approval, denial or revocation.
    pub answer: Answer,
    /// Reason for the answer, in the approver's own words.
    pub reason: Option<String>,
}

impl Records {
    /// Reads a queued plan and its current answer from the ledger.
    ///
    /// # Errors
    /// Returns `Queue` if the plan does not exist, or `Ledger` if it cannot be read.
    pub fn plan(&self, plan: RunId) -> Result<QueuedPlan> {
        let queued = self.ledger.read(|log| {
            let row = log.plan(plan)?;
            row.map(|row| QueuedPlan::read(log, self.keyring(), row)).transpose()
        })?;
        queued.ok_or_else(|| QueueError::NoPlan { plan }.into())
    }

    /// Signs and records the answer to a plan that was shown to the approver.
    ///
    /// The signature covers the plan as it was shown. If the ledger now has a different record of the plan, the answer
    /// fails. An approval allows exactly this plan to be carried out once within a day. A denied or revoked plan is never
    /// carried out.
    ///
    /// # Errors
    /// Returns `Queue` if the plan's state does not allow the answer or the key is not valid. Otherwise returns `Sign`,
    /// `Ledger` or `Record`.
    pub fn answer(&self, shown: &QueuedPlan, reply: Reply, approver: &Approver<'_>) -> Result<()> {
        self.answer_all(std::slice::from_ref(shown), &reply, approver)
    }

    /// Records the same answer to several plans, each with its own signature. If any of the plans cannot be answered,
    /// no answer is recorded.
    ///
    /// # Errors
    /// Returns the same errors as [`Records::answer`].
    pub fn answer_all(
        &self,
        shown: &[QueuedPlan],
        reply: &Reply,
        approver: &Approver<'_>,
    ) -> Result<()> {
        let entries = shown.iter().map(|plan| self.signed_answer(plan, reply, approver));
        let entries = entries.collect::<Result<Vec<_>>>()?;
        for entries in entries.chunks(REQUEST_ENTRIES_MAX) {
            self.ledger.append(entries.to_vec()).wait()?;
        }
        if reply.answer != Answer::Approved {
            shown.iter().for_each(|plan| self.forget_input(plan.id()));
        }
        Ok(())
    }

    /// Creates the signed ledger entry for the answer to one plan.
    fn signed_answer(
        &self,
        queued: &QueuedPlan,
        Reply { answer, reason }: &Reply,
        approver: &Approver<'_>,
    ) -> Result<NewEntry> {
        let plan = queued.id();
        let now = self.clock.now();
        queued.check_answerable(*answer, now)?;
        let expires = now.micros().saturating_add(APPROVED_MICROS);
        let payload = canonical::to_vec(&PlanAnswered {
            format: PlanAnswered::FORMAT.to_owned(),
            time: now,
            tenant: self.tenant.clone(),
            workspace: queued.row.workspace,
            plan,
            queued: queued.entry.clone(),
            answer: *answer,
            reason: reason.clone(),
            bound: queued.queued.plan.bound,
            expires: Timestamp::from_micros(expires),
            by: approver.by.clone(),
            isolation: approver.isolation,
        })?;
        let body =
            Envelope::sign(PlanAnswered::PAYLOAD_TYPE, payload, approver.signer)?.to_vec()?;
        // Verify the answer before appending it, because the ledger is append-only.
        verify_answer(&body, self.keyring())
            .map_err(|problem| QueueError::Unproven { plan, problem })?;
        Ok(NewEntry { kind: EntryKind::PlanAnswered, body, blobs: Vec::new() })
    }

    /// Removes the stored requests of all plans that can no longer be carried out. A request without a plan in the ledger
    /// is kept, because another process may be about to queue it.
    pub(crate) fn forget_inputs(&self, now: Timestamp) -> Result<()> {
        let plans = self.inputs.plans()?;
        // Read the ledger only after listing the files. Otherwise, a plan queued in between would seem to be missing.
        let over: Vec<RunId> = self.ledger.read(|log| {
            let mut over = Vec::new();
            for plan in plans {
                let Some(row) = log.plan(plan)? else { continue };
                let is_over = !row.is_open()
                    || QueuedPlan::read(log, self.keyring(), row)?.state(now) == PlanState::Expired;
                over.extend(is_over.then_some(plan));
            }
            Ok(over)
        })?;
        over.into_iter().for_each(|plan| self.forget_input(plan));
        Ok(())
    }

    /// Removes the stored request of a plan that can no longer be carried out. A failure is ignored, because the request is
    /// removed when the next plan is queued.
    pub(crate) fn forget_input(&self, plan: RunId) {
        drop(self.inputs.forget(plan));
    }
}
