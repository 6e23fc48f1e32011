//! Parts that several documents share: paths, gates, changes and diffs.

use std::borrow::Cow;

use actum_core::path::Quoted;
use actum_core::{FileMode, RelPath};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::value;

/// Path below the root of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PathRef {
    /// The path. Escaped where its bytes are not UTF-8.
    pub path: String,
    /// Bytes of the path in hexadecimal. Absent where they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
}

impl From<&RelPath> for PathRef {
    fn from(path: &RelPath) -> Self {
        let bytes = path.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(path) => Self { path: path.to_owned(), path_hex: None },
            Err(_) => {
                let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Self { path: Quoted(bytes).to_string(), path_hex: Some(hex) }
            }
        }
    }
}

/// Verdict of a gate, or of all gates: the strictest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Allowed.
    Allow,
    /// Allowed with an approval.
    NeedsApproval,
    /// Denied, whoever approves.
    Deny,
}

/// Decision of one gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Name of the gate.
    pub gate: String,
    /// Verdict of the gate.
    #[schemars(with = "Verdict")]
    pub verdict: String,
    /// Reason as fields, of which `kind` names the ground; see "Gates and grounds" in `docs/json.md`. A sentence where the
    /// receipt was made before version 7 of the rules.
    #[schemars(with = "Ground")]
    pub ground: Value,
    /// Reason as a sentence. Its wording can change in any version.
    pub message: String,
}

/// Schema of a ground.
pub(crate) enum Ground {}

impl JsonSchema for Ground {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Ground".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "string"] })
    }
}

/// Changes of paths, and their sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeList {
    /// Number of files that change. Directories are not counted.
    pub files: u64,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
    /// Change of each path.
    pub changes: Vec<Change>,
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The path; of a renamed file the new one.
    #[serde(flatten)]
    pub path: PathRef,
    /// Path of a renamed file before. Absent for other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<PathRef>,
    /// Kind of the change.
    #[schemars(with = "value::EffectKind")]
    pub kind: String,
    /// Number of lines added; 0 for binary content.
    pub added: u64,
    /// Number of lines removed; 0 for binary content.
    pub removed: u64,
    /// Sizes of a file with binary content, in bytes. Absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Sizes>,
    /// Permission bits where they change, else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Modes>,
}

/// Sizes of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// Size before the change.
    pub before: u64,
    /// Size after the change.
    pub after: u64,
}

/// Permission bits of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Modes {
    /// Bits before the change.
    #[schemars(with = "value::Mode")]
    pub before: FileMode,
    /// Bits after the change.
    #[schemars(with = "value::Mode")]
    pub after: FileMode,
}

/// Diffs of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// Diff of each file, in the order of the paths.
    pub changes: Vec<FileDiff>,
}

/// Diff of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// The path; of a renamed file the new one.
    #[serde(flatten)]
    pub path: PathRef,
    /// Path of a renamed file before. Absent for other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<PathRef>,
    /// Diff in git's format; `null` where the content is too large, no longer known, or not UTF-8.
    pub diff: Option<String>,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
}
