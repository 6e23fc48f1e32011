//! Dispatch envelope (seed 004, section 2.2): input of a `SimulationExecutor`.

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

/// Governed dispatch. Only [`DispatchEnvelope::new`] creates one, from a decision to dispatch.
///
/// ```compile_fail
/// # use actum_agent::DispatchEnvelope;
/// // Other crates cannot construct one, so no simulation id can be made up.
/// fn forge(envelope: DispatchEnvelope) -> DispatchEnvelope {
///     DispatchEnvelope { simulation_id: "rm_all".parse().unwrap(), ..envelope }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DispatchEnvelope {
    /// Goal.
    pub correlation_id: CorrelationId,
    /// Tenant.
    pub tenant_id: TenantId,
    /// User.
    pub user_id: UserId,
    /// Step.
    pub step_id: StepId,
    /// Simulation, from the packet.
    pub simulation_id: ActionName,
    /// Required fields, with their values.
    pub required_fields: Map<String, Value>,
    /// Hash of the row of the confirmation ledger; `None` if no confirmation is required.
    pub confirmation_proof_ref: Option<Digest>,
    /// Action that access policies judge.
    pub access_action: String,
    /// Idempotency key of the step.
    pub idempotency_key: Digest,
    /// Digest of the policy.
    pub policy_snapshot_ref: Digest,
    /// Digest of the fingerprints of engine, package, schemas and lexicon.
    pub artifact_fingerprint_bundle_ref: Digest,
    /// Digest of the rollback plan.
    pub rollback_plan_ref: Option<Digest>,
}

impl DispatchEnvelope {
    /// Creates the envelope of a decision to dispatch; `None` for any other decision, and for another bundle.
    ///
    /// `packet` is the original packet, since that of the bundle is sealed. `confirmation` is the hash of the
    /// confirmation.
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

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }
}
