//! Execution plan of a goal and its steps, `AgentExecutionPlan` and `AgentStep`, with the computation of idempotency
//! keys (seed 004, sections 4.2, 4.3 and 9).

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

/// Execution plan of a goal. Only [`decide`](crate::decide::decide) creates one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentExecutionPlan {
    /// Id of the plan, derived from the goal and its packet.
    pub plan_id: AgentPlanId,
    /// Digest of the Finder packet that the plan was made from.
    pub finder_packet_ref: Digest,
    /// Steps of the plan. Phase 1 supports exactly one.
    pub ordered_steps: Vec<AgentStep>,
    /// Steps that must be confirmed before they are dispatched.
    pub required_confirmations: Vec<StepId>,
    /// Minimum risk tier of the run.
    pub risk_level: RiskTier,
    /// Actions that the access policies decide on.
    pub access_actions_required: Vec<String>,
    /// Digest of the policy that the plan was made under.
    pub policy_snapshot_ref: Digest,
    /// Time at which the decision was made.
    pub created_at: Timestamp,
}

/// Step of a plan, which executes a single simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentStep {
    /// Id of the step.
    pub step_id: StepId,
    /// Name of the simulation, as selected by the packet.
    pub simulation_id: ActionName,
    /// Names of the required fields, sorted.
    pub required_fields: Vec<String>,
    /// Digest of the names and values of the required fields.
    pub required_fields_fingerprint: Digest,
    /// Digest of the policy that is pinned for the step.
    pub policy_snapshot_version: Digest,
    /// Whether the step must be confirmed before it is dispatched.
    pub confirmation_required: bool,
    /// Action that the access policies decide on.
    pub access_action: String,
    /// Description of how the idempotency key is computed.
    pub idempotency_key_recipe: String,
    /// Policy for retrying the step.
    pub retry_policy: RetryPolicy,
    /// Digest of the rollback plan, if there is one.
    pub rollback_plan_ref: Option<Digest>,
}

/// Retry policy of a step. A step is retried only on request, and only if no part of its effect remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Maximum number of times that the effect of the step may be started.
    pub starts_max: u32,
}

/// Error returned if bytes are not a valid plan of phase 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The document does not have the members of a plan.
    #[error("the execution plan cannot be used: {0}")]
    Document(#[source] Diagnostic),
    /// The plan does not have exactly one step, as phase 1 requires (AEC-18).
    #[error("the execution plan has {steps} steps, but only plans with one step are supported")]
    Steps {
        /// Number of steps in the plan.
        steps: usize,
    },
}

/// Description of how an idempotency key is computed, as it appears in each step.
pub const KEY_RECIPE: &str = "sha256(\"actum/agent-step/1\", correlation_id, step_id, simulation_id, required_fields_fingerprint, policy_snapshot_version), each part after its length";

/// Id of the only step of a plan in phase 1.
const STEP: &str = "step-1";

pub(crate) static PLAN: ObjectSchema = ObjectSchema {
    name: "an agent execution plan",
    about: "Execution plan of a goal. In phase 1, a plan must have exactly one step.",
    others: Others::Refused,
    members: &[
        Member::required("plan_id", ID, "Id of the plan, derived from the goal and its packet."),
        Member::required(
            "finder_packet_ref",
            DIGEST,
            "SHA-256 digest of the Finder packet that the plan was made from.",
        ),
        Member::required(
            "ordered_steps",
            Form::Objects { of: &STEP_SHAPE, count_max: 64 },
            "Steps of the plan, in the order of their execution.",
        ),
        Member::required(
            "required_confirmations",
            Form::Texts { of: Text::filled(128, actum_document::Characters::Id), count_max: 64 },
            "Steps that the user must confirm.",
        ),
        Member::required(
            "risk_level",
            Form::Word(&["R0", "R1", "R2", "R3", "R4"]),
            "Minimum risk tier of the run.",
        ),
        Member::required(
            "access_actions_required",
            Form::Texts {
                of: Text::filled(128, actum_document::Characters::OneLine),
                count_max: 64,
            },
            "Actions that the access policies decide on.",
        ),
        Member::required(
            "policy_snapshot_ref",
            DIGEST,
            "SHA-256 digest of the policy that the plan was made under.",
        ),
        Member::required(
            "created_at",
            Form::Text(Text::filled(32, actum_document::Characters::Time)),
            "Time at which the decision was made.",
        ),
    ],
};

