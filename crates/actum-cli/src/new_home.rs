//! Places in which a new home of ledgers and keys may be made.
//!
//! The caller chooses `ACTUM_HOME`. Making a home writes files past all gates, and a home closes its directory to
//! commands. So one is made only in a directory of its own, away from workspaces, repositories and protected files.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_gate::refuses_output;
use actum_ledger::LedgerHome;
use actum_workspace::is_ledger_home;

use crate::failure::Failure;
use crate::home::{self, PROJECTS};
use crate::ledger_failure::{HomePlaceRefused, LedgerFailure};
use crate::private_place;

/// Opens the home in use, creating it if missing. A home that remembers no location of the configuration remembers the
/// one in use as that of its operator: a later command could name another.
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

/// Rejects a path at which a new home would be made. An existing home is not checked.
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
    // An unreadable directory is reported when it is opened.
    if let Ok(Some(other)) = LedgerHome::foreign_entry(path) {
        return Some(HomePlaceRefused::InUse(other));
    }
    if let Some(own) = home::operators_directory_around(path) {
        return Some(HomePlaceRefused::OperatorsOwn(own));
    }
    // The default path is accepted even if the home directory is a repository.
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
