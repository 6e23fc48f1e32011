//! Facts about the action that a request is a part of.

use actum_action::PlanEnvelope;
use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RunId};
use actum_gate::CommandLine;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Facts about an action that are part of each of its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedAction {
    /// Plan envelope with the proposed action.
    #[serde(deserialize_with = "envelope")]
    pub plan: PlanEnvelope,
    /// Current phase of the action.
    pub phase: Phase,
    /// Commands that the action itself runs before its change is known.
    pub commands: Vec<CommandLine>,
    /// Digest of the plugin package that carries out the action, or `None` for a core action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Digest>,
    /// Output of the plugin package, or `None` until the package has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Queued plan whose approval allowed the action to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<RunId>,
}

/// Phase of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The work is computed directly from the input, so nothing has to run.
    Computed,
    /// The commands or the package have not run yet, so the work is not known.
    ToRun,
    /// The commands or the package have run, and the work consists of their changes.
    HasRun,
}

impl RequestedAction {
    /// Computes the digest of the action. It covers the plan and the package, which determine everything else, but not the
    /// phase. An approval is also bound to the actual changes.
    pub(super) fn digest(&self) -> Result<Digest, CanonicalError> {
        let action = canonical::to_vec(&(&self.plan, &self.package))?;
        Ok(Digest::tagged("actum/action/v1", &[&action]))
    }
}

/// Deserializes a plan envelope with the same strict checks that the entry point applies.
fn envelope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlanEnvelope, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let bytes = serde_json::to_vec(&value).map_err(D::Error::custom)?;
    PlanEnvelope::read(&bytes).map_err(D::Error::custom)
}
