//! The decision: what the gates say of a change, as a pure function of a bundle and a policy that are
//! kept.
//!
//! Whoever has both comes to the same decision, to the byte: [`replay()`]. The fields of the grounds are part of it; the
//! sentences that are made from them are not.

mod bundle;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RiskTier};
use actum_record::receipt::{DecisionRecord, GateRecord};
use serde::Serialize;

use crate::ground::Grounds;

pub use crate::spelling::WORK_TREES;
pub use crate::verdict::{APPROVAL, Verdict};
pub use bundle::{Approved, Bundle, Case, Found, TriggerFound, Undone, WorkKind};

/// The version of the rules that lead from a bundle to a decision. Another version of Cedar, which may
/// read or judge an access policy in another way, is another version of the rules.
pub const DECISION_SEMANTICS: u32 = 7;

/// The purpose of the digest of bundle and decision.
const DIGEST_TAG: &str = "actum/decision/v7";

/// The name of the gate that judges what would be run.
pub const COMMANDS: &str = "commands";
/// The gate of protected paths.
pub const PROTECTED: &str = "protected";
/// The name of the gate that looks for credentials.
pub const CREDENTIALS: &str = "credentials";

/// Decision of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateDecision {
    /// Its name.
    pub gate: &'static str,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub ground: Grounds,
}

/// What all gates said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Decision {
    /// [`DECISION_SEMANTICS`] of the program that decided.
    pub semantics: u32,
    /// The strictest of what they said, where no person's approval stands against it.
    pub verdict: Verdict,
    /// The risk tier of the change.
    pub tier: RiskTier,
    /// What each said, in their order.
    pub gates: Vec<GateDecision>,
}

impl GateDecision {
    /// The decision as a receipt records it.
    ///
    /// # Errors
    /// [`CanonicalError`], which what [`decide`] gives never leads to.
    pub fn record(&self) -> Result<GateRecord, CanonicalError> {
        let Self { gate, verdict, ground } = self;
        Ok(GateRecord {
            gate: (*gate).to_owned(),
            verdict: verdict.as_str().to_owned(),
            ground: ground.record()?,
        })
    }
}

impl Decision {
    /// What is told first where the change may not be made as it is: the first gate that denies
    /// it or, where none does, the first that asks for a person.
    pub fn first_refusal(&self) -> Option<&GateDecision> {
        let refused = Some(self.verdict).filter(|&verdict| verdict > Verdict::Allow)?;
        self.gates.iter().find(|gate| gate.verdict == refused)
    }

    /// The canonical JSON of the decision.
    ///
    /// # Errors
    /// [`CanonicalError`], which what [`decide`] gives never leads to.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// The digest that binds the decision to the canonical bytes of its bundle.
    ///
    /// # Errors
    /// [`CanonicalError`], which what [`decide`] gives never leads to.
    pub fn digest(&self, bundle: &[u8]) -> Result<Digest, CanonicalError> {
        self.digest_with(Digest::of(bundle))
    }

    fn digest_with(&self, bundle: Digest) -> Result<Digest, CanonicalError> {
        Ok(Digest::tagged(DIGEST_TAG, &[bundle.as_bytes(), &self.to_vec()?]))
    }

    /// What a receipt records of the decision that was made from the bundle of these bytes.
    ///
    /// # Errors
    /// [`CanonicalError`], which what [`decide`] gives never leads to.
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
