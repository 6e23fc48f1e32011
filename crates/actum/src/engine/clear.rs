//! Clears a staged change, by letting the gates evaluate the effects that it really has.

use actum_access::Cedar;
use actum_core::path_name::PathName;
use actum_core::{Digest, RunId, Timestamp};
use actum_gate::decision::{
    Bundle, Case, Decision, GateDecision, LeaseCase, Undone, Verdict, WorkKind,
};
use actum_gate::{Approved, Policy, decide};
use actum_record::lease::{LeaseRecord, Quotas};
use actum_record::ledger::{Agreed, Approval, TenantId};
use actum_record::receipt::{DecisionRecord, PathEffect};
use actum_workspace::disk::Disk;
use actum_workspace::{SnapshotId, Transaction};

use crate::command::{CommandError, quotas_of};
use crate::engine::binding;
use crate::engine::scan::Scanned;
use crate::engine::stage::{Preview, Staged};
use crate::engine::staged_run::approval_required;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::policies::PolicyInForce;
use crate::request::{Request, RequestLease, Work, limits_digest};

/// Staged change that the gates have allowed.
#[must_use = "a cleared change has no effect until it is verified and published"]
pub struct Cleared<'e, D: Disk> {
    pub(crate) staged: Staged<'e, D>,
    /// Bundle of facts that the gates evaluated, in canonical JSON.
    pub(crate) bundle: Vec<u8>,
    /// Policy that was in force, in canonical JSON.
    pub(crate) policy: Vec<u8>,
    /// Effect of the change on each path.
    pub(crate) paths: Vec<PathEffect>,
    /// Decision of the gates, as it is recorded.
    pub(crate) decision: DecisionRecord,
    /// Approval that covers the change, if it needed one.
    pub(crate) approval: Option<Approval>,
    /// Lease under which the change is made, if any.
    pub(crate) lease: Option<LeaseRecord>,
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Asks the gates for a decision. If they deny the change or it has to wait for an approval, this is recorded in
    /// the ledger.
    ///
    /// # Errors
    /// `NothingToChange`; `Workspace` if the scope or the budget is exceeded; `Denied` with the grounds of the denying
    /// gates; `Queued` if an approval is needed; `Queue` if the change differs from the approved one; `Ledger`, `Home`,
    /// `Record`.
    pub(crate) fn clear(mut self) -> Result<Cleared<'e, D>> {
        let Judgement { bundle, decision, policy } = self.let_pass()?;
        let bytes = bundle.to_vec()?;
        let record = decision.record(&bytes)?;
        let paths = bundle.change().to_vec();
        let approval = bundle.approved().map(|approved| approved.approval.clone());
        let lease = bundle.lease().map(LeaseCase::record);
        Ok(Cleared {
            staged: self,
            bundle: bytes,
            policy,
            paths,
            decision: record,
            approval,
            lease,
        })
    }

    /// Asks the gates for a decision, and looks for a matching approval if they require one.
    pub(crate) fn let_pass(&mut self) -> Result<Judgement> {
        binding::check_within(
            &self.begun.transaction,
            &self.begun.records.own_ledger()?,
            &self.begun.policy,
        )?;
        let approved = self.read_approval()?;
        self.check_whole_plan_waits()?;
        let undone = self.undone.clone().filter(|_| self.begun.transaction.restores());
        self.request.lease = self.verified_lease()?;
        let asked = Asked {
            request: &self.request,
            limits: self.begun.runner.as_deref().map(|runner| quotas_of(runner.policy())),
            plan: self.plan,
            undoes: self.undoes,
            undone,
            time: self.begun.records.clock.now(),
            tenant: &self.begun.records.tenant,
            place: self.begun.place.clone(),
            approved,
        };
        let judged = Judgement::new(
            &mut self.begun.transaction,
            asked,
            &self.begun.policy,
            &self.begun.cedar,
        )?;
        self.check_as_approved(&judged)?;
        match judged.decision.verdict {
            Verdict::Allow => Ok(judged),
            Verdict::Deny => Err(self.refuse(judged)?),
            Verdict::NeedsApproval if !self.request.queues() => {
                let required = approval_required(&judged);
                self.refuse(judged)?;
                Err(required)
            }
            Verdict::NeedsApproval => self.approve_or_queue(judged),
        }
    }
}

impl<D: Disk> Cleared<'_, D> {
    /// Takes a snapshot of the changed paths, before another program makes the change itself ([`Request::adopt`]).
    ///
    /// # Errors
    /// Same as [`Transaction::take_snapshot`].
    pub fn take_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        Ok(self.staged.begun.transaction.take_snapshot(id)?)
    }

    /// Returns whether the change was allowed by an approval. An approval covers only changes that actum itself makes.
    pub fn is_approved(&self) -> bool {
        self.approval.is_some()
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Verifies the lease of the request with the keys that are valid now, and adds facts about it from the ledger.
    fn verified_lease(&self) -> Result<Option<RequestLease>> {
        let lease = self.request.lease.as_ref();
        lease.map(|lease| lease.verify(self.begun.records)).transpose()
    }
}

