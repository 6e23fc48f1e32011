//! Where a workspace lies, as the gates are told.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;

use crate::records::real;

/// The entry that makes a directory the root of a repository: a directory, or a file in a worktree.
const GIT: &str = ".git";

/// Where a workspace lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its root, escaped where the bytes are no UTF-8. Links in the path would give it other names.
    pub root: String,
    /// Whether that is the root of a git repository.
    pub is_repository: bool,
}

impl Place {
    /// Looks at the root of a workspace.
    pub(crate) fn of(root: &Path) -> Self {
        let real = real(root);
        let is_repository = std::fs::symlink_metadata(real.join(GIT)).is_ok();
        Self { root: Quoted(real.as_os_str().as_bytes()).to_string(), is_repository }
    }
}
