//! Caches: directories of a workspace that commands change permanently, and that belong to no run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::RelPath;

/// Treatment of changes in the directories that the operator declares as caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// Changes are permanent.
    Passed,
    /// Changes are dropped, for commands whose other changes may be dropped, too. Otherwise the next build would find
    /// results of a change that was never made.
    Forgotten,
}

/// Returns the declared caches that can be passed through, and creates missing ones. A created directory stays, since
/// another command may use it when this one ends.
pub(super) fn passed(root: &Path, declared: &[RelPath]) -> Vec<PathBuf> {
    let is_there = |cache: &PathBuf| fs::symlink_metadata(cache).is_ok() || make(cache);
    possible(root, declared).into_iter().filter(is_there).collect()
}

/// Returns the declared caches that are directories or could be created. A cache whose path is another file type, or
/// whose parent is missing, does not count. Neither does one behind a link, which could lead anywhere.
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