pub(crate) static STEP_SHAPE: ObjectSchema = ObjectSchema {
    name: "an agent step",
    about: "Step of a plan, which executes a single simulation.",
    others: Others::Refused,
    members: &[
        Member::required("step_id", ID, "Id of the step."),
        Member::required(
            "simulation_id",
            SIMULATION,
            "Name of the simulation, as selected by the packet.",
        ),
        Member::required(
            "required_fields",
            Form::Texts { of: Text::any(256), count_max: 1024 },
            "Names of the required fields, sorted.",
        ),
        Member::required(
            "required_fields_fingerprint",
            DIGEST,
            "SHA-256 digest of the names and values of the required fields.",
        ),
        Member::required(
            "policy_snapshot_version",
            DIGEST,
            "SHA-256 digest of the policy that is pinned for the step.",
        ),
        Member::required(
            "confirmation_required",
            Form::Flag,
            "Whether the user must confirm the step before it is dispatched.",
        ),
        Member::required(
            "access_action",
            ACCESS_ACTION,
            "Action that the access policies decide on.",
        ),
        Member::required(
            "idempotency_key_recipe",
            Form::Text(Text::filled(512, actum_document::Characters::OneLine)),
            "Description of how the idempotency key is computed.",
        ),
        Member::required(
            "retry_policy",
            Form::Object(&RETRY),
            "Policy for retrying the step. A step is retried only on request, and only if no part of its effect remains.",
        ),
        Member::required(
            "rollback_plan_ref",
            DIGEST_OR_NULL,
            "SHA-256 digest of the rollback plan, or `null` if there is none.",
        ),
    ],
};

static RETRY: ObjectSchema = ObjectSchema {
    name: "a retry policy",
    about: "Policy for retrying a step.",
    others: Others::Refused,
    members: &[Member::required(
        "starts_max",
        Form::Whole { min: 1, max: 100 },
        "Maximum number of times that the effect of the step may be started.",
    )],
};

impl AgentExecutionPlan {
    /// Parses and validates a plan.
    ///
    /// # Errors
    /// Returns a [`PlanError`] if the document is invalid or the plan does not have exactly one step.
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
    /// Retry policy of all steps in phase 1.
    pub(crate) const PHASE_1: Self = Self { starts_max: STARTS_MAX };
}

/// Returns the id of the only step in phase 1. Never returns `None`, because the text is a valid id.
pub(crate) fn first_step() -> Option<StepId> {
    STEP.parse().ok()
}

/// Returns the id of the plan for a packet, derived from the goal and the digest of the packet.
pub fn plan_id(correlation: &CorrelationId, finder_packet: Digest) -> Option<AgentPlanId> {
    let parts: [&[u8]; 2] = [correlation.as_str().as_bytes(), finder_packet.as_bytes()];
    let digest = Digest::tagged("actum/agent-plan-id/1", &parts).to_string();
    format!("plan-{}", digest.get(..32).unwrap_or_default()).parse().ok()
}

/// Computes the fingerprint of the required fields from the canonical JSON of their names and values.
///
/// # Errors
/// Returns a [`canonical::CanonicalError`] if the fields have no canonical form.
pub fn fields_fingerprint(
    fields: &Map<String, Value>,
) -> Result<Digest, canonical::CanonicalError> {
    Ok(Digest::tagged("actum/agent-fields/1", &[&canonical::to_vec(fields)?]))
}

/// Inputs for computing an idempotency key (AEC-7).
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'k> {
    /// Id of the goal.
    pub correlation: &'k CorrelationId,
    /// Id of the step.
    pub step: &'k StepId,
    /// Name of the simulation.
    pub simulation: &'k ActionName,
    /// Fingerprint of the required fields, as computed by [`fields_fingerprint`].
    pub fields: Digest,
    /// Digest of the policy that is pinned for the step.
    pub policy_snapshot: Digest,
}

impl KeyParts<'_> {
    /// Computes the idempotency key of the step. The hash covers a tag, and each part prefixed with its length.
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
