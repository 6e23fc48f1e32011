//! Facts of a lease, as part of a bundle (FE-17, D-7). A decision is made again from them, without the lease.

use actum_core::Digest;
use actum_record::lease::{
    Capability, LeaseBlockRecord, LeaseId, LeaseRecord, LeaseTerms, Quotas, TaskName,
};
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

/// Lease that came with a request, and what the request needs it for. The fields stand in the order of their names, as
/// canonical JSON has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseCase {
    /// Blocks of the lease, the one that the lease key signed first.
    pub blocks: Vec<LeaseBlock>,
    /// What the request needs it for.
    pub capability: Capability,
    /// Digest of its signed blocks, a document in the ledger.
    pub document: Digest,
    /// Whether the ledger records that it was granted.
    pub granted: bool,
    /// Key that signed the first block.
    pub key: KeyId,
    /// Limits that hold for what is run for the request.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub limits: Quotas,
    /// Task that the request belongs to.
    pub task: Option<TaskName>,
}

/// One block of a lease, and what the ledger knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlock {
    /// Its id.
    pub id: LeaseId,
    /// Whether it was revoked.
    pub revoked: bool,
    /// What it allows.
    pub terms: LeaseTerms,
    /// Runs that were started under it.
    pub used: u64,
}

impl LeaseCase {
    /// The lease as records name it.
    pub fn record(&self) -> LeaseRecord {
        lease_record(&self.blocks, self.document, &self.key)
    }
}

/// A lease as records name it.
pub fn lease_record(blocks: &[LeaseBlock], document: Digest, key: &KeyId) -> LeaseRecord {
    let block = |block: &LeaseBlock| {
        let LeaseTerms { agent, uses, .. } = &block.terms;
        LeaseBlockRecord { agent: agent.clone(), id: block.id, uses: *uses }
    };
    LeaseRecord { blocks: blocks.iter().map(block).collect(), document, key: key.clone() }
}
