//! Facts of a lease, as part of a bundle (FE-17, D-7). A decision is replayed from them, without the lease.

use actum_core::Digest;
use actum_record::lease::{
    Capability, LeaseBlockRecord, LeaseId, LeaseRecord, LeaseTerms, Quotas, TaskName,
};
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

/// Lease of a request, and the capability it is needed for. The fields are in alphabetical order, as in
/// canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseCase {
    /// Blocks of the lease, starting with the one signed by the lease key.
    pub blocks: Vec<LeaseBlock>,
    /// Capability that the request needs.
    pub capability: Capability,
    /// Digest of the signed blocks, a document in the ledger.
    pub document: Digest,
    /// True if the ledger records the grant.
    pub granted: bool,
    /// Key that signed the first block.
    pub key: KeyId,
    /// Limits of the processes that run for the request.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub limits: Quotas,
    /// Task that the request belongs to.
    pub task: Option<TaskName>,
}

/// Block of a lease, with its facts from the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlock {
    /// Id of the block.
    pub id: LeaseId,
    /// True if it was revoked.
    pub revoked: bool,
    /// Terms of the block.
    pub terms: LeaseTerms,
    /// Number of runs started under it.
    pub used: u64,
}

impl LeaseCase {
    /// Returns the lease in the form used in records.
    pub fn record(&self) -> LeaseRecord {
        lease_record(&self.blocks, self.document, &self.key)
    }
}

/// Returns a lease in the form used in records.
pub fn lease_record(blocks: &[LeaseBlock], document: Digest, key: &KeyId) -> LeaseRecord {
    let block = |block: &LeaseBlock| {
        let LeaseTerms { agent, uses, .. } = &block.terms;
        LeaseBlockRecord { agent: agent.clone(), id: block.id, uses: *uses }
    };
    LeaseRecord { blocks: blocks.iter().map(block).collect(), document, key: key.clone() }
}
