//! The decision: what the gates say of a change, as a pure function of a bundle that is kept.
//!
//! Whoever has the bundle comes to the same decision, to the byte: [`replay()`]. So the words of the
//! grounds are part of it, and other words are another version of the rules.

mod budget;
mod bundle;
mod replay;
mod scope;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_core::receipt::{DecisionRecord, GateRecord};
use serde::{Deserialize, Serialize};

pub use bundle::{Bundle, BundleError};
pub use replay::{ReplayProblem, replay};

/// The version of the rules that lead from a bundle to a decision.
pub const DECISION_SEMANTICS: u32 = 1;

/// The purpose of the digest of bundle and decision.
const DIGEST_TAG: &str = "actum/decision/v1";

/// What a gate says, and all of them together: the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// It may be done if a person agrees.
    NeedsApproval,
    /// It may not be done.
    Deny,
}

impl Verdict {
    /// The word for it in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::NeedsApproval => "needs_approval",
            Self::Deny => "deny",
        }
    }
}

/// What all gates said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use]
pub struct Decision {
    /// [`DECISION_SEMANTICS`] of the program that decided.
    pub semantics: u32,
    /// The strictest of what they said.
    pub verdict: Verdict,
    /// What each said, in their order.
    pub gates: Vec<GateRecord>,
}

/// What one gate says, and why.
struct Said {
    verdict: Verdict,
    ground: String,
}

/// A gate: a function of the bundle and of nothing else.
type Gate = fn(&Bundle) -> Said;

/// The gates in their order; all are asked, whatever one says.
const GATES: [(&str, Gate); 2] = [("scope", scope::judge), ("budget", budget::judge)];

/// Decides whether a change may be made visible (AEC-11).
pub fn decide(bundle: &Bundle) -> Decision {
    let mut verdict = Verdict::Allow;
    let gates = GATES.iter().map(|(gate, judge)| {
        let said = judge(bundle);
        verdict = verdict.max(said.verdict);
        let word = said.verdict.as_str().to_owned();
        GateRecord { gate: (*gate).to_owned(), verdict: word, ground: said.ground }
    });
    let gates = gates.collect();
    Decision { semantics: DECISION_SEMANTICS, verdict, gates }
}

impl Decision {
    /// What is told first where the change may not be made as it is: the first gate that denies
    /// it or, where none does, the first that asks for a person.
    pub fn first_refusal(&self) -> Option<&GateRecord> {
        let refused = Some(self.verdict).filter(|&verdict| verdict > Verdict::Allow)?;
        self.gates.iter().find(|gate| gate.verdict == refused.as_str())
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
        Ok(Digest::tagged(DIGEST_TAG, &[bundle, &self.to_vec()?]))
    }

    /// What a receipt records of the decision that was made from the bundle of these bytes.
    ///
    /// # Errors
    /// [`CanonicalError`], which what [`decide`] gives never leads to.
    pub fn record(&self, bundle: &[u8]) -> Result<DecisionRecord, CanonicalError> {
        Ok(DecisionRecord {
            semantics: self.semantics,
            bundle: Digest::of(bundle),
            digest: self.digest(bundle)?,
            gates: self.gates.clone(),
        })
    }
}
