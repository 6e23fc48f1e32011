//! Reads the permission to run the code of plugin packages, as set under `[plugins]` (AA-9).

use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Permissions of plugin packages. Only the operator's own policy can set them, because otherwise any process
/// that can write a workspace policy, a plan or a package could run code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PluginAllowance {
    /// Whether the code of plugin packages may run in a sandbox. `None` means that it is not set, which has the
    /// effect of `false`.
    #[serde(rename = "allowPluginCodeExecution", skip_serializing_if = "Option::is_none")]
    pub code_execution: Option<bool>,
}

/// Key of the permission, as spelled in the seed.
const KEY: &str = "allowPluginCodeExecution";

impl PluginAllowance {
    /// Returns true if no permission is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the `[plugins]` table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::default()) };
        table.only(&[KEY], Secret::No)?;
        let code_execution = table.get(KEY).map(|value| value.truth()).transpose()?;
        Ok(Self { code_execution })
    }
}
