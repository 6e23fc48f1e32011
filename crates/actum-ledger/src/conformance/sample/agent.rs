//! Sample entries of the Agent Execution Core.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Timestamp};
use actum_record::ledger::{
    AccessOutcome, AgentAccessDecided, AgentConfirmation, AgentDuration, AgentEventKind,
    AgentExecution, AgentRefs, AgentState, ConfirmationOutcome, EntryFacts, EntryKind,
    IntakeResolved, Isolation, SloWaived, TenantId,
};
use actum_record::merkle::leaf_hash;

use super::{actor, enveloped};
use crate::new_entry::NewEntry;

// Documents that the sample entries refer to.
const BUNDLE: &[u8] = b"{\"format\":\"sample.bundle\"}";
const PACKET: &[u8] = b"{\"format\":\"sample.packet\"}";
const POLICY: &[u8] = b"{\"format\":\"sample.policy\"}";
const CATALOG: &[u8] = b"{\"format\":\"sample.catalog\"}";
const ARTIFACTS: &[u8] = b"{\"format\":\"sample.artifacts\"}";
const PROOF: &[u8] = b"{\"format\":\"sample.proof\"}";
const ROLLBACK: &[u8] = b"{\"format\":\"sample.rollback\"}";
const CASE: &[u8] = b"{\"format\":\"sample.case\"}";
const LEXICON: &[u8] = b"{\"format\":\"sample.lexicon\"}";
const PROMPT: &[u8] = b"{\"format\":\"sample.prompt\"}";
const OUTCOME: &[u8] = b"{\"format\":\"sample.outcome\"}";
const DOCUMENTS: [&[u8]; 11] =
    [BUNDLE, PACKET, POLICY, CATALOG, ARTIFACTS, PROOF, ROLLBACK, CASE, LEXICON, PROMPT, OUTCOME];

/// Sample step of a goal, from which the entries about it are generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleStep {
    /// Id of the goal.
    pub correlation: String,
    /// Id of the plan.
    pub plan: String,
    /// Id of the step.
    pub step: String,
    /// Tenant that the goal belongs to.
    pub tenant: TenantId,
    /// Digest that identifies the request.
    pub request: Digest,
    /// Idempotency key of the step's effect.
    pub key: Digest,
    /// Whether the simulation is impactful, so that it must be confirmed before it starts.
    pub impactful: bool,
    /// Time of all entries about the step.
    pub time: Timestamp,
    /// Duration of the step's dispatch, in microseconds.
    pub dispatch_us: u64,
}

impl SampleStep {
    /// Returns the only step of the sample goal with this number.
    pub fn numbered(number: u64) -> Self {
        Self {
            correlation: format!("goal-{number}"),
            plan: format!("plan-{number}"),
            step: "step-1".to_owned(),
            tenant: TenantId::default(),
            request: Digest::tagged("sample/request", &[&number.to_be_bytes()]),
            key: Digest::of(&number.to_be_bytes()),
            impactful: true,
            time: Timestamp::from_micros(1_795_000_000_000_000),
            dispatch_us: 5_000,
        }
    }

