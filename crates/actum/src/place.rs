//! Location of a workspace: its root, and the workspaces and repositories that enclose it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_gate::decision::WORK_TREES;
use actum_workspace::STATE_DIRECTORY;

use crate::real_path::real;

/// Name of the entry that marks the root of a git repository. In a linked worktree it is a file, not a directory.
const GIT: &str = ".git";

/// Location of a workspace, as the gates see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the workspace root, escaped if it is not UTF-8. Symbolic links are resolved, so that each root has only one
    /// name.
    pub root: String,
    /// Roots of the enclosing workspaces and repositories, outermost first.
    pub enclosing: Vec<String>,
    /// Roots of the enclosing workspaces, innermost first, including those outside an agent's worktree directory. This
    /// workspace belongs to the ledger of the first one.
    pub(crate) around: Vec<PathBuf>,
}

impl Place {
    /// Determines the location of a workspace by inspecting its root and all parent directories.
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

/// Returns the parent directories of a root, innermost first, up to the file system root or an agent's worktree
/// directory. The path of the root must not contain symbolic links.
pub(crate) fn enclosing(root: &Path) -> impl Iterator<Item = &Path> {
    let is_inside = |path: &&Path| !WORK_TREES.iter().any(|boundary| path.ends_with(boundary));
    root.ancestors().skip(1).take_while(is_inside)
}

/// Escapes a path that is not UTF-8, so that it can be written to JSON documents.
pub(crate) fn escaped(path: &Path) -> String {
    Quoted(path.as_os_str().as_bytes()).to_string()
}
