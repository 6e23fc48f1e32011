//! `actum.replay/1`: a decision that was made again.

use actum_core::{Digest, RiskTier, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Replay>()];

/// Result of `actum replay`, where the decision is the same as before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Version of the rules.
    pub semantics: u32,
    /// Digest of the document that the decision was made from.
    #[schemars(with = "value::Digest")]
    pub bundle: Digest,
    /// Digest of bundle and decision together.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Digest of the policy that was in force.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Number of the receipt's entry in the ledger, counted from 0; `null` where there is no receipt yet.
    pub receipt: Option<u64>,
}

impl Document for Replay {
    const FORMAT: &'static str = "actum.replay/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}
