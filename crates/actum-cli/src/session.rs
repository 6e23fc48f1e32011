//! Context of a command.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;

use crate::home::Tenant;
use crate::output::Screen;
use crate::root;

/// Context of a command: where it was started, its output, and the tenant.
pub(crate) struct Session {
    pub(crate) start: PathBuf,
    pub(crate) screen: Screen,
    pub(crate) tenant: Tenant,
}

impl Session {
    /// Returns the root of the current workspace.
    pub(crate) fn root(&self) -> &Path {
        root::existing(&self.start)
    }

    /// Prints a note that a workspace was made in `root`, and which one is above.
    pub(crate) fn note_made(&self, root: &Path) {
        let made = Quoted(root.as_os_str().as_bytes());
        self.screen.note(format_args!("made a workspace in {made}"));
        if let Some(above) = root::above(root) {
            self.screen.note(above);
        }
    }
}
