//! Commands that were run for a run, as its intent and its receipt state them (AA-7).

use actum_core::Digest;
use serde::{Deserialize, Serialize};

/// All that was run for a run, and what confined it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandsRun {
    /// The commands whose effects are the change, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<CommandRecord>,
    /// The commands that looked at the staged change and found it good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<CommandRecord>,
    /// Sandbox that confined them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRecord>,
}

/// A command, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The program as it was asked for, and its arguments.
    pub argv: Vec<String>,
    /// Outcome of the command.
    pub ended: CommandEnd,
    /// Duration in milliseconds.
    pub wall_ms: u64,
    /// SHA-256 of what it wrote to standard output.
    pub stdout: Digest,
    /// SHA-256 of what it wrote to standard error.
    pub stderr: Digest,
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// The command exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The command was ended, for this reason.
    Stopped(String),
}

/// Sandbox that confined commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// The tier: `N` for namespaces, Landlock and seccomp.
    pub tier: String,
    /// The version of Landlock's interface that was used.
    pub landlock: Option<u32>,
    /// True if they ran as root, without capabilities.
    pub is_root: bool,
    /// Directories of the workspace that were passed through, of which no change is part of the run.
    pub caches: Vec<String>,
}

impl CommandsRun {
    /// Returns true if nothing was run.
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.verified.is_empty()
    }
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(0) => write!(f, "it succeeded"),
            Self::Code(code) => write!(f, "it exited with the code {code}"),
            Self::Signal(signal) => write!(f, "the signal {signal} ended it"),
            Self::Stopped(why) => write!(f, "it was ended: {why}"),
        }
    }
}
