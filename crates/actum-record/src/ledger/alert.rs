//! Ledger entries for alerts, which record when an alert was raised and when an operator marked it as seen (EX-18).

use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, TenantId, WorkspaceId};
use crate::receipt::EntryRef;

/// Entry that raises an alert, because an event needs the attention of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertRaised {
    /// Format of the entry, which is always [`AlertRaised::FORMAT`].
    pub format: String,
    /// Time of the event that raised the alert.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace that the alert is about, or `None` if it is about keys or policies of the entire installation.
    pub workspace: Option<WorkspaceId>,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: Option<String>,
    /// Actor that made the request, or `None` if its process ended before the actor could be recorded.
    pub actor: Option<Actor>,
    /// Entry point that received the request.
    pub door: String,
    /// Label that describes the purpose of the request.
    pub label: String,
    /// Error code of a task plan (EX-18), or `None` for other alerts.
    pub code: Option<u16>,
    /// Name of the task plan error, or the reason code.
    pub name: String,
    /// Message that describes the event.
    pub message: String,
    /// Number of additional errors that need an operator, which are listed in the reports.
    pub more: u64,
    /// Run that the alert is about, if one was started.
    pub run: Option<RunId>,
    /// Directory with the reports, relative to the workspace root, or `None` if there are no reports.
    pub reports: Option<String>,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Entry that marks an alert as seen, so that it is no longer pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertSeen {
    /// Format of the entry, which is always [`AlertSeen::FORMAT`].
    pub format: String,
    /// Time at which the alert was marked as seen.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace that the alert is about, if any.
    pub workspace: Option<WorkspaceId>,
    /// Entry that raised the alert.
    pub alert: EntryRef,
    /// User who marked the alert as seen.
    pub by: Actor,
}

impl AlertRaised {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.alert-raised/1";
}

impl AlertSeen {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.alert-seen/1";
}
