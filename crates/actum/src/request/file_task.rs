//! File task that a request executes.

use actum_core::Digest;
use actum_record::lease::{Capability, Quotas, TaskName};
use serde::{Deserialize, Serialize};

/// File task that a request executes. The request's digest covers the manifest through its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTask {
    /// Id of the file task.
    pub task: TaskName,
    /// SHA-256 of the manifest file.
    pub manifest: Digest,
    /// Capability that a lease must grant for the task to run.
    pub capability: Capability,
    /// Resource limits that the host enforces while the task runs.
    pub limits: Quotas,
}
