//! Root: the directory of a workspace, after every check on where a workspace may be.
//!
//! Whoever starts a program chooses its directory and its environment. So a program that takes the root from its caller
//! opens a workspace only by a [`Root`], which cannot be made without these checks.

use std::path::{Path, PathBuf};

use actum_workspace::{STATE_DIRECTORY, Workspace};

use crate::engine::Engine;
use crate::engine::binding::{BoundWorkspace, OwnLedger, Standing, check_around, elsewhere};
use crate::engine::place::Place;
use crate::error::{Error, Result};
use crate::records::Records;

/// Whether a directory is a workspace already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootState {
    /// It has a state directory, sound or not.
    Made,
    /// It has none yet.
    New,
}

/// Directory in which a workspace may be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// Checks that a workspace may be opened, or made, at `path`: apart from the ledger and keys at `home`, and where
    /// `check_place` finds nothing against it. Makes nothing.
    ///
    /// # Errors
    /// `HomeInside`; those of `check_place`.
    pub fn check<E: From<Error>>(
        path: &Path,
        home: &Path,
        check_place: impl FnOnce(&Path, RootState) -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let is_made = path.join(STATE_DIRECTORY).symlink_metadata().is_ok();
        check_place(path, if is_made { RootState::Made } else { RootState::New })?;
        Records::check_home(home, path)?;
        Ok(Self(path.to_owned()))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Opens the workspace for changes, making its state directory where there is none.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn engine(&self, records: Records) -> Result<Engine> {
        Engine::open(&self.0, records)
    }

    /// Opens the workspace for changes where there is one.
    ///
    /// # Errors
    /// As [`Engine::open_existing`].
    pub fn existing_engine(&self, records: Records) -> Result<Engine> {
        Engine::open_existing(&self.0, records)
    }

    /// Opens the workspace where there is one, without a ledger: only to finish what its journal says.
    ///
    /// # Errors
    /// As [`Workspace::open_existing`].
    pub fn unproven(&self) -> Result<Workspace> {
        Ok(Workspace::open_existing(&self.0)?)
    }

    /// Checks that the ledger in use may change the workspace; makes nothing. `ledger` gives the one in use,
    /// if it exists; it is called only where a ledger recorded the workspace or one around it.
    ///
    /// # Errors
    /// `BoundElsewhere`; `Workspace` where the notes about ledgers cannot be read; those of `ledger`.
    pub fn own<E: From<Error>>(
        self,
        ledger: impl FnOnce() -> std::result::Result<Option<OwnLedger>, E>,
    ) -> std::result::Result<OwnRoot, E> {
        check_ledger(&self.0, ledger)?;
        Ok(OwnRoot(self.0))
    }
}

/// [`Root`] that the ledger in use may change, as no other ledger recorded it or the workspace around it. It opens a
/// workspace beside the engine.
#[derive(Debug)]
pub struct OwnRoot(PathBuf);

impl OwnRoot {
    /// Opens the workspace, making its state directory where there is none.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open(&self) -> Result<Workspace> {
        Ok(Workspace::open(&self.0)?)
    }

    /// Opens the workspace where there is one.
    ///
    /// # Errors
    /// As [`Workspace::open_existing`].
    pub fn open_existing(&self) -> Result<Workspace> {
        Ok(Workspace::open_existing(&self.0)?)
    }

    /// Sets a damaged journal aside.
    ///
    /// # Errors
    /// As [`Workspace::set_aside_journal`].
    pub fn set_aside_journal(&self) -> Result<Option<String>> {
        Ok(Workspace::set_aside_journal(&self.0)?)
    }
}

/// Checks that the ledger in use recorded the workspace at `root` or the one around it, or that no ledger did.
pub(crate) fn check_ledger<E: From<Error>>(
    root: &Path,
    ledger: impl FnOnce() -> std::result::Result<Option<OwnLedger>, E>,
) -> std::result::Result<(), E> {
    let place = Place::of(root);
    let notes = |root: &Path| actum_workspace::notes_at(root).map_err(Error::from);
    let own = notes(root)?;
    let mut is_recorded = !own.is_empty();
    for around in &place.around {
        is_recorded = is_recorded || !notes(around)?.is_empty();
    }
    if is_recorded {
        let ledger = ledger()?;
        match Standing::of(own, ledger.as_ref())? {
            Standing::Own => {}
            Standing::Unrecorded => check_around(&place, ledger.as_ref())?,
            Standing::Elsewhere(ledger) => {
                return Err(elsewhere(BoundWorkspace::This, &ledger).into());
            }
        }
    }
    Ok(())
}
