//! One cycle: from a goal with one packet to one outcome.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use actum::{AccessJudgement, Engine, FeedbackError, PlanState, QueuedPlan, Request};
use actum_agent::bundle::{AgentBundle, Caller as CallerFacts, GoalFacts, Identity};
use actum_agent::confirmation::Lexicon;
use actum_agent::plan::plan_id;
use actum_agent::prompt::ConfirmationPrompt;
use actum_agent::{
    AgentDecision, AgentExecutionOutcome, AgentGoalRequest, AgentVerdict, DispatchEnvelope,
    FinderPacket, ReasonCode, decide, dispatch, seal_packet,
};
use actum_core::{Digest, RunId, Timestamp, canonical};
use actum_ledger::{NewEntry, Refusal};
use actum_record::agent::StepId;
use actum_record::ledger::{
    AccessOutcome, AgentAccessDecided, AgentEventKind, AgentExecution, AgentRefs, EntryKind,
    RequestKey, WorkspaceId,
};
use actum_record::merkle::leaf_hash;
use actum_workspace::disk::Disk;
use serde_json::{Map, Value};

use crate::error::DispatchError;
use crate::executor::{ActionExecutor, Proposed, queue};
use crate::facts::{CatalogFacts, judge_access};
use crate::history::{Chain, History};
use crate::settings::{Caller, Settings};
use crate::settle::settle_open;
use crate::step_log::{Logged, StepLog};

/// Program in records.
const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));
/// How often a cycle starts again, because another process was faster.
const CYCLES_MAX: usize = 3;

/// End of a cycle.
#[derive(Debug)]
pub struct Dispatched {
    /// Outcome.
    pub outcome: AgentExecutionOutcome,
    /// Verdict of the core.
    pub verdict: AgentVerdict,
    /// Prompt that a person has to answer first, and its digest.
    pub prompt: Option<(Digest, ConfirmationPrompt)>,
    /// Plan in the queue that a person has to approve first.
    pub queued: Option<RunId>,
    /// What [`Engine::holding`] gave for the action.
    pub held: Option<Box<dyn Any>>,
}

/// Host of the core over the engine of a workspace.
pub struct Dispatcher<'e, D: Disk> {
    engine: &'e mut Engine<D>,
    lexicon: Lexicon,
    settings: Settings,
}

/// Facts of a cycle, with the documents behind them.
struct Gathered {
    bundle: AgentBundle,
    history: History,
    catalog: CatalogFacts,
    access: Option<AccessJudgement>,
    policy: Vec<u8>,
    artifacts: Vec<u8>,
    began: Timestamp,
}

impl<'e, D: Disk> Dispatcher<'e, D> {
    /// Host over the engine of a workspace.
    ///
    /// # Errors
    /// `Lexicon`
    pub fn new(engine: &'e mut Engine<D>, settings: Settings) -> Result<Self, DispatchError> {
        Ok(Self { engine, lexicon: Lexicon::built_in()?, settings })
    }

    pub(crate) fn engine(&self) -> &Engine<D> {
        self.engine
    }

    pub(crate) fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Runs one cycle for a goal. The decision is recorded, whatever it is; the same goal again has no second effect.
    ///
    /// # Errors
    /// [`DispatchError`]: what became of the goal is not known to the caller, and the same goal again settles it.
    pub fn dispatch(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller,
    ) -> Result<Dispatched, DispatchError> {
        for _ in 0..CYCLES_MAX {
            match self.cycle(goal, caller) {
                Err(DispatchError::Busy) => {}
                Err(DispatchError::Engine(error)) if is_lost_race(&error) => {}
                end => return end,
            }
        }
        Err(DispatchError::Busy)
    }

    fn cycle(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller,
    ) -> Result<Dispatched, DispatchError> {
        let began = self.engine.records().now();
        let step = step()?;
        if self.workspace()?.is_none() {
            // Gives it one, to which the decision is bound.
            self.engine.resume()?;
        }
        self.settle(goal, &step)?;
        let gathered = self.gather(goal, caller, (&step, began))?;
        let decision = decide(&gathered.bundle);
        match decision.verdict {
            AgentVerdict::Answered => answered(&decision, &gathered),
            AgentVerdict::NoDispatch => self.refuse(goal, caller, decision, gathered),
            AgentVerdict::Dispatch => self.carry_out(goal, caller, decision, gathered),
        }
    }

