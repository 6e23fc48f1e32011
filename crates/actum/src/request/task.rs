//! Documents of a task in a request.

use actum_core::Digest;
use serde::{Deserialize, Serialize};

/// Documents of a task, as a request keeps them: what is asked for is their digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskDocuments {
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// Text of the system config, whose settings an approver is shown.
    pub config: String,
}

impl TaskDocuments {
    /// Takes the digest of the plan, and the config, which was read before and so is UTF-8.
    pub fn new(plan: Digest, config: &[u8]) -> Self {
        Self { plan, config: String::from_utf8_lossy(config).into_owned() }
    }

    /// SHA-256 of the config.
    pub fn config_digest(&self) -> Digest {
        Digest::of(self.config.as_bytes())
    }

    /// Digest of what the task asks for: its plan and its config.
    pub fn digest(&self) -> Digest {
        let (plan, config) = (self.plan, self.config_digest());
        Digest::tagged("actum/task/v1", &[plan.as_bytes(), config.as_bytes()])
    }
}
