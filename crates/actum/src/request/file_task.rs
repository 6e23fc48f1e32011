//! File task in a request.

use actum_core::Digest;
use actum_record::lease::{Capability, Quotas, TaskName};
use serde::{Deserialize, Serialize};

/// File task, as a request keeps it: what is asked for is the digest of its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTask {
    /// Id of the task.
    pub task: TaskName,
    /// SHA-256 of the bytes of the manifest.
    pub manifest: Digest,
    /// Capability that it needs a lease for.
    pub capability: Capability,
    /// Limits that its host enforces.
    pub limits: Quotas,
}
