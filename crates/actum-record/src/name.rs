//! Identifiers used in records: tenants, workspaces, request keys and actors.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_core::{Digest, RunId, run_id::RunIdError};
use serde::{Deserialize, Serialize};

/// User who made a request, and the agent that acted on the user's behalf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Name that the agent gave itself, or `None` if no agent is involved.
    pub agent: Option<String>,
    /// User id.
    pub uid: u32,
    /// Name of the operating system user, or the user id if the user has no name.
    pub user: String,
}

/// Maximum length of the name of a tenant, in bytes.
const TENANT_BYTES_MAX: usize = 64;
/// Maximum length of a request key, in bytes.
const REQUEST_BYTES_MAX: usize = 160;

/// Error for a text that is not a valid tenant name or request key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is not a valid name for a tenant.
    #[error(
        "`{}` is not a valid tenant: expected 1 to {TENANT_BYTES_MAX} characters from a-z, 0-9 and `-`, not \
         starting with `-`",
        Cut(given.as_bytes(), 80)
    )]
    Tenant {
        /// Text that was given.
        given: String,
    },
    /// The text is not a valid request key.
    #[error(
        "`{}` is not a valid request key: expected 1 to {REQUEST_BYTES_MAX} printable ASCII characters \
         without spaces",
        Cut(given.as_bytes(), 80)
    )]
    Request {
        /// Text that was given.
        given: String,
    },
    /// The request key starts with a prefix that is reserved for actum.
    #[error(
        "the request key `{}` begins with `{TASK_KEY_PREFIX}` or `{STEP_KEY_PREFIX}`, which are reserved for task plans and \
         agent goals; choose a different key",
        Cut(given.as_bytes(), 80)
    )]
    Reserved {
        /// Text that was given.
        given: String,
    },
}

/// Prefix of the request keys of task plans.
const TASK_KEY_PREFIX: &str = "task:";
/// Prefix of the request keys of steps in the agent core.
const STEP_KEY_PREFIX: &str = "agent:";
/// Prefix of the request keys of edits that a client reports with hooks.
const HOOK_KEY_PREFIX: &str = "hook:";

/// Owner of a ledger. It is also used as a directory name, so it only contains characters that every file system supports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TenantId(String);

impl TenantId {
    /// Returns the name of the tenant as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TenantId {
    /// Returns the tenant that is used if a request does not specify one.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for TenantId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_sound = (1..=TENANT_BYTES_MAX).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        is_sound
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| NameError::Tenant { given: text.to_owned() })
    }
}

/// Key that a caller assigns to a request, so that repeating the request does not carry it out again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RequestKey(String);

impl RequestKey {
    /// Parses a key that was provided by a caller. Rejects reserved keys, because a request with such a key could claim the id of
    /// a task or the effect of a step.
    ///
    /// # Errors
    /// Returns [`NameError`] if the key is invalid or reserved.
    pub fn from_caller(text: &str) -> Result<Self, NameError> {
        let reserved = [TASK_KEY_PREFIX, STEP_KEY_PREFIX, HOOK_KEY_PREFIX];
        match reserved.iter().any(|prefix| text.starts_with(prefix)) {
            true => Err(NameError::Reserved { given: text.to_owned() }),
            false => text.parse(),
        }
    }

    /// Returns the key of the task with this id, or `None` if the id is too long for a key.
    pub fn of_task(id: &str) -> Option<Self> {
        format!("{TASK_KEY_PREFIX}{id}").parse().ok()
    }

    /// Returns the key of a client's edit, which consists of the session, the tool call and the snapshot that was taken for the
    /// edit. Returns `None` if they cannot be used in a key.
    pub fn of_hook(session: &str, call: &str, snapshot: RunId) -> Option<Self> {
        let is_part = |part: &str| !part.contains(['/', '#']);
        let text = format!("{HOOK_KEY_PREFIX}{session}/{call}#{snapshot}");
        (is_part(session) && is_part(call)).then(|| text.parse().ok()).flatten()
    }

    /// Returns the client session that an edit belongs to, or `None` if this is not the key of an edit.
    pub fn session(&self) -> Option<&str> {
        let (session, _) = self.0.strip_prefix(HOOK_KEY_PREFIX)?.split_once('/')?;
        Some(session)
    }

    /// Returns the key of the agent core's step with this idempotency key.
    pub fn of_step(key: Digest) -> Self {
        // INVARIANT: the key is valid, because it has 70 graphic ASCII characters.
        Self(format!("{STEP_KEY_PREFIX}{key}"))
    }

    /// Whether this is the key of a step in the agent core.
    pub fn is_of_step(&self) -> bool {
        self.0.starts_with(STEP_KEY_PREFIX)
    }

    /// Returns the id of the task, or `None` if this is not the key of a task.
    pub fn task(&self) -> Option<&str> {
        self.0.strip_prefix(TASK_KEY_PREFIX)
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RequestKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_sound = (1..=REQUEST_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic());
        is_sound
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| NameError::Request { given: text.to_owned() })
    }
}

/// Id of a workspace, which does not depend on its location. It is written like a [`RunId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceId(RunId);

impl WorkspaceId {
    /// Creates an id from random bits, ignoring the upper four.
    pub fn from_random(bits: u64) -> Self {
        Self(RunId::from_random(bits))
    }

    /// Creates the workspace id that is written like the given run id.
    pub(crate) fn new(name: RunId) -> Self {
        Self(name)
    }

    /// Returns the 60 bits of the id.
    pub fn bits(self) -> u64 {
        self.0.bits()
    }
}

impl FromStr for WorkspaceId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }
    )*};
}

text!(TenantId, RequestKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenant_id_must_be_a_plain_directory_name() {
        for text in ["a", "default", "team-7", &"a".repeat(TENANT_BYTES_MAX)] {
            assert_eq!(text.parse::<TenantId>().unwrap().as_str(), text);
        }
        for text in ["", "-a", "A", "a/b", "..", "a b", "é", &"a".repeat(TENANT_BYTES_MAX + 1)] {
            assert!(text.parse::<TenantId>().is_err(), "{text}");
        }
    }

    #[test]
    fn request_key_length_limits_are_exact() {
        for text in ["a", "T-17/step#2", &"x".repeat(REQUEST_BYTES_MAX)] {
            assert_eq!(text.parse::<RequestKey>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "a\n", "é", &"x".repeat(REQUEST_BYTES_MAX + 1)] {
            assert!(text.parse::<RequestKey>().is_err(), "{text}");
        }
    }
}
