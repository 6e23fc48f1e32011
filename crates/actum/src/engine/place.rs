//! Place of a workspace: its root, and the workspaces and repositories around it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;
use actum_gate::decision::WORK_TREES;
use actum_workspace::STATE_DIRECTORY;

use crate::records::real;

/// The entry that makes a directory the root of a repository: a directory, or a file in a worktree.
const GIT: &str = ".git";

/// Place of a workspace, as the gates judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its root, escaped where the bytes are no UTF-8. Links in the path would give it other names.
    pub root: String,
    /// The roots of the workspaces and repositories around it, outermost first.
    pub enclosing: Vec<String>,
}

impl Place {
    /// Looks at the root of a workspace and at the directories above it.
    pub(crate) fn of(root: &Path) -> Self {
        let real = real(root);
        let is_root = |path: &&Path| {
            [GIT, STATE_DIRECTORY].iter().any(|name| path.join(name).symlink_metadata().is_ok())
        };
        let mut enclosing: Vec<_> = enclosing(&real).filter(is_root).map(escaped).collect();
        enclosing.reverse();
        Self { root: escaped(&real), enclosing }
    }
}

/// The directories above a root without links, innermost first, up to the file system's root or to a directory in
/// which an agent keeps work trees.
pub(crate) fn enclosing(root: &Path) -> impl Iterator<Item = &Path> {
    let is_inside = |path: &&Path| !WORK_TREES.iter().any(|boundary| path.ends_with(boundary));
    root.ancestors().skip(1).take_while(is_inside)
}

/// A path as documents have it.
pub(crate) fn escaped(path: &Path) -> String {
    Quoted(path.as_os_str().as_bytes()).to_string()
}
