//! Paths on the command line that select files of the workspace.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use actum_core::RelPath;
use actum_workspace::{Error, ErrorKind};

use crate::session::Session;

/// Location of a path from the command line, relative to the workspace.
pub(crate) enum SelectedPath {
    /// The root of the workspace, which selects every file.
    Root,
    /// A file or directory below the root.
    Inside(RelPath),
    Outside,
}

impl SelectedPath {
    /// Resolves a path that is relative to the start directory. A symbolic link selects itself, not its target.
    ///
    /// # Errors
    /// `Path` if the workspace cannot store the path.
    pub(crate) fn resolve(path: &OsStr, session: &Session) -> Result<Self, Error> {
        let named = session.start.join(path);
        let whole = match (named.parent(), named.file_name()) {
            (Some(parent), Some(name)) => actum::real_path(parent).join(name),
            (None, _) | (_, None) => actum::real_path(&named),
        };
        let Ok(inside) = whole.strip_prefix(session.root()) else { return Ok(Self::Outside) };
        if inside.as_os_str().is_empty() {
            return Ok(Self::Root);
        }
        let path = RelPath::new(inside.as_os_str().as_bytes());
        Ok(Self::Inside(path.map_err(|source| ErrorKind::Path { source })?))
    }
}
