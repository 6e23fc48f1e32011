//! Results of `actum plugin`, which creates, checks and tests plugin packages.

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
    /// Directory of the new package.
    pub directory: String,
    /// Created files, relative to the directory.
    pub files: Vec<String>,
}

/// Result of `actum plugin lint` for a valid package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginLint {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Version of the package, or `null` if it has none.
    pub version: Option<String>,
    /// Minimum risk tier of the action's runs.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// File system access that the package requests.
    pub filesystem: String,
    /// Digest of all files in the package.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Number of files in the package.
    pub files: u64,
    /// Total size of the files in the package, in bytes.
    pub bytes: u64,
    /// Version of Node.js that compiled the steps, or `null` if they were not compiled.
    pub node: Option<String>,
    /// Reason why the steps were not compiled, or `null` if they were.
    pub not_compiled: Option<String>,
}

/// Result of `actum plugin test`, if all steps returned a result and the rollback restored the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginTest {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Digest of the package.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Whether all checks passed.
    pub ok: bool,
    /// Output of `execute`.
    pub output: Value,
    /// Checks returned by `verify`.
    pub checks: Vec<PluginCheck>,
    /// Evidence that `rollback` restores the workspace.
    pub rollback: RestoreEvidence,
    /// Changes that the package would make.
    #[serde(flatten)]
    pub changes: Changes,
    /// Diffs of these changes.
    pub diff: Diffs,
}

/// Check of a plugin package, in the format of `schemas/action-result.schema.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginCheck {
    /// Name of the check.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Exit code of the command. Absent if the check ran no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration in milliseconds. Absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Excerpt of standard output. Absent if there was no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Excerpt of standard error. Absent if there was no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Additional information as a sentence. Optional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Evidence that a rollback restored the workspace. `before` and `restored` are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreEvidence {
    /// Number of paths that were compared.
    pub paths: u64,
    /// Digest of the content of these paths before the change.
    #[schemars(with = "value::Digest")]
    pub before: Digest,
    /// Digest of the content of these paths after the rollback.
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
