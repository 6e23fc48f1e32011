//! Applies the quotas of a lease as resource limits to the commands that run under it.

use actum_record::lease::Quotas;
use actum_sandbox::{Limits, Resource, SandboxPolicy};

use super::Runner;

impl Runner {
    /// Lowers the resource limits of the runner's commands to the given quotas.
    #[must_use]
    pub fn limited_by(mut self, quotas: Quotas) -> Self {
        self.policy.limits = limited(self.policy.limits, quotas);
        self
    }
}

/// Lowers resource limits to quotas. The storage quota is split between reading and writing.
fn limited(limits: Limits, quotas: Quotas) -> Limits {
    let Quotas { memory_bytes, storage_bytes, wall_ms, files: _, space_bytes: _ } = quotas;
    let write = storage_bytes.map(|bytes| (bytes / 2).min(limits.of(Resource::StorageWrite).max));
    let read = storage_bytes.zip(write).map(|(bytes, write)| bytes.saturating_sub(write));
    [
        (Resource::Wall, wall_ms),
        (Resource::Memory, memory_bytes),
        (Resource::StorageRead, read),
        (Resource::StorageWrite, write),
    ]
    .into_iter()
    .fold(limits, |limits, (resource, quota)| {
        let limit = limits.of(resource);
        let max = quota.map_or(limit.max, |quota| quota.min(limit.max));
        limits.with(resource, max, limit.require)
    })
}

/// Returns the resource limits of a sandbox policy in the form of quotas.
pub(crate) fn quotas_of(policy: &SandboxPolicy) -> Quotas {
    let max = |resource| policy.limits.of(resource).max;
    let storage = max(Resource::StorageRead).checked_add(max(Resource::StorageWrite));
    Quotas {
        files: None,
        memory_bytes: Some(max(Resource::Memory)),
        space_bytes: None,
        storage_bytes: storage,
        wall_ms: Some(max(Resource::Wall)),
    }
}