    /// Gathers the facts of a decision.
    fn gather(
        &self,
        goal: &AgentGoalRequest,
        caller: &Caller,
        (step, began): (&StepId, Timestamp),
    ) -> Result<Gathered, DispatchError> {
        let records = self.engine.records();
        let history = records.ledger().read(|log| {
            Chain::read(log, &goal.correlation_id)?.facts((log, records.keyring()), step)
        })?;
        // After the history: what it holds, also what was settled just now, is no later.
        let time = records.now();
        let packet = FinderPacket::read(&canonical::to_vec(&goal.sim_finder_packet)?).ok();
        let catalog = CatalogFacts::read(self.engine, packet.as_ref())?;
        let sealed = seal_packet(&goal.sim_finder_packet)?;
        let finder_packet = Digest::of(&canonical::to_vec(&sealed)?);
        let (mut access, mut judged) = (None, None);
        let policy = match &catalog.facts {
            Some(simulation) => {
                let (facts, judgement) =
                    judge_access(self.engine, &caller.actor, simulation, false)?;
                let policy = judgement.policy.clone();
                (access, judged) = (Some(facts), Some(judgement));
                policy
            }
            None => self.engine.judge_access(&caller.actor, actum_core::RiskTier::R0)?.policy,
        };
        let lexicon = self.lexicon.reference();
        let artifacts = catalog.artifacts(lexicon, &self.settings, self.workspace()?)?;
        let user = caller.actor.user == goal.user_id.as_str();
        let identity = match (&caller.host_key, user) {
            (Some(key), _) => Identity::Host { key: key.clone() },
            (None, true) => Identity::Own,
            (None, false) => Identity::Unknown,
        };
        let mut bundle = AgentBundle {
            format: AgentBundle::FORMAT.to_owned(),
            time,
            goal: GoalFacts {
                correlation: goal.correlation_id.clone(),
                tenant: goal.tenant_id.clone(),
                user: goal.user_id.clone(),
                thread: goal.thread_id.clone(),
                fingerprint: goal.fingerprint(),
                attempt: goal.attempt_counter,
                request_key: goal.idempotency_key.clone(),
            },
            packet: sealed,
            finder_packet,
            caller: CallerFacts {
                actor: caller.actor.clone(),
                tenant: records.tenant().clone(),
                identity,
            },
            policy_snapshot: Digest::of(&policy),
            catalog_snapshot: Digest::of(&catalog.snapshot),
            simulation: catalog.facts.clone(),
            access,
            history: history.facts.clone(),
            confirmation: history.confirmation.as_ref().map(|it| it.facts.clone()),
            lexicon,
            artifacts: Digest::of(&artifacts),
        };
        if let Some(key) = decide(&bundle).key
            && let Some(access) = &mut bundle.access
        {
            access.is_approved = self.approved(key)?.is_some();
        }
        Ok(Gathered { bundle, history, catalog, access: judged, policy, artifacts, began })
    }

    fn workspace(&self) -> Result<Option<WorkspaceId>, DispatchError> {
        Ok(self.engine.workspace().id().map_err(actum::Error::from)?)
    }

    /// Finds the request of a step that a person approved, in this workspace.
    fn approved(&self, key: Digest) -> Result<Option<Request>, DispatchError> {
        let records = self.engine.records();
        let (key, now) = (RequestKey::of_step(key), records.now());
        let workspace = self.workspace()?;
        let plans = records.ledger().read(|log| QueuedPlan::open(log, records.keyring()))?;
        let is_of_step = |plan: &&QueuedPlan| {
            plan.queued.plan.request.as_ref() == Some(&key)
                && workspace == Some(plan.row.workspace)
                && plan.state(now) == PlanState::Approved
        };
        let plan = plans.iter().find(is_of_step);
        Ok(plan.map(|plan| plan.request(records.inputs())).transpose()?)
    }

