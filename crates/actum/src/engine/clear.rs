//! Clear: the gates judge what would really change.

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

/// A staged change that the gates let pass.
#[must_use = "what is cleared is not verified"]
pub struct Cleared<'e, D: Disk> {
    pub(crate) staged: Staged<'e, D>,
    /// What the decision was made from, in canonical JSON.
    pub(crate) bundle: Vec<u8>,
    /// The policy that was in force, in canonical JSON.
    pub(crate) policy: Vec<u8>,
    /// What it does to each path.
    pub(crate) paths: Vec<PathEffect>,
    /// What the gates said.
    pub(crate) decision: DecisionRecord,
    /// The approval that lets it go.
    pub(crate) approval: Option<Approval>,
    /// Lease that it is made under.
    pub(crate) lease: Option<LeaseRecord>,
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Lets the gates judge. What they refuse, and what waits for a person, is recorded.
    ///
    /// # Errors
    /// `NothingToChange`; `Workspace` with the budget status; `Denied` with the grounds of the gates that
    /// refuse; `Queued` where a person has to agree; `Queue` where it is another change than was approved;
    /// `Ledger`, `Home`, `Record`.
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

    /// Lets the gates judge, and a person where they ask for one.
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
    /// Keeps what the paths of the change hold now, before another program makes the change ([`Request::adopt`]).
    ///
    /// # Errors
    /// As [`Transaction::take_snapshot`].
    pub fn take_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        Ok(self.staged.begun.transaction.take_snapshot(id)?)
    }

    /// Whether a person agreed to it, which counts for what actum does itself.
    pub fn is_approved(&self) -> bool {
        self.approval.is_some()
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Lease of the request, verified with the keys that count now, with what the ledger knows of it.
    fn verified_lease(&self) -> Result<Option<RequestLease>> {
        let lease = self.request.lease.as_ref();
        lease.map(|lease| lease.verify(self.begun.records)).transpose()
    }
}

impl<D: Disk> Preview<'_, D> {
    /// What the gates would say of it now, where the ledger of `tenant` would record it.
    ///
    /// # Errors
    /// As [`Staged::clear`], without `Queued`: that a person would have to agree is what they say.
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

    /// What would be judged, and what the gates would say, whatever that is.
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
        // Whoever carries it out keeps what is run within the quotas of its lease.
        let limits = request.lease.as_ref().map(RequestLease::quotas);
        let approved = None;
        let asked = Asked { request, limits, plan, undoes, undone, time, tenant, place, approved };
        let guarded = request.profile().map(|profile| in_force.policy.clone().guarding(profile));
        let policy = guarded.as_ref().unwrap_or(&in_force.policy);
        Judgement::of(&mut self.transaction, asked, policy, &in_force.cedar)
    }
}

/// What is judged, beside the change.
pub(crate) struct Asked<'r> {
    request: &'r Request,
    /// Limits of what is run for it, where the request does not confine that itself.
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

/// A decision, and what it was made from.
#[derive(Debug)]
pub struct Judgement {
    /// What was judged.
    pub bundle: Bundle,
    /// What the gates said.
    pub decision: Decision,
    /// The exact bytes of the policy.
    pub(crate) policy: Vec<u8>,
}

impl Judgement {
    fn of<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        asked: Asked<'_>,
        policy: &Policy,
        cedar: &Cedar,
    ) -> Result<Self> {
        // An action is judged also where it changes nothing, since commands belong to it.
        let has_commands = asked.request.action.is_some() || !asked.request.external().is_empty();
        if transaction.changes().is_empty() && !has_commands {
            return Err(Error::NothingToChange);
        }
        // The workspace tells of scope and budget in more detail than a gate has to.
        transaction.check_limits()?;
        let bytes = policy.to_vec()?;
        let bundle = Bundle::new(Digest::of(&bytes), case(transaction, asked)?);
        let decision = decide(&bundle, policy, cedar);
        Ok(Self { bundle, decision, policy: bytes })
    }

    /// What a person agreed to, where one did.
    pub(crate) fn agreed(&self) -> Result<Option<Agreed>> {
        let Some(approved) = self.bundle.approved() else { return Ok(None) };
        Ok(Some(Agreed { bound: self.bundle.bound()?, approval: approved.approval.clone() }))
    }

    /// The error that says which gates said no.
    pub(crate) fn denial(&self) -> Error {
        Error::Denied { gates: self.said(Verdict::Deny) }
    }

    /// The gates that said so.
    pub(crate) fn said(&self, verdict: Verdict) -> Vec<GateDecision> {
        let said = |gate: &&GateDecision| gate.verdict == verdict;
        self.decision.gates.iter().filter(said).cloned().collect()
    }
}

/// What the gates judge.
fn case<D: Disk>(transaction: &mut Transaction<'_, D>, asked: Asked<'_>) -> Result<Case> {
    let Asked { request, limits: of_runner, plan, undoes, undone, time, tenant, place, approved } =
        asked;
    let restores = transaction.restores();
    let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(&request.actor));
    // An actor gets back its own contents, whatever they are.
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
