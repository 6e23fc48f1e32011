//! Dispatch envelope, the input of a `SimulationExecutor` (seed 004, section 2.2).

use alloc::string::String;
use alloc::vec::Vec;

use actum_core::{ActionName, Digest, canonical};
use actum_record::agent::{CorrelationId, StepId, UserId};
use actum_record::ledger::TenantId;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bundle::AgentBundle;
use crate::decide::{AgentDecision, AgentVerdict};
use crate::packet::FinderPacket;
use crate::seal::seal_packet;

/// Governed dispatch of a step. It can only be created by [`DispatchEnvelope::new`], from a decision to dispatch.
///
/// ```compile_fail
/// # use actum_agent::DispatchEnvelope;
/// // Other crates cannot construct an envelope, so they cannot invent a simulation id.
/// fn forge(envelope: DispatchEnvelope) -> DispatchEnvelope {
///     DispatchEnvelope { simulation_id: "rm_all".parse().unwrap(), ..envelope }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DispatchEnvelope {
    /// Id of the goal.
    pub correlation_id: CorrelationId,
    /// Tenant named in the goal.
    pub tenant_id: TenantId,
    /// User on whose behalf the step is executed.
    pub user_id: UserId,
    /// Id of the step.
    pub step_id: StepId,
    /// Simulation to execute, as selected by the packet.
    pub simulation_id: ActionName,
    /// Names and values of the required fields.
    pub required_fields: Map<String, Value>,
    /// Hash of the confirmation's ledger row, or `None` if no confirmation is required.
    pub confirmation_proof_ref: Option<Digest>,
    /// Action that the access policies decide on.
    pub access_action: String,
    /// Idempotency key of the step.
    pub idempotency_key: Digest,
    /// Digest of the policy pinned for the step.
    pub policy_snapshot_ref: Digest,
    /// Digest of the fingerprints of the engine, package, schemas and lexicon.
    pub artifact_fingerprint_bundle_ref: Digest,
    /// Digest of the rollback plan, if there is one.
    pub rollback_plan_ref: Option<Digest>,
}

impl DispatchEnvelope {
    /// Creates the envelope for a decision to dispatch. Returns `None` if the decision is a different one, or was not
    /// made on this bundle.
    ///
    /// `packet` must be the original packet, because the bundle contains only its sealed form. `confirmation` is the
    /// hash of the confirmation's ledger row.
    pub fn new(
        bundle: &AgentBundle,
        decision: &AgentDecision,
        packet: &Map<String, Value>,
        confirmation: Option<Digest>,
    ) -> Option<Self> {
        if seal_packet(packet).ok()? != bundle.packet {
            return None;
        }
        if decision.verdict != AgentVerdict::Dispatch || crate::decide(bundle) != *decision {
            return None;
        }
        let packet = FinderPacket::read(&canonical::ordered_to_vec(packet).ok()?).ok()?;
        let FinderPacket::Match(packet) = packet else { return None };
        let plan = decision.plan.as_ref()?;
        let step = plan.ordered_steps.first()?;
        if step.confirmation_required != confirmation.is_some() {
            return None;
        }
        Some(Self {
            correlation_id: bundle.goal.correlation.clone(),
            tenant_id: bundle.goal.tenant.clone(),
            user_id: bundle.goal.user.clone(),
            step_id: step.step_id.clone(),
            simulation_id: step.simulation_id.clone(),
            required_fields: packet.required_fields,
            confirmation_proof_ref: confirmation,
            access_action: step.access_action.clone(),
            idempotency_key: decision.key?,
            policy_snapshot_ref: plan.policy_snapshot_ref,
            artifact_fingerprint_bundle_ref: bundle.artifacts,
            rollback_plan_ref: step.rollback_plan_ref,
        })
    }

    /// Returns the canonical bytes of the envelope.
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the envelope has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }
}
