//! Dispatcher that takes a goal with a single packet through one cycle to a single outcome.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use actum::{Engine, FeedbackError};
use actum_agent::bundle::{AgentBundle, Caller as CallerFacts, Identity};
use actum_agent::prompt::ConfirmationPrompt;
use actum_agent::{
    AgentDecision, AgentExecutionOutcome, AgentGoalRequest, AgentVerdict, DispatchEnvelope,
    FinderPacket, ReasonCode, decide, dispatch,
};
use actum_core::{Digest, RunId, canonical};
use actum_ledger::{NewEntry, Refusal};
use actum_record::ledger::EntryKind;
use actum_record::merkle::leaf_hash;
use actum_workspace::disk::Disk;
use serde_json::Value;

use crate::entries::{access_entry, execution, step};
use crate::error::DispatchError;
use crate::executor::{ActionExecutor, Proposed, needs_check, queue};
use crate::gather::{Gathered, Sources, find_approved_request, read_history, workspace_id};
use crate::history::document;
use crate::outcome::KeptOutcome;
use crate::settings::{Caller, Settings};
use crate::settle::settle_open;
use crate::step_log::{Logged, StepLog};

/// Maximum number of cycles of a dispatch, which is repeated if it loses a race with another process.
const CYCLES_MAX: usize = 3;

/// Result of a dispatch.
#[derive(Debug)]
pub struct Dispatched {
    /// Outcome of the goal.
    pub outcome: AgentExecutionOutcome,
    /// Verdict of the core on the goal.
    pub verdict: AgentVerdict,
    /// Prompt that the user must answer before the goal can be dispatched, and its digest.
    pub prompt: Option<(Digest, ConfirmationPrompt)>,
    /// Queued plan that the operator must approve before the goal can be dispatched.
    pub queued: Option<RunId>,
    /// Guard created by the function that was passed to [`Engine::holding`].
    pub held: Option<Box<dyn Any>>,
}

/// Dispatches goals in one workspace.
pub struct Dispatcher<'e, D: Disk> {
    engine: &'e mut Engine<D>,
    settings: Settings,
}

impl<'e, D: Disk> Dispatcher<'e, D> {
    /// Creates a dispatcher that uses the given engine.
    pub fn new(engine: &'e mut Engine<D>, settings: Settings) -> Self {
        Self { engine, settings }
    }

    pub(crate) fn engine(&self) -> &Engine<D> {
        self.engine
    }

    /// Decides on a goal, records the decision, and carries it out. Dispatching the same goal again has no second
    /// effect.
    ///
    /// # Errors
    /// `NoCheck`, `NoHost` and `Relay` are returned before a decision is made. After any other [`DispatchError`] the
    /// outcome is unknown, and dispatching the goal again determines it.
    pub fn dispatch(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller<'_>,
    ) -> Result<Dispatched, DispatchError> {
        if let Some(answer) = &goal.confirm_state {
            self.relay(goal, answer, caller)?;
        }
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
        caller: &Caller<'_>,
    ) -> Result<Dispatched, DispatchError> {
        let began = self.engine.records().now();
        let step = step()?;
        let mut workspace = workspace_id(self.engine)?;
        if workspace.is_none() {
            // Assign an id to the workspace, because the decision refers to it.
            self.engine.resume()?;
            workspace = workspace_id(self.engine)?;
        }
        let mut history = read_history(self.engine, goal, &step)?;
        if let Some((index, open)) = history.open.take() {
            settle_open(self.engine, index, open)?;
            history = read_history(self.engine, goal, &step)?;
        }
        let sources = Sources { workspace, engine: self.engine, settings: &self.settings };
        let gathered = Gathered::new(&sources, (goal, caller), history, began)?;
        let decision = decide(&gathered.bundle);
        self.check_runnable(&decision, &gathered)?;
        match decision.verdict {
            AgentVerdict::Answered => self.answered(&decision, &gathered),
            AgentVerdict::NoDispatch => self.refuse(goal, caller, decision, gathered),
            AgentVerdict::Dispatch => self.carry_out(goal, caller, decision, gathered),
        }
    }

