//! Plugin packages: new ones, and what lint and test find in them.

use actum_core::{ActionName, Digest, RiskTier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::{Changes, Diffs};
use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<PluginNew>(),
    DocumentType::new::<PluginLint>(),
    DocumentType::new::<PluginTest>(),
];

/// Result of `actum plugin new`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginNew {
    /// Name of the action.
    pub name: String,
    /// Directory of the package.
    pub directory: String,
    /// Files that were written, relative to the directory.
    pub files: Vec<String>,
}

/// Result of `actum plugin lint`, where the package is sound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginLint {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Version of the package; `null` where it has none.
    pub version: Option<String>,
    /// Lowest risk tier of its runs.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Access to the file system that the package asks for.
    pub filesystem: String,
    /// Digest of all its files.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Number of its files.
    pub files: u64,
    /// Size of its files in bytes.
    pub bytes: u64,
    /// Version of Node.js that compiled its steps; `null` where none did.
    pub node: Option<String>,
    /// Reason why its steps were not compiled, or `null`.
    pub not_compiled: Option<String>,
}

/// Result of `actum plugin test`, where all steps answered and the rollback restores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginTest {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Digest of the package.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// True if all checks passed.
    pub ok: bool,
    /// Output of `execute`.
    pub output: Value,
    /// Checks of `verify`.
    pub checks: Vec<PluginCheck>,
    /// Evidence that `rollback` restores the workspace.
    pub rollback: RestoreEvidence,
    /// Change that the package would make.
    #[serde(flatten)]
    pub changes: Changes,
    /// Diffs of the change.
    pub diff: Diffs,
}

/// Check of a plugin package, in the form of `schemas/action-result.schema.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginCheck {
    /// Name of the check.
    pub name: String,
    /// True if the check passed.
    pub ok: bool,
    /// Exit code of its command. Absent where no command ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration in milliseconds. Absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Excerpt of standard output. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Excerpt of standard error. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Further information as a sentence. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Evidence that a rollback restores the workspace: `before` and `restored` are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreEvidence {
    /// Number of paths that were compared.
    pub paths: u64,
    /// Digest of their content before the change.
    #[schemars(with = "value::Digest")]
    pub before: Digest,
    /// Digest of their content after the rollback.
    #[schemars(with = "value::Digest")]
    pub restored: Digest,
}

impl Document for PluginNew {
    const FORMAT: &'static str = "actum.plugin-new/1";
}

impl Document for PluginLint {
    const FORMAT: &'static str = "actum.plugin-lint/1";
}

impl Document for PluginTest {
    const FORMAT: &'static str = "actum.plugin-test/1";
}
