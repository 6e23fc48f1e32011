//! Sample entries about alerts.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Timestamp};
use actum_record::ledger::{AlertRaised, AlertSeen, EntryKind, TenantId, WorkspaceId};
use actum_record::receipt::EntryRef;

use super::{ORIGIN, actor};
use crate::new_entry::NewEntry;

/// Returns an `ALERT_RAISED` entry with the given number in its message.
///
/// # Errors
/// Returns the errors of canonical JSON, which cannot occur here.
pub fn alert_raised(number: u64) -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(&AlertRaised {
        format: AlertRaised::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        workspace: Some(WorkspaceId::from_random(1)),
        root: Some("/home/ada/project".to_owned()),
        actor: Some(actor()),
        door: "task plan".to_owned(),
        label: "task example".to_owned(),
        code: Some(3100),
        name: "PROTECTED_FILE".to_owned(),
        message: format!("number {number}"),
        more: 0,
        run: None,
        reports: None,
        engine: "actum 0.1.0".to_owned(),
    })?;
    Ok(NewEntry { kind: EntryKind::AlertRaised, body, blobs: Vec::new() })
}

/// Returns an `ALERT_SEEN` entry. `alert` is the index and hash of the entry that raised the alert.
///
/// # Errors
/// Returns the errors of [`alert_raised`].
pub fn alert_seen((alert, leaf): (u64, Digest)) -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(&AlertSeen {
        format: AlertSeen::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        workspace: Some(WorkspaceId::from_random(1)),
        alert: EntryRef { origin: ORIGIN.to_owned(), index: alert, leaf },
        by: actor(),
    })?;
    Ok(NewEntry { kind: EntryKind::AlertSeen, body, blobs: Vec::new() })
}
