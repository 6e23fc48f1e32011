//! Opening a workspace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, LinuxDisk};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::home::{Home, IfMissing};
use crate::workspace::{Limits, Workspace};

impl Workspace<LinuxDisk> {
    /// Opens the workspace at `root`, makes its state directory if it is missing, and recovers what an earlier process
    /// left unfinished.
    ///
    /// # Errors
    /// `Damaged` or `NewerFormat` when the journal cannot be trusted, `State` or `Io` when the
    /// directory cannot be used. A workspace that is in use is opened; the first run waits or
    /// fails.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(LinuxDisk, root.as_ref())
    }

    /// Opens the workspace at `root` if it exists.
    ///
    /// # Errors
    /// Same errors as [`Workspace::open`], and `NotAWorkspace`.
    pub fn open_existing(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(LinuxDisk, root.as_ref(), IfMissing::Refuse)
    }
}

impl<D: Disk> Workspace<D> {
    /// Opens the workspace on another disk, as [`Workspace::open`] does.
    ///
    /// # Errors
    /// Same errors as [`Workspace::open`].
    pub fn open_on(disk: D, root: &Path) -> Result<Self> {
        Self::open_with(disk, root, IfMissing::Create)
    }

    fn open_with(disk: D, root: &Path, if_missing: IfMissing) -> Result<Self> {
        let home = Home::open(&disk, root, if_missing)?;
        let journal = home.journal(&disk)?;
        let epoch =
            disk.epoch(&home.root).doing(|| "find out which boot and mount this is".to_owned())?;
        let mut workspace = Self {
            identity: disk.identity(),
            umask: disk.umask(),
            disk,
            home,
            journal,
            epoch,
            tail: Vec::new(),
            loaded: false,
            read_bytes: 0,
            blocked: BTreeMap::new(),
            recovery: None,
            has_coarse_timestamps: false,
            poisoned: false,
            private: Vec::new(),
            withholds: Arc::new(|_, _| false),
            limits: Limits::default(),
        };
        match workspace.home.lock(&workspace.disk, false, "opening") {
            Ok(_lock) => workspace.catch_up()?,
            Err(error) if matches!(error.kind, ErrorKind::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(workspace)
    }
}
