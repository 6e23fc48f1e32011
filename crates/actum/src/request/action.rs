//! The action that a request is a part of.

use actum_action::PlanEnvelope;
use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RunId};
use actum_gate::CommandLine;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Facts of an action that each of its requests needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedAction {
    /// Proposed action.
    #[serde(deserialize_with = "envelope")]
    pub plan: PlanEnvelope,
    /// Progress of the action.
    pub phase: Phase,
    /// Commands that the action runs itself, before there is a change.
    pub commands: Vec<CommandLine>,
    /// Digest of the package that carries out the action, or `None` for a core action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Digest>,
    /// Output of the package, once it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Queued plan whose approval let the action begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<RunId>,
}

/// Progress of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The work is computed from the input.
    Computed,
    /// The commands or the package have not run yet, so there is no work.
    ToRun,
    /// The commands or the package have run, and the work is what they changed.
    HasRun,
}

impl RequestedAction {
    /// Computes the digest of the action. It covers the plan and the package, from which all else follows, but not
    /// the progress. An approval is bound to the actual changes as well.
    pub(super) fn digest(&self) -> Result<Digest, CanonicalError> {
        let action = canonical::to_vec(&(&self.plan, &self.package))?;
        Ok(Digest::tagged("actum/action/v1", &[&action]))
    }
}

/// Reads an envelope as strictly as the entry point did.
fn envelope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlanEnvelope, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let bytes = serde_json::to_vec(&value).map_err(D::Error::custom)?;
    PlanEnvelope::read(&bytes).map_err(D::Error::custom)
}
