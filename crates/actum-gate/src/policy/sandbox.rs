//! What commands may see and pass through besides what every command may: `[sandbox]`.

use actum_core::RelPath;
use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::file::absolute;
use super::written::{Secret, Table, Value};

/// What an operator lets commands do whose effects are captured. No gate judges it, and only the operator's own
/// policy can say it: what is passed through is not part of any run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxAllowance {
    /// Absolute paths of what they may read besides.
    pub read: Vec<String>,
    /// Absolute paths of directories outside of any workspace that they may write to directly: what changes there is part
    /// of no run.
    pub write: Vec<String>,
    /// Absolute paths of what they may read and execute besides.
    pub exec: Vec<String>,
    /// Names of variables that they get from outside, or `NAME=VALUE`.
    pub env: Vec<String>,
    /// Directories of a workspace that are passed through: what commands change there is changed, and is part of
    /// no run.
    pub caches: Vec<RelPath>,
    /// Limits that they may be given above the default, each `NAME=AMOUNT` as on the command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl SandboxAllowance {
    /// Whether nothing is allowed besides.
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

/// A variable of the environment: a name, or `NAME=VALUE`.
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
    // The state of git and of actum is no such path.
    path.map_err(|error| value.unusable(&error))
}
