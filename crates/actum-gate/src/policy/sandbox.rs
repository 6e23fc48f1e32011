//! Reads the additional sandbox permissions of commands, as set under `[sandbox]`.

use actum_core::RelPath;
use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::file::absolute;
use super::written::{Secret, Table, Value};

/// Additional permissions of commands that run in a sandbox that captures their effects. Only the operator's
/// own policy can set them, because changes in passed-through directories are not part of a run and no gate
/// judges them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxAllowance {
    /// Absolute paths that commands may read in addition to the default ones.
    pub read: Vec<String>,
    /// Absolute paths of directories outside any workspace that commands may write to directly. Changes there
    /// are not part of a run.
    pub write: Vec<String>,
    /// Absolute paths that commands may read and execute in addition to the default ones.
    pub exec: Vec<String>,
    /// Environment variables of commands: a name to pass the variable on, or `NAME=VALUE` to set it.
    pub env: Vec<String>,
    /// Directories of a workspace that commands write to directly. Changes there take effect immediately and
    /// are not part of a run.
    pub caches: Vec<RelPath>,
    /// Resource limits above the default that commands may request, each as `NAME=AMOUNT` like on the command
    /// line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl SandboxAllowance {
    /// Returns true if no additional permission is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the `[sandbox]` table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::default()) };
        table.only(&["read", "write", "exec", "env", "caches", "limits"], Secret::Perhaps)?;
        let list = |key| Ok(table.list(key, "paths", absolute)?.unwrap_or_default());
        let limit = |it: &Value<'_>| match it.text("a limit (a string)")? {
            text if text.contains('=') => Ok(text.to_owned()),
            other => {
                let wanted = "`NAME=AMOUNT`, such as `memory=16G`".to_owned();
                Err(it.other_than(wanted, format!("`{other}`")))
            }
        };
        Ok(Self {
            limits: table.list("limits", "limits", limit)?.unwrap_or_default(),
            read: list("read")?,
            write: list("write")?,
            exec: list("exec")?,
            env: table.list("env", "variables", variable)?.unwrap_or_default(),
            caches: table.list("caches", "directories", cache)?.unwrap_or_default(),
        })
    }
}

/// Reads an environment variable, which is a name or `NAME=VALUE`.
pub(super) fn variable(value: &Value<'_>) -> Result<String, Diagnostic> {
    match value.text("a variable (a string)")? {
        text if text.starts_with('=') || text.is_empty() || text.contains('\0') => {
            let wanted = "a name, or `NAME=VALUE`".to_owned();
            Err(value.other_than(wanted, "another string".to_owned()))
        }
        text => Ok(text.to_owned()),
    }
}

fn cache(value: &Value<'_>) -> Result<RelPath, Diagnostic> {
    let text = value.text("a directory (a string)")?;
    let path = RelPath::new(text.strip_suffix('/').unwrap_or(text));
    // `RelPath` rejects paths to the state of git and actum.
    path.map_err(|error| value.unusable(&error))
}
