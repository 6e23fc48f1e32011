//! Terms of a lease that a request violates.

use std::fmt;

use actum_core::Timestamp;
use actum_core::path::Harmless;
use actum_core::path_name::PathName;
use actum_record::lease::{AgentName, Capability, TaskName};
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};

/// Term of a lease that a request violates. Its JSON form follows the rules of [`Ground`](super::Ground).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LeaseProblem {
    /// The ledger has no record that the lease was granted.
    NotGranted,
    /// The lease was revoked.
    Revoked,
    /// The lease is for a different tenant.
    OtherTenant {
        /// Tenant that the lease is for.
        tenant: TenantId,
    },
    /// The lease is for a different agent.
    OtherAgent {
        /// Agent that the lease is for.
        agent: AgentName,
        /// Agent that made the request, if any.
        asked: Option<String>,
    },
    /// The lease is for a different task.
    OtherTask {
        /// Task that the lease is for.
        task: TaskName,
        /// Task that the request belongs to, if any.
        asked: Option<TaskName>,
    },
    /// The lease does not include the required capability.
    Capability {
        /// Capability that the request needs.
        asked: Capability,
    },
    /// The lease is not valid yet.
    NotYetValid {
        /// Time at which the lease becomes valid.
        from: Timestamp,
    },
    /// The lease has expired.
    Expired {
        /// Time at which the lease expired.
        at: Timestamp,
    },
    /// The maximum number of runs under the lease has been started.
    UsedUp {
        /// Maximum number of runs.
        uses: u64,
    },
    /// A path is outside the base directories of the lease.
    OutsideDirectories {
        /// Path relative to the workspace.
        path: PathName,
    },
    /// A path is outside the scope of the lease.
    OutsideScope {
        /// Path relative to the workspace.
        path: PathName,
    },
    /// A quota is exceeded, or the request lacks a limit that would enforce it.
    Quota {
        /// Quota that is exceeded.
        quota: QuotaName,
        /// Amount that the request uses, or the limit it sets. `None` if there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<u64>,
        /// Maximum that the lease allows.
        max: u64,
    },
}

/// Quota that a lease can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaName {
    /// Number of changed files.
    Files,
    /// Total size of the changed files, in bytes.
    SpaceBytes,
    /// Memory of a process, in bytes.
    MemoryBytes,
    /// Number of bytes that processes read and write.
    StorageBytes,
    /// Duration of a process, in milliseconds.
    WallMs,
}

impl QuotaName {
    /// Describes the quota with its unit, for use in a sentence.
    fn description(self) -> &'static str {
        match self {
            Self::Files => "the number of changed files",
            Self::SpaceBytes => "the size of changed files in bytes",
            Self::MemoryBytes => "the memory in bytes",
            Self::StorageBytes => "the number of bytes read and written",
            Self::WallMs => "the duration in milliseconds",
        }
    }
}

impl fmt::Display for LeaseProblem {
    /// Writes the predicate of a sentence whose subject is the lease block.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str("has no record of its grant in this ledger"),
            Self::Revoked => f.write_str("was revoked"),
            Self::OtherTenant { tenant } => write!(f, "is for the tenant `{}`", tenant.as_str()),
            Self::OtherAgent { agent, asked } => {
                write!(f, "is for the agent `{}`, but the request names ", agent.as_str())?;
                match asked {
                    Some(asked) => write!(f, "`{}`", Harmless(asked.as_bytes())),
                    None => f.write_str("no agent"),
                }
            }
            Self::OtherTask { task, asked } => {
                write!(f, "is for the task `{}`, but the request names ", task.as_str())?;
                match asked {
                    Some(asked) => write!(f, "`{}`", asked.as_str()),
                    None => f.write_str("no task"),
                }
            }
            Self::Capability { asked } => write!(f, "does not allow {asked}"),
            Self::NotYetValid { from } => write!(f, "is not valid before {from}"),
            Self::Expired { at } => write!(f, "expired at {at}"),
            Self::UsedUp { uses: 1 } => {
                f.write_str("allows one run, which has already been started")
            }
            Self::UsedUp { uses } => write!(f, "allows {uses} runs, which have all been started"),
            Self::OutsideDirectories { path } => {
                write!(f, "has no base directory that contains `{path}`")
            }
            Self::OutsideScope { path } => write!(f, "does not include `{path}` in its scope"),
            Self::Quota { quota, asked, max } => {
                let quota = quota.description();
                match asked {
                    Some(asked) => {
                        write!(f, "limits {quota} to {max}, but the request has {asked}")
                    }
                    None => write!(f, "limits {quota} to {max}, but the request has no limit"),
                }
            }
        }
    }
}
