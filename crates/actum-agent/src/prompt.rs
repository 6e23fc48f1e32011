//! Confirmation prompt, with its text for the user and the facts that an answer is bound to (AEC-5).

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

/// Number of characters of a plan fingerprint that the user sees.
const PLAN_PREFIX_CHARS: usize = 8;

/// Confirmation prompt for one plan. Answers refer to a prompt by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationPrompt {
    /// Format version, always [`ConfirmationPrompt::FORMAT`].
    pub format: String,
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Conversation in which the answer must be given.
    pub thread: ThreadId,
    /// Id of the step.
    pub step: StepId,
    /// Fingerprint of the plan.
    pub plan_fingerprint: Digest,
    /// Name of the simulation that the user confirms.
    pub simulation: ActionName,
    /// Required fields of the simulation, in sealed form.
    pub required_fields: Map<String, Value>,
    /// Name of the simulation that rolls back the effect, if there is one.
    pub rollback: Option<ActionName>,
    /// Workspace and the restrictions that apply to the dispatch.
    pub place: Place,
    /// Minimum risk tier of the run.
    pub risk_level: RiskTier,
    /// Time at which the prompt was created.
    pub created: Timestamp,
    /// Time at which the prompt expires.
    pub expires: Timestamp,
    /// Text shown to the user.
    pub text: String,
}

impl ConfirmationPrompt {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.confirmation-prompt/1";

    /// Creates the prompt for the plan of a decision. Returns `None` if the decision has no plan.
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

    /// Returns the start of the plan's fingerprint, which users refer to the plan by.
    pub fn plan_prefix(&self) -> String {
        self.plan_fingerprint.to_string().chars().take(PLAN_PREFIX_CHARS).collect()
    }

    /// Returns the canonical bytes of the prompt, whose digest identifies it.
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the prompt has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }

    /// Renders the text of the prompt, which shows everything that an answer is bound to. Escapes names and values that
    /// come from outside.
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
            text += &format!("It may write files below `{}`.\n", Quoted(directory.as_bytes()));
        }
        for check in checks {
            text += &format!("Its result is checked with `{}`.\n", Quoted(check.as_bytes()));
        }
        text += &match rollback {
            Some(rollback) => format!("`{rollback}` can undo it.\n"),
            None => "It cannot be undone.\n".to_string(),
        };
        text + &format!("Plan {}. Answer yes or no, in your language.", self.plan_prefix())
    }
}

/// Renders a sealed value as its size and the start of its digest.
fn render_sealed(sealed: &Map<String, Value>) -> String {
    let bytes = sealed.get("bytes").and_then(Value::as_u64).unwrap_or_default();
    let digest = sealed.get("sha256").and_then(Value::as_str).unwrap_or_default();
    format!("{bytes} bytes, sha256 {}", digest.get(..16).unwrap_or_default())
}
