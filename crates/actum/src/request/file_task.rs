//! File task in a request.

use actum_core::Digest;
use actum_record::lease::{Capability, Quotas, TaskName};
use serde::{Deserialize, Serialize};

/// File task of a request. The request's digest covers the digest of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTask {
    /// Id of the task.
    pub task: TaskName,
    /// SHA-256 of the bytes of the manifest.
    pub manifest: Digest,
    /// Capability that a lease of the task must grant.
    pub capability: Capability,
    /// Limits that the host of the task enforces.
    pub limits: Quotas,
}
