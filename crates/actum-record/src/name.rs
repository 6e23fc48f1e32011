//! Names in records: tenants, workspaces, requests and actors.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_core::{Digest, RunId, run_id::RunIdError};
use serde::{Deserialize, Serialize};

/// User who asked for something, and the agent that acts for this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The agent that acts for that user, as it calls itself.
    pub agent: Option<String>,
    /// Number of the user.
    pub uid: u32,
    /// The user of the operating system, by name where it has one.
    pub user: String,
}

/// The longest name of a tenant, in bytes.
const TENANT_BYTES_MAX: usize = 64;
/// The longest key of a request, in bytes.
const REQUEST_BYTES_MAX: usize = 160;

/// A text that is no name of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No tenant.
    #[error(
        "`{}` is no tenant: give 1 to {TENANT_BYTES_MAX} characters of a-z, 0-9 and `-`, the first \
         of them no `-`",
        Cut(given.as_bytes(), 80)
    )]
    Tenant {
        /// The text.
        given: String,
    },
    /// No key of a request.
    #[error(
        "`{}` is no request key: give 1 to {REQUEST_BYTES_MAX} printable ASCII characters without \
         spaces",
        Cut(given.as_bytes(), 80)
    )]
    Request {
        /// The text.
        given: String,
    },
    /// A key that a caller may not give.
    #[error(
        "the request key `{}` begins with `{TASK_KEY_PREFIX}` or `{STEP_KEY_PREFIX}`, which are reserved for task plans and \
         agent goals; give another one",
        Cut(given.as_bytes(), 80)
    )]
    Reserved {
        /// The text.
        given: String,
    },
}

/// Start of the keys that task plans are carried out under.
const TASK_KEY_PREFIX: &str = "task:";
/// Start of the keys that steps of the agent core are carried out under.
const STEP_KEY_PREFIX: &str = "agent:";
/// With which keys of edits of clients begin.
const HOOK_KEY_PREFIX: &str = "hook:";

/// Owner of a ledger. The name of a directory, so it is limited to what every file system takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TenantId(String);

impl TenantId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TenantId {
    /// Tenant of a request that names none.
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

/// The key under which a caller asks for something, so that asking again does not do it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RequestKey(String);

impl RequestKey {
    /// Reads a key that a caller gives. Keys of tasks and steps are rejected: with one, any request could take the id of a
    /// task, or the effect of a step.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn from_caller(text: &str) -> Result<Self, NameError> {
        let reserved = [TASK_KEY_PREFIX, STEP_KEY_PREFIX, HOOK_KEY_PREFIX];
        match reserved.iter().any(|prefix| text.starts_with(prefix)) {
            true => Err(NameError::Reserved { given: text.to_owned() }),
            false => text.parse(),
        }
    }

    /// The key of the task with this id; none where the id is too long to be in a key.
    pub fn of_task(id: &str) -> Option<Self> {
        format!("{TASK_KEY_PREFIX}{id}").parse().ok()
    }

    /// The key of one edit of a client: its session, its call, and the snapshot that was taken for it. None where these names cannot
    /// be in a key.
    pub fn of_hook(session: &str, call: &str, snapshot: RunId) -> Option<Self> {
        let is_part = |part: &str| !part.contains(['/', '#']);
        let text = format!("{HOOK_KEY_PREFIX}{session}/{call}#{snapshot}");
        (is_part(session) && is_part(call)).then(|| text.parse().ok()).flatten()
    }

    /// The session of a client that it belongs to, for the key of an edit.
    pub fn session(&self) -> Option<&str> {
        let (session, _) = self.0.strip_prefix(HOOK_KEY_PREFIX)?.split_once('/')?;
        Some(session)
    }

    /// The key of the step of the agent core with this idempotency key.
    pub fn of_step(key: Digest) -> Self {
        // INVARIANT: 70 graphic ASCII characters.
        Self(format!("{STEP_KEY_PREFIX}{key}"))
    }

    /// Returns true for the key of a step of the agent core.
    pub fn is_of_step(&self) -> bool {
        self.0.starts_with(STEP_KEY_PREFIX)
    }

    /// Id of the task that it is the key of.
    pub fn task(&self) -> Option<&str> {
        self.0.strip_prefix(TASK_KEY_PREFIX)
    }

    /// The text.
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

/// Id of a workspace, wherever it lies: written as a [`RunId`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceId(RunId);

impl WorkspaceId {
    /// A name from random bits; the upper four are ignored.
    pub fn from_random(bits: u64) -> Self {
        Self(RunId::from_random(bits))
    }

    /// The name that is written as this one.
    pub(crate) fn new(name: RunId) -> Self {
        Self(name)
    }

    /// The 60 bits.
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
    fn a_tenant_is_a_plain_directory_name() {
        for text in ["a", "default", "team-7", &"a".repeat(TENANT_BYTES_MAX)] {
            assert_eq!(text.parse::<TenantId>().unwrap().as_str(), text);
        }
        for text in ["", "-a", "A", "a/b", "..", "a b", "é", &"a".repeat(TENANT_BYTES_MAX + 1)] {
            assert!(text.parse::<TenantId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_request_key_has_a_limit_on_both_sides() {
        for text in ["a", "T-17/step#2", &"x".repeat(REQUEST_BYTES_MAX)] {
            assert_eq!(text.parse::<RequestKey>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "a\n", "é", &"x".repeat(REQUEST_BYTES_MAX + 1)] {
            assert!(text.parse::<RequestKey>().is_err(), "{text}");
        }
    }
}
