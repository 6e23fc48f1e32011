//! What a person has to look at, and that somebody did (EX-18).

use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, TenantId, WorkspaceId};
use crate::receipt::EntryRef;

/// Something that a person has to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertRaised {
    /// [`AlertRaised::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// Workspace it is about; none where it is about keys or policies of the whole installation.
    pub workspace: Option<WorkspaceId>,
    /// Root of that workspace, escaped where the bytes are not UTF-8.
    pub root: Option<String>,
    /// Who asked for it; none where its process ended before it could be recorded.
    pub actor: Option<Actor>,
    /// Entry point that received the request.
    pub door: String,
    /// What it was for, in the words of who asked.
    pub label: String,
    /// Number of the error of a task plan (EX-18); none for other alerts.
    pub code: Option<u16>,
    /// Name of the error, or the permanent name of the reason.
    pub name: String,
    /// What happened.
    pub message: String,
    /// How many more errors there are for which a person is told; the reports have them.
    pub more: u64,
    /// The run that it is about, where one was begun.
    pub run: Option<RunId>,
    /// The directory of the reports, relative to the root; none where none is there.
    pub reports: Option<String>,
    /// The program.
    pub engine: String,
}

/// Somebody has looked at an alert: it waits no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertSeen {
    /// [`AlertSeen::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// Workspace of the alert, if it has one.
    pub workspace: Option<WorkspaceId>,
    /// The entry that raised it.
    pub alert: EntryRef,
    /// Who says so.
    pub by: Actor,
}

impl AlertRaised {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.alert-raised/1";
}

impl AlertSeen {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.alert-seen/1";
}