    /// Records a decision without a dispatch.
    fn refuse(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller,
        decision: AgentDecision,
        gathered: Gathered,
    ) -> Result<Dispatched, DispatchError> {
        let prompt = decision.reason_code().filter(|reason| asks_again(*reason));
        let prompt = prompt.and_then(|_| ConfirmationPrompt::new(&gathered.bundle, &decision));
        let prompt = prompt.map(|it| Ok::<_, DispatchError>((it.to_vec()?, it))).transpose()?;
        let (mut event, mut documents) = event(&decision, &gathered, caller)?;
        let hash = event.decision;
        let mut proofs = Vec::new();
        let mut entries = Vec::new();
        if let Some((entry, leaf)) = access_entry(&gathered)? {
            event.access = Some(leaf);
            proofs.push(leaf);
            entries.push(entry);
        }
        if let Some((bytes, _)) = &prompt {
            event.refs.prompt = Some(Digest::of(bytes));
            documents.push(bytes.clone());
        }
        let body = canonical::to_vec(&event)?;
        let leaf = leaf_hash(&body);
        entries.push(NewEntry { kind: EntryKind::AgentExecution, body, blobs: documents });
        self.engine.records().ledger().append(entries).wait()?;
        let mut text = text_of(goal, &decision);
        let mut queued = None;
        if let Some((_, prompt)) = &prompt {
            text = prompt.text.clone();
        }
        if decision.reason_code() == Some(ReasonCode::AccessApRequired) {
            queued = self.ask_for_approval(goal, caller, &decision, &gathered)?;
            if let Some(plan) = queued {
                text = format!("{text}: `actum approve {plan}`");
            }
        }
        let outcome =
            AgentExecutionOutcome::without_dispatch(&decision, (leaf, hash), proofs, text);
        let prompt = prompt.map(|(bytes, prompt)| (Digest::of(&bytes), prompt));
        Ok(Dispatched { outcome, verdict: decision.verdict, prompt, queued, held: None })
    }

    /// Puts the action into the queue, so that a person can approve it. It cannot start: its log refuses that.
    fn ask_for_approval(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller,
        decision: &AgentDecision,
        gathered: &Gathered,
    ) -> Result<Option<RunId>, DispatchError> {
        let (Some(key), Some(simulation)) = (decision.key, &gathered.catalog.simulation) else {
            return Ok(None);
        };
        let fields = goal.sim_finder_packet.get("required_fields").and_then(Value::as_object);
        let planned = decision.plan.as_ref().and_then(|plan| plan.ordered_steps.first());
        let (Some(fields), Some(planned)) = (fields, planned) else { return Ok(None) };
        let proposed = Proposed {
            correlation: &goal.correlation_id,
            step: &planned.step_id,
            simulation,
            fields,
            rollback_plan: planned.rollback_plan_ref,
            key,
            actor: &caller.actor,
            settings: &self.settings,
        };
        queue(self.engine, &proposed)
    }

    /// Dispatches what the core let pass.
    fn carry_out(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller,
        decision: AgentDecision,
        gathered: Gathered,
    ) -> Result<Dispatched, DispatchError> {
        let key = decision.key.ok_or(DispatchError::Busy)?;
        let confirmation = gathered.history.confirmation.as_ref().filter(|_| {
            gathered.bundle.simulation.as_ref().is_some_and(|it| it.needs_confirmation())
        });
        let confirmed = confirmation.map(|it| it.leaf);
        let envelope =
            DispatchEnvelope::new(&gathered.bundle, &decision, &goal.sim_finder_packet, confirmed);
        let envelope = envelope.ok_or(DispatchError::Busy)?;
        let (mut event, documents) = event(&decision, &gathered, caller)?;
        let hash = event.decision;
        let (access, access_leaf) = access_entry(&gathered)?.ok_or(DispatchError::Busy)?;
        event.access = Some(access_leaf);
        event.confirmation = confirmed;
        event.refs.confirmation_proof = confirmation.map(|it| it.facts.proof);
        let simulation = gathered.catalog.simulation.clone().ok_or(DispatchError::Busy)?;
        let logged = Rc::new(RefCell::new(Logged::default()));
        let log = StepLog {
            template: event,
            accompanying: vec![access],
            documents,
            simulation: envelope.simulation_id.clone(),
            is_retry: gathered.bundle.history.claim.is_some(),
            may_start: true,
            began: gathered.began,
            logged: Rc::clone(&logged),
        };
        let approved = self.approved(key)?;
        let mut executor = ActionExecutor {
            engine: self.engine,
            simulation,
            actor: caller.actor.clone(),
            settings: self.settings.clone(),
            approved,
            log: Some(log),
            logged,
            queued: None,
            held: None,
        };
        let mut outcome = dispatch(&mut executor, &envelope, hash)?;
        let (queued, held) = (executor.queued, executor.held.take());
        outcome.proof_refs.extend([Some(access_leaf), confirmed].into_iter().flatten());
        Ok(Dispatched { outcome, verdict: decision.verdict, prompt: None, queued, held })
    }

