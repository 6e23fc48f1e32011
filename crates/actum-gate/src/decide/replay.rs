//! Deciding once more from what was kept, and comparing (AEC-11).

use actum_core::Digest;
use actum_record::receipt::DecisionRecord;

use super::decided;
use crate::access::AccessJudge;
use crate::decision::{Bundle, DECISION_SEMANTICS};
use crate::policy::Policy;

/// Why a decision could not be confirmed. The set is closed; whatever it is, nothing may be built
/// on the decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayProblem {
    /// What the decision was made from is not in the ledger. (The ledger reports it.)
    #[error("the ledger does not hold `{digest}`, which the decision was made from")]
    RefMissing {
        /// Its digest.
        digest: Digest,
    },
    /// What is kept is not what the decision was made from.
    #[error("what is kept as `{expected}` has the digest `{found}`: it was changed")]
    RefHashMismatch {
        /// The digest in the record.
        expected: Digest,
        /// The one of the bytes.
        found: Digest,
    },
    /// The same bundle leads to another decision.
    #[error("{what} of the recorded decision is not what the same bundle leads to now")]
    DecisionMismatch {
        /// What differs first.
        what: String,
    },
    /// Other rules led to the decision than those of this program, or access policies that it
    /// cannot read.
    #[error("this program cannot make the decision again: {message}")]
    EngineUnsupported {
        /// Which rules, or what of the bundle it does not know.
        message: String,
    },
    /// What the ledger keeps beside its entries is not what follows from them. (Told by whoever
    /// reads the ledger.)
    #[error("what the ledger keeps beside its entries is not what follows from them: {message}")]
    ProjectionDrift {
        /// What differs.
        message: String,
    },
}

impl ReplayProblem {
    /// The permanent name.
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

/// Makes a decision again from the bytes of its bundle and of the policy, and compares it with what was
/// recorded. Who does not know Cedar passes [`NoAccess`](crate::NoAccess), and hears of a decision in which
/// access policies were asked that it is not supported.
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