    /// Returns an `AGENT_ACCESS_DECIDED` entry for the step.
    ///
    /// # Errors
    /// Returns `Unwritable` if a name of the step is invalid.
    pub fn access(&self, outcome: AccessOutcome) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&AgentAccessDecided {
            format: AgentAccessDecided::FORMAT.to_owned(),
            time: self.time,
            tenant: self.tenant.clone(),
            user: "ada".parse().map_err(unwritable)?,
            correlation: self.correlation.parse().map_err(unwritable)?,
            step: self.step.parse().map_err(unwritable)?,
            access_action: "files.write".to_owned(),
            outcome,
            reason: (outcome != AccessOutcome::Allowed).then(|| "ACCESS_AP_REQUIRED".to_owned()),
            policy_snapshot: Digest::of(POLICY),
            case: Digest::of(CASE),
        })?;
        Ok(with_documents(EntryKind::AgentAccessDecided, body))
    }

    /// Returns an `AGENT_CONFIRMATION` entry for the step.
    ///
    /// # Errors
    /// Returns the errors of [`SampleStep::access`].
    pub fn answered(&self, outcome: ConfirmationOutcome) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&AgentConfirmation {
            format: AgentConfirmation::FORMAT.to_owned(),
            time: self.time,
            tenant: self.tenant.clone(),
            correlation: self.correlation.parse().map_err(unwritable)?,
            thread: "thread-1".parse().map_err(unwritable)?,
            step: self.step.parse().map_err(unwritable)?,
            outcome,
            lexicon: Digest::of(LEXICON),
            proof: Digest::of(PROOF),
            prompt: Digest::of(PROMPT),
            plan_fingerprint: Digest::of(b"plan"),
            language: "de".to_owned(),
            token: (outcome == ConfirmationOutcome::Confirmed).then(|| "ja".to_owned()),
            by: actor(),
            relayed_by: None,
        })?;
        Ok(with_documents(EntryKind::AgentConfirmation, body))
    }

    /// Returns an event of the step. A start refers to the step's access decision `ALLOWED` and, if the simulation is
    /// impactful, to its confirmation `CONFIRMED`.
    ///
    /// # Errors
    /// Returns the errors of [`SampleStep::access`].
    pub fn execution(
        &self,
        event: AgentEventKind,
        state: AgentState,
    ) -> Result<AgentExecution, CanonicalError> {
        let is_outcome = event == AgentEventKind::Outcome;
        let (starts, impacts) = (event.starts_effect(), event.starts_effect() && self.impactful);
        let access = leaf_hash(&self.access(AccessOutcome::Allowed)?.body);
        let confirmation = leaf_hash(&self.answered(ConfirmationOutcome::Confirmed)?.body);
        Ok(AgentExecution {
            format: AgentExecution::FORMAT.to_owned(),
            time: self.time,
            tenant: self.tenant.clone(),
            user: "ada".parse().map_err(unwritable)?,
            actor: actor(),
            correlation: self.correlation.parse().map_err(unwritable)?,
            thread: "thread-1".parse().map_err(unwritable)?,
            request: self.request,
            plan: self.plan.parse().map_err(unwritable)?,
            step: self.step.parse().map_err(unwritable)?,
            event,
            state,
            reason: (!starts && !is_outcome).then(|| "SAMPLE_REASON".to_owned()),
            key: Some(self.key),
            simulation: starts.then(|| "apply_changeset".parse().ok()).flatten(),
            impactful: self.impactful,
            simulation_entry: starts.then(|| Digest::of(b"simulation")),
            access: starts.then_some(access),
            catalog: None,
            confirmation: impacts.then_some(confirmation),
            rollback_plan: impacts.then(|| Digest::of(ROLLBACK)),
            refs: AgentRefs {
                bundle: Digest::of(BUNDLE),
                finder_packet: Digest::of(PACKET),
                policy_snapshot: Digest::of(POLICY),
                catalog_snapshot: Digest::of(CATALOG),
                artifact_fingerprints: starts.then(|| Digest::of(ARTIFACTS)),
                confirmation_proof: impacts.then(|| Digest::of(PROOF)),
                prompt: (state == AgentState::AwaitingConfirm).then(|| Digest::of(PROMPT)),
                host_assertion: None,
                outcome: is_outcome.then(|| Digest::of(OUTCOME)),
            },
            semantics: 1,
            decision: Digest::of(b"decision"),
            duration: is_outcome
                .then_some(AgentDuration { dispatch_us: self.dispatch_us, command_us: 0 }),
            engine: "actum 0.1.0".to_owned(),
        })
    }

    /// Returns an `AGENT_EXECUTION` entry with the event from [`SampleStep::execution`].
    ///
    /// # Errors
    /// Returns the errors of [`SampleStep::access`].
    pub fn event(
        &self,
        event: AgentEventKind,
        state: AgentState,
    ) -> Result<NewEntry, CanonicalError> {
        agent_execution(&self.execution(event, state)?)
    }

    /// Returns the entries of a complete start, which are the access decision, the confirmation and the start.
    ///
    /// # Errors
    /// Returns the errors of [`SampleStep::access`].
    pub fn started(&self) -> Result<Vec<NewEntry>, CanonicalError> {
        Ok(vec![
            self.access(AccessOutcome::Allowed)?,
            self.answered(ConfirmationOutcome::Confirmed)?,
            self.event(AgentEventKind::DispatchStarted, AgentState::Started)?,
        ])
    }

    /// Returns an `INTAKE_RESOLVED` entry. `escalated` is the hash of the entry that escalated the goal.
    ///
    /// # Errors
    /// Returns the errors of [`SampleStep::access`].
    pub fn resolved(&self, escalated: Digest) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&IntakeResolved {
            format: IntakeResolved::FORMAT.to_owned(),
            time: self.time,
            tenant: self.tenant.clone(),
            correlation: self.correlation.parse().map_err(unwritable)?,
            escalated,
            simulation: "apply_changeset".parse().ok(),
            reason: "the simulation exists now".to_owned(),
            by: actor(),
        })?;
        Ok(with_documents(EntryKind::IntakeResolved, body))
    }
}

/// Returns an `AGENT_EXECUTION` entry with the given fields.
///
/// # Errors
/// Returns the errors of canonical JSON.
pub fn agent_execution(execution: &AgentExecution) -> Result<NewEntry, CanonicalError> {
    Ok(with_documents(EntryKind::AgentExecution, canonical::to_vec(execution)?))
}

/// Returns an `SLO_WAIVED` entry, which waives the service-level gate for ten minutes.
///
/// # Errors
/// Returns the errors of canonical JSON, which cannot occur here.
pub fn slo_waived() -> Result<NewEntry, CanonicalError> {
    let payload = canonical::to_vec(&SloWaived {
        format: SloWaived::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        until: Timestamp::from_micros(1_795_000_600_000_000),
        reason: "a slow disk".to_owned(),
        by: actor(),
        isolation: Isolation::SameUser,
    })?;
    enveloped(EntryKind::SloWaived, SloWaived::PAYLOAD_TYPE, payload)
}

/// Builds an entry with the documents that its body refers to. A malformed body has no documents.
fn with_documents(kind: EntryKind, body: Vec<u8>) -> NewEntry {
    let named = EntryFacts::parse(kind, &body).map(|facts| facts.blobs).unwrap_or_default();
    let documents = DOCUMENTS.into_iter().filter(|bytes| named.contains(&Digest::of(bytes)));
    let blobs = documents.map(<[u8]>::to_vec).collect();
    NewEntry { kind, body, blobs }
}

fn unwritable(error: impl std::fmt::Display) -> CanonicalError {
    CanonicalError::Unwritable { message: error.to_string() }
}
