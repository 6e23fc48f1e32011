//! Records of the commands that were executed for a run, used in its intent and its receipt (AA-7).

use actum_core::Digest;
use serde::{Deserialize, Serialize};

/// All commands that were executed for a run, and the sandbox that confined them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandsRun {
    /// Commands whose effects make up the change, in the order of their execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<CommandRecord>,
    /// Commands that verified the staged change successfully.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<CommandRecord>,
    /// Sandbox that confined the commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRecord>,
}

/// Command that was executed, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// Program as named in the request, and its arguments.
    pub argv: Vec<String>,
    /// Outcome of the command.
    pub ended: CommandEnd,
    /// Duration of the command, in milliseconds.
    pub wall_ms: u64,
    /// SHA-256 of the command's standard output.
    pub stdout: Digest,
    /// SHA-256 of the command's standard error.
    pub stderr: Digest,
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
    /// The command was terminated for this reason.
    Stopped(String),
}

/// Sandbox in which commands ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// Sandbox tier, for example `N` for namespaces, Landlock and seccomp.
    pub tier: String,
    /// Landlock ABI version, or `None` if Landlock was not used.
    pub landlock: Option<u32>,
    /// Whether the commands ran as root, without capabilities.
    pub is_root: bool,
    /// Directories of the workspace that commands accessed directly. Changes in them are not part of the run.
    pub caches: Vec<String>,
}

impl CommandsRun {
    /// Whether no command was executed.
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.verified.is_empty()
    }
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(0) => write!(f, "it succeeded"),
            Self::Code(code) => write!(f, "it exited with code {code}"),
            Self::Signal(signal) => write!(f, "it was killed by signal {signal}"),
            Self::Stopped(why) => write!(f, "it was terminated: {why}"),
        }
    }
}
