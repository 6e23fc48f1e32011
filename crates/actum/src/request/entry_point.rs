//! Entry points through which requests reach actum, and the behavior that depends on the entry point.

use actum_core::path::Quoted;
use actum_gate::Profile;
use serde::{Deserialize, Serialize};

/// Entry point through which a request was made, such as a command or a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum EntryPoint {
    /// A program that uses this crate as a library.
    Library,
    /// The commands `actum apply`, `actum undo` and `actum redo`.
    CommandLine,
    /// The command `actum exec`.
    Exec,
    /// The action API, which runs typed actions.
    Action,
    /// The commands `actum run` and `actum rollback` for a task plan.
    TaskPlan,
    /// The commands `actum file run` and `actum file restore`.
    FileTask,
    /// The command `actum hook`, which an agent's client calls before or after it changes files.
    ClientHook,
    /// A tool call to the MCP server, `actum mcp`.
    Mcp,
}

impl EntryPoint {
    /// All entry points that this version knows.
    pub const ALL: &[Self] = &[
        Self::Library,
        Self::CommandLine,
        Self::Exec,
        Self::Action,
        Self::TaskPlan,
        Self::FileTask,
        Self::ClientHook,
        Self::Mcp,
    ];

    /// Returns the name of the entry point in records and access policies. The name is stable across versions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::CommandLine => "command line",
            Self::Exec => "exec",
            Self::Action => "action",
            Self::TaskPlan => "task plan",
            Self::FileTask => "file task",
            Self::ClientHook => "client hook",
            Self::Mcp => "mcp",
        }
    }

    /// Looks up an entry point by its name. Returns `None` if this version does not know the name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|entry_point| entry_point.as_str() == name)
    }

    /// Returns the profile that applies to requests from this entry point in addition to the policy's own profiles (D-5).
    pub(crate) fn profile(self) -> Option<Profile> {
        match self {
            Self::TaskPlan => Some(Profile::AgentExecutor),
            Self::Library
            | Self::CommandLine
            | Self::Exec
            | Self::Action
            | Self::FileTask
            | Self::ClientHook
            | Self::Mcp => None,
        }
    }

    /// Returns whether `actum approve` also executes the approved request. A task plan must be started again with its own
    /// command, because that command writes the reports.
    pub fn is_carried_out_by_approval(self) -> bool {
        match self {
            Self::Library
            | Self::CommandLine
            | Self::Exec
            | Self::Action
            | Self::ClientHook
            | Self::Mcp => true,
            Self::TaskPlan | Self::FileTask => false,
        }
    }

    /// Returns whether a change that requires approval is queued. A file task fails instead of waiting in the queue (D-3).
    pub(crate) fn queues(self) -> bool {
        match self {
            Self::Library
            | Self::CommandLine
            | Self::Exec
            | Self::Action
            | Self::TaskPlan
            | Self::ClientHook
            | Self::Mcp => true,
            Self::FileTask => false,
        }
    }
}

impl From<EntryPoint> for &'static str {
    fn from(entry_point: EntryPoint) -> Self {
        entry_point.as_str()
    }
}

impl TryFrom<String> for EntryPoint {
    type Error = String;

    /// # Errors
    /// Returns a message if this version does not know the name.
    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|it| format!("`{}`", it.as_str())).collect();
            let name = Quoted(name.as_bytes());
            format!("unknown entry point `{name}`; expected one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5
    #[test]
    fn entry_point_round_trips_by_name() {
        let names = [
            "library",
            "command line",
            "exec",
            "action",
            "task plan",
            "file task",
            "client hook",
            "mcp",
        ];
        assert_eq!(EntryPoint::ALL.len(), names.len());
        for name in names {
            let entry_point = EntryPoint::from_name(name).unwrap();
            assert_eq!(serde_json::to_value(entry_point).unwrap(), name);
            assert_eq!(serde_json::from_value::<EntryPoint>(name.into()).unwrap(), entry_point);
        }
        let error = serde_json::from_str::<EntryPoint>("\"cli\"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown entry point `cli`; expected one of `library`, `command line`, `exec`, `action`, `task plan`, `file task`, `client hook`, `mcp`"
        );
    }
}
