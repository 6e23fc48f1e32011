//! Opens a workspace and recovers it if necessary.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, LinuxDisk};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::home::{Home, IfMissing};
use crate::workspace::{Limits, Workspace};

impl Workspace<LinuxDisk> {
    /// Opens the workspace at `root`. Creates its state directory if it is missing, and recovers what an earlier
    /// process left unfinished.
    ///
    /// # Errors
    /// `Damaged` or `NewerFormat` if the journal cannot be trusted; `State` or `Io` if the directory cannot be used. A
    /// workspace that another process is using can still be opened, but its first run waits or fails.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(LinuxDisk, root.as_ref())
    }

    /// Opens the workspace at `root` without creating one.
    ///
    /// # Errors
    /// Same errors as [`Workspace::open`], and `NotAWorkspace` if there is no workspace at `root`.
    pub fn open_existing(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(LinuxDisk, root.as_ref(), IfMissing::Refuse)
    }
}

impl<D: Disk> Workspace<D> {
    /// Opens a workspace on another [`Disk`], like [`Workspace::open`].
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
            disk.epoch(&home.root).doing(|| "determine the current boot and mount".to_owned())?;
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
