//! Replay of a decision from the kept documents (AEC-11).

use actum_core::Digest;
use actum_record::receipt::DecisionRecord;

use super::decided;
use crate::access::AccessJudge;
use crate::decision::{Bundle, DECISION_SEMANTICS};
use crate::policy::Policy;

/// Reason why a decision could not be confirmed. The set is closed; in each case the decision must not be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayProblem {
    /// Bundle or policy of the decision is missing in the ledger. The reader of the ledger reports it.
    #[error("the ledger does not hold `{digest}`, which the decision was made from")]
    RefMissing {
        /// Digest of the missing document.
        digest: Digest,
    },
    /// Kept document differs from the one of the decision.
    #[error("what is kept as `{expected}` has the digest `{found}`: it was changed")]
    RefHashMismatch {
        /// Digest in the record.
        expected: Digest,
        /// Digest of the bytes.
        found: Digest,
    },
    /// Same bundle, but a different decision.
    #[error("{what} of the recorded decision is not what the same bundle leads to now")]
    DecisionMismatch {
        /// First difference.
        what: String,
    },
    /// Decision by other rules than those of this program, or by access policies that it cannot read.
    #[error("this program cannot replay the decision: {message}")]
    EngineUnsupported {
        /// Version of the rules, or the unknown part of the bundle.
        message: String,
    },
    /// Data beside the ledger's entries that does not follow from them. The reader of the ledger reports it.
    #[error("what the ledger keeps beside its entries is not what follows from them: {message}")]
    ProjectionDrift {
        /// Difference.
        message: String,
    },
}

impl ReplayProblem {
    /// Returns the permanent name of the problem.
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
/// program without Cedar passes [`NoAccess`](crate::NoAccess). Then a decision that used access policies is
/// reported as unsupported.
///
/// # Errors
/// [`ReplayProblem`]: `RefHashMismatch`, `EngineUnsupported`, `DecisionMismatch`.
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
            "it was made by version {other} of the rules, and this program knows version \
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
        return differs(&format!("the gate `{}`", gate.gate));
    }
    if recorded.gates.len() != expected.gates.len() {
        return differs("the number of gates");
    }
    if recorded.tier != expected.tier {
        return differs("the tier");
    }
    if recorded.digest != expected.digest {
        return differs("the digest");
    }
    Ok(())
}

fn check_digest(expected: Digest, bytes: &[u8]) -> Result<(), ReplayProblem> {
    match Digest::of(bytes) {
        found if found == expected => Ok(()),
        found => Err(ReplayProblem::RefHashMismatch { expected, found }),
    }
}
