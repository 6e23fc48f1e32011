//! Confirmation prompt: what a person is shown, and what the answer is bound to (AEC-5).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, Digest, RiskTier, Timestamp, canonical};
use actum_record::agent::{CorrelationId, StepId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bundle::{AgentBundle, Place};
use crate::decide::AgentDecision;
use crate::limits::PROMPT_SECONDS;
use crate::packet::FinderPacket;

/// Characters of the beginning of a fingerprint that a person is shown.
const PLAN_PREFIX_CHARS: usize = 8;

/// Prompt for one plan. An answer names it by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationPrompt {
    /// [`ConfirmationPrompt::FORMAT`].
    pub format: String,
    /// Goal.
    pub correlation: CorrelationId,
    /// Conversation in which it is answered.
    pub thread: ThreadId,
    /// Step.
    pub step: StepId,
    /// Fingerprint of the plan.
    pub plan_fingerprint: Digest,
    /// Simulation.
    pub simulation: ActionName,
    /// Its required fields, sealed.
    pub required_fields: Map<String, Value>,
    /// Simulation that takes the effect back.
    pub rollback: Option<ActionName>,
    /// Workspace, and what its host sets.
    pub place: Place,
    /// Least tier of the run.
    pub risk_level: RiskTier,
    /// Time.
    pub created: Timestamp,
    /// End of its validity.
    pub expires: Timestamp,
    /// What the person is shown.
    pub text: String,
}

impl ConfirmationPrompt {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.confirmation-prompt/1";

    /// Prompt for the plan of a decision; `None` where it has none.
    pub fn new(bundle: &AgentBundle, decision: &AgentDecision) -> Option<Self> {
        let packet = FinderPacket::read(&canonical::ordered_to_vec(&bundle.packet).ok()?).ok()?;
        let FinderPacket::Match(packet) = packet else { return None };
        let plan = decision.plan.as_ref()?;
        let step = plan.ordered_steps.first()?;
        let plan_fingerprint = decision.plan_fingerprint?;
        let rollback = packet.rollback_plan.map(|plan| plan.simulation_id);
        let expires = bundle.time.micros().saturating_add(PROMPT_SECONDS * 1_000_000);
        let mut prompt = Self {
            format: Self::FORMAT.to_string(),
            correlation: bundle.goal.correlation.clone(),
            thread: bundle.goal.thread.clone(),
            step: step.step_id.clone(),
            plan_fingerprint,
            simulation: step.simulation_id.clone(),
            required_fields: packet.required_fields,
            rollback,
            place: bundle.place.clone(),
            risk_level: plan.risk_level,
            created: bundle.time,
            expires: Timestamp::from_micros(expires),
            text: String::new(),
        };
        prompt.text = prompt.render();
        Some(prompt)
    }

    /// Beginning of the fingerprint of the plan, by which a person names it.
    pub fn plan_prefix(&self) -> String {
        self.plan_fingerprint.to_string().chars().take(PLAN_PREFIX_CHARS).collect()
    }

    /// Canonical bytes, of which the digest names the prompt.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }

    /// Renders the prompt: everything that the answer is bound to. External names and values are escaped.
    fn render(&self) -> String {
        let Self { simulation, required_fields, rollback, place, risk_level, .. } = self;
        let Place { root, allowed_dirs, checks } = place;
        let tier = risk_level.as_str();
        let root = Harmless(root.as_bytes());
        let mut text = format!("Confirm `{simulation}` ({tier}) in `{root}`:\n");
        for (name, value) in required_fields {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Object(sealed) => render_sealed(sealed),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                    value.to_string()
                }
            };
            let (name, value) = (Quoted(name.as_bytes()), Quoted(value.as_bytes()));
            text += &format!("  {name}: {value}\n");
        }
        for directory in allowed_dirs.iter().filter(|directory| *directory != ".") {
            text += &format!("It may write below `{}`.\n", Quoted(directory.as_bytes()));
        }
        for check in checks {
            text += &format!("`{}` checks it.\n", Quoted(check.as_bytes()));
        }
        text += &match rollback {
            Some(rollback) => format!("`{rollback}` takes it back.\n"),
            None => "It cannot be taken back.\n".to_string(),
        };
        text + &format!("Plan {}. Answer yes or no, in your language.", self.plan_prefix())
    }
}

/// Renders a sealed value as its size and a digest prefix.
fn render_sealed(sealed: &Map<String, Value>) -> String {
    let bytes = sealed.get("bytes").and_then(Value::as_u64).unwrap_or_default();
    let digest = sealed.get("sha256").and_then(Value::as_str).unwrap_or_default();
    format!("{bytes} bytes, sha256 {}", digest.get(..16).unwrap_or_default())
}
