//! Whether the code of plugin packages may be run: `[plugins]` (AA-9).

use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// What an operator lets plugin packages do. Only the operator's own policy can say it: who could write a
/// workspace's policy, a plan or a package could else run code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PluginAllowance {
    /// Whether their code may be run, in a sandbox; `None` where nothing is said, which is no.
    #[serde(rename = "allowPluginCodeExecution", skip_serializing_if = "Option::is_none")]
    pub code_execution: Option<bool>,
}

/// The key, as the seed has it.
const KEY: &str = "allowPluginCodeExecution";

impl PluginAllowance {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<Self, Diagnostic> {
        let Some(table) = table else { return Ok(Self::default()) };
        table.only(&[KEY], Secret::No)?;
        let code_execution = table.get(KEY).map(|value| value.truth()).transpose()?;
        Ok(Self { code_execution })
    }
}
