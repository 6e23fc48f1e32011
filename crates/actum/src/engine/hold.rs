//! Hold: a denied change is recorded, and a change that needs an approval is queued or matched with one.

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
    /// Returns the approval of the queued plan that the request carries out. The plan is read and verified once.
    ///
    /// # Errors
    /// `Queue` if this workspace has no such plan, or it may not be carried out; `Ledger`.
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

    /// Checks that the plan of which the request is a part is still pending.
    ///
    /// # Errors
    /// `Queue` if it is not; `Ledger`.
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

    /// Checks that a queued plan would do exactly what was approved, independent of the current decision of the gates.
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

    /// Records the denial by the gates, and returns its error.
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

    /// Returns the judgement if an approval covers exactly this change, otherwise queues it. A change that its own
    /// checks reject is not queued.
    ///
    /// # Errors
    /// `Queued`, also if the same change is pending already; those of checks.
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
        // Commands that need an approval do not run before it, and an action that has not begun has nothing to check.
        let asks_about_commands =
            judged.said(Verdict::Allow).iter().all(|it| it.gate != GateName::Commands);
        if !asks_about_commands && !self.request.begins_action() {
            self.check(judged.bundle.change())?;
        }
        Err(self.queue(judged, &open, now)?)
    }

    /// Queues the change, and returns the error for it.
    fn queue(&mut self, judged: Judgement, open: &[QueuedPlan], now: Timestamp) -> Result<Error> {
        let waiting = open.iter().filter(|plan| plan.state(now) != PlanState::Expired);
        if waiting.clone().count() >= QUEUE_MAX {
            return Err(QueueError::Full.into());
        }
        // The limit is per user: an agent does not get a queue of its own by its name.
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
        // An approval carries out what is shown now, under any umask.
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

    /// Returns the earlier version and the reason, if the operator denied it.
    fn denied(&self, earlier: Option<RunId>) -> Result<Option<(RunId, Option<String>)>> {
        let Some(earlier) = earlier else { return Ok(None) };
        let answer = self.begun.records.plan(earlier)?.answer;
        let answered = answer.map(|answer| answer.verified.answered);
        let denied = answered.filter(|answered| answered.answer == Answer::Denied);
        Ok(denied.map(|denied| (earlier, denied.reason)))
    }

    /// Returns the documents that an entry of the plan names.
    fn blobs(&self, bundle: Vec<u8>, policy: Vec<u8>) -> Vec<Vec<u8>> {
        let lease = self.request.lease.as_ref().map(|lease| lease.document().to_vec());
        [bundle, policy].into_iter().chain(lease).collect()
    }

    fn append(&self, entry: NewEntry) -> Result<()> {
        self.begun.records.ledger.append(vec![entry]).wait()?;
        Ok(())
    }

    /// Creates the plan as it was judged from a bundle of these bytes.
    fn judged_plan(&self, judged: &Judgement, bundle: &[u8]) -> Result<JudgedPlan> {
        Ok(JudgedPlan {
            id: self.begun.transaction.run(),
            tenant: self.begun.records.tenant.clone(),
            workspace: self.begun.workspace,
            root: self.begun.root.to_owned(),
            undoes: self.undoes,
            request: self.request.key.clone(),
            actor: self.request.actor.clone(),
            door: self.request.door.as_str().to_owned(),
            label: self.begun.transaction.label().to_owned(),
            bound: judged.bundle.bound()?,
            decision: judged.decision.record(bundle)?,
            lease: judged.bundle.lease().map(LeaseCase::record),
            engine: crate::records::ENGINE.to_owned(),
        })
    }
}

/// Returns an approved plan of this workspace.
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

/// Creates the error of a change that needs an approval.
fn held(
    judged: &Judgement,
    (plan, expires): (RunId, Timestamp),
    waited: bool,
    denied: Option<(RunId, Option<String>)>,
) -> Error {
    let tier = judged.decision.tier;
    // The error itself states the ground of the approval gate.
    let mut gates = judged.said(Verdict::NeedsApproval);
    gates.retain(|gate| gate.gate != GateName::Approval);
    Error::Queued { plan, tier, gates, expires, waited, denied }
}
