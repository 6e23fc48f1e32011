//! Ledger entries that record granted and revoked leases (FE-17).

use actum_core::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId};
use crate::lease::{LeaseId, LeaseTerms};

/// Entry that records the grant of a lease. It is the payload of an envelope signed by the lease key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseGranted {
    /// Format of the entry, which is always [`LeaseGranted::FORMAT`].
    pub format: String,
    /// Time of the grant.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the first block of the lease.
    pub lease: LeaseId,
    /// Terms of the lease.
    pub terms: LeaseTerms,
    /// Digest of the ledger document that contains the signed block (`actum.lease-chain/1`).
    pub document: Digest,
    /// User who granted the lease.
    pub by: Actor,
    /// Protection of the lease key.
    pub isolation: Isolation,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Entry that records the revocation of a lease, or of a block that a holder appended to a lease. It is the payload of an
/// envelope signed by the lease key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRevoked {
    /// Format of the entry, which is always [`LeaseRevoked::FORMAT`].
    pub format: String,
    /// Time of the revocation.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the revoked block. Every lease that contains this block is revoked.
    pub lease: LeaseId,
    /// Reason given by the user.
    pub reason: Option<String>,
    /// User who revoked the lease.
    pub by: Actor,
    /// Protection of the lease key.
    pub isolation: Isolation,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

impl LeaseGranted {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.lease-granted/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.lease-granted+json";
}

impl LeaseRevoked {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.lease-revoked/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.lease-revoked+json";
}
