//! Lease of a request as it is stored in a bundle, so that a replay does not need the lease itself (FE-17,
//! D-7).

use actum_core::Digest;
use actum_record::lease::{
    Capability, LeaseBlockRecord, LeaseId, LeaseRecord, LeaseTerms, Quotas, TaskName,
};
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

/// Lease of a request and the capability that the request needs. Fields are in alphabetical order because
/// canonical JSON requires it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseCase {
    /// Blocks of the lease, starting with the one that the lease key signed.
    pub blocks: Vec<LeaseBlock>,
    /// Capability that the request needs.
    pub capability: Capability,
    /// Digest of the signed blocks, which are stored in the ledger.
    pub document: Digest,
    /// Whether the ledger records that the lease was granted.
    pub granted: bool,
    /// Key that signed the first block.
    pub key: KeyId,
    /// Limits of the processes that run for the request.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub limits: Quotas,
    /// Task that the request belongs to.
    pub task: Option<TaskName>,
}

/// Lease block and its usage, as the ledger records them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlock {
    /// Id of the block.
    pub id: LeaseId,
    /// Whether the block was revoked.
    pub revoked: bool,
    /// Terms of the block.
    pub terms: LeaseTerms,
    /// Number of runs that were started under the block.
    pub used: u64,
}

impl LeaseCase {
    /// Returns the lease in the form that records use.
    pub fn record(&self) -> LeaseRecord {
        lease_record(&self.blocks, self.document, &self.key)
    }
}

/// Converts the blocks of a lease to the form that records use.
pub fn lease_record(blocks: &[LeaseBlock], document: Digest, key: &KeyId) -> LeaseRecord {
    let block = |block: &LeaseBlock| {
        let LeaseTerms { agent, uses, .. } = &block.terms;
        LeaseBlockRecord { agent: agent.clone(), id: block.id, uses: *uses }
    };
    LeaseRecord { blocks: blocks.iter().map(block).collect(), document, key: key.clone() }
}
