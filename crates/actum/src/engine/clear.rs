//! Clear: the gates judge the actual change.

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

/// Staged change that the gates allowed.
#[must_use = "what is cleared is not verified"]
pub struct Cleared<'e, D: Disk> {
    pub(crate) staged: Staged<'e, D>,
    /// Bundle of facts for the decision, in canonical JSON.
    pub(crate) bundle: Vec<u8>,
    /// Policy in force, in canonical JSON.
    pub(crate) policy: Vec<u8>,
    /// Effect on each path.
    pub(crate) paths: Vec<PathEffect>,
    /// Decision of the gates.
    pub(crate) decision: DecisionRecord,
    /// Approval of the change.
    pub(crate) approval: Option<Approval>,
    /// Lease of the request.
    pub(crate) lease: Option<LeaseRecord>,
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Asks the gates, and records a change that they deny or queue.
    ///
    /// # Errors
    /// `NothingToChange`; `Workspace` with the budget status; `Denied` with the grounds of the denying gates;
    /// `Queued` if an approval is needed; `Queue` if the change differs from the approved one; `Ledger`, `Home`,
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

    /// Asks the gates, and looks for an approval if they require one.
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
        let judged = Judgement::of(
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
    /// Takes a snapshot of the paths of the change, before another program makes the change ([`Request::adopt`]).
    ///
    /// # Errors
    /// As [`Transaction::take_snapshot`].
    pub fn take_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        Ok(self.staged.begun.transaction.take_snapshot(id)?)
    }

    /// Returns true if an approver allowed the change. An approval covers what actum itself changes.
    pub fn is_approved(&self) -> bool {
        self.approval.is_some()
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Returns the lease of the request, verified with the keys that count now, and with its ledger facts.
    fn verified_lease(&self) -> Result<Option<RequestLease>> {
        let lease = self.request.lease.as_ref();
        lease.map(|lease| lease.verify(self.begun.records)).transpose()
    }
}

impl<D: Disk> Preview<'_, D> {
    /// Returns the decision of the gates at this moment, with the ledger of `tenant`.
    ///
    /// # Errors
    /// As [`Staged::clear`], without `Queued`: the decision itself reports that an approval is needed.
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

    /// Returns the facts and the decision of the gates, also if they deny.
    ///
    /// # Errors
    /// `NothingToChange`; `Workspace`, `Record`.
    pub fn judged(
        &mut self,
        request: &Request,
        in_force: &PolicyInForce,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<Judgement> {
        let (plan, undoes) = (request.digest()?, self.undoes);
        let (undone, place) = (self.undone.clone(), in_force.place());
        // The caller that carries it out keeps commands within the quotas of the lease.
        let limits = request.lease.as_ref().map(RequestLease::quotas);
        let approved = None;
        let asked = Asked { request, limits, plan, undoes, undone, time, tenant, place, approved };
        let guarded = request.profile().map(|profile| in_force.policy.clone().guarding(profile));
        let policy = guarded.as_ref().unwrap_or(&in_force.policy);
        Judgement::of(&mut self.transaction, asked, policy, &in_force.cedar)
    }
}

/// Facts to judge, besides the change.
pub(crate) struct Asked<'r> {
    request: &'r Request,
    /// Limits of its commands, unless the request confines them itself.
    limits: Option<Quotas>,
    plan: Digest,
    undoes: Option<RunId>,
    undone: Option<Undone>,
    time: Timestamp,
    tenant: &'r TenantId,
    place: Place,
    /// Approval of the plan that the request carries out.
    approved: Option<Approved>,
}

/// Decision, with its inputs.
#[derive(Debug)]
pub struct Judgement {
    /// Bundle of facts.
    pub bundle: Bundle,
    /// Decision of the gates.
    pub decision: Decision,
    /// Exact bytes of the policy.
    pub(crate) policy: Vec<u8>,
}

impl Judgement {
    fn of<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        asked: Asked<'_>,
        policy: &Policy,
        cedar: &Cedar,
    ) -> Result<Self> {
        // An action is judged even without a change, since it has commands.
        let has_commands = asked.request.action.is_some() || !asked.request.external().is_empty();
        if transaction.changes().is_empty() && !has_commands {
            return Err(Error::NothingToChange);
        }
        // The workspace reports scope and budget in more detail than a gate does.
        transaction.check_limits()?;
        let bytes = policy.to_vec()?;
        let bundle = Bundle::new(Digest::of(&bytes), case(transaction, asked)?);
        let decision = decide(&bundle, policy, cedar);
        Ok(Self { bundle, decision, policy: bytes })
    }

    /// Returns the approved facts, if there is an approval.
    pub(crate) fn agreed(&self) -> Result<Option<Agreed>> {
        let Some(approved) = self.bundle.approved() else { return Ok(None) };
        Ok(Some(Agreed { bound: self.bundle.bound()?, approval: approved.approval.clone() }))
    }

    /// Creates the error that names the denying gates.
    pub(crate) fn denial(&self) -> Error {
        Error::Denied { gates: self.said(Verdict::Deny) }
    }

    /// Returns the gates with this verdict.
    pub(crate) fn said(&self, verdict: Verdict) -> Vec<GateDecision> {
        let said = |gate: &&GateDecision| gate.verdict == verdict;
        self.decision.gates.iter().filter(said).cloned().collect()
    }
}

/// Collects the facts for the gates.
fn case<D: Disk>(transaction: &mut Transaction<'_, D>, asked: Asked<'_>) -> Result<Case> {
    let Asked { request, limits: of_runner, plan, undoes, undone, time, tenant, place, approved } =
        asked;
    let restores = transaction.restores();
    let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(&request.actor));
    // An actor may restore its own contents without a scan.
    let Scanned { found, triggers, links, unscanned } = match restores && is_free {
        true => Scanned::default(),
        false => Scanned::of(transaction, &place.root)?,
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
        door: request.door.as_str().to_owned(),
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
