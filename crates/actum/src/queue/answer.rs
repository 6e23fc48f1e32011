//! What a person says of a plan: signed, and appended to the ledger.

use actum_core::{RunId, Timestamp, canonical};
use actum_gate::verify_answer;
use actum_ledger::{NewEntry, REQUEST_ENTRIES_MAX};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, Answer, EntryKind, Isolation, PlanAnswered};
use actum_record::signer::Signer;

use super::{APPROVED_MICROS, PlanState, QueueError, QueuedPlan};
use crate::error::Result;
use crate::records::Records;

/// Who answers, and what signs it.
pub struct Approver<'k> {
    /// The person.
    pub by: Actor,
    /// An approval key.
    pub signer: &'k dyn Signer,
    /// What keeps others from using that key.
    pub isolation: Isolation,
}

/// What a person says, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Yes or no.
    pub answer: Answer,
    /// In the person's words.
    pub reason: Option<String>,
}

impl Records {
    /// A plan in the queue, as it is now.
    ///
    /// # Errors
    /// `Queue` where there is none; `Ledger`.
    pub fn plan(&self, plan: RunId) -> Result<QueuedPlan> {
        let queued = self.ledger.read(|log| {
            let row = log.plan(plan)?;
            row.map(|row| QueuedPlan::read(log, self.keyring(), row)).transpose()
        })?;
        queued.ok_or_else(|| QueueError::NoPlan { plan }.into())
    }

    /// Records what a person says of a plan that was shown. What is signed is what was shown, whatever the ledger
    /// says of the plan since; where it says something else there is no answer. An approval lets exactly that be
    /// carried out, once, within a day; a plan that was denied or revoked is carried out never more.
    ///
    /// # Errors
    /// `Queue` where the plan cannot be answered so, or the key does not count; `Sign`, `Ledger`, `Record`.
    pub fn answer(&self, shown: &QueuedPlan, reply: Reply, approver: &Approver<'_>) -> Result<()> {
        self.answer_all(std::slice::from_ref(shown), &reply, approver)
    }

    /// The same answer to several plans, each signed by itself. Where one of them cannot be answered so, none is.
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

    /// The entry of an answer.
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
        // What the ledger takes stays there.
        verify_answer(&body, self.keyring())
            .map_err(|problem| QueueError::Unproven { plan, problem })?;
        Ok(NewEntry { kind: EntryKind::PlanAnswered, body, blobs: Vec::new() })
    }

    /// Removes the requests of plans of which nothing can come any more. One that the ledger knows nothing of is
    /// just about to be queued by another process, and stays.
    pub(crate) fn forget_inputs(&self, now: Timestamp) -> Result<()> {
        let plans = self.inputs.plans()?;
        // They are looked up after the files were, each of which may have been queued just before.
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

    /// Removes the request of a plan of which nothing can come any more. Where that fails it stays until the
    /// next plan is queued: what was answered or done is so all the same.
    pub(crate) fn forget_input(&self, plan: RunId) {
        drop(self.inputs.forget(plan));
    }
}
