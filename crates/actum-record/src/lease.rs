//! Leases, which allow their holder to perform certain operations in certain directories for a limited time (FE-17, D-7).
//!
//! A lease is a chain of blocks. The first block is signed by the lease key. Each holder can append a block, which can only
//! narrow the lease. Every block has [`LeaseTerms`], and a request must satisfy the terms of all blocks.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_core::{ActionName, Digest, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::name::TenantId;
use crate::signer::KeyId;

/// Maximum number of blocks in a lease.
pub const LEASE_BLOCKS_MAX: usize = 8;
/// Maximum number of items in a list of a lease block, such as base directories or scope rules.
pub const LEASE_PATHS_MAX: usize = 64;
/// Maximum length of a base directory (including the trailing `/`) or of a scope rule, in bytes.
pub const LEASE_PATH_BYTES_MAX: usize = 4096;
/// Maximum length of the name of an agent or a task, in bytes.
pub const LEASE_NAME_BYTES_MAX: usize = 128;
/// Maximum number of uses and maximum value of each quota. It is 2^53 - 1, the largest integer that JSON represents exactly.
pub const LEASE_COUNT_MAX: u64 = actum_core::canonical::COUNT_MAX;

/// Id of a lease block, which is the SHA-256 of its Biscuit revocation identifier. The id of the last block identifies the
/// lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(pub Digest);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Capability that a lease grants and that a request under a lease requires.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Capability {
    /// Change files with `apply`, `undo`, `redo` or the library.
    Apply,
    /// Execute a command and keep its changes.
    Exec,
    /// Execute an action of this type.
    Action(ActionName),
    /// Execute a task plan, or roll one back.
    Task,
    /// Move a file (seed 001).
    FileMove,
    /// Copy a file (seed 001).
    FileCopy,
    /// Delete a file (seed 001).
    FileDelete,
}

impl Capability {
    /// All capabilities that have no parameter.
    pub const PLAIN: [Self; 6] =
        [Self::Apply, Self::Exec, Self::Task, Self::FileMove, Self::FileCopy, Self::FileDelete];
    /// Prefix of the capability of an action, which is followed by the action type.
    const ACTION: &str = "ACTION:";
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "APPLY",
            Self::Exec => "EXEC",
            Self::Task => "TASK",
            Self::FileMove => "FILE_MOVE",
            Self::FileCopy => "FILE_COPY",
            Self::FileDelete => "FILE_DELETE",
            Self::Action(name) => return write!(f, "{}{name}", Self::ACTION),
        })
    }
}

impl FromStr for Capability {
    type Err = LeaseTermError;

