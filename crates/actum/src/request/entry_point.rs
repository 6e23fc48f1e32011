//! Entry points of requests, and what differs between them.

use actum_core::path::Quoted;
use actum_gate::Profile;
use serde::{Deserialize, Serialize};

/// Entry point that received a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum EntryPoint {
    /// A program that calls this crate.
    Library,
    /// `actum apply`, `undo` and `redo`.
    CommandLine,
    /// `actum exec`.
    Exec,
    /// The action API.
    Action,
    /// `actum run` of a task plan, and `actum rollback` of one.
    TaskPlan,
    /// `actum file run` and `actum file restore`.
    FileTask,
    /// `actum hook`: an agent's client is about to change files, or did.
    ClientHook,
    /// A tool of `actum mcp`.
    Mcp,
}

impl EntryPoint {
    /// All entry points.
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

    /// Returns the name in records and access policies. It never changes.
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

    /// Finds the entry point by its name. Returns `None` for a name of another version.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|entry_point| entry_point.as_str() == name)
    }

    /// Returns the profile that is in force besides those of the policy (D-5).
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

    /// Returns true if `actum approve` carries out a queued request. A task plan needs its own command again, which
    /// writes the reports.
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

    /// Returns true if a change that needs an approval is queued. A file task fails instead (D-3).
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
    /// The name is unknown to this version.
    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|it| format!("`{}`", it.as_str())).collect();
            let name = Quoted(name.as_bytes());
            format!("unknown entry point `{name}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5
    #[test]
    fn an_entry_point_is_read_and_written_by_its_name() {
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
            "unknown entry point `cli`; there are `library`, `command line`, `exec`, `action`, `task plan`, `file task`, `client hook`, `mcp`"
        );
    }
}
