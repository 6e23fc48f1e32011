//! Gathers all facts that the decision of a cycle is based on.

use actum::{AccessJudgement, Engine, PlanState, QueuedPlan, Records, Request};
use actum_agent::bundle::{AccessFacts, AgentBundle, Caller as CallerFacts, GoalFacts, Identity};
use actum_agent::confirmation::Lexicon;
use actum_agent::{AgentGoalRequest, FinderPacket, decide, seal_packet, seal_packet_wholly};
use actum_core::{Digest, RiskTier, Timestamp, canonical};
use actum_gate::{HostAssertion, verify_host_assertion};
use actum_record::agent::StepId;
use actum_record::dsse::Envelope;
use actum_record::ledger::{AccessOutcome, RequestKey, WorkspaceId};
use actum_workspace::disk::Disk;

use crate::error::DispatchError;
use crate::facts::{CatalogFacts, judge_access, place};
use crate::history::{Chain, History};
use crate::settings::{Caller, Settings};

/// Sources from which facts are gathered.
pub(crate) struct Sources<'s, D: Disk> {
    pub(crate) workspace: Option<WorkspaceId>,
    pub(crate) engine: &'s Engine<D>,
    pub(crate) settings: &'s Settings,
}

/// Facts for the decision of a cycle, and the documents that they come from.
pub(crate) struct Gathered {
    pub(crate) bundle: AgentBundle,
    pub(crate) history: History,
    pub(crate) catalog: CatalogFacts,
    pub(crate) access: Option<AccessJudgement>,
    pub(crate) policy: Vec<u8>,
    pub(crate) artifacts: Vec<u8>,
    /// Assertion of the user's identity that a host signed, if any.
    pub(crate) assertion: Option<Vec<u8>>,
    pub(crate) began: Timestamp,
    pub(crate) workspace: Option<WorkspaceId>,
}

impl Gathered {
    /// Gathers the facts for a decision on a goal.
    ///
    /// # Errors
    /// [`DispatchError`] if a source cannot be read or a document has no canonical form.
    pub(crate) fn new<D: Disk>(
        sources: &Sources<'_, D>,
        (goal, caller): (&AgentGoalRequest, &Caller<'_>),
        mut history: History,
        began: Timestamp,
    ) -> Result<Self, DispatchError> {
        let Sources { workspace, engine, settings } = sources;
        let records = engine.records();
        // Read the clock after the history, so that no event is later than the decision.
        let time = records.now();
        let packet = FinderPacket::read(&canonical::ordered_to_vec(&goal.sim_finder_packet)?).ok();
        let catalog = CatalogFacts::read(engine, packet.as_ref())?;
        let fits = catalog.facts.as_ref().is_some_and(|simulation| simulation.fields_fit);
        let sealed = match fits {
            true => seal_packet(&goal.sim_finder_packet)?,
            false => seal_packet_wholly(&goal.sim_finder_packet)?,
        };
        let finder_packet = Digest::of(&canonical::ordered_to_vec(&sealed)?);
        let subject = caller.subject(goal);
        let judged = catalog.facts.as_ref().map(|it| judge_access(engine, &subject, it));
        let (access, judgement) = judged.transpose()?.unzip();
        let policy = match &judgement {
            Some(judgement) => judgement.policy.clone(),
            None => engine.judge_access(&caller.actor, RiskTier::R0)?.policy,
        };
        let lexicon = Lexicon::built_in_reference();
        let artifacts = catalog.artifacts(lexicon, settings, *workspace)?;
        let (identity, assertion) = identify(records, (goal, caller), time)?;
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
                request_key: goal.request_digest(),
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
            rollback: catalog.rollback.clone(),
            place: place(engine, settings),
            access,
            history: history.facts.clone(),
            confirmation: history.confirmation.as_ref().map(|it| it.facts.clone()),
            lexicon,
            artifacts: Digest::of(&artifacts),
        };
        let planned = decide(&bundle);
        if let Some(plan) = planned.plan_fingerprint {
            history.use_answers_to(plan);
            bundle.history.ambiguous_answers = history.facts.ambiguous_answers;
            bundle.confirmation = history.confirmation.as_ref().map(|it| it.facts.clone());
        }
        if let Some(AccessFacts { outcome: AccessOutcome::ApRequired, .. }) = bundle.access
            && let Some(key) = planned.key
            && let Some(access) = &mut bundle.access
        {
            access.is_approved = find_approved_request(sources, key)?.is_some();
        }
        Ok(Self {
            bundle,
            history,
            catalog,
            access: judgement,
            policy,
            artifacts,
            assertion,
            began,
            workspace: *workspace,
        })
    }
}