impl<D: Disk> Preview<'_, D> {
    /// Returns the current decision of the gates for the previewed change, without recording or queueing anything.
    ///
    /// # Errors
    /// Same as `Staged::clear`, except `Queued`, because the decision itself reports that an approval is needed.
    pub fn judge(
        &mut self,
        request: &Request,
        in_force: &PolicyInForce,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<Decision> {
        let judged = self.judged(request, in_force, tenant, time)?;
        match judged.decision.verdict {
            Verdict::Deny => Err(judged.denial()),
            Verdict::Allow | Verdict::NeedsApproval => Ok(judged.decision),
        }
    }

    /// Returns the decision of the gates with the facts that it is based on, even if they deny the change.
    ///
    /// # Errors
    /// `NothingToChange` if the change is empty; `Workspace` if the scope or the budget is exceeded; `Record`.
    pub fn judged(
        &mut self,
        request: &Request,
        in_force: &PolicyInForce,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<Judgement> {
        let (plan, undoes) = (request.digest()?, self.undoes);
        let (undone, place) = (self.undone.clone(), in_force.place());
        // Assume the quotas of the lease, because the engine that carries out the request limits its commands to them.
        let limits = request.lease.as_ref().map(RequestLease::quotas);
        let approved = None;
        let asked = Asked { request, limits, plan, undoes, undone, time, tenant, place, approved };
        let guarded = request.profile().map(|profile| in_force.policy.clone().guarding(profile));
        let policy = guarded.as_ref().unwrap_or(&in_force.policy);
        Judgement::new(&mut self.transaction, asked, policy, &in_force.cedar)
    }
}

/// Facts that the gates evaluate in addition to the change itself.
pub(crate) struct Asked<'r> {
    request: &'r Request,
    /// Resource limits of the request's commands, unless the request has its own confinement.
    limits: Option<Quotas>,
    plan: Digest,
    undoes: Option<RunId>,
    undone: Option<Undone>,
    time: Timestamp,
    tenant: &'r TenantId,
    place: Place,
    /// Approval of the queued plan that the request carries out, if any.
    approved: Option<Approved>,
}

/// Decision of the gates, with the inputs that it is based on.
#[derive(Debug)]
pub struct Judgement {
    /// Bundle of facts that the gates evaluated.
    pub bundle: Bundle,
    /// Decision of the gates.
    pub decision: Decision,
    /// Canonical JSON of the policy, byte for byte as the decision refers to it.
    pub(crate) policy: Vec<u8>,
}

impl Judgement {
    fn new<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        asked: Asked<'_>,
        policy: &Policy,
        cedar: &Cedar,
    ) -> Result<Self> {
        // Actions and external pipelines run commands, so the gates decide even if no file changes.
        let has_commands = asked.request.action.is_some() || !asked.request.external().is_empty();
        if transaction.changes().is_empty() && !has_commands {
            return Err(Error::NothingToChange);
        }
        // Check the limits here as well, because the workspace reports scope and budget in more detail than a gate.
        transaction.check_limits()?;
        let bytes = policy.to_vec()?;
        let bundle = Bundle::new(Digest::of(&bytes), case(transaction, asked)?);
        let decision = decide(&bundle, policy, cedar);
        Ok(Self { bundle, decision, policy: bytes })
    }

    /// Returns the approval of the change with the facts that it is bound to, if there is one.
    pub(crate) fn agreed(&self) -> Result<Option<Agreed>> {
        let Some(approved) = self.bundle.approved() else { return Ok(None) };
        Ok(Some(Agreed { bound: self.bundle.bound()?, approval: approved.approval.clone() }))
    }

    /// Creates the error that lists the denying gates.
    pub(crate) fn denial(&self) -> Error {
        Error::Denied { gates: self.gates_with(Verdict::Deny) }
    }

    /// Returns the decisions of the gates that have the given verdict.
    pub(crate) fn gates_with(&self, verdict: Verdict) -> Vec<GateDecision> {
        let has_verdict = |gate: &&GateDecision| gate.verdict == verdict;
        self.decision.gates.iter().filter(has_verdict).cloned().collect()
    }
}

/// Collects the facts that the gates evaluate.
fn case<D: Disk>(transaction: &mut Transaction<'_, D>, asked: Asked<'_>) -> Result<Case> {
    let Asked { request, limits: of_runner, plan, undoes, undone, time, tenant, place, approved } =
        asked;
    let restores = transaction.restores();
    let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(&request.actor));
    // Skip the scan if an actor restores content of its own.
    let Scanned { found, triggers, links, unscanned } = match restores && is_free {
        true => Scanned::default(),
        false => Scanned::new(transaction, &place.root)?,
    };
    let mut linked: Vec<_> = transaction.broken_links().iter().cloned().map(PathName).collect();
    linked.sort();
    let limits = &request.limits;
    let (commands, confined) = request.judged_commands().map_err(CommandError::from)?;
    let of_task = request.file_task.as_ref().map(|task| task.limits);
    let of_request = request.commands.confinement.as_ref().map(quotas_of);
    let enforced = of_task.or(of_request).or(of_runner);
    Ok(Case {
        plan,
        limits: limits_digest(limits),
        time,
        actor: request.actor.clone(),
        door: request.entry_point.as_str().to_owned(),
        tenant: tenant.clone(),
        root: place.root,
        enclosing: place.enclosing,
        work: match request.work {
            Work::Apply(_) | Work::Adopt(_) | Work::Restore { refused: None, .. } => {
                WorkKind::Apply
            }
            Work::Undo(_) | Work::Restore { refused: Some(_), .. } => WorkKind::Undo,
            Work::Redo(_) => WorkKind::Redo,
        },
        confined,
        declared: request.declared,
        undoes,
        undone,
        restores,
        sql_rows: request.sql_rows,
        external: request.external().to_vec(),
        scope: limits.scope.clone(),
        budget: limits.budget,
        change: transaction.effects().to_vec(),
        linked,
        links,
        opened: transaction.opened_to_all().into_iter().map(PathName).collect(),
        commands,
        found,
        triggers,
        unscanned,
        approved,
        lease: request
            .lease
            .as_ref()
            .map(|lease| lease.case(request, enforced.unwrap_or_default())),
    })
}
