//! Decision of the gates about a change. It is a pure function of a bundle and a policy, both of which are
//! stored.
//!
//! Equal inputs yield identical bytes, and [`replay`](crate::replay) relies on that. The fields of the grounds are
//! part of the decision, but the sentences that describe them are not.

mod bundle;
mod lease;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RiskTier};
use actum_record::receipt::{DecisionRecord, GateRecord};
use serde::Serialize;

use crate::gate_name::GateName;
use crate::ground::Grounds;

pub use crate::ground::DECISION_SEMANTICS;
pub use crate::spelling::WORK_TREES;
pub use crate::verdict::Verdict;
pub use bundle::{
    Approved, Bundle, Case, Found, LeadsTo, LinkFound, TriggerFound, Undone, WorkKind,
};
pub use lease::{LeaseBlock, LeaseCase, lease_record};

/// Decision of a single gate about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateDecision {
    /// Name of the gate.
    pub gate: GateName,
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// Grounds on which the gate reached its verdict.
    pub ground: Grounds,
}

/// Combined decision of all gates about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Decision {
    /// [`DECISION_SEMANTICS`] of the program that made the decision.
    pub semantics: u32,
    /// Strictest verdict of all gates, unless a valid approval satisfies it.
    pub verdict: Verdict,
    /// Risk tier of the change.
    pub tier: RiskTier,
    /// Decision of each gate, in the order of [`GateName::ALL`].
    pub gates: Vec<GateDecision>,
}

impl GateDecision {
    /// Returns the gate's decision in the form that receipts record.
    ///
    /// # Errors
    /// Returns [`CanonicalError`], which never happens for a decision of [`decide`](crate::decide).
    pub fn record(&self) -> Result<GateRecord, CanonicalError> {
        let Self { gate, verdict, ground } = self;
        Ok(GateRecord {
            gate: gate.as_str().to_owned(),
            verdict: verdict.as_str().to_owned(),
            ground: ground.record()?,
        })
    }
}

impl Decision {
    /// Returns the gate decision to report first if the change is not allowed. It is the first gate that denies
    /// the change or, if none does, the first that requires an approval.
    pub fn first_refusal(&self) -> Option<&GateDecision> {
        let refused = Some(self.verdict).filter(|&verdict| verdict > Verdict::Allow)?;
        self.gates.iter().find(|gate| gate.verdict == refused)
    }

    /// Serialises the decision as canonical JSON.
    ///
    /// # Errors
    /// Returns [`CanonicalError`], which never happens for a decision of [`decide`](crate::decide).
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Returns the digest that binds the decision to the canonical bytes of its bundle.
    ///
    /// # Errors
    /// Returns [`CanonicalError`], which never happens for a decision of [`decide`](crate::decide).
    pub fn digest(&self, bundle: &[u8]) -> Result<Digest, CanonicalError> {
        self.digest_with(Digest::of(bundle))
    }

    fn digest_with(&self, bundle: Digest) -> Result<Digest, CanonicalError> {
        let purpose = format!("actum/decision/v{DECISION_SEMANTICS}");
        Ok(Digest::tagged(&purpose, &[bundle.as_bytes(), &self.to_vec()?]))
    }

    /// Returns the record of this decision for a receipt, given the bytes of the bundle that it is based on.
    ///
    /// # Errors
    /// Returns [`CanonicalError`], which never happens for a decision of [`decide`](crate::decide).
    pub fn record(&self, bundle: &[u8]) -> Result<DecisionRecord, CanonicalError> {
        let bundle = Digest::of(bundle);
        Ok(DecisionRecord {
            semantics: self.semantics,
            bundle,
            digest: self.digest_with(bundle)?,
            tier: self.tier,
            gates: self.gates.iter().map(GateDecision::record).collect::<Result<_, _>>()?,
        })
    }
}
