//! Quotas of a lease, as limits of the commands that run under it.

use actum_record::lease::Quotas;
use actum_sandbox::{Limits, Resource, SandboxPolicy};

use super::Runner;

impl Runner {
    /// Returns the runner with the limits lowered to the quotas.
    #[must_use]
    pub fn limited_by(mut self, quotas: Quotas) -> Self {
        self.policy.limits = limited(self.policy.limits, quotas);
        self
    }
}

/// Lowers the limits to the quotas. The quota of storage is split between reading and writing.
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

/// Returns the limits of a policy as quotas.
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
