//! `AgentExecutionPlan`, `AgentStep` and the keys of a step (seed 004, sections 4.2, 4.3 and 9).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use actum_core::{ActionName, Digest, RiskTier, Timestamp, canonical};
use actum_document::{Diagnostic, Form, Member, ObjectSchema, Others, Text, reader};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{GOAL_BYTES_MAX, STARTS_MAX, STEPS_MAX};
use crate::shape::{ACCESS_ACTION, DIGEST, DIGEST_OR_NULL, ID, SIMULATION};

/// Plan of a goal. Only [`decide`](crate::decide::decide) creates one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentExecutionPlan {
    /// Name, from the goal and its packet.
    pub plan_id: AgentPlanId,
    /// Digest of the packet.
    pub finder_packet_ref: Digest,
    /// Steps; one in phase 1.
    pub ordered_steps: Vec<AgentStep>,
    /// Steps that need a confirmation.
    pub required_confirmations: Vec<StepId>,
    /// Least tier of its run.
    pub risk_level: RiskTier,
    /// Actions that access policies judge.
    pub access_actions_required: Vec<String>,
    /// Digest of the policy.
    pub policy_snapshot_ref: Digest,
    /// Time of the decision.
    pub created_at: Timestamp,
}

/// Step of a plan: one simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentStep {
    /// Name.
    pub step_id: StepId,
    /// Simulation, from the packet.
    pub simulation_id: ActionName,
    /// Names of the required fields, sorted.
    pub required_fields: Vec<String>,
    /// Digest of names and values.
    pub required_fields_fingerprint: Digest,
    /// Digest of the policy pinned for the step.
    pub policy_snapshot_version: Digest,
    /// The step needs a confirmation.
    pub confirmation_required: bool,
    /// Action that access policies judge.
    pub access_action: String,
    /// Recipe of the idempotency key.
    pub idempotency_key_recipe: String,
    /// Retry policy.
    pub retry_policy: RetryPolicy,
    /// Digest of the rollback plan.
    pub rollback_plan_ref: Option<Digest>,
}

/// Retry policy of a step: only on request, and only if no part of the step is in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Most starts of its effect.
    pub starts_max: u32,
}

/// Error of bytes that are not a plan of phase 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The members are not those of a plan.
    #[error("the execution plan cannot be used: {0}")]
    Document(#[source] Diagnostic),
    /// The plan has no step, or several, which phase 1 refuses (AEC-18).
    #[error("the execution plan has {steps} steps, and one at a time is supported")]
    Steps {
        /// Number of steps.
        steps: usize,
    },
}

/// Recipe of an idempotency key, as steps state it.
pub const KEY_RECIPE: &str = "sha256(\"actum/agent-step/1\", correlation_id, step_id, simulation_id, required_fields_fingerprint, policy_snapshot_version), each part after its length";

/// Only step of phase 1.
const STEP: &str = "step-1";

pub(crate) static PLAN: ObjectSchema = ObjectSchema {
    name: "an agent execution plan",
    about: "What the core would dispatch. Phase 1 has one step; a plan with more is refused.",
    others: Others::Refused,
    members: &[
        Member::required("plan_id", ID, "The plan, named after goal and packet."),
        Member::required("finder_packet_ref", DIGEST, "SHA-256 of the packet."),
        Member::required(
            "ordered_steps",
            Form::Objects { of: &STEP_SHAPE, count_max: 64 },
            "The steps, in their order.",
        ),
        Member::required(
            "required_confirmations",
            Form::Texts { of: Text::filled(128, actum_document::Characters::Id), count_max: 64 },
            "The steps that a person has to confirm.",
        ),
        Member::required(
            "risk_level",
            Form::Word(&["R0", "R1", "R2", "R3", "R4"]),
            "The least tier of its run.",
        ),
        Member::required(
            "access_actions_required",
            Form::Texts {
                of: Text::filled(128, actum_document::Characters::OneLine),
                count_max: 64,
            },
            "The actions that access policies judge.",
        ),
        Member::required("policy_snapshot_ref", DIGEST, "SHA-256 of the policy in force."),
        Member::required(
            "created_at",
            Form::Text(Text::filled(32, actum_document::Characters::Time)),
            "The time.",
        ),
    ],
};

