//! Pending approval keys: conditions for waiting, and the alert about it.

use actum::NewAlert;
use actum::reason::Reason;
use actum_core::Timestamp;
use actum_ledger::{Admission, LedgerHome, LedgerView, Log, WAIT_MICROS};
use actum_record::keyring::KeyEntry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::verb::Session;
use crate::{actor, clock, new_home, records};

/// Decides whether the first approval key is valid at once: only in an installation whose ledgers record nothing but
/// their beginning.
pub(super) fn admission(home: &LedgerHome) -> Result<Admission, Failure> {
    for tenant in home.tenants().map_err(actum::Error::from)? {
        let view = LedgerView::open(home, &tenant).map_err(actum::Error::from)?;
        let Some(view) = view else { continue };
        if view.size().map_err(actum::Error::from)? > 1 {
            return Ok(Admission::AfterWait);
        }
    }
    Ok(Admission::AtOnce)
}

/// Makes every command look for a pending key, before there is one: otherwise a command that is killed could leave a
/// key that no command shows.
pub(super) fn announce() -> Result<(), Failure> {
    note(Timestamp::from_micros(clock::now().micros().saturating_add(WAIT_MICROS)))
}

/// Raises the alert about a pending key.
pub(super) fn raise(key: &KeyEntry, session: &Session) -> Result<Exit, Failure> {
    let KeyEntry { id, role, not_before, .. } = key;
    let message = format!(
        "a new {role} key `{id}` was made without proof of the operator and counts from {not_before} on; \
         `actum key deny {role}` rejects it"
    );
    alert(message, session)
}

/// Raises the alert about a key that was denied.
pub(super) fn raise_denied(key: &KeyEntry, session: &Session) -> Result<Exit, Failure> {
    let KeyEntry { id, role, .. } = key;
    alert(format!("the {role} key `{id}` that waited was denied; it never counted"), session)
}

/// Makes every command show that a decision is pending.
fn note(until: Timestamp) -> Result<(), Failure> {
    let home = new_home::open()?;
    Ok(home.note_waiting(until).map_err(actum::Error::from)?)
}

fn alert(message: String, session: &Session) -> Result<Exit, Failure> {
    let name = Reason::KeyWaits.name();
    let alert = NewAlert { name, message, actor: Some(actor::of(None)), workspace: None };
    records::alert_everywhere(&alert, session)
}
