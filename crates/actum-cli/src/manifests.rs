//! Keeps the rollback manifests of task plans up to date after other commands.

use actum::task::{Backups, update_manifests};
use actum_ledger::{LedgerHome, Marks};
use actum_workspace::View;

use crate::failure::Failure;
use crate::session::Session;
use crate::{clock, home, records};

/// Updates the rollback manifests of the workspace, and returns the number of backups that were removed. Does nothing if
/// the workspace belongs to a different ledger.
pub(crate) fn update(session: &Session, backups: Backups) -> Result<u64, Failure> {
    let root = session.root();
    if records::own_root(root, &session.tenant).is_err() {
        return Ok(0);
    }
    let Some(workspace) = View::open(root)?.workspace_id()? else { return Ok(0) };
    let home = LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)?;
    let Some(home) = home else { return Ok(0) };
    let marks = Marks::new(home, session.tenant.id()?);
    Ok(update_manifests(&marks, (root, workspace), clock::now(), backups)?)
}

/// Updates the manifests after a command has completed. A failure is only printed as a note.
pub(crate) fn update_or_note(session: &Session) {
    if let Err(failure) = update(session, Backups::Keep) {
        session.screen.note(format_args!("the rollback manifests were not updated: {failure}"));
    }
}
