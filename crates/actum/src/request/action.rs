//! The action that a request is a part of.

use actum_action::PlanEnvelope;
use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RunId};
use actum_gate::CommandLine;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// An action, as far as one of its requests has to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedAction {
    /// What was asked for.
    #[serde(deserialize_with = "envelope")]
    pub plan: PlanEnvelope,
    /// How far it is.
    pub phase: Phase,
    /// The commands that it runs itself, before there is a change.
    pub commands: Vec<CommandLine>,
    /// The digest of the package that does it; none of a core action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Digest>,
    /// What the package returned, where it has done its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The plan in the queue with which a person agreed that it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<RunId>,
}

/// How far an action is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The work follows from the input.
    Computed,
    /// Something has to run first, and nothing of it has: there is no work yet.
    ToRun,
    /// It has run, and the work is what it changed.
    HasRun,
}

impl RequestedAction {
    /// The digest of the action. All that is done for it follows from the plan and the package; how far it is, and what
    /// came of it so far, is no part of it. What would change an approval is bound to besides.
    pub(super) fn digest(&self) -> Result<Digest, CanonicalError> {
        let action = canonical::to_vec(&(&self.plan, &self.package))?;
        Ok(Digest::tagged("actum/action/v1", &[&action]))
    }
}

/// Reads an envelope as strictly as where it came in.
fn envelope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlanEnvelope, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let bytes = serde_json::to_vec(&value).map_err(D::Error::custom)?;
    PlanEnvelope::read(&bytes).map_err(D::Error::custom)
}
