//! `actum.replay/1`: result of replaying a decision.

use actum_core::{Digest, RiskTier, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Replay>()];

/// Result of `actum replay`, if the replayed decision matches the recorded one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Version of the decision rules.
    pub semantics: u32,
    /// Digest of the document that contains all inputs of the decision.
    #[schemars(with = "value::Digest")]
    pub bundle: Digest,
    /// Combined digest of the bundle and the decision.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Digest of the policy that was active at the time of the run.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Index of the receipt in the ledger, counted from 0, or `null` if there is no receipt yet.
    pub receipt: Option<u64>,
}

impl Document for Replay {
    const FORMAT: &'static str = "actum.replay/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}