/// Reads the history of a step from the ledger.
pub(crate) fn read_history<D: Disk>(
    engine: &Engine<D>,
    goal: &AgentGoalRequest,
    step: &StepId,
) -> Result<History, DispatchError> {
    let records = engine.records();
    Ok(records.ledger().read(|log| {
        let chain = Chain::read(log, &goal.correlation_id)?;
        let mut history = chain.history((log, records.keyring()), step)?;
        history.facts.request = log.agent_goal_of_request(&goal.request_digest())?;
        history.entries = log.size()?;
        Ok(history)
    })?)
}

/// Identifies the user of a goal, who is either the caller's own account or a user asserted by a host. Returns the
/// signed assertion of the host, if there is one.
pub(crate) fn identify(
    records: &Records,
    (goal, caller): (&AgentGoalRequest, &Caller<'_>),
    time: Timestamp,
) -> Result<(Identity, Option<Vec<u8>>), DispatchError> {
    let Some(host) = caller.host else {
        let is_own = caller.actor.user == goal.user_id.as_str();
        return Ok((if is_own { Identity::Own } else { Identity::Unknown }, None));
    };
    let assertion = HostAssertion {
        format: HostAssertion::FORMAT.to_owned(),
        correlation: goal.correlation_id.clone(),
        tenant: goal.tenant_id.clone(),
        user: goal.user_id.clone(),
        thread: goal.thread_id.clone(),
        goal: goal.fingerprint(),
    };
    let payload = canonical::to_vec(&assertion)?;
    let envelope = Envelope::sign(HostAssertion::PAYLOAD_TYPE, payload, host);
    let bytes = envelope.map_err(actum::Error::from)?.to_vec()?;
    let verified = verify_host_assertion(&bytes, records.keyring(), time);
    let Ok((_, key)) = verified else { return Ok((Identity::Unknown, None)) };
    let identity = Identity::Host { key: key.to_string(), assertion: Digest::of(&bytes) };
    Ok((identity, Some(bytes)))
}

/// Returns the id of the workspace, if one has been assigned.
pub(crate) fn workspace_id<D: Disk>(
    engine: &Engine<D>,
) -> Result<Option<WorkspaceId>, DispatchError> {
    Ok(engine.workspace().id().map_err(actum::Error::from)?)
}

/// Finds an approved request for a step in this workspace, with the same scope and the same checks as this dispatch.
pub(crate) fn find_approved_request<D: Disk>(
    sources: &Sources<'_, D>,
    key: Digest,
) -> Result<Option<Request>, DispatchError> {
    let Sources { workspace, engine, settings } = sources;
    let records = engine.records();
    let (key, now) = (RequestKey::of_step(key), records.now());
    let plans = records.ledger().read(|log| QueuedPlan::open(log, records.keyring()))?;
    let is_of_step = |plan: &&QueuedPlan| {
        plan.queued.plan.request.as_ref() == Some(&key)
            && *workspace == Some(plan.row.workspace)
            && plan.state(now) == PlanState::Approved
    };
    for plan in plans.iter().filter(is_of_step) {
        let request = plan.request(records.inputs())?;
        let is_same = request.action.as_ref().is_some_and(|action| {
            action.plan.scope == settings.scope
                && action.plan.verification.commands == settings.checks
        });
        if is_same {
            return Ok(Some(request));
        }
    }
    Ok(None)
}
