//! Leases: their terms, the records of a ledger about them, and the results of `actum lease`.

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

/// Result of `actum lease grant` and `actum lease attenuate`. The token itself is in the file alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewLease {
    /// Id of the last block, which names the lease.
    #[schemars(with = "value::LeaseId")]
    pub lease: LeaseId,
    /// File of the lease, as the command named it. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// True if it can be used, but not narrowed.
    pub sealed: bool,
    /// Blocks, the one that the lease key signed first. A request must meet the terms of all of them.
    pub blocks: Vec<LeaseBlock>,
}

/// Result of `actum lease show`: content of a file, of which nothing is verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// True if signatures and ledger were checked. Always `false`: `actum lease verify` checks them.
    pub verified: bool,
    /// True if it can be used, but not narrowed.
    pub sealed: bool,
    /// Blocks, the one that the lease key signed first.
    pub blocks: Vec<LeaseBlock>,
}

/// One block of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseBlock {
    /// Id of the block. The id of the last block names the lease.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// Terms of the block.
    pub terms: LeaseTerms,
}

/// Result of `actum lease verify`: a lease that a lease key of this installation signed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseVerification {
    /// True if a request could be made under it now. Otherwise the command ends with code 1.
    pub usable: bool,
    /// True if the ledger records that it was granted.
    pub granted: bool,
    /// Lease key that signed the first block.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// True if it can be used, but not narrowed.
    pub sealed: bool,
    /// Blocks, the one that the lease key signed first.
    pub blocks: Vec<VerifiedBlock>,
}

/// One block of a verified lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedBlock {
    /// Id of the block.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// State of the block.
    pub state: LeaseState,
    /// Number of runs that were started under it.
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
    /// Granted leases, the newest first.
    pub leases: Vec<ListedLease>,
    /// True if the ledger has older ones.
    pub more: bool,
}

/// Lease that the operator granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedLease {
    /// Id of its first block, which all leases have that were made of it.
    #[schemars(with = "value::LeaseId")]
    pub id: LeaseId,
    /// State now.
    pub state: LeaseState,
    /// Entry of the ledger that records the grant.
    pub entry: u64,
    /// Time of the grant.
    #[schemars(with = "value::Time")]
    pub granted: Timestamp,
    /// User who granted it.
    pub by: Actor,
    /// Number of runs that were started under it, also by holders of narrowed leases.
    pub used: u64,
    /// Terms of its first block.
    pub terms: LeaseTerms,
}

/// Result of `actum lease revoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRevocation {
    /// Id of the revoked block. Every lease that has it is revoked.
    #[schemars(with = "value::LeaseId")]
    pub revoked: LeaseId,
    /// Reason that the user gave, else `null`.
    pub reason: Option<String>,
}

/// Terms of one block. An absent field narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseTerms {
    /// Agent that may use it, with its sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Directories in which files may be changed: absolute paths with `/` at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_directories: Option<Vec<String>>,
    /// Capabilities: `APPLY`, `EXEC`, `TASK`, `FILE_MOVE`, `FILE_COPY`, `FILE_DELETE`, `ACTION:TYPE`. More can come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Time from which it no longer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub expires: Option<Timestamp>,
    /// Time from which it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub not_before: Option<Timestamp>,
    /// Quotas of each request. Absent if empty.
    #[serde(default, skip_serializing_if = "LeaseQuotas::is_empty")]
    pub quotas: LeaseQuotas,
    /// Rules for paths below the base directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<LeaseScope>,
    /// Task that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Tenant whose ledger records its uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Most runs that can be started under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u64>,
}

/// Most that one request may use of each resource. No limit where absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseQuotas {
    /// Changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Memory of a command, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Size of all changed files after the change, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
    /// Bytes that a command reads and writes, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Duration of a command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// Rules for paths, as seen from a base directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseScope {
    /// Rules of which a path must match one. Absent where every path is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Rules of which a path must match none.
    pub deny: Vec<String>,
}

words! {
    /// State of a lease, or of one block of it.
    LeaseState {
        /// A request can be made under it.
        InForce = "in_force",
        /// Its time has not come yet.
        Waiting = "waiting",
        /// Its time is over.
        Expired = "expired",
        /// The lease was revoked.
        Revoked = "revoked",
        /// The lease has started as many runs as it can.
        UsedUp = "used_up",
        /// The ledger does not record that it was granted.
        NotGranted = "not_granted",
        /// The lease is for another tenant.
        OtherTenant = "other_tenant",
    }
}

impl LeaseQuotas {
    /// Returns true if there is no quota.
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
