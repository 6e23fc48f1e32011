//! Place of a workspace: its root, and the workspaces and repositories around it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_gate::decision::WORK_TREES;
use actum_workspace::STATE_DIRECTORY;

use crate::real_path::real;

/// Entry that marks the root of a repository: a directory, or a file in a worktree.
const GIT: &str = ".git";

/// Place of a workspace, as the gates judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Root, escaped if the bytes are not UTF-8. The path has no links, which would give the root other names.
    pub root: String,
    /// Roots of the workspaces and repositories around it, outermost first.
    pub enclosing: Vec<String>,
    /// Roots of the workspaces around it, innermost first, including those beyond an agent's directory of work trees.
    /// The workspace belongs to the ledger of the first of them.
    pub(crate) around: Vec<PathBuf>,
}

impl Place {
    /// Inspects the root of a workspace and the directories above it.
    pub(crate) fn new(root: &Path) -> Self {
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

/// Returns the directories above a root without links, innermost first, up to the file system's root or an agent's
/// directory of work trees.
pub(crate) fn enclosing(root: &Path) -> impl Iterator<Item = &Path> {
    let is_inside = |path: &&Path| !WORK_TREES.iter().any(|boundary| path.ends_with(boundary));
    root.ancestors().skip(1).take_while(is_inside)
}

/// Escapes a path for documents.
pub(crate) fn escaped(path: &Path) -> String {
    Quoted(path.as_os_str().as_bytes()).to_string()
}
