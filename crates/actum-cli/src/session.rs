//! Context in which a command runs.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;

use crate::home::Tenant;
use crate::output::Screen;
use crate::root;

/// Context in which a command runs: its start directory, its output and its tenant.
pub(crate) struct Session {
    pub(crate) start: PathBuf,
    pub(crate) screen: Screen,
    pub(crate) tenant: Tenant,
}

impl Session {
    /// Returns the root of the workspace that contains the start directory.
    pub(crate) fn root(&self) -> &Path {
        root::existing(&self.start)
    }

    /// Prints a note that a workspace was created at `root`, and another one if there is a workspace above it.
    pub(crate) fn note_made(&self, root: &Path) {
        let made = Quoted(root.as_os_str().as_bytes());
        self.screen.note(format_args!("created a workspace in {made}"));
        if let Some(above) = root::above(root) {
            self.screen.note(above);
        }
    }
}
