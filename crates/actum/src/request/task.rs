//! Task plan documents that a request refers to.

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_record::receipt::ExternalPipeline;
use serde::{Deserialize, Serialize};

/// Documents of a task plan that a request executes. The request's digest covers the digest of these documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskDocuments {
    /// SHA-256 of the task plan.
    pub plan: Digest,
    /// Text of the system config, so that an approver can review its settings.
    pub config: String,
    /// External pipelines that the plan runs, as declared by the operator's policy when the request was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
}

impl TaskDocuments {
    /// Creates the documents of a task without external pipelines. `config` must be UTF-8.
    pub fn new(plan: Digest, config: &[u8]) -> Self {
        let external = Vec::new();
        Self { plan, config: String::from_utf8_lossy(config).into_owned(), external }
    }

    /// Replaces the list of external pipelines that the plan runs.
    #[must_use]
    pub fn with_external(self, external: Vec<ExternalPipeline>) -> Self {
        Self { external, ..self }
    }

    /// Computes the SHA-256 of the system config.
    pub fn config_digest(&self) -> Digest {
        Digest::of(self.config.as_bytes())
    }

    /// Computes the digest that identifies the task. It covers the plan, the system config and the external pipelines.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if the external pipelines cannot be written as canonical JSON.
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