    /// Rejects a simulation that needs a check if none is configured, before the user is asked to confirm it.
    fn check_runnable(
        &self,
        decision: &AgentDecision,
        gathered: &Gathered,
    ) -> Result<(), DispatchError> {
        let Some(simulation) = &gathered.catalog.simulation else { return Ok(()) };
        let may_run = decision.verdict != AgentVerdict::Answered
            && decision.reasons.iter().all(|reason| reason.is_about_confirmation());
        if may_run && self.settings.checks.is_empty() && needs_check(simulation) {
            return Err(DispatchError::NoCheck { simulation: simulation.name.clone() });
        }
        Ok(())
    }

    /// Records the decision not to dispatch a goal, with the prompt or the approval request that results from it.
    fn refuse(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller<'_>,
        decision: AgentDecision,
        gathered: Gathered,
    ) -> Result<Dispatched, DispatchError> {
        let prompt = decision.reason_code().filter(|reason| needs_prompt(*reason));
        let prompt = prompt.and_then(|_| ConfirmationPrompt::new(&gathered.bundle, &decision));
        let prompt = prompt.map(|it| Ok::<_, DispatchError>((it.to_vec()?, it))).transpose()?;
        let (mut event, mut documents) = execution(&decision, &gathered, caller)?;
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
        let body = canonical::ordered_to_vec(&event)?;
        let leaf = leaf_hash(&body);
        entries.push(NewEntry { kind: EntryKind::AgentExecution, body, blobs: documents });
        self.engine.records().ledger().append(entries).wait()?;
        let mut text = text_of(goal, &decision, &gathered.bundle);
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

    /// Queues the action of a goal for approval by the operator. It cannot start until then.
    fn ask_for_approval(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller<'_>,
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
            actor: &caller.subject(goal),
            settings: &self.settings,
        };
        queue(self.engine, &proposed)
    }

    /// Carries out a decision to dispatch.
    fn carry_out(
        &mut self,
        goal: &AgentGoalRequest,
        caller: &Caller<'_>,
        decision: AgentDecision,
        gathered: Gathered,
    ) -> Result<Dispatched, DispatchError> {
        let key = decision.key.ok_or(DispatchError::Incomplete { missing: "idempotency key" })?;
        let confirmation = gathered.history.confirmation.as_ref().filter(|_| {
            gathered.bundle.simulation.as_ref().is_some_and(|it| it.needs_confirmation())
        });
        let confirmed = confirmation.map(|it| it.leaf);
        let envelope =
            DispatchEnvelope::new(&gathered.bundle, &decision, &goal.sim_finder_packet, confirmed);
        let envelope = envelope.ok_or(DispatchError::Incomplete { missing: "envelope" })?;
        let (mut event, documents) = execution(&decision, &gathered, caller)?;
        let hash = event.decision;
        let (access, access_leaf) = access_entry(&gathered)?
            .ok_or(DispatchError::Incomplete { missing: "access decision" })?;
        event.access = Some(access_leaf);
        event.confirmation = confirmed;
        event.refs.confirmation_proof = confirmation.map(|it| it.facts.proof);
        let simulation = gathered
            .catalog
            .simulation
            .clone()
            .ok_or(DispatchError::Incomplete { missing: "simulation" })?;
        let logged = Rc::new(RefCell::new(Logged::default()));
        let log = StepLog {
            template: event,
            accompanying: vec![access],
            confirmed: confirmation.cloned(),
            documents,
            entries: gathered.history.entries,
            simulation: envelope.simulation_id.clone(),
            is_retry: gathered.bundle.history.claim.is_some(),
            began: gathered.began,
            logged: Rc::clone(&logged),
        };
        let sources = Sources {
            workspace: gathered.workspace,
            engine: self.engine,
            settings: &self.settings,
        };
        let approved = find_approved_request(&sources, key)?;
        let mut executor = ActionExecutor {
            engine: self.engine,
            simulation,
            actor: caller.subject(goal),
            settings: self.settings.clone(),
            approved,
            log: Some(log),
            proofs: [Some(access_leaf), confirmed].into_iter().flatten().collect(),
            logged,
            queued: None,
            held: None,
        };
        let outcome = dispatch(&mut executor, &envelope, hash)?;
        let (queued, held) = (executor.queued, executor.held.take());
        Ok(Dispatched { outcome, verdict: decision.verdict, prompt: None, queued, held })
    }

