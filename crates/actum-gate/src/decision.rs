//! Decision of the gates on a change, as a pure function of a bundle and a policy that are both kept.
//!
//! The same inputs give the same bytes: [`replay`](crate::replay). The fields of the grounds are part of the
//! decision; the sentences made from them are not.

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

/// Decision of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateDecision {
    /// Name of the gate.
    pub gate: GateName,
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// Grounds of the verdict.
    pub ground: Grounds,
}

/// Combined decision of all gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Decision {
    /// [`DECISION_SEMANTICS`] of the program that decided.
    pub semantics: u32,
    /// Strictest verdict of the gates, unless an approval lifts it.
    pub verdict: Verdict,
    /// Risk tier of the change.
    pub tier: RiskTier,
    /// Decision of each gate, in order.
    pub gates: Vec<GateDecision>,
}

impl GateDecision {
    /// Returns the decision of the gate as a receipt records it.
    ///
    /// # Errors
    /// [`CanonicalError`], never for a decision of [`decide`](crate::decide).
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
    /// Returns the decision to report first if the change is not allowed: that of the first gate that denies
    /// it, otherwise of the first that requires approval.
    pub fn first_refusal(&self) -> Option<&GateDecision> {
        let refused = Some(self.verdict).filter(|&verdict| verdict > Verdict::Allow)?;
        self.gates.iter().find(|gate| gate.verdict == refused)
    }

    /// Serialises the decision as canonical JSON.
    ///
    /// # Errors
    /// [`CanonicalError`], never for a decision of [`decide`](crate::decide).
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Returns the digest that binds the decision to the canonical bytes of its bundle.
    ///
    /// # Errors
    /// [`CanonicalError`], never for a decision of [`decide`](crate::decide).
    pub fn digest(&self, bundle: &[u8]) -> Result<Digest, CanonicalError> {
        self.digest_with(Digest::of(bundle))
    }

    fn digest_with(&self, bundle: Digest) -> Result<Digest, CanonicalError> {
        let purpose = format!("actum/decision/v{DECISION_SEMANTICS}");
        Ok(Digest::tagged(&purpose, &[bundle.as_bytes(), &self.to_vec()?]))
    }

    /// Returns the receipt's record of the decision made from the bundle with these bytes.
    ///
    /// # Errors
    /// [`CanonicalError`], never for a decision of [`decide`](crate::decide).
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
