//! Alerts for the operator, and that they were seen (EX-18).

use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, TenantId, WorkspaceId};
use crate::receipt::EntryRef;

/// Event that an operator has to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertRaised {
    /// [`AlertRaised::FORMAT`].
    pub format: String,
    /// Time of the event.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Workspace it is about; none where it is about keys or policies of the whole installation.
    pub workspace: Option<WorkspaceId>,
    /// Root of that workspace, escaped where the bytes are not UTF-8.
    pub root: Option<String>,
    /// Actor that requested it; none where its process ended before it could be recorded.
    pub actor: Option<Actor>,
    /// Entry point that received the request.
    pub door: String,
    /// Purpose, in the words of the requester.
    pub label: String,
    /// Number of the error of a task plan (EX-18); none for other alerts.
    pub code: Option<u16>,
    /// Name of the error, or the permanent name of the reason.
    pub name: String,
    /// Message that describes the event.
    pub message: String,
    /// Number of further errors that need an operator; the reports have them.
    pub more: u64,
    /// The run that it is about, where one was begun.
    pub run: Option<RunId>,
    /// The directory of the reports, relative to the root; none where none is there.
    pub reports: Option<String>,
    /// The program.
    pub engine: String,
}

/// An operator has looked at an alert: it waits no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertSeen {
    /// [`AlertSeen::FORMAT`].
    pub format: String,
    /// Time at which it was seen.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Workspace of the alert, if it has one.
    pub workspace: Option<WorkspaceId>,
    /// The entry that raised it.
    pub alert: EntryRef,
    /// User who marked it as seen.
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
