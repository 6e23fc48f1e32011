//! Documents of a task in a request.

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_record::receipt::ExternalPipeline;
use serde::{Deserialize, Serialize};

/// Documents of a task in a request. The request's digest covers their digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskDocuments {
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// Text of the system config. An approver sees its settings.
    pub config: String,
    /// External pipelines of the plan, as the operator's policy declares them now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
}

impl TaskDocuments {
    /// Creates the documents from the digest of the plan and from the config, which is known to be UTF-8.
    pub fn new(plan: Digest, config: &[u8]) -> Self {
        let external = Vec::new();
        Self { plan, config: String::from_utf8_lossy(config).into_owned(), external }
    }

    /// Sets the external pipelines that the plan runs.
    #[must_use]
    pub fn with_external(self, external: Vec<ExternalPipeline>) -> Self {
        Self { external, ..self }
    }

    /// Computes the SHA-256 of the config.
    pub fn config_digest(&self) -> Digest {
        Digest::of(self.config.as_bytes())
    }

    /// Computes the digest of the task: of its plan, its config, and its external commands.
    ///
    /// # Errors
    /// [`CanonicalError`] if the external commands cannot be written.
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        let (plan, config) = (self.plan, self.config_digest());
        let task = Digest::tagged("actum/task/v1", &[plan.as_bytes(), config.as_bytes()]);
        if self.external.is_empty() {
            return Ok(task);
        }
        let external = canonical::to_vec(&self.external)?;
        Ok(Digest::tagged("actum/external-task/v1", &[task.as_bytes(), &external]))
    }
}
