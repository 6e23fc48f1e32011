//! Decides where a new directory of ledgers and keys (a home) may be created.
//!
//! The caller chooses `ACTUM_HOME`, but files in a new home are written without being checked by any gate, and a home is
//! closed to commands. A home is therefore created only in a dedicated directory, outside workspaces, repositories and
//! protected locations.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_gate::refuses_output;
use actum_ledger::LedgerHome;
use actum_workspace::is_ledger_home;

use crate::failure::Failure;
use crate::home::{self, PROJECTS};
use crate::ledger_failure::{HomePlaceRefused, LedgerFailure};
use crate::private_place;

/// Opens the home in use, and creates it if it is missing. If the home does not record the location of the operator's
/// configuration yet, the current one is recorded, so that a later command cannot name a different one.
///
/// # Errors
/// `LEDGER_HOME_UNUSABLE`.
pub(crate) fn open() -> Result<LedgerHome, Failure> {
    let path = home::path()?;
    check(&path)?;
    let opened = LedgerHome::open(&path).map_err(actum::Error::from)?;
    if opened.configuration().map_err(actum::Error::from)?.is_none() {
        opened.set_configuration(&home::configuration()?).map_err(actum::Error::from)?;
    }
    Ok(opened)
}

/// Checks that a home may be created at `path`. An existing home is always accepted.
///
/// # Errors
/// `LEDGER_HOME_UNUSABLE`.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if is_ledger_home(path) {
        return Ok(());
    }
    match refused(path) {
        None => Ok(()),
        Some(why) => Err(LedgerFailure::HomePlace { home: path.to_owned(), why }.into()),
    }
}

fn refused(path: &Path) -> Option<HomePlaceRefused> {
    if let Some(home) = private_place::home_at_or_in(path) {
        return Some(HomePlaceRefused::UserHome(home.to_owned()));
    }
    // A directory that cannot be read is reported when it is opened.
    if let Ok(Some(other)) = LedgerHome::foreign_entry(path) {
        return Some(HomePlaceRefused::InUse(other));
    }
    if let Some(own) = home::operators_directory_around(path) {
        return Some(HomePlaceRefused::OperatorsOwn(own));
    }
    // Accept the default path even if the user's home directory is a repository.
    if home::known_home_of_ledgers().as_deref() == Some(path) {
        return None;
    }
    let states = path.ancestors().flat_map(|above| PROJECTS.map(|name| above.join(name)));
    if let Some(state) = states.into_iter().find(|state| state.symlink_metadata().is_ok()) {
        return Some(HomePlaceRefused::InProject(state));
    }
    if let Some(place) = private_place::holding(path) {
        return Some(HomePlaceRefused::Credentials(place));
    }
    let names: Vec<&[u8]> = path.iter().skip(1).map(OsStrExt::as_bytes).collect();
    if let Some(why) = refuses_output(&names) {
        return Some(HomePlaceRefused::Protected(why));
    }
    private_place::system(path).map(|_| HomePlaceRefused::System)
}
