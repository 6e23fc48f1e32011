//! The decision: what the gates say of a change, as a pure function of a bundle and a policy that are
//! kept.
//!
//! Whoever has both comes to the same decision, to the byte: [`replay()`]. So the words of the
//! grounds are part of it, and other words are another version of the rules.

mod bundle;
mod replay;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RiskTier};
use actum_record::receipt::{DecisionRecord, GateRecord};
use serde::{Deserialize, Serialize};

use crate::access::{AccessJudge, AccessUnknown};
use crate::gate::{self, Said};
use crate::policy::Policy;

pub use bundle::{Approved, Bundle, Case, Found, TriggerFound, Undone, WORK_TREES, WorkKind};
pub use replay::{ReplayProblem, replay};

/// The version of the rules that lead from a bundle to a decision. Another version of Cedar, which may
/// read or judge an access policy in another way, is another version of the rules.
pub const DECISION_SEMANTICS: u32 = 6;

/// The purpose of the digest of bundle and decision.
const DIGEST_TAG: &str = "actum/decision/v6";

/// The name of the last gate, which answers the others.
pub const APPROVAL: &str = "approval";
/// The name of the gate that judges what would be run.
pub const COMMANDS: &str = "commands";
/// The gate of protected paths.
pub const PROTECTED: &str = "protected";
/// The name of the gate that looks for credentials.
pub const CREDENTIALS: &str = "credentials";

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
    /// All of them, the strictest last.
    pub const ALL: [Self; 3] = [Self::Allow, Self::NeedsApproval, Self::Deny];

    /// What comes of the strictest of the gates where that of approval says `answer`: it answers what asks for a
    /// person, and lifts nothing that is denied.
    #[must_use]
    pub fn answered(self, answer: Self) -> Self {
        match self {
            Self::NeedsApproval => answer,
            Self::Allow | Self::Deny => self.max(answer),
        }
    }

    /// What gates said together, as it was recorded. A word that is not known allows nothing.
    pub fn together(gates: &[GateRecord]) -> Self {
        let verdict = |gate: &GateRecord| {
            Self::ALL.into_iter().find(|it| it.as_str() == gate.verdict).unwrap_or(Self::Deny)
        };
        let (last, others) = match gates.split_last() {
            Some((last, others)) if last.gate == APPROVAL => (Some(last), others),
            Some(_) | None => (None, gates),
        };
        let strictest = others.iter().map(verdict).max().unwrap_or(Self::Deny);
        last.map_or(strictest, |approval| strictest.answered(verdict(approval)))
    }

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
    /// The strictest of what they said, where no person's approval stands against it.
    pub verdict: Verdict,
    /// The risk tier of the change.
    pub tier: RiskTier,
    /// What each said, in their order.
    pub gates: Vec<GateRecord>,
}

/// Decides whether a change may be made visible (AEC-11). Where the strictest gate asks for a person, an
/// approval answers it; what a gate denies no approval allows. Where access policies have a say and `access`
/// cannot tell what they say, it is denied.
pub fn decide(bundle: &Bundle, policy: &Policy, access: &dyn AccessJudge) -> Decision {
    decided(bundle, policy, access).0
}

/// The same, and why access policies could not be asked, where they could not: such a decision is not the one
/// that they lead to.
fn decided(
    bundle: &Bundle,
    policy: &Policy,
    access: &dyn AccessJudge,
) -> (Decision, Option<AccessUnknown>) {
    let (tier, of_tier) = gate::tier::judge(bundle, policy);
    let (of_access, unknown) = match gate::access::judge(bundle, policy, tier, access) {
        Ok(said) => (said, None),
        Err(unknown) => {
            let ground = unknown.to_string();
            (Said { verdict: Verdict::Deny, ground }, Some(unknown))
        }
    };
    let said = gate::GATES.iter().map(|(name, judge)| (*name, judge(bundle, policy)));
    let mut gates: Vec<(&str, Said)> =
        said.chain([("tier", of_tier), ("access", of_access)]).collect();
    let strictest = gates.iter().map(|(_, said)| said.verdict).max().unwrap_or(Verdict::Deny);
    let of_approval = gate::approval::judge(bundle, strictest);
    let verdict = strictest.answered(of_approval.verdict);
    gates.push((APPROVAL, of_approval));
    let record = |(gate, said): (&str, Said)| GateRecord {
        gate: gate.to_owned(),
        verdict: said.verdict.as_str().to_owned(),
        ground: said.ground,
    };
    let gates = gates.into_iter().map(record).collect();
    (Decision { semantics: DECISION_SEMANTICS, verdict, tier, gates }, unknown)
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
            gates: self.gates.clone(),
        })
    }
}
