//! Outcome of an action as the ledger keeps it: without output, which can contain file content (AEC-22).

use actum_action::{Check, ResultEnvelope, VerificationResult};
use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Status};
use actum_record::ledger::ActionEnded;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Outcome in the ledger (`simulation_outcome_ref`). It follows from the `ACTION_ENDED` of the action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptOutcome {
    /// [`KeptOutcome::FORMAT`].
    format: String,
    /// Result envelope without output and without the output of commands.
    pub(crate) outcome: Map<String, Value>,
    /// Digest of the whole outcome, as it was returned; `None` if the process was killed before.
    returned: Option<Digest>,
}

impl KeptOutcome {
    /// Value of `format`.
    const FORMAT: &str = "actum.agent-kept-outcome/1";

    /// Creates the kept outcome of an ended action. `returned` is the outcome as it is returned.
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

    /// Returns the canonical bytes.
    pub(crate) fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::ordered_to_vec(self)
    }
}

/// Returns the outcome of an action in the form of the core: the result envelope without the index of its entry.
pub(crate) fn returned(envelope: &ResultEnvelope) -> Result<Map<String, Value>, CanonicalError> {
    let mut envelope = envelope.clone();
    envelope.feedback.remove("entry");
    object(&envelope)
}

/// Creates the result envelope of an `ACTION_ENDED` entry.
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
