//! `actum.sandbox/1` and `actum.exec/1`: a command that ran in a sandbox. `actum.exec-status/1`: commands that run.

use std::collections::BTreeMap;

use actum_core::{Status, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apply::Apply;
use crate::brief_parts::BriefParts;
use crate::document::{Document, DocumentType};
use crate::error::Error;
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<Sandbox>(),
    DocumentType::new::<Exec>(),
    DocumentType::new::<ExecStatus>(),
];

words! {
    /// Resource that is measured and limited.
    Resource {
        /// Time from start to end, in milliseconds.
        Wall = "wall",
        /// Processor time, in milliseconds.
        Cpu = "cpu",
        /// Memory, in bytes.
        Memory = "memory",
        /// Bytes read from storage.
        StorageRead = "storage_read",
        /// Bytes written to storage.
        StorageWrite = "storage_write",
        /// Size of any one file, in bytes.
        FileSize = "file_size",
        /// Processes and threads at one time.
        Processes = "processes",
        /// Open files of any one process.
        OpenFiles = "open_files",
        /// Bytes of standard output and standard error that are kept.
        Output = "output",
    }

    /// Strength of the enforcement of a limit.
    Enforcement {
        /// Checked every 10 ms; more can be used between two checks.
        Polled = "polled",
        /// Enforced by the kernel, or at once.
        Hard = "hard",
    }

    /// Type of what is at a path.
    NodeType {
        /// A regular file.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A symbolic link.
        Symlink = "symlink",
        /// A pipe, socket or device.
        Special = "special",
    }

    /// Outcome of a command's changes.
    ExecOutcome {
        /// The command changed nothing.
        Nothing = "nothing",
        /// The command failed, and its changes were dropped.
        Dropped = "dropped",
        /// The changes were published, or would be.
        Changed = "changed",
        /// The changes wait for approval.
        Queued = "queued",
        /// The changes were rejected.
        Refused = "refused",
    }
}

/// Result of `actum sandbox run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sandbox {
    /// The command and how it ended.
    #[serde(flatten)]
    pub execution: Execution,
    /// Paths that the command changed in its view. Only with `--capture`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<NodeChange>")]
    pub changes: Option<Vec<NodeChange>>,
    /// Output of the command.
    #[serde(flatten)]
    pub output: Output,
}

impl Document for Sandbox {
    const FORMAT: &'static str = "actum.sandbox/1";
}

/// Result of `actum exec`, once its command has run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exec {
    /// Status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// The command and how it ended.
    #[serde(flatten)]
    pub execution: Execution,
    /// Output of the command.
    #[serde(flatten)]
    pub output: Output,
    /// Outcome of the command's changes.
    pub outcome: ExecOutcome,
    /// Number of dropped changes. Only where `outcome` is `dropped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub dropped_changes: Option<u64>,
    /// The change, as in `actum.apply/1`. Only where `outcome` is `changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Apply")]
    pub change: Option<Box<Apply>>,
    /// The error, as in `actum.error/1`. Only where `outcome` is `queued` or `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Error")]
    pub error: Option<Box<Error>>,
}

/// Result of `actum exec --status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecStatus {
    /// Commands that run in the workspace, or of which the change is being made.
    pub commands: Vec<RunningCommand>,
}

/// Command that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Number of the process of actum that runs it.
    pub process: u32,
    /// Time of the start.
    #[schemars(with = "value::Time")]
    pub started: Timestamp,
    /// Paths that it changed so far, and directories that lead to them.
    pub paths: u64,
    /// Bytes of the files that it left so far.
    pub bytes: u64,
}

impl Document for ExecStatus {
    const FORMAT: &'static str = "actum.exec-status/1";
}

impl Document for Exec {
    const FORMAT: &'static str = "actum.exec/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// A command that ran in a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// The program and its arguments. Escaped where their bytes are not UTF-8.
    pub command: Vec<String>,
    /// Outcome of a command that ended by itself; `null` where it was terminated.
    pub ended: Option<Ended>,
    /// Limits and rules that the command violated.
    pub violated: Vec<Violation>,
    /// Resources that the command and all its processes used.
    pub usage: Usage,
    /// Confinement that was in force.
    pub in_force: InForce,
}

/// Output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Standard output as text.
    pub stdout: String,
    /// Standard error as text.
    pub stderr: String,
    /// Bytes of standard output in hexadecimal. Only where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub stdout_hex: Option<String>,
    /// Bytes of standard error in hexadecimal. Only where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub stderr_hex: Option<String>,
}

/// End of a command that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Violation for which a command was terminated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The command exceeded the limit of this resource.
    Limit(Resource),
    /// One of its processes could not be monitored.
    Unwatched,
    /// The command created this protected path. Escaped where its bytes are not UTF-8.
    Made(String),
    /// The caller interrupted it.
    Interrupted,
}

/// Resources that a command and all its processes used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Time from start to end, in milliseconds.
    pub wall: u64,
    /// Processor time, in milliseconds.
    pub cpu: u64,
    /// Highest memory use that was seen, in bytes.
    pub memory: u64,
    /// Bytes read from storage.
    pub storage_read: u64,
    /// Bytes written to storage.
    pub storage_write: u64,
    /// Highest number of processes and threads that was seen.
    pub processes: u64,
    /// Bytes of standard output and standard error.
    pub output: u64,
}

/// Confinement that was in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InForce {
    /// Tier of the sandbox: `N` (namespaces, Landlock and seccomp) or `L` (Landlock and seccomp).
    pub tier: String,
    /// Version of the Landlock interface; `null` where it was not used.
    pub landlock: Option<u32>,
    /// True if signals and abstract sockets of the host are out of reach.
    pub ipc_confined: bool,
    /// True if the command ran as root, without capabilities.
    pub is_root: bool,
    /// Strength of the enforcement of each limit.
    pub limits: BTreeMap<Resource, Enforcement>,
}

/// Path that a command changed in its view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChange {
    /// The path, relative to the root of the view. Escaped where its bytes are not UTF-8.
    pub path: String,
    /// Kind of the change.
    pub kind: crate::change::ChangeKind,
    /// Bytes of the path in hexadecimal. Only where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path_hex: Option<String>,
    /// Node before the command. Absent where the path did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Node")]
    pub before: Option<Node>,
    /// Node after the command. Absent where the path does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Node")]
    pub after: Option<Node>,
}

/// File, directory, link or special file at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Type of the object.
    pub r#type: NodeType,
    /// Permission bits in octal. Absent for a symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Mode")]
    pub mode: Option<String>,
    /// Size in bytes. Only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// Target. Only for a symbolic link; escaped where its bytes are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target: Option<String>,
}
