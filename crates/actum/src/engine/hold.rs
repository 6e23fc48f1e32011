//! Records denied changes, and either matches a change that needs an approval with an existing one or queues it.

use actum_core::{Digest, RunId, Timestamp, canonical};
use actum_gate::decision::LeaseCase;
use actum_gate::{Approved, GateName, Verdict, decide};
use actum_ledger::NewEntry;
use actum_record::ledger::{Answer, EntryKind, JudgedPlan, PlanQueued, PlanRefused, WorkspaceId};
use actum_workspace::disk::Disk;

use crate::engine::clear::Judgement;
use crate::engine::stage::Staged;
use crate::error::{Error, Result};
use crate::queue::{
    self, PlanState, QUEUE_MAX, QUEUE_OF_ONE_MAX, QUEUED_MICROS, QueueError, QueuedPlan,
};
use crate::records::Records;

impl<D: Disk> Staged<'_, D> {
    /// Returns the approval of the queued plan that the request carries out, if any. The plan is read and verified only
    /// once.
    ///
    /// # Errors
    /// `Queue` if this workspace has no such plan or the plan is not approved; `Ledger`.
    pub(crate) fn read_approval(&mut self) -> Result<Option<Approved>> {
        let Some(plan) = self.request.plan else { return Ok(None) };
        let queued = match self.queued.take() {
            Some(queued) => queued,
            None => Box::new(approved_plan(self.begun.records, plan, self.begun.workspace)?),
        };
        let approved = queued.approved(self.begun.records.clock.now());
        self.queued = Some(queued);
        Ok(approved)
    }

    /// Checks that the queued plan that this request is a part of is still pending.
    ///
    /// # Errors
    /// `Queue` if the plan is no longer pending; `Ledger`.
    pub(crate) fn check_whole_plan_waits(&self) -> Result<()> {
        let Some(plan) = self.request.part_of else { return Ok(()) };
        let state = self.begun.records.plan(plan)?.state(self.begun.records.clock.now());
        match state {
            PlanState::Waiting => Ok(()),
            PlanState::Approved
            | PlanState::Denied
            | PlanState::Revoked
            | PlanState::CarriedOut
            | PlanState::Expired
            | PlanState::Unproven => Err(QueueError::NoParts { plan, state }.into()),
        }
    }

    /// Checks that carrying out a queued plan now makes exactly the change that was approved, even if the gates would
    /// allow a different one.
    pub(crate) fn check_as_approved(&self, judged: &Judgement) -> Result<()> {
        let Some(queued) = &self.queued else { return Ok(()) };
        let actor = &self.request.actor;
        if queued.is_same((&judged.bundle, &judged.decision), actor)? {
            return Ok(());
        }
        let bundle = self.begun.records.ledger.read(|log| queued.bundle(log))?;
        let (plan, moved) =
            (queued.id(), queued.moved(&bundle, (&judged.bundle, &judged.decision), actor)?);
        Err(QueueError::Stale { plan, moved }.into())
    }

    /// Records a denial by the gates, and returns the error for it.
    pub(crate) fn refuse(&self, judged: Judgement) -> Result<Error> {
        let denial = judged.denial();
        let bundle = judged.bundle.to_vec()?;
        let refused = PlanRefused {
            format: PlanRefused::FORMAT.to_owned(),
            time: self.begun.records.clock.now(),
            plan: self.judged_plan(&judged, &bundle)?,
        };
        let (body, blobs) = (canonical::to_vec(&refused)?, self.blobs(bundle, judged.policy));
        self.append(NewEntry { kind: EntryKind::PlanRefused, body, blobs })?;
        Ok(denial)
    }

    /// Looks for an approval that covers exactly this change, and queues the change if there is none. Runs the checks
    /// of the change first, because a change that they reject should not be queued.
    ///
    /// # Errors
    /// `Queued`, even if the same change was already pending; errors of the checks.
    pub(crate) fn approve_or_queue(&mut self, judged: Judgement) -> Result<Judgement> {
        let records = self.begun.records;
        let open = records.ledger.read(|log| QueuedPlan::open(log, records.keyring()))?;
        let now = records.clock.now();
        let mut same = Vec::new();
        for plan in open.iter().filter(|plan| plan.row.workspace == self.begun.workspace) {
            same.extend(
                plan.is_same((&judged.bundle, &judged.decision), &self.request.actor)?
                    .then_some(plan),
            );
        }
        if let Some(approved) = same.iter().find_map(|plan| plan.approved(now)) {
            let Judgement { bundle, policy, .. } = judged;
            let bundle = bundle.with_approval(approved);
            let decision = decide(&bundle, &self.begun.policy, &self.begun.cedar);
            let judged = Judgement { bundle, decision, policy };
            return match judged.decision.verdict {
                Verdict::Allow => Ok(judged),
                Verdict::NeedsApproval | Verdict::Deny => Err(self.refuse(judged)?),
            };
        }
        if let Some(waiting) = same.iter().find(|plan| plan.state(now) == PlanState::Waiting) {
            let denied = self.denied(waiting.queued.earlier)?;
            return Err(held(&judged, (waiting.id(), waiting.queued.expires), true, denied));
        }
        // Skip the checks if their commands need an approval, or if the action has not begun and has no change to
        // check.
        let asks_about_commands =
            judged.gates_with(Verdict::Allow).iter().all(|it| it.gate != GateName::Commands);
        if !asks_about_commands && !self.request.begins_action() {
            self.check(judged.bundle.change())?;
        }
        Err(self.queue(judged, &open, now)?)
    }

    /// Adds the change to the queue, and returns the error that reports this.
    fn queue(&mut self, judged: Judgement, open: &[QueuedPlan], now: Timestamp) -> Result<Error> {
        let waiting = open.iter().filter(|plan| plan.state(now) != PlanState::Expired);
        if waiting.clone().count() >= QUEUE_MAX {
            return Err(QueueError::Full.into());
        }
        // Count per user, because an agent could otherwise evade the limit by changing its name.
        let is_of_one = |plan: &&QueuedPlan| {
            plan.row.workspace == self.begun.workspace
                && plan.queued.plan.actor.uid == self.request.actor.uid
        };
        if waiting.filter(is_of_one).count() >= QUEUE_OF_ONE_MAX {
            return Err(QueueError::FullOfOne.into());
        }
        self.begun.records.forget_inputs(now)?;
        let bundle = judged.bundle.to_vec()?;
        let plan = self.judged_plan(&judged, &bundle)?;
        let id = plan.id;
        let files = judged.bundle.files().map(|effect| effect.path.clone()).collect();
        let earlier = self.begun.records.ledger.read(|log| queue::earlier(log, &plan, &files))?;
        // Store the umask, so that the plan makes the change shown now even if it is carried out under a different
        // umask.
        self.request.umask = Some(self.begun.transaction.umask());
        let input = self.request.to_document()?;
        let queued = PlanQueued {
            format: PlanQueued::FORMAT.to_owned(),
            time: now,
            expires: Timestamp::from_micros(now.micros().saturating_add(QUEUED_MICROS)),
            plan,
            input: Digest::of(&input),
            earlier,
        };
        for capture in self.request.work.captures() {
            self.begun.transaction.keep_capture(capture, id)?;
        }
        self.begun.records.inputs.keep(id, &input)?;
        let denied = self.denied(queued.earlier)?;
        let held = held(&judged, (id, queued.expires), false, denied);
        let (body, blobs) = (canonical::to_vec(&queued)?, self.blobs(bundle, judged.policy));
        self.append(NewEntry { kind: EntryKind::PlanQueued, body, blobs })?;
        Ok(held)
    }

    /// Returns the earlier version of the plan with the stated reason, if the operator denied it.
    fn denied(&self, earlier: Option<RunId>) -> Result<Option<(RunId, Option<String>)>> {
        let Some(earlier) = earlier else { return Ok(None) };
        let answer = self.begun.records.plan(earlier)?.answer;
        let answered = answer.map(|answer| answer.verified.answered);
        let denied = answered.filter(|answered| answered.answer == Answer::Denied);
        Ok(denied.map(|denied| (earlier, denied.reason)))
    }

    /// Returns the documents that a ledger entry of the plan references by digest.
    fn blobs(&self, bundle: Vec<u8>, policy: Vec<u8>) -> Vec<Vec<u8>> {
        let lease = self.request.lease.as_ref().map(|lease| lease.document().to_vec());
        [bundle, policy].into_iter().chain(lease).collect()
    }

    fn append(&self, entry: NewEntry) -> Result<()> {
        self.begun.records.ledger.append(vec![entry]).wait()?;
        Ok(())
    }

    /// Creates the record of the plan and its decision. `bundle` contains the facts in canonical JSON.
    fn judged_plan(&self, judged: &Judgement, bundle: &[u8]) -> Result<JudgedPlan> {
        Ok(JudgedPlan {
            id: self.begun.transaction.run(),
            tenant: self.begun.records.tenant.clone(),
            workspace: self.begun.workspace,
            root: self.begun.root.to_owned(),
            undoes: self.undoes,
            request: self.request.key.clone(),
            actor: self.request.actor.clone(),
            door: self.request.entry_point.as_str().to_owned(),
            label: self.begun.transaction.label().to_owned(),
            bound: judged.bundle.bound()?,
            decision: judged.decision.record(bundle)?,
            lease: judged.bundle.lease().map(LeaseCase::record),
            engine: crate::records::ENGINE.to_owned(),
        })
    }
}

/// Reads a queued plan, and checks that it belongs to this workspace and is approved.
pub(crate) fn approved_plan(
    records: &Records,
    plan: RunId,
    workspace: WorkspaceId,
) -> Result<QueuedPlan> {
    let queued = records.plan(plan)?;
    if queued.row.workspace != workspace {
        return Err(QueueError::NoPlan { plan }.into());
    }
    let state = queued.state(records.clock.now());
    if state == PlanState::Approved {
        Ok(queued)
    } else {
        Err(QueueError::NotApproved { plan, state }.into())
    }
}

/// Creates the error that reports a queued change.
fn held(
    judged: &Judgement,
    (plan, expires): (RunId, Timestamp),
    waited: bool,
    denied: Option<(RunId, Option<String>)>,
) -> Error {
    let tier = judged.decision.tier;
    // Leave out the approval gate, because the message of the error already states its ground.
    let mut gates = judged.gates_with(Verdict::NeedsApproval);
    gates.retain(|gate| gate.gate != GateName::Approval);
    Error::Queued { plan, tier, gates, expires, waited, denied }
}
