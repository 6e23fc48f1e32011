//! Terms of a lease that a request does not meet.

use std::fmt;

use actum_core::Timestamp;
use actum_core::path::Harmless;
use actum_core::path_name::PathName;
use actum_record::lease::{AgentName, Capability, TaskName};
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};

/// Term of a lease that a request does not meet. In JSON it has the same form as [`Ground`](super::Ground).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LeaseProblem {
    /// The ledger has no record of the grant.
    NotGranted,
    /// Lease was revoked.
    Revoked,
    /// Lease for another tenant.
    OtherTenant {
        /// Tenant of the lease.
        tenant: TenantId,
    },
    /// Lease for another agent.
    OtherAgent {
        /// Agent of the lease.
        agent: AgentName,
        /// Agent of the request.
        asked: Option<String>,
    },
    /// Lease for another task.
    OtherTask {
        /// Task of the lease.
        task: TaskName,
        /// Task of the request.
        asked: Option<TaskName>,
    },
    /// Lease without the capability.
    Capability {
        /// Capability that the request needs.
        asked: Capability,
    },
    /// Lease is not valid yet.
    NotYetValid {
        /// Start of its validity.
        from: Timestamp,
    },
    /// Lease has expired.
    Expired {
        /// End of its validity.
        at: Timestamp,
    },
    /// Lease has started its maximum number of runs.
    UsedUp {
        /// Maximum number of runs.
        uses: u64,
    },
    /// A path is outside its base directories.
    OutsideDirectories {
        /// Path in the workspace.
        path: PathName,
    },
    /// A path is outside its scope.
    OutsideScope {
        /// Path in the workspace.
        path: PathName,
    },
    /// A quota is exceeded, or the limit that would enforce it is missing.
    Quota {
        /// Quota.
        quota: QuotaName,
        /// Amount, or limit in force; absent if there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<u64>,
        /// Maximum that the lease allows.
        max: u64,
    },
}

/// Quota of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaName {
    /// Changed files.
    Files,
    /// Size of the changed files, in bytes.
    SpaceBytes,
    /// Memory, in bytes.
    MemoryBytes,
    /// Bytes read and written.
    StorageBytes,
    /// Duration, in milliseconds.
    WallMs,
}

impl QuotaName {
    /// Describes the limited amount with its unit, for a sentence.
    fn description(self) -> &'static str {
        match self {
            Self::Files => "changed files",
            Self::SpaceBytes => "the bytes in changed files",
            Self::MemoryBytes => "the bytes of memory",
            Self::StorageBytes => "the bytes read and written",
            Self::WallMs => "the duration in milliseconds",
        }
    }
}

impl fmt::Display for LeaseProblem {
    /// Completes a sentence whose subject is the lease block.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str("was not granted according to this ledger"),
            Self::Revoked => f.write_str("was revoked"),
            Self::OtherTenant { tenant } => write!(f, "is for the tenant `{}`", tenant.as_str()),
            Self::OtherAgent { agent, asked } => {
                write!(f, "is for the agent `{}`, and the request is by ", agent.as_str())?;
                match asked {
                    Some(asked) => write!(f, "`{}`", Harmless(asked.as_bytes())),
                    None => f.write_str("no agent"),
                }
            }
            Self::OtherTask { task, asked } => {
                write!(f, "is for the task `{}`, and the request is for ", task.as_str())?;
                match asked {
                    Some(asked) => write!(f, "`{}`", asked.as_str()),
                    None => f.write_str("none"),
                }
            }
            Self::Capability { asked } => write!(f, "does not allow {asked}"),
            Self::NotYetValid { from } => write!(f, "counts from {from} on"),
            Self::Expired { at } => write!(f, "expired at {at}"),
            Self::UsedUp { uses: 1 } => f.write_str("allows one run, which was started"),
            Self::UsedUp { uses } => write!(f, "allows {uses} runs, which were all started"),
            Self::OutsideDirectories { path } => {
                write!(f, "has no base directory that holds `{path}`")
            }
            Self::OutsideScope { path } => write!(f, "does not have `{path}` in its scope"),
            Self::Quota { quota, asked, max } => {
                let quota = quota.description();
                match asked {
                    Some(asked) => {
                        write!(f, "limits {quota} to {max}, and the request has {asked}")
                    }
                    None => write!(f, "limits {quota} to {max}, and the request has no limit"),
                }
            }
        }
    }
}
