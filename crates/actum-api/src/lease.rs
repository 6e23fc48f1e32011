//! Leases: their terms, their records in the ledger, and the results of `actum lease`.

use actum_core::Timestamp;
use actum_record::lease::{self, LeaseId};
use actum_record::ledger::TenantId;
use actum_record::signer::KeyId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::record::Actor;
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<NewLease>(),
    DocumentType::new::<Lease>(),
    DocumentType::new::<LeaseVerification>(),
    DocumentType::new::<Leases>(),
    DocumentType::new::<LeaseRevocation>(),
];

/// Result of `actum lease grant` and `actum lease attenuate`. The token itself is stored only in the lease file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewLease {
    /// Id of the last block, which identifies the lease.
    #[schemars(with = "value::LeaseId")]
    pub lease: LeaseId,
    /// Path of the lease file, as given on the command line. Escaped if it is not UTF-8.
    pub file: String,
    /// Whether the lease is sealed. A sealed lease can be used but not narrowed further.
    pub sealed: bool,
    /// Blocks of the lease, starting with the one signed by the lease key. A request must satisfy the terms of all blocks.
    pub blocks: Vec<LeaseBlock>,
}

/// Result of `actum lease show`, which reads a lease file without verifying it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// Whether signatures and ledger were checked. Always `false`, because only `actum lease verify` checks them.
    pub verified: bool,
    /// Whether the lease is sealed. A sealed lease can be used but not narrowed further.
    pub sealed: bool,
    /// Blocks of the lease, starting with the one signed by the lease key.
    pub blocks: Vec<LeaseBlock>,
}

/// Single block of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseBlock {
    /// Id of the block. The id of the last block identifies the lease.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// Terms of the block.
    pub terms: LeaseTerms,
}

/// Result of `actum lease verify` for a lease that was signed by a lease key of this installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseVerification {
    /// Whether the lease can currently be used for a request. If `false`, the command exits with code 1.
    pub usable: bool,
    /// Whether the ledger records that the lease was granted.
    pub granted: bool,
    /// Id of the lease key that signed the first block.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// Whether the lease is sealed. A sealed lease can be used but not narrowed further.
    pub sealed: bool,
    /// Blocks of the lease, starting with the one signed by the lease key.
    pub blocks: Vec<VerifiedBlock>,
}

/// Single block of a verified lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedBlock {
    /// Id of the block.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// State of the block.
    pub state: LeaseState,
    /// Number of runs that were started under the block.
    pub used: u64,
    /// Terms of the block.
    pub terms: LeaseTerms,
}

/// Result of `actum lease list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Leases {
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Granted leases, newest first.
    pub leases: Vec<ListedLease>,
    /// Whether the ledger contains older leases that are not listed.
    pub more: bool,
}

/// Lease that was granted by the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedLease {
    /// Id of the first block, which is shared by all leases that were derived from this one.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// Current state of the lease.
    pub state: LeaseState,
    /// Index of the ledger entry that records the grant.
    pub entry: u64,
    /// Time at which the lease was granted.
    #[schemars(with = "value::Time")]
    pub granted: Timestamp,
    /// User who granted the lease.
    pub by: Actor,
    /// Number of runs that were started under the lease or under a narrowed copy of it.
    pub used: u64,
    /// Terms of the first block.
    pub terms: LeaseTerms,
}

/// Result of `actum lease revoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRevocation {
    /// Id of the revoked block. Every lease that contains this block is revoked.
    #[schemars(with = "value::LeaseId")]
    pub revoked: LeaseId,
    /// Reason given by the user, or `null` if none was given.
    pub reason: Option<String>,
}

/// Terms of a single block of a lease. An absent field imposes no restriction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseTerms {
    /// Agent that may use the lease, including its sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Directories in which files may be changed, as absolute paths with a trailing `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_directories: Option<Vec<String>>,
    /// Granted capabilities: `APPLY`, `EXEC`, `TASK`, `FILE_MOVE`, `FILE_COPY`, `FILE_DELETE` or `ACTION:TYPE`. Future versions may
    /// add more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Time at which the lease expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub expires: Option<Timestamp>,
    /// Time from which the lease is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub not_before: Option<Timestamp>,
    /// Quotas for each request. Absent if empty.
    #[serde(default, skip_serializing_if = "LeaseQuotas::is_empty")]
    pub quotas: LeaseQuotas,
    /// Rules for paths below the base directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<LeaseScope>,
    /// Task that the lease is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Tenant whose ledger records the uses of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Maximum number of runs that may be started under the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u64>,
}

/// Maximum amount of each resource that a single request may use. An absent resource is unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseQuotas {
    /// Maximum number of changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Maximum memory of a command, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Maximum total size of all changed files after the change, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
    /// Maximum number of bytes that a command may read and write in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Maximum duration of a command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// Rules for paths, relative to a base directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseScope {
    /// Rules of which a path must match at least one. Absent if all paths are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Rules that a path must not match.
    pub deny: Vec<String>,
}

words! {
    /// State of a lease, or of a single block of it.
    LeaseState {
        /// The lease is valid and can be used for requests.
        InForce = "in_force",
        /// The validity period of the lease has not started yet.
        Waiting = "waiting",
        /// The lease has expired.
        Expired = "expired",
        /// The lease was revoked.
        Revoked = "revoked",
        /// The maximum number of runs was started under the lease.
        UsedUp = "used_up",
        /// The ledger does not record that the lease was granted.
        NotGranted = "not_granted",
        /// The lease belongs to a different tenant.
        OtherTenant = "other_tenant",
    }
}

impl LeaseQuotas {
    /// Whether no quota is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&lease::LeaseTerms> for LeaseTerms {
    fn from(terms: &lease::LeaseTerms) -> Self {
        let lease::LeaseTerms {
            agent,
            base_directories,
            capabilities,
            expires,
            not_before,
            quotas,
            scope,
            task,
            tenant,
            uses,
        } = terms;
        let lease::Quotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms } = *quotas;
        Self {
            agent: agent.as_ref().map(|agent| agent.as_str().to_owned()),
            base_directories: base_directories
                .as_ref()
                .map(|all| all.iter().map(ToString::to_string).collect()),
            capabilities: capabilities
                .as_ref()
                .map(|all| all.iter().map(ToString::to_string).collect()),
            expires: *expires,
            not_before: *not_before,
            quotas: LeaseQuotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms },
            scope: scope.as_ref().map(|scope| LeaseScope {
                allow: scope
                    .allow
                    .as_ref()
                    .map(|rules| rules.iter().map(ToString::to_string).collect()),
                deny: scope.deny.iter().map(ToString::to_string).collect(),
            }),
            task: task.as_ref().map(|task| task.as_str().to_owned()),
            tenant: tenant.as_ref().map(|tenant| tenant.as_str().to_owned()),
            uses: *uses,
        }
    }
}

impl Document for NewLease {
    const FORMAT: &'static str = "actum.new-lease/1";
}

impl Document for Lease {
    const FORMAT: &'static str = "actum.lease/1";
}

impl Document for LeaseVerification {
    const FORMAT: &'static str = "actum.lease-verification/1";
}

impl Document for Leases {
    const FORMAT: &'static str = "actum.leases/1";
}

impl Document for LeaseRevocation {
    const FORMAT: &'static str = "actum.lease-revocation/1";
}
