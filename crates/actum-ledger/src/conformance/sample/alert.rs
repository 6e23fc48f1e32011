//! Entries about alerts.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Timestamp};
use actum_record::ledger::{AlertRaised, AlertSeen, EntryKind, TenantId, WorkspaceId};
use actum_record::receipt::EntryRef;

use super::{ORIGIN, actor};
use crate::new_entry::NewEntry;

/// An `ALERT_RAISED` with this number in its message.
///
/// # Errors
/// Those of canonical JSON, which do not occur here.
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

/// An `ALERT_SEEN` about the entry `alert` with that hash.
///
/// # Errors
/// See [`alert_raised`].
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
