//! Root directory of a workspace, after checking that a workspace is allowed at that location.
//!
//! A program's working directory and environment are controlled by its caller. A program that takes the root from its
//! caller therefore opens workspaces only through a [`Root`], which cannot be created without these checks.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::RelPath;
use actum_workspace::{SetAside, Workspace};

use crate::engine::Engine;
use crate::engine::binding::{check_ledger, withholds};
use crate::error::{BoundWorkspace, Error, Result};
use crate::records::{OwnLedger, Records, Standing};

/// Evidence in a directory that it is already a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootState {
    /// A ledger has recorded the workspace, so its location was checked when it was created.
    Made,
    /// No ledger has recorded the directory. A state directory in it proves nothing, because anything can create one.
    New,
}

/// Directory that passed the location checks, so that a workspace may be opened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    /// Paths below the root that no change may touch.
    private: Vec<RelPath>,
}

impl Root {
    /// Checks that a workspace may be opened or created at `path`. The directory must neither contain `home`, which holds
    /// the ledger and keys, nor be inside it, and `check_place` must accept it. Creates nothing.
    ///
    /// Changes to the workspace will not be able to touch the directories in `private`, which must be free of symbolic links.
    ///
    /// # Errors
    /// `HomeInside`, or an error of `check_place`.
    pub fn check<E: From<Error>>(
        path: &Path,
        home: &Path,
        private: &[PathBuf],
        check_place: impl FnOnce(&Path, RootState) -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        check_place(path, RootState::inspect(path))?;
        Records::check_home(home, path)?;
        let within = private.iter().filter_map(|place| place.strip_prefix(path).ok());
        // A path that no change can name needs no protection.
        let within = within.filter_map(|place| RelPath::new(place.as_os_str().as_bytes()).ok());
        Ok(Self { path: path.to_owned(), private: within.collect() })
    }

    /// Returns the path of the root directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens an engine on the workspace and creates its state directory if it is missing.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::open`].
    pub fn engine(&self, records: Records) -> Result<Engine> {
        let mut engine = Engine::open(&self.path, records)?;
        engine.workspace.set_private(self.private.clone());
        Ok(engine)
    }

    /// Opens an engine on an existing workspace.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::open_existing`].
    pub fn existing_engine(&self, records: Records) -> Result<Engine> {
        let mut engine = Engine::open_existing(&self.path, records)?;
        engine.workspace.set_private(self.private.clone());
        Ok(engine)
    }

    /// Opens an existing workspace without a ledger, only to finish an interrupted run from its journal.
    ///
    /// # Errors
    /// Returns the errors of [`Workspace::open_existing`].
    pub fn unproven(&self) -> Result<Workspace> {
        Ok(Workspace::open_existing(&self.path)?)
    }

    /// Protects the private paths of the workspace from changes, and keeps credentials out of its messages.
    fn closed(&self, mut workspace: Workspace) -> Workspace {
        workspace.set_private(self.private.clone());
        workspace.set_withholds(withholds(&self.path));
        workspace
    }

    /// Checks that the workspace is not bound to a ledger other than the one of `records`. Creates nothing.
    ///
    /// # Errors
    /// `BoundElsewhere`, `Ledger`, or `Workspace` if the ledger notes in the workspace cannot be read.
    pub fn check_own(&self, records: &Records) -> Result<()> {
        check_ledger(&self.path, BoundWorkspace::This, || records.own_ledger().map(Some))
    }

    /// Checks that the workspace is not bound to a ledger other than the one in use. Creates nothing.
    ///
    /// `ledger` returns the ledger in use, if it exists. It is called only if some ledger has recorded this workspace or
    /// one that encloses it.
    ///
    /// # Errors
    /// `BoundElsewhere`, `Workspace` if the ledger notes in the workspace cannot be read, or an error of `ledger`.
    pub fn own<E: From<Error>>(
        self,
        ledger: impl FnOnce() -> std::result::Result<Option<OwnLedger>, E>,
    ) -> std::result::Result<OwnRoot, E> {
        check_ledger(&self.path, BoundWorkspace::This, ledger)?;
        Ok(OwnRoot(self))
    }
}

impl RootState {
    /// Determines from the ledger notes in a directory whether it is already a recorded workspace.
    pub fn inspect(root: &Path) -> Self {
        // Notes that cannot be read do not prove that a ledger recorded the workspace.
        let notes = actum_workspace::notes_at(root).unwrap_or_default();
        match Standing::read(notes, None) {
            Ok(Standing::Own | Standing::Elsewhere(_)) => Self::Made,
            Ok(Standing::Unrecorded) | Err(_) => Self::New,
        }
    }
}

/// [`Root`] that the ledger in use may change, because no other ledger has recorded it or a workspace that encloses it.
/// It gives access to the workspace without an engine.
#[derive(Debug)]
pub struct OwnRoot(Root);

impl OwnRoot {
    /// Opens the workspace and creates its state directory if it is missing.
    ///
    /// # Errors
    /// Returns the errors of [`Workspace::open`].
    pub fn open(&self) -> Result<Workspace> {
        Ok(self.0.closed(Workspace::open(&self.0.path)?))
    }

    /// Opens the workspace, which must already exist.
    ///
    /// # Errors
    /// Returns the errors of [`Workspace::open_existing`].
    pub fn open_existing(&self) -> Result<Workspace> {
        Ok(self.0.closed(Workspace::open_existing(&self.0.path)?))
    }

    /// Moves the damaged journal of the workspace aside and starts a new one.
    ///
    /// # Errors
    /// Returns the errors of [`Workspace::set_aside_journal`].
    pub fn set_aside_journal(&self) -> Result<SetAside> {
        Ok(Workspace::set_aside_journal(&self.0.path)?)
    }
}
