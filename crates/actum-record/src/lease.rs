//! Leases: what a holder may do, and where, until when and how often (FE-17, D-7).
//!
//! A lease is a chain of blocks. The lease key signs the first one; each holder can append a block, which can only narrow.
//! Every block has [`LeaseTerms`], and a request must meet the terms of all blocks.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_core::{ActionName, Digest, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::name::TenantId;
use crate::signer::KeyId;

/// Most blocks of a lease.
pub const LEASE_BLOCKS_MAX: usize = 8;
/// Most base directories, or rules of a scope, in one block.
pub const LEASE_PATHS_MAX: usize = 64;
/// Longest base directory, with the `/` at its end, or rule of a scope, in bytes.
pub const LEASE_PATH_BYTES_MAX: usize = 4096;
/// Longest name of an agent or a task, in bytes.
pub const LEASE_NAME_BYTES_MAX: usize = 128;
/// Most uses, and the most of each quota: 2^53 - 1, which JSON holds exactly.
pub const LEASE_COUNT_MAX: u64 = actum_core::canonical::COUNT_MAX;

/// Id of one block of a lease: the SHA-256 of its Biscuit revocation identifier. The id of the last block names the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(pub Digest);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Capability that a request needs a lease for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Capability {
    /// Change files by `apply`, `undo`, `redo` or the library.
    Apply,
    /// Keep the changes of a command.
    Exec,
    /// Carry out an action of this type.
    Action(ActionName),
    /// Carry out a task plan, or roll one back.
    Task,
    /// Move a file (seed 001).
    FileMove,
    /// Copy a file (seed 001).
    FileCopy,
    /// Delete a file (seed 001).
    FileDelete,
}

impl Capability {
    /// All capabilities without a parameter.
    pub const PLAIN: [Self; 6] =
        [Self::Apply, Self::Exec, Self::Task, Self::FileMove, Self::FileCopy, Self::FileDelete];
    /// Start of the name of an action's capability.
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

/// Name of an agent. `planner/copier` is a sub-agent of `planner`: a lease of an agent is one of all its sub-agents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AgentName(String);

impl AgentName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if `other` is this agent or one of its sub-agents.
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

/// Name of the task that a lease is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskName(String);

impl TaskName {
    /// The text.
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

/// Directory that a lease lets its holder change files in, and in all directories below it. Absolute and normalised: no
/// `.`, no `..`, no empty name, one `/` at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BaseDirectory(String);

impl BaseDirectory {
    /// The path, with the `/` at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Names that lead to it from `/`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }
}

impl FromStr for BaseDirectory {
    type Err = LeaseTermError;

    /// Takes a path with or without the `/` at its end.
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

/// Most that one request may use of each resource; no limit where absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    /// Changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Memory of what is run, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Size of all changed files after the change, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
    /// Bytes that are read and written, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Duration of what is run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Quotas {
    /// The smaller quota of each resource.
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

    /// Returns true if there is no quota.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Terms of one block of a lease. An absent field narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseTerms {
    /// Agent that may use it, with its sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Directories in which files may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_directories: Option<BTreeSet<BaseDirectory>>,
    /// Capabilities that are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Time from which it no longer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Time from which it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Most that one request may use.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub quotas: Quotas,
    /// Rules for paths below the base directories of this block, or of the last block before it that has some. A path
    /// must be in the scope as seen from at least one of the base directories that hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Task that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskName>,
    /// Tenant whose ledger records its uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Most runs that it can start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u64>,
}

impl LeaseTerms {
    /// Checks that the terms can be those of a first block: they name a tenant, capabilities, base directories and an
    /// expiry.
    ///
    /// # Errors
    /// `Incomplete` with the name of the first missing field.
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

    /// Checks that each list and count is within its limit, and each text can be written in a
    /// lease.
    ///
    /// # Errors
    /// `TooMany`, `Empty`, `Count`, `Rule`.
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

/// Lease that a run was made under, as records name it. It cannot be used as a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRecord {
    /// Its blocks, the one that the lease key signed first.
    pub blocks: Vec<LeaseBlockRecord>,
    /// Digest of its signed blocks, a document in the ledger (`actum.lease-chain/1`).
    pub document: Digest,
    /// Key that signed the first block.
    pub key: KeyId,
}

/// One block of a lease, as records name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlockRecord {
    /// Agent that it was handed to.
    pub agent: Option<AgentName>,
    /// Its id.
    pub id: LeaseId,
    /// Most runs that it can start.
    pub uses: Option<u64>,
}

/// A text or number that no lease can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseTermError {
    /// No capability.
    #[error(
        "`{}` is not a capability: expected APPLY, EXEC, TASK, FILE_MOVE, FILE_COPY, FILE_DELETE or ACTION:TYPE",
        Cut(given.as_bytes(), 80)
    )]
    Capability {
        /// Text.
        given: String,
    },
    /// No name of an agent.
    #[error(
        "`{}` is not an agent that a lease can name: expected 1 to {LEASE_NAME_BYTES_MAX} printable ASCII characters \
         without spaces, quotes and backslashes; `/` separates a sub-agent from its agent",
        Cut(given.as_bytes(), 80)
    )]
    Agent {
        /// Text.
        given: String,
    },
    /// No name of a task.
    #[error(
        "`{}` is not a task that a lease can name: expected 1 to {LEASE_NAME_BYTES_MAX} printable ASCII characters \
         without spaces, quotes and backslashes",
        Cut(given.as_bytes(), 80)
    )]
    Task {
        /// Text.
        given: String,
    },
    /// No base directory.
    #[error(
        "`{}` is not a base directory: expected an absolute path of at most {LEASE_PATH_BYTES_MAX} bytes without `.`, `..`, \
         empty names, quotes, backslashes and control characters",
        Cut(given.as_bytes(), 80)
    )]
    BaseDirectory {
        /// Text.
        given: String,
    },
    /// A rule of a scope that cannot be written in a lease.
    #[error(
        "the scope rule `{}` cannot be in a lease: expected at most {LEASE_PATH_BYTES_MAX} bytes without quotes, \
         backslashes and control characters",
        Cut(given.as_bytes(), 80)
    )]
    Rule {
        /// Text.
        given: String,
    },
    /// More than a lease can have.
    #[error("`{field}` has {count} items, and a block of a lease has at most {LEASE_PATHS_MAX}")]
    TooMany {
        /// Field.
        field: &'static str,
        /// Number of items.
        count: usize,
    },
    /// An empty list, which would allow nothing.
    #[error("`{field}` is empty, so nothing would be allowed")]
    Empty {
        /// Field.
        field: &'static str,
    },
    /// A number that JSON does not hold exactly.
    #[error("{given} is more than {LEASE_COUNT_MAX}; omit the limit instead")]
    Count {
        /// Number.
        given: u64,
    },
    /// A first block without a field that it needs.
    #[error("a lease needs `{field}`")]
    Incomplete {
        /// Field.
        field: &'static str,
    },
}

/// Returns true if a text can be the name of an agent or a task.
fn is_name(text: &str) -> bool {
    (1..=LEASE_NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && is_quotable(text)
}

/// Returns true if Datalog can hold a text between quotes without an escape.
fn is_quotable(text: &str) -> bool {
    !text.contains(|character: char| matches!(character, '"' | '\\') || character.is_control())
}
