//! Entries about leases: granted, and revoked (FE-17).

use actum_core::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId};
use crate::lease::{LeaseId, LeaseTerms};

/// A lease was granted. The lease key signed this as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseGranted {
    /// [`LeaseGranted::FORMAT`].
    pub format: String,
    /// Time of the grant.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Id of its first block.
    pub lease: LeaseId,
    /// Terms of the lease.
    pub terms: LeaseTerms,
    /// Digest of its signed block, a document in the ledger (`actum.lease-chain/1`).
    pub document: Digest,
    /// User who granted it.
    pub by: Actor,
    /// Protection of the lease key.
    pub isolation: Isolation,
    /// Program.
    pub engine: String,
}

/// A lease, or a block that a holder appended to one, was revoked. The lease key signed this as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRevoked {
    /// [`LeaseRevoked::FORMAT`].
    pub format: String,
    /// Time of the revocation.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Id of the block. Every lease that has it is revoked.
    pub lease: LeaseId,
    /// Reason, in the words of the user.
    pub reason: Option<String>,
    /// User who revoked it.
    pub by: Actor,
    /// Protection of the lease key.
    pub isolation: Isolation,
    /// Program.
    pub engine: String,
}

impl LeaseGranted {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.lease-granted/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.lease-granted+json";
}

impl LeaseRevoked {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.lease-revoked/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.lease-revoked+json";
}
