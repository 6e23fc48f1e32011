//! Root: directory of a workspace, after every check on where a workspace may be.
//!
//! The caller of a program chooses its directory and its environment. So a program that gets the root from its caller
//! opens a workspace only by a [`Root`], which cannot be created without these checks.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::RelPath;
use actum_workspace::{SetAside, Workspace};

use crate::engine::Engine;
use crate::engine::binding::{check_ledger, withholds};
use crate::error::{BoundWorkspace, Error, Result};
use crate::records::{OwnLedger, Records, Standing};

/// State of a directory that may be a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootState {
    /// A ledger recorded the workspace, so it was checked when it was created.
    Made,
    /// No ledger recorded the directory. A state directory in it is only a name.
    New,
}

/// Directory in which a workspace may be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    /// Paths in the root that no change leads into.
    private: Vec<RelPath>,
}

impl Root {
    /// Checks that a workspace may be opened or created at `path`: outside of the ledger and keys at `home`, and where
    /// `check_place` has no objection. Creates nothing. No change will lead into `private`, paths without links.
    ///
    /// # Errors
    /// `HomeInside`; those of `check_place`.
    pub fn check<E: From<Error>>(
        path: &Path,
        home: &Path,
        private: &[PathBuf],
        check_place: impl FnOnce(&Path, RootState) -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        check_place(path, RootState::inspect(path))?;
        Records::check_home(home, path)?;
        let within = private.iter().filter_map(|place| place.strip_prefix(path).ok());
        // A place that cannot be the path of a change needs no rule.
        let within = within.filter_map(|place| RelPath::new(place.as_os_str().as_bytes()).ok());
        Ok(Self { path: path.to_owned(), private: within.collect() })
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the workspace for changes, creating its state directory if it is missing.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn engine(&self, records: Records) -> Result<Engine> {
        let mut engine = Engine::open(&self.path, records)?;
        engine.workspace.set_private(self.private.clone());
        Ok(engine)
    }

    /// Opens an existing workspace for changes.
    ///
    /// # Errors
    /// As [`Engine::open_existing`].
    pub fn existing_engine(&self, records: Records) -> Result<Engine> {
        let mut engine = Engine::open_existing(&self.path, records)?;
        engine.workspace.set_private(self.private.clone());
        Ok(engine)
    }

    /// Opens an existing workspace without a ledger, only to finish what its journal has.
    ///
    /// # Errors
    /// As [`Workspace::open_existing`].
    pub fn unproven(&self) -> Result<Workspace> {
        Ok(Workspace::open_existing(&self.path)?)
    }

    /// Protects the private places of a workspace from changes, and keeps credentials out of its messages.
    fn closed(&self, mut workspace: Workspace) -> Workspace {
        workspace.set_private(self.private.clone());
        workspace.set_withholds(withholds(&self.path));
        workspace
    }

    /// Checks that the ledger of `records` may change the workspace. Creates nothing.
    ///
    /// # Errors
    /// `BoundElsewhere`; `Workspace` if the notes about ledgers cannot be read; `Ledger`.
    pub fn check_own(&self, records: &Records) -> Result<()> {
        check_ledger(&self.path, BoundWorkspace::This, || records.own_ledger().map(Some))
    }

    /// Checks that the ledger in use may change the workspace. Creates nothing. `ledger` returns the ledger in use, if
    /// it exists. It is called only if a ledger recorded the workspace or one around it.
    ///
    /// # Errors
    /// `BoundElsewhere`; `Workspace` if the notes about ledgers cannot be read; those of `ledger`.
    pub fn own<E: From<Error>>(
        self,
        ledger: impl FnOnce() -> std::result::Result<Option<OwnLedger>, E>,
    ) -> std::result::Result<OwnRoot, E> {
        check_ledger(&self.path, BoundWorkspace::This, ledger)?;
        Ok(OwnRoot(self))
    }
}

impl RootState {
    /// Returns the state of a directory, from the notes of ledgers in it.
    pub fn inspect(root: &Path) -> Self {
        // Unreadable notes prove nothing.
        let notes = actum_workspace::notes_at(root).unwrap_or_default();
        match Standing::read(notes, None) {
            Ok(Standing::Own | Standing::Elsewhere(_)) => Self::Made,
            Ok(Standing::Unrecorded) | Err(_) => Self::New,
        }
    }
}

/// [`Root`] that the ledger in use may change, since no other ledger recorded it or the workspace around it. It opens
/// a workspace without the engine.
#[derive(Debug)]
pub struct OwnRoot(Root);

impl OwnRoot {
    /// Opens the workspace, creating its state directory if it is missing.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open(&self) -> Result<Workspace> {
        Ok(self.0.closed(Workspace::open(&self.0.path)?))
    }

    /// Opens an existing workspace.
    ///
    /// # Errors
    /// As [`Workspace::open_existing`].
    pub fn open_existing(&self) -> Result<Workspace> {
        Ok(self.0.closed(Workspace::open_existing(&self.0.path)?))
    }

    /// Sets a damaged journal aside.
    ///
    /// # Errors
    /// As [`Workspace::set_aside_journal`].
    pub fn set_aside_journal(&self) -> Result<SetAside> {
        Ok(Workspace::set_aside_journal(&self.0.path)?)
    }
}
