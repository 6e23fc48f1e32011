//! Outcome of an action as stored in the ledger. Output is left out, because it can contain file content (AEC-22).

use actum_action::{Check, ResultEnvelope, VerificationResult};
use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Status};
use actum_record::ledger::ActionEnded;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Outcome stored in the ledger (`simulation_outcome_ref`). It is derived from the `ACTION_ENDED` entry of the action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptOutcome {
    /// Format version, always [`KeptOutcome::FORMAT`].
    format: String,
    /// Result envelope without the output of the action and of its commands.
    pub(crate) outcome: Map<String, Value>,
    /// Digest of the complete outcome that was returned to the caller. `None` if the process was killed before it
    /// returned.
    returned: Option<Digest>,
}

impl KeptOutcome {
    /// Format version of this document.
    const FORMAT: &str = "actum.agent-kept-outcome/1";

    /// Creates the stored outcome of an action that has ended. `returned` is the complete outcome that the caller
    /// receives.
    pub(crate) fn new(
        ended: &ActionEnded,
        returned: Option<&Map<String, Value>>,
    ) -> Result<Self, CanonicalError> {
        let returned = returned.map(canonical::ordered_to_vec).transpose()?;
        Ok(Self {
            format: Self::FORMAT.to_owned(),
            outcome: object(&envelope(ended))?,
            returned: returned.map(|bytes| Digest::of(&bytes)),
        })
    }

    /// Returns the canonical encoding.
    pub(crate) fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::ordered_to_vec(self)
    }
}

/// Converts the result envelope of an action to the outcome that the core returns. The index of the action's ledger
/// entry is left out.
pub(crate) fn returned(envelope: &ResultEnvelope) -> Result<Map<String, Value>, CanonicalError> {
    let mut envelope = envelope.clone();
    envelope.feedback.remove("entry");
    object(&envelope)
}

/// Creates a result envelope from an `ACTION_ENDED` entry.
fn envelope(ended: &ActionEnded) -> ResultEnvelope {
    let checks = ended.checks.iter().map(|check| Check {
        exit_code: check.exit_code,
        duration_ms: check.duration_ms,
        ..Check::new(check.name.clone(), check.ok)
    });
    let checks: Vec<Check> = checks.collect();
    let ok = ended.status == Status::Succeeded && checks.iter().all(|check| check.ok);
    let feedback = [
        ("id", Some(json!(ended.id))),
        ("durationMs", Some(json!(ended.duration_ms))),
        ("reason", ended.ground.as_ref().map(|reason| json!(reason))),
        ("message", ended.message.as_ref().map(|message| json!(message))),
        ("run", ended.run.map(|run| json!(run))),
        ("plan", ended.queued.map(|plan| json!(plan))),
        ("approvedAs", ended.approved.map(|plan| json!(plan))),
    ];
    let feedback = feedback.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    ResultEnvelope {
        verification: VerificationResult { ok, checks },
        repair: ended.repair,
        rollback: ended.rollback,
        feedback: feedback.collect(),
        ..ResultEnvelope::new(ended.status, ended.action_type.clone(), ended.tier)
    }
}

fn object(envelope: &ResultEnvelope) -> Result<Map<String, Value>, CanonicalError> {
    match canonical::read(&canonical::to_vec(envelope)?)? {
        Value::Object(outcome) => Ok(outcome),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Ok(Map::new())
        }
    }
}