    fn from_str(text: &str) -> Result<Self, LeaseTermError> {
        if let Some(plain) = Self::PLAIN.into_iter().find(|plain| plain.to_string() == text) {
            return Ok(plain);
        }
        let action = text.strip_prefix(Self::ACTION).and_then(|name| name.parse().ok());
        action
            .map(Self::Action)
            .ok_or_else(|| LeaseTermError::Capability { given: text.to_owned() })
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

impl TryFrom<String> for Capability {
    type Error = LeaseTermError;

    fn try_from(text: String) -> Result<Self, LeaseTermError> {
        text.parse()
    }
}

/// Name of an agent. `planner/copier` is a sub-agent of `planner`, and may use every lease of `planner`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AgentName(String);

impl AgentName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `other` names this agent or one of its sub-agents.
    pub fn covers(&self, other: &str) -> bool {
        other.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FromStr for AgentName {
    type Err = LeaseTermError;

    fn from_str(text: &str) -> Result<Self, LeaseTermError> {
        match is_name(text) && text.split('/').all(|part| !part.is_empty()) {
            true => Ok(Self(text.to_owned())),
            false => Err(LeaseTermError::Agent { given: text.to_owned() }),
        }
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = LeaseTermError;

    fn try_from(text: String) -> Result<Self, LeaseTermError> {
        text.parse()
    }
}

/// Name of the task that a lease is restricted to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskName(String);

impl TaskName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskName {
    type Err = LeaseTermError;

    fn from_str(text: &str) -> Result<Self, LeaseTermError> {
        match is_name(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(LeaseTermError::Task { given: text.to_owned() }),
        }
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

impl TryFrom<String> for TaskName {
    type Error = LeaseTermError;

    fn try_from(text: String) -> Result<Self, LeaseTermError> {
        text.parse()
    }
}

/// Directory in which the holder of a lease may change files, including all its subdirectories. The path is absolute and
/// normalised. It has no `.`, `..` or empty components, and ends with a single `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BaseDirectory(String);

impl BaseDirectory {
    /// Returns the path with its trailing `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the components of the path, starting below `/`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }
}

impl FromStr for BaseDirectory {
    type Err = LeaseTermError;

    /// Parses an absolute path with or without a trailing `/`.
    fn from_str(text: &str) -> Result<Self, LeaseTermError> {
        let wrong = || LeaseTermError::BaseDirectory { given: text.to_owned() };
        let below = text.strip_prefix('/').ok_or_else(wrong)?;
        let below = below.strip_suffix('/').unwrap_or(below);
        let is_normal = |name: &str| !matches!(name, "" | "." | "..");
        let is_sound = (below.is_empty() && text == "/") || below.split('/').all(is_normal);
        let directory = if below.is_empty() { "/".to_owned() } else { format!("/{below}/") };
        if !is_sound || directory.len() > LEASE_PATH_BYTES_MAX || !is_quotable(text) {
            return Err(wrong());
        }
        Ok(Self(directory))
    }
}

impl fmt::Display for BaseDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<BaseDirectory> for String {
    fn from(directory: BaseDirectory) -> Self {
        directory.0
    }
}

impl TryFrom<String> for BaseDirectory {
    type Error = LeaseTermError;

    fn try_from(text: String) -> Result<Self, LeaseTermError> {
        text.parse()
    }
}

/// Maximum amount of each resource that a single request may use. An absent resource is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    /// Maximum number of changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Maximum memory of a command, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Maximum total size of all changed files after the change, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
    /// Maximum number of bytes that a command may read and write in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Maximum duration of a command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Quotas {
    /// Combines two sets of quotas by taking the smaller quota of each resource.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            files: least(self.files, other.files),
            memory_bytes: least(self.memory_bytes, other.memory_bytes),
            space_bytes: least(self.space_bytes, other.space_bytes),
            storage_bytes: least(self.storage_bytes, other.storage_bytes),
            wall_ms: least(self.wall_ms, other.wall_ms),
        }
    }

    /// Whether no resource has a quota.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Terms of a single block of a lease. An absent field imposes no restriction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseTerms {
    /// Agent that may use the lease, including its sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Directories in which files may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_directories: Option<BTreeSet<BaseDirectory>>,
    /// Capabilities that the lease grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Time at which the lease expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Time from which the lease is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Maximum amount of each resource that a single request may use.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub quotas: Quotas,
    /// Rules for paths below the base directories of this block, or of the nearest earlier block that has any. A path must be in
    /// scope relative to at least one of the base directories that contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Task that the lease is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskName>,
    /// Tenant whose ledger records the uses of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Maximum number of runs that may be started under the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u64>,
}

impl LeaseTerms {
    /// Checks that the terms are complete enough for the first block of a lease, which must have a tenant, capabilities, base
    /// directories and an expiry time.
    ///
    /// # Errors
    /// Returns `Incomplete` with the name of the first missing field.
    pub fn check_complete(&self) -> Result<(), LeaseTermError> {
        let missing = [
            ("tenant", self.tenant.is_none()),
            ("capabilities", self.capabilities.is_none()),
            ("base_directories", self.base_directories.is_none()),
            ("expires", self.expires.is_none()),
        ];
        let missing = missing.into_iter().find(|(_, is_missing)| *is_missing);
        missing.map_or(Ok(()), |(field, _)| Err(LeaseTermError::Incomplete { field }))
    }

    /// Checks that all lists and numbers are within their limits, and that all scope rules can be written in a lease.
    ///
    /// # Errors
    /// Returns `TooMany` or `Empty` for a list, `Count` for a number, and `Rule` for a scope rule.
    pub fn check_limits(&self) -> Result<(), LeaseTermError> {
        let Self { base_directories, capabilities, quotas, scope, uses, .. } = self;
        let counted = |field, count: usize| match count {
            0 => Err(LeaseTermError::Empty { field }),
            _ if count > LEASE_PATHS_MAX => Err(LeaseTermError::TooMany { field, count }),
            _ => Ok(()),
        };
        capabilities.as_ref().map_or(Ok(()), |it| counted("capabilities", it.len()))?;
        base_directories.as_ref().map_or(Ok(()), |it| counted("base_directories", it.len()))?;
        if let Some(Scope { allow, deny }) = scope {
            allow.as_ref().map_or(Ok(()), |it| counted("scope.allow", it.len()))?;
            counted("scope.deny", deny.len().max(1))?;
            if allow.is_none() && deny.is_empty() {
                return Err(LeaseTermError::Empty { field: "scope" });
            }
            for rule in allow.iter().flatten().chain(deny) {
                let text = rule.to_string();
                if text.len() > LEASE_PATH_BYTES_MAX || !is_quotable(&text) {
                    return Err(LeaseTermError::Rule { given: text });
                }
            }
        }
        let Quotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms } = *quotas;
        let counts = [files, memory_bytes, space_bytes, storage_bytes, wall_ms, *uses];
        match counts.into_iter().flatten().find(|count| *count > LEASE_COUNT_MAX) {
            Some(given) => Err(LeaseTermError::Count { given }),
            None => Ok(()),
        }
    }
}

/// Record of the lease under which a run was made. It only identifies the lease, and cannot be used as a lease itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRecord {
    /// Blocks of the lease, starting with the one signed by the lease key.
    pub blocks: Vec<LeaseBlockRecord>,
    /// Digest of the ledger document that contains the signed blocks (`actum.lease-chain/1`).
    pub document: Digest,
    /// Id of the key that signed the first block.
    pub key: KeyId,
}

/// Record of a single block of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlockRecord {
    /// Agent that the block was issued to.
    pub agent: Option<AgentName>,
    /// Id of the block.
    pub id: LeaseId,
    /// Maximum number of runs that may be started under the block.
    pub uses: Option<u64>,
}