    /// Records the outcome of a step whose process was killed, from what its action left.
    fn settle(&mut self, goal: &AgentGoalRequest, step: &StepId) -> Result<(), DispatchError> {
        let records = self.engine.records();
        let history = records.ledger().read(|log| {
            Chain::read(log, &goal.correlation_id)?.facts((log, records.keyring()), step)
        })?;
        match history.open {
            None => Ok(()),
            Some((index, open)) => settle_open(self.engine, index, open),
        }
    }
}

/// The only step of phase 1.
pub(crate) fn step() -> Result<StepId, DispatchError> {
    let wrong = |error: actum_core::plain_id::PlainIdError| DispatchError::Damaged {
        message: error.to_string(),
    };
    "step-1".parse().map_err(wrong)
}

/// Tests for a refusal that another process caused by being faster.
fn is_lost_race(error: &actum::Error) -> bool {
    let source = if let actum::Error::Ledger { source, .. } = error {
        source
    } else if let actum::Error::Untold { source: FeedbackError::Ledger(source), .. } = error {
        source
    } else {
        return false;
    };
    matches!(source.refusal(), Some(Refusal::Agent(_) | Refusal::RequestStarted { .. }))
}

/// The prompt is emitted again.
fn asks_again(reason: ReasonCode) -> bool {
    reason.is_about_confirmation()
        && !matches!(
            reason,
            ReasonCode::ConfirmationRejected | ReasonCode::ConfirmationAttemptsExhausted
        )
}

/// Text for the user of a decision without a dispatch. The question of a Finder is relayed unchanged (AEC-4).
fn text_of(goal: &AgentGoalRequest, decision: &AgentDecision) -> String {
    let reason = decision.reason_code();
    let packet = canonical::to_vec(&goal.sim_finder_packet).ok();
    let packet = packet.and_then(|bytes| FinderPacket::read(&bytes).ok());
    match (reason, packet) {
        (Some(ReasonCode::ClarifyRequired), Some(FinderPacket::Clarify(packet))) => packet.question,
        (Some(ReasonCode::FinderRefused), Some(FinderPacket::Refuse(packet))) => packet.message,
        (reason, _) => reason.map_or("nothing was dispatched", ReasonCode::sentence).to_owned(),
    }
}

