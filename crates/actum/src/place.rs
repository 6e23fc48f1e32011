//! Place of a workspace: its root, and the workspaces and repositories around it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_gate::decision::WORK_TREES;
use actum_workspace::STATE_DIRECTORY;

use crate::real_path::real;

/// The entry that makes a directory the root of a repository: a directory, or a file in a worktree.
const GIT: &str = ".git";

/// Place of a workspace, as the gates judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its root, escaped where the bytes are no UTF-8. Links in the path would give it other names.
    pub root: String,
    /// The roots of the workspaces and repositories around it, outermost first.
    pub enclosing: Vec<String>,
    /// Roots of the workspaces around it, innermost first, also beyond the directories in which an agent keeps work
    /// trees: the workspace belongs to the ledger that the first of them belongs to.
    pub(crate) around: Vec<PathBuf>,
}

impl Place {
    /// Looks at the root of a workspace and at the directories above it.
    pub(crate) fn of(root: &Path) -> Self {
        let real = real(root);
        let is_there = |path: &Path, name| path.join(name).symlink_metadata().is_ok();
        let judged: Vec<&Path> = enclosing(&real).collect();
        let mut place = Self { root: escaped(&real), enclosing: Vec::new(), around: Vec::new() };
        for (number, directory) in real.ancestors().skip(1).enumerate() {
            let is_workspace = is_there(directory, STATE_DIRECTORY);
            if is_workspace {
                place.around.push(directory.to_owned());
            }
            if number < judged.len() && (is_workspace || is_there(directory, GIT)) {
                place.enclosing.push(escaped(directory));
            }
        }
        place.enclosing.reverse();
        place
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
