//! Pending decisions, such as a new key, which every command shows until they take effect or are rejected.

use std::path::Path;

use actum::Adoption;
use actum_core::path::Quoted;
use actum_ledger::{Keys, LedgerHome};
use actum_record::signer::KeyRole;
use actum_workspace::{STATE_DIRECTORY, View};

use crate::failure::Failure;
use crate::session::Session;
use crate::{clock, home, root, timestamp};

/// File in a workspace's state directory that contains a request to bind the workspace to a different ledger.
const ADOPTION: &str = "adoption";

/// Prints the pending decisions of this installation and of the workspace as notes. If they cannot be read, prints a note
/// about that instead of failing the command.
pub(crate) fn print(session: &Session) {
    for waiting in [of_installation(), of_workspace(root::existing(&session.start))] {
        match waiting {
            Ok(notes) => notes.iter().for_each(|note| session.screen.note(note)),
            Err(failure) => {
                session.screen.note(format_args!("cannot read the pending decisions: {failure}"));
            }
        }
    }
}

fn of_installation() -> Result<Vec<String>, Failure> {
    let Ok(place) = home::path() else { return Ok(Vec::new()) };
    if !is_there(&place.join(LedgerHome::WAITING)) {
        return Ok(Vec::new());
    }
    let home = LedgerHome::open_existing(&place).map_err(actum::Error::from)?;
    let Some(home) = home else { return Ok(Vec::new()) };
    let now = clock::now();
    let keys = Keys::open_existing(&home).map_err(actum::Error::from)?;
    let waiting = |role| keys.as_ref().and_then(|keys| keys.keyring().waiting(role, now));
    let keys = [KeyRole::Approval, KeyRole::Lease, KeyRole::Host]
        .into_iter()
        .filter_map(waiting)
        .map(|key| {
            let (id, role, from) = (&key.id, key.role, timestamp::second(key.not_before));
            format!(
                "a new {role} key `{id}` becomes valid at {from}; `actum key deny {role}` rejects it"
            )
        });
    let trusted = home.waiting_trust(now).map_err(actum::Error::from)?;
    let trusted = trusted.into_iter().map(|trusted| {
        let (root, from) = (Quoted(trusted.root.as_bytes()), timestamp::second(trusted.from));
        format!(
            "the policy of `{root}` will be trusted from {from} on; `actum trust --remove` there rejects it"
        )
    });
    Ok(keys.chain(trusted).collect())
}

fn of_workspace(root: &Path) -> Result<Vec<String>, Failure> {
    if !is_there(&root.join(STATE_DIRECTORY).join(ADOPTION)) {
        return Ok(Vec::new());
    }
    let waiting = Adoption::from_view(&View::open(root)?)?;
    Ok(waiting.iter().map(adoption).collect())
}

fn adoption(waiting: &Adoption) -> String {
    let [log, user] = [&waiting.log, &waiting.user].map(|text| Quoted(text.as_bytes()).to_string());
    let from = timestamp::second(waiting.due());
    format!(
        "the user `{user}` asked to move this workspace to the ledger `{log}` at {from}; `actum bind --cancel` rejects it"
    )
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