/// Event of a decision, and the documents that it names.
fn event(
    decision: &AgentDecision,
    gathered: &Gathered,
    caller: &Caller,
) -> Result<(AgentExecution, Vec<Vec<u8>>), DispatchError> {
    let Gathered { bundle, catalog, policy, artifacts, .. } = gathered;
    let bytes = bundle.to_vec()?;
    let packet = canonical::to_vec(&bundle.packet)?;
    let hash = decision.digest(&bytes)?;
    let missing = || DispatchError::Damaged { message: "it has no plan id".to_owned() };
    let plan = plan_id(&bundle.goal.correlation, bundle.finder_packet).ok_or_else(missing)?;
    let planned = decision.plan.as_ref().and_then(|plan| plan.ordered_steps.first());
    let refs = AgentRefs {
        bundle: Digest::of(&bytes),
        finder_packet: bundle.finder_packet,
        policy_snapshot: bundle.policy_snapshot,
        catalog_snapshot: bundle.catalog_snapshot,
        artifact_fingerprints: planned.map(|_| bundle.artifacts),
        confirmation_proof: None,
        prompt: None,
        outcome: None,
    };
    let event = AgentExecution {
        format: AgentExecution::FORMAT.to_owned(),
        time: bundle.time,
        tenant: bundle.caller.tenant.clone(),
        user: bundle.goal.user.clone(),
        actor: caller.actor.clone(),
        correlation: bundle.goal.correlation.clone(),
        thread: bundle.goal.thread.clone(),
        plan,
        step: step()?,
        event: AgentEventKind::NoDispatch,
        state: decision.state,
        reason: decision.reason_code().map(|reason| reason.as_str().to_owned()),
        key: decision.key,
        simulation: planned.map(|step| step.simulation_id.clone()),
        impactful: bundle.simulation.as_ref().is_some_and(|it| it.impactful),
        simulation_entry: None,
        access: None,
        confirmation: None,
        rollback_plan: planned.and_then(|step| step.rollback_plan_ref),
        refs,
        semantics: decision.semantics,
        decision: hash,
        duration: None,
        engine: ENGINE.to_owned(),
    };
    let mut documents = vec![bytes, packet, policy.clone(), catalog.snapshot.clone()];
    if planned.is_some() {
        documents.push(artifacts.clone());
    }
    documents.extend(rollback_document(&bundle.packet)?.filter(|_| event.rollback_plan.is_some()));
    Ok((event, documents))
}

/// The rollback plan of a sealed packet, as a document.
fn rollback_document(packet: &Map<String, Value>) -> Result<Option<Vec<u8>>, DispatchError> {
    let plan = packet.get("rollback_plan").filter(|plan| !plan.is_null());
    Ok(plan.map(canonical::to_vec).transpose()?)
}

/// Entry of the access decision, and its hash.
fn access_entry(gathered: &Gathered) -> Result<Option<(NewEntry, Digest)>, DispatchError> {
    let (Some(facts), Some(judgement), Some(simulation)) =
        (&gathered.bundle.access, &gathered.access, &gathered.bundle.simulation)
    else {
        return Ok(None);
    };
    let reason = match facts.outcome {
        AccessOutcome::Allowed => None,
        AccessOutcome::ApRequired => Some(ReasonCode::AccessApRequired),
        AccessOutcome::Denied => Some(ReasonCode::AccessScopeViolation),
    };
    let bundle = &gathered.bundle;
    let body = canonical::to_vec(&AgentAccessDecided {
        format: AgentAccessDecided::FORMAT.to_owned(),
        time: bundle.time,
        tenant: bundle.caller.tenant.clone(),
        user: bundle.goal.user.clone(),
        correlation: bundle.goal.correlation.clone(),
        step: step()?,
        access_action: simulation.access_action.clone(),
        outcome: facts.outcome,
        reason: reason.map(|reason| reason.as_str().to_owned()),
        policy_snapshot: bundle.policy_snapshot,
        case: facts.case,
    })?;
    let leaf = leaf_hash(&body);
    let blobs = vec![judgement.bundle.clone(), judgement.policy.clone()];
    Ok(Some((NewEntry { kind: EntryKind::AgentAccessDecided, body, blobs }, leaf)))
}

/// Outcome of a step whose effect is in force.
fn answered(decision: &AgentDecision, gathered: &Gathered) -> Result<Dispatched, DispatchError> {
    let missing = || DispatchError::Damaged { message: "its outcome is not recorded".to_owned() };
    let (leaf, event) = gathered.history.outcome.as_ref().ok_or_else(missing)?;
    let proofs = [event.simulation_entry, event.access, event.confirmation];
    let outcome = AgentExecutionOutcome::without_dispatch(
        decision,
        (*leaf, event.decision),
        proofs.into_iter().flatten().collect(),
        "it was done before, and nothing was dispatched".to_owned(),
    );
    Ok(Dispatched { outcome, verdict: decision.verdict, prompt: None, queued: None, held: None })
}