    /// Returns the recorded outcome of a step that was carried out earlier.
    fn answered(
        &self,
        decision: &AgentDecision,
        gathered: &Gathered,
    ) -> Result<Dispatched, DispatchError> {
        let missing = || DispatchError::Damaged {
            message: "the outcome of the step is not recorded".to_owned(),
        };
        let (index, leaf, event) = gathered.history.outcome.as_ref().ok_or_else(missing)?;
        let kept = event.refs.outcome.ok_or_else(missing)?;
        let kept: KeptOutcome =
            self.engine.records().ledger().read(|log| document(log, *index, kept))?;
        let proofs = [event.simulation_entry, event.access, event.confirmation];
        let outcome = AgentExecutionOutcome::answered(
            decision,
            (*leaf, event.decision),
            proofs.into_iter().flatten().collect(),
            kept.outcome,
        );
        let outcome = outcome.ok_or_else(missing)?;
        Ok(Dispatched {
            outcome,
            verdict: decision.verdict,
            prompt: None,
            queued: None,
            held: None,
        })
    }
}

/// Returns whether an operation failed because another process appended to the ledger first.
fn is_lost_race(error: &actum::Error) -> bool {
    let source = if let actum::Error::Ledger { source, .. } = error {
        source
    } else if let actum::Error::OutcomeNotRecorded {
        source: FeedbackError::Ledger(source), ..
    } = error
    {
        source
    } else {
        return false;
    };
    matches!(source.refusal(), Some(Refusal::Agent(_) | Refusal::RequestStarted { .. }))
}

/// Returns whether a confirmation prompt is created for a goal that is refused for this reason.
fn needs_prompt(reason: ReasonCode) -> bool {
    reason.is_about_confirmation()
        && !matches!(
            reason,
            ReasonCode::ConfirmationRejected | ReasonCode::ConfirmationAttemptsExhausted
        )
}

/// Returns the text for the user if nothing is dispatched. A question of the Finder is relayed unchanged (AEC-4).
fn text_of(goal: &AgentGoalRequest, decision: &AgentDecision, bundle: &AgentBundle) -> String {
    let CallerFacts { actor, tenant, identity } = &bundle.caller;
    let AgentGoalRequest { tenant_id, user_id, .. } = goal;
    let reason = decision.reason_code();
    let packet = canonical::to_vec(&goal.sim_finder_packet).ok();
    let packet = packet.and_then(|bytes| FinderPacket::read(&bytes).ok());
    match (reason, packet) {
        (Some(ReasonCode::ClarifyRequired), Some(FinderPacket::Clarify(packet))) => packet.question,
        (Some(ReasonCode::FinderRefused), Some(FinderPacket::Refuse(packet))) => packet.message,
        (Some(ReasonCode::AccessScopeViolation), _) if tenant != tenant_id => {
            format!(
                "the goal belongs to the tenant `{tenant_id}`, but this ledger belongs to `{tenant}`"
            )
        }
        (Some(ReasonCode::AccessScopeViolation), _) if *identity == Identity::Unknown => format!(
            "the goal belongs to the user `{user_id}`, so the account `{}` needs a host key to dispatch it",
            actor.user
        ),
        (reason, _) => reason.map_or("nothing was dispatched", ReasonCode::sentence).to_owned(),
    }
}