pub(crate) static STEP_SHAPE: ObjectSchema = ObjectSchema {
    name: "an agent step",
    about: "One simulation of a plan.",
    others: Others::Refused,
    members: &[
        Member::required("step_id", ID, "The step."),
        Member::required("simulation_id", SIMULATION, "The simulation, from the packet."),
        Member::required(
            "required_fields",
            Form::Texts { of: Text::any(256), count_max: 1024 },
            "The names of the required fields, sorted.",
        ),
        Member::required(
            "required_fields_fingerprint",
            DIGEST,
            "SHA-256 of their names and values.",
        ),
        Member::required(
            "policy_snapshot_version",
            DIGEST,
            "SHA-256 of the policy that is pinned for the step.",
        ),
        Member::required("confirmation_required", Form::Flag, "A person has to confirm it."),
        Member::required("access_action", ACCESS_ACTION, "The action that access policies judge."),
        Member::required(
            "idempotency_key_recipe",
            Form::Text(Text::filled(512, actum_document::Characters::OneLine)),
            "How the idempotency key is computed.",
        ),
        Member::required(
            "retry_policy",
            Form::Object(&RETRY),
            "When it is tried again: on request, where nothing of it is in effect.",
        ),
        Member::required(
            "rollback_plan_ref",
            DIGEST_OR_NULL,
            "SHA-256 of the rollback plan; `null` where there is nothing to take back.",
        ),
    ],
};

static RETRY: ObjectSchema = ObjectSchema {
    name: "a retry policy",
    about: "When a step is tried again.",
    others: Others::Refused,
    members: &[Member::required(
        "starts_max",
        Form::Whole { min: 1, max: 100 },
        "Most starts of its effect.",
    )],
};

impl AgentExecutionPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`PlanError`], also for a plan that does not have exactly one step.
    pub fn read(bytes: &[u8]) -> Result<Self, PlanError> {
        let plan: Self =
            reader::read_as(bytes, GOAL_BYTES_MAX, &PLAN).map_err(PlanError::Document)?;
        match plan.ordered_steps.len() {
            STEPS_MAX => Ok(plan),
            steps => Err(PlanError::Steps { steps }),
        }
    }
}

impl RetryPolicy {
    /// Policy of phase 1.
    pub(crate) const PHASE_1: Self = Self { starts_max: STARTS_MAX };
}

/// Returns the step of phase 1.
///
/// # Errors
/// Never: the text is a valid id.
pub(crate) fn first_step() -> Option<StepId> {
    STEP.parse().ok()
}

/// Returns the name of the plan for a packet of a goal.
pub fn plan_id(correlation: &CorrelationId, finder_packet: Digest) -> Option<AgentPlanId> {
    let parts: [&[u8]; 2] = [correlation.as_str().as_bytes(), finder_packet.as_bytes()];
    let digest = Digest::tagged("actum/agent-plan-id/1", &parts).to_string();
    format!("plan-{}", digest.get(..32).unwrap_or_default()).parse().ok()
}

/// Computes the fingerprint of required fields, from their canonical JSON with names and values.
///
/// # Errors
/// [`canonical::CanonicalError`]
pub fn fields_fingerprint(
    fields: &Map<String, Value>,
) -> Result<Digest, canonical::CanonicalError> {
    Ok(Digest::tagged("actum/agent-fields/1", &[&canonical::to_vec(fields)?]))
}

/// Parts of an idempotency key (AEC-7).
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'k> {
    /// Goal.
    pub correlation: &'k CorrelationId,
    /// Step.
    pub step: &'k StepId,
    /// Simulation.
    pub simulation: &'k ActionName,
    /// [`fields_fingerprint`].
    pub fields: Digest,
    /// Policy pinned for the step.
    pub policy_snapshot: Digest,
}

impl KeyParts<'_> {
    /// Computes the idempotency key of the step. Each part is hashed after its length, under a tag of its own.
    pub fn key(&self) -> Digest {
        let Self { correlation, step, simulation, fields, policy_snapshot } = self;
        Digest::tagged(
            "actum/agent-step/1",
            &[
                correlation.as_str().as_bytes(),
                step.as_str().as_bytes(),
                simulation.as_str().as_bytes(),
                fields.as_bytes(),
                policy_snapshot.as_bytes(),
            ],
        )
    }
}
