//! Additional sandbox permissions of commands: `[sandbox]`.

use actum_core::RelPath;
use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::file::absolute;
use super::written::{Secret, Table, Value};

/// Additional permissions of commands whose effects are captured. No gate judges them, and only the
/// operator's own policy can set them: changes in passed-through directories are not part of any run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxAllowance {
    /// Absolute paths that they may additionally read.
    pub read: Vec<String>,
    /// Absolute paths of directories outside any workspace that they may write to directly. Changes there are
    /// not part of a run.
    pub write: Vec<String>,
    /// Absolute paths that they may additionally read and execute.
    pub exec: Vec<String>,
    /// Names of environment variables to pass to them, or `NAME=VALUE`.
    pub env: Vec<String>,
    /// Directories of a workspace that are passed through: changes there take effect directly and are not
    /// part of a run.
    pub caches: Vec<RelPath>,
    /// Limits above the default that they may get, each `NAME=AMOUNT` as on the command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl SandboxAllowance {
    /// Returns true if there are no additional permissions.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::default()) };
        table.only(&["read", "write", "exec", "env", "caches", "limits"], Secret::Perhaps)?;
        let list = |key| Ok(table.list(key, "paths", absolute)?.unwrap_or_default());
        let limit = |it: &Value<'_>| match it.text("a limit, which is a text")? {
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

/// Reads an environment variable: a name, or `NAME=VALUE`.
pub(super) fn variable(value: &Value<'_>) -> Result<String, Diagnostic> {
    match value.text("a variable, which is a text")? {
        text if text.starts_with('=') || text.is_empty() || text.contains('\0') => {
            let wanted = "a name, or `NAME=VALUE`".to_owned();
            Err(value.other_than(wanted, "another text".to_owned()))
        }
        text => Ok(text.to_owned()),
    }
}

fn cache(value: &Value<'_>) -> Result<RelPath, Diagnostic> {
    let text = value.text("a directory, which is a text")?;
    let path = RelPath::new(text.strip_suffix('/').unwrap_or(text));
    // The state of git and of actum is not a valid path here.
    path.map_err(|error| value.unusable(&error))
}
