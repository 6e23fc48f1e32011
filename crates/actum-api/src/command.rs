//! `actum.sandbox/1` and `actum.exec/1`: results of sandboxed commands. `actum.exec-status/1`: commands that are currently running.

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
    /// Resource that is measured and limited for a sandboxed command.
    Resource {
        /// Elapsed time, in milliseconds.
        Wall = "wall",
        /// CPU time, in milliseconds.
        Cpu = "cpu",
        /// Memory, in bytes.
        Memory = "memory",
        /// Bytes read from storage.
        StorageRead = "storage_read",
        /// Bytes written to storage.
        StorageWrite = "storage_write",
        /// Size of a single file, in bytes.
        FileSize = "file_size",
        /// Number of concurrent processes and threads.
        Processes = "processes",
        /// Number of open files per process.
        OpenFiles = "open_files",
        /// Number of bytes of standard output and standard error that are kept.
        Output = "output",
    }

    /// Strictness with which a resource limit is enforced.
    Enforcement {
        /// The limit is checked every 10 ms, so a command can exceed it briefly between two checks.
        Polled = "polled",
        /// The limit cannot be exceeded, because the kernel enforces it or actum stops the command as soon as it is reached.
        Hard = "hard",
    }

    /// Type of a file system object.
    NodeType {
        /// Regular file.
        File = "file",
        /// Directory.
        Directory = "directory",
        /// Symbolic link.
        Symlink = "symlink",
        /// Pipe, socket or device.
        Special = "special",
    }

    /// Outcome of the changes that a command made.
    ExecOutcome {
        /// The command changed nothing.
        Nothing = "nothing",
        /// The command failed, so its changes were discarded.
        Dropped = "dropped",
        /// The changes were published, or would be published if this were not a dry run.
        Changed = "changed",
        /// The changes are waiting for approval.
        Queued = "queued",
        /// The changes were rejected.
        Refused = "refused",
    }
}

/// Result of `actum sandbox run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sandbox {
    /// Sandboxed command and how it ended.
    #[serde(flatten)]
    pub execution: Execution,
    /// Paths that the command changed in its view of the workspace. Present only with `--capture`.
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
    /// Sandboxed command and how it ended.
    #[serde(flatten)]
    pub execution: Execution,
    /// Output of the command.
    #[serde(flatten)]
    pub output: Output,
    /// Outcome of the changes that the command made.
    pub outcome: ExecOutcome,
    /// Number of discarded changes. Present only if `outcome` is `dropped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub dropped_changes: Option<u64>,
    /// Change made by the command, as in `actum.apply/1`. Present only if `outcome` is `changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Apply")]
    pub change: Option<Box<Apply>>,
    /// Error, as in `actum.error/1`. Present only if `outcome` is `queued` or `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Error")]
    pub error: Option<Box<Error>>,
}

/// Result of `actum exec --status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecStatus {
    /// Commands that are running in the workspace or whose changes are being published.
    pub commands: Vec<RunningCommand>,
}

/// Command that is currently running in the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningCommand {
    /// Program and its arguments.
    pub command: Vec<String>,
    /// Id of the actum process that runs the command.
    pub process: u32,
    /// Time at which the command was started.
    #[schemars(with = "value::Time")]
    pub started: Timestamp,
    /// Number of paths that the command has changed so far, including their parent directories.
    pub paths: u64,
    /// Total size in bytes of the files that the command has changed so far.
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

/// Execution of a command in the sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// Program and its arguments. Escaped if they are not UTF-8.
    pub command: Vec<String>,
    /// Exit code or signal with which the command ended, or `null` if actum terminated it.
    pub ended: Option<Ended>,
    /// Limits and rules that the command violated.
    pub violated: Vec<Violation>,
    /// Resources used by the command and all of its processes.
    pub usage: Usage,
    /// Restrictions of the sandbox in which the command ran.
    pub in_force: InForce,
}

/// Output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Standard output as text.
    pub stdout: String,
    /// Standard error as text.
    pub stderr: String,
    /// Bytes of standard output in hexadecimal. Present only if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub stdout_hex: Option<String>,
    /// Bytes of standard error in hexadecimal. Present only if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub stderr_hex: Option<String>,
}

/// End of a command that actum did not terminate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
}

/// Violation for which actum terminated a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The command exceeded the limit of this resource.
    Limit(Resource),
    /// A process of the command could not be monitored.
    Unwatched,
    /// The command created this protected path. Escaped if it is not UTF-8.
    Made(String),
    /// The caller interrupted the command.
    Interrupted,
}

/// Resources used by a command and all of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Elapsed time, in milliseconds.
    pub wall: u64,
    /// CPU time, in milliseconds.
    pub cpu: u64,
    /// Peak memory usage that was observed, in bytes.
    pub memory: u64,
    /// Bytes read from storage.
    pub storage_read: u64,
    /// Bytes written to storage.
    pub storage_write: u64,
    /// Peak number of processes and threads that was observed.
    pub processes: u64,
    /// Bytes written to standard output and standard error.
    pub output: u64,
}

/// Restrictions of the sandbox in which a command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InForce {
    /// Sandbox tier: `N` (namespaces, Landlock and seccomp) or `L` (Landlock and seccomp).
    pub tier: String,
    /// Landlock ABI version, or `null` if Landlock was not used.
    pub landlock: Option<u32>,
    /// Whether the command was prevented from sending signals to host processes and from using abstract sockets of the host.
    pub ipc_confined: bool,
    /// Whether the command ran as root, without capabilities.
    pub is_root: bool,
    /// Strictness with which each limit was enforced.
    pub limits: BTreeMap<Resource, Enforcement>,
}

/// Path that a command changed in its view of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChange {
    /// Changed path, relative to the root of the view. Escaped if it is not UTF-8.
    pub path: String,
    /// Kind of the change.
    pub kind: crate::change::ChangeKind,
    /// Bytes of the path in hexadecimal. Present only if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path_hex: Option<String>,
    /// Object at the path before the command ran. Absent if the path did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Node")]
    pub before: Option<Node>,
    /// Object at the path after the command ran. Absent if the path no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Node")]
    pub after: Option<Node>,
}

/// File, directory, symbolic link or special file at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Type of the object.
    pub r#type: NodeType,
    /// Permission bits in octal. Absent for a symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Mode")]
    pub mode: Option<String>,
    /// Size in bytes. Present only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// Target of the link. Present only for a symbolic link, and escaped if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target: Option<String>,
}
