//! Cache directories of a workspace, in which commands make permanent changes that are not part of any run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::RelPath;

/// Handling of a command's changes in the cache directories that the operator declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// Changes in caches are permanent.
    Passed,
    /// Changes in caches are dropped, because the command's other changes may be dropped as well. Otherwise, a later
    /// build could find cached results of a change that was never made.
    Forgotten,
}

/// Returns the declared caches that commands can write to, creating missing ones. A created directory is never removed,
/// because another command may already be using it when this one ends.
pub(super) fn passed(root: &Path, declared: &[RelPath]) -> Vec<PathBuf> {
    let is_there = |cache: &PathBuf| fs::symlink_metadata(cache).is_ok() || make(cache);
    possible(root, declared).into_iter().filter(is_there).collect()
}

/// Returns the declared caches that are directories or could be created. Leaves out paths of another file type, paths
/// without a parent directory, and paths behind a symbolic link, which could point anywhere.
pub(super) fn possible(root: &Path, declared: &[RelPath]) -> Vec<PathBuf> {
    let caches = declared.iter().map(|path| root.join(OsStr::from_bytes(path.as_bytes())));
    let is_possible = |cache: &PathBuf| {
        let parent = cache.parent().and_then(|parent| fs::canonicalize(parent).ok());
        let is_inside = parent.is_some_and(|parent| Some(parent.as_path()) == cache.parent());
        is_inside && fs::symlink_metadata(cache).map_or(true, |found| found.is_dir())
    };
    caches.filter(is_possible).collect()
}

#[expect(clippy::disallowed_methods, reason = "what is in a cache is part of no run")]
fn make(cache: &Path) -> bool {
    fs::create_dir(cache).is_ok()
}