/// Error for terms that a lease cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseTermError {
    /// The text is not a capability.
    #[error(
        "`{}` is not a capability: expected APPLY, EXEC, TASK, FILE_MOVE, FILE_COPY, FILE_DELETE or ACTION:TYPE",
        Cut(given.as_bytes(), 80)
    )]
    Capability {
        /// Text that was given.
        given: String,
    },
    /// The text is not a valid name for an agent.
    #[error(
        "`{}` is not a valid agent name: expected 1 to {LEASE_NAME_BYTES_MAX} printable ASCII characters without spaces, \
         quotes and backslashes; `/` separates a sub-agent from its agent",
        Cut(given.as_bytes(), 80)
    )]
    Agent {
        /// Text that was given.
        given: String,
    },
    /// The text is not a valid name for a task.
    #[error(
        "`{}` is not a valid task name: expected 1 to {LEASE_NAME_BYTES_MAX} printable ASCII characters without spaces, \
         quotes and backslashes",
        Cut(given.as_bytes(), 80)
    )]
    Task {
        /// Text that was given.
        given: String,
    },
    /// The text is not a valid base directory.
    #[error(
        "`{}` is not a valid base directory: expected an absolute path of at most {LEASE_PATH_BYTES_MAX} bytes without `.`, \
         `..`, empty components, quotes, backslashes and control characters",
        Cut(given.as_bytes(), 80)
    )]
    BaseDirectory {
        /// Text that was given.
        given: String,
    },
    /// The scope rule is too long for a lease, or contains characters that a lease cannot contain.
    #[error(
        "the scope rule `{}` cannot be used in a lease: expected at most {LEASE_PATH_BYTES_MAX} bytes without quotes, \
         backslashes and control characters",
        Cut(given.as_bytes(), 80)
    )]
    Rule {
        /// Text of the rule.
        given: String,
    },
    /// A list has too many items.
    #[error("`{field}` has {count} items, but may have at most {LEASE_PATHS_MAX}")]
    TooMany {
        /// Name of the field.
        field: &'static str,
        /// Number of items.
        count: usize,
    },
    /// A list is empty.
    #[error("`{field}` is empty, so the lease would allow nothing")]
    Empty {
        /// Name of the field.
        field: &'static str,
    },
    /// A number is too large to be represented exactly in JSON.
    #[error("{given} is larger than the maximum of {LEASE_COUNT_MAX}; omit the limit instead")]
    Count {
        /// Number that was given.
        given: u64,
    },
    /// The first block of a lease lacks a required field.
    #[error("a lease requires `{field}`")]
    Incomplete {
        /// Name of the missing field.
        field: &'static str,
    },
}

/// Whether a text may be used as the name of an agent or a task.
fn is_name(text: &str) -> bool {
    (1..=LEASE_NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && is_quotable(text)
}

/// Whether a text can be written as a Datalog string literal without escaping any character.
fn is_quotable(text: &str) -> bool {
    !text.contains(|character: char| matches!(character, '"' | '\\') || character.is_control())
}
