//! Confirmation prompt: its text for the user, and the binding of an answer (AEC-5).

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

/// Number of characters of a fingerprint that a user sees.
const PLAN_PREFIX_CHARS: usize = 8;

/// Prompt for one plan. An answer names it by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationPrompt {
    /// [`ConfirmationPrompt::FORMAT`].
    pub format: String,
    /// Goal.
    pub correlation: CorrelationId,
    /// Conversation of the answer.
    pub thread: ThreadId,
    /// Step.
    pub step: StepId,
    /// Fingerprint of the plan.
    pub plan_fingerprint: Digest,
    /// Simulation.
    pub simulation: ActionName,
    /// Required fields, sealed.
    pub required_fields: Map<String, Value>,
    /// Simulation that reverts the effect.
    pub rollback: Option<ActionName>,
    /// Workspace, with the settings of its host.
    pub place: Place,
    /// Least tier of the run.
    pub risk_level: RiskTier,
    /// Time.
    pub created: Timestamp,
    /// End of its validity.
    pub expires: Timestamp,
    /// Text for the user.
    pub text: String,
}

impl ConfirmationPrompt {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.confirmation-prompt/1";

    /// Creates the prompt for the plan of a decision; `None` if the decision has no plan.
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

    /// Returns the beginning of the plan's fingerprint, by which the user names the plan.
    pub fn plan_prefix(&self) -> String {
        self.plan_fingerprint.to_string().chars().take(PLAN_PREFIX_CHARS).collect()
    }

    /// Returns the canonical bytes, whose digest names the prompt.
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
