//! Pending keys of the operator: decides whether a new key must wait, and raises alerts about it.

use actum::NewAlert;
use actum::reason::Reason;
use actum_core::Timestamp;
use actum_ledger::{Admission, LedgerHome, LedgerView, Log, WAIT_MICROS};
use actum_record::keyring::KeyEntry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::verb::Session;
use crate::{actor, clock, new_home, records};

/// Decides whether the first key of a role is valid immediately. This requires that no ledger of this installation contains
/// more than its initial entry, because otherwise an agent might have created the key.
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

/// Makes every command check for a pending key. This must be called before the key is created. Otherwise, a process that is
/// killed in between would leave a pending key that no command reports.
pub(super) fn announce() -> Result<(), Failure> {
    note(Timestamp::from_micros(clock::now().micros().saturating_add(WAIT_MICROS)))
}

/// Raises an alert about a new key that becomes valid later, and returns the exit code for the command.
pub(super) fn raise(key: &KeyEntry, session: &Session) -> Result<Exit, Failure> {
    let KeyEntry { id, role, not_before, .. } = key;
    let message = format!(
        "a new {role} key `{id}` was created without the passphrase of an earlier key and becomes valid at {not_before}; \
         `actum key deny {role}` rejects it"
    );
    alert(message, session)
}

/// Raises an alert about a pending key that was denied, and returns the exit code for the command.
pub(super) fn raise_denied(key: &KeyEntry, session: &Session) -> Result<Exit, Failure> {
    let KeyEntry { id, role, .. } = key;
    alert(format!("the pending {role} key `{id}` was denied and never becomes valid"), session)
}

/// Makes every command report pending decisions until the given time.
fn note(until: Timestamp) -> Result<(), Failure> {
    let home = new_home::open()?;
    Ok(home.note_waiting(until).map_err(actum::Error::from)?)
}

fn alert(message: String, session: &Session) -> Result<Exit, Failure> {
    let name = Reason::KeyWaits.name();
    let alert = NewAlert { name, message, actor: Some(actor::from_agent(None)), workspace: None };
    records::alert_everywhere(&alert, session)
}
