//! Answers of an approver to a plan: signed, and appended to the ledger.

use actum_core::{RunId, Timestamp, canonical};
use actum_gate::verify_answer;
use actum_ledger::{NewEntry, REQUEST_ENTRIES_MAX};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, Answer, EntryKind, Isolation, PlanAnswered};
use actum_record::signer::Signer;

use super::{APPROVED_MICROS, PlanState, QueueError, QueuedPlan};
use crate::error::Result;
use crate::records::Records;

/// Approver, with the key that signs the answer.
pub struct Approver<'k> {
    /// User who answers.
    pub by: Actor,
    /// Approval key.
    pub signer: &'k dyn Signer,
    /// Protection of that key from other users.
    pub isolation: Isolation,
}

/// Answer to a plan, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Approval or denial.
    pub answer: Answer,
    /// Reason in the approver's words.
    pub reason: Option<String>,
}

impl Records {
    /// Returns a queued plan in its current state.
    ///
    /// # Errors
    /// `Queue` if the plan does not exist; `Ledger`.
    pub fn plan(&self, plan: RunId) -> Result<QueuedPlan> {
        let queued = self.ledger.read(|log| {
            let row = log.plan(plan)?;
            row.map(|row| QueuedPlan::read(log, self.keyring(), row)).transpose()
        })?;
        queued.ok_or_else(|| QueueError::NoPlan { plan }.into())
    }

    /// Records the answer to a plan that was shown. The signature covers what was shown, whatever the ledger records
    /// about the plan since; if the ledger has a different record, the answer fails.
    ///
    /// An approval lets exactly that plan be carried out, once, within a day. A denied or revoked plan is never
    /// carried out.
    ///
    /// # Errors
    /// `Queue` if the plan cannot be given this answer, or the key does not count; `Sign`, `Ledger`, `Record`.
    pub fn answer(&self, shown: &QueuedPlan, reply: Reply, approver: &Approver<'_>) -> Result<()> {
        self.answer_all(std::slice::from_ref(shown), &reply, approver)
    }

    /// Records the same answer to several plans, each signed separately. If one of them cannot be answered, none is.
    ///
    /// # Errors
    /// As [`Records::answer`].
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

    /// Creates the signed entry of an answer.
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
        // An accepted entry stays in the ledger, so the answer is verified first.
        verify_answer(&body, self.keyring())
            .map_err(|problem| QueueError::Unproven { plan, problem })?;
        Ok(NewEntry { kind: EntryKind::PlanAnswered, body, blobs: Vec::new() })
    }

    /// Removes the requests of plans that can no longer have an effect. A request without a plan in the ledger stays:
    /// another process is about to queue it.
    pub(crate) fn forget_inputs(&self, now: Timestamp) -> Result<()> {
        let plans = self.inputs.plans()?;
        // The ledger is read after the files, since a plan may have been queued just before.
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

    /// Removes the request of a plan that can no longer have an effect. If that fails, the request stays until the
    /// next plan is queued; the answer or the run counts nevertheless.
    pub(crate) fn forget_input(&self, plan: RunId) {
        drop(self.inputs.forget(plan));
    }
}
