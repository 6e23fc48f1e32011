//! Replays decisions from the bundle and policy that the ledger keeps (AEC-11).

use actum_core::Digest;
use actum_record::receipt::DecisionRecord;

use super::decided;
use crate::access::AccessJudge;
use crate::decision::{Bundle, DECISION_SEMANTICS};
use crate::policy::Policy;

/// Reason why a recorded decision could not be confirmed. The set is closed, and a decision with any of these
/// problems must not be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayProblem {
    /// The bundle or policy of the decision is missing from the ledger. Reported by the code that reads the
    /// ledger.
    #[error("the ledger has no document `{digest}`, on which the decision is based")]
    RefMissing {
        /// Digest of the missing document.
        digest: Digest,
    },
    /// A stored document differs from the one that the decision was based on.
    #[error("the document stored as `{expected}` was changed: its digest is `{found}`")]
    RefHashMismatch {
        /// Digest of the document in the record.
        expected: Digest,
        /// Digest of the stored bytes.
        found: Digest,
    },
    /// Replaying the bundle leads to a different decision.
    #[error("the recorded decision does not match its inputs: {what}")]
    DecisionMismatch {
        /// Description of the first difference.
        what: String,
    },
    /// The decision was made with an unsupported version of the rules, or with access policies that this
    /// program cannot evaluate.
    #[error("this version of actum cannot replay the decision: {message}")]
    EngineUnsupported {
        /// Version of the rules, or the part of the bundle or policy that is not supported.
        message: String,
    },
    /// Data stored alongside the ledger entries does not match them. Reported by the code that reads the
    /// ledger.
    #[error("the data stored alongside the ledger entries does not match them: {message}")]
    ProjectionDrift {
        /// Description of the difference.
        message: String,
    },
}

impl ReplayProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::RefMissing { .. } => "REPLAY_REF_MISSING",
            Self::RefHashMismatch { .. } => "REPLAY_REF_HASH_MISMATCH",
            Self::DecisionMismatch { .. } => "REPLAY_DECISION_MISMATCH",
            Self::EngineUnsupported { .. } => "REPLAY_ENGINE_UNSUPPORTED",
            Self::ProjectionDrift { .. } => "REPLAY_PROJECTION_DRIFT",
        }
    }
}

/// Replays a decision from the bytes of its bundle and policy, and compares the result with the record. A
/// program without Cedar passes [`NoAccess`](crate::NoAccess), so a decision that used access policies is
/// reported as unsupported.
///
/// # Errors
/// Returns `RefHashMismatch`, `EngineUnsupported` or `DecisionMismatch`.
pub fn replay(
    bundle: &[u8],
    policy: &[u8],
    expected: &DecisionRecord,
    access: &dyn AccessJudge,
) -> Result<(), ReplayProblem> {
    check_digest(expected.bundle, bundle)?;
    let unsupported = |message: String| ReplayProblem::EngineUnsupported { message };
    let must_be_known = |semantics| match semantics {
        DECISION_SEMANTICS => Ok(()),
        other => Err(unsupported(format!(
            "it was made with version {other} of the rules, but this program only supports version \
             {DECISION_SEMANTICS}"
        ))),
    };
    must_be_known(expected.semantics)?;
    let read = Bundle::read(bundle).map_err(|error| unsupported(error.to_string()))?;
    must_be_known(read.semantics())?;
    check_digest(read.policy(), policy)?;
    let policy = Policy::read(policy).map_err(|error| unsupported(error.to_string()))?;
    let (decision, unknown) = decided(&read, &policy, access);
    if let Some(unknown) = unknown {
        return Err(unsupported(unknown.to_string()));
    }
    let recorded = decision.record(bundle).map_err(|error| unsupported(error.to_string()))?;
    let differs = |what: &str| Err(ReplayProblem::DecisionMismatch { what: what.to_owned() });
    let mut gates = recorded.gates.iter().zip(&expected.gates);
    if let Some((gate, _)) = gates.find(|(now, then)| now != then) {
        return differs(&format!("the gate `{}` decides differently", gate.gate));
    }
    if recorded.gates.len() != expected.gates.len() {
        return differs("the number of gates differs");
    }
    if recorded.tier != expected.tier {
        return differs("the tier differs");
    }
    if recorded.digest != expected.digest {
        return differs("the digest differs");
    }
    Ok(())
}

fn check_digest(expected: Digest, bytes: &[u8]) -> Result<(), ReplayProblem> {
    match Digest::of(bytes) {
        found if found == expected => Ok(()),
        found => Err(ReplayProblem::RefHashMismatch { expected, found }),
    }
}
