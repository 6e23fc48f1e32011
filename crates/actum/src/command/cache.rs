//! Caches: directories of a workspace that commands change for good, and that are part of no run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::RelPath;

/// What becomes of what a command does in the directories that the operator declares as caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// It is there for good.
    Passed,
    /// It is forgotten, as where nothing of the change is to be kept: what was made from a change that never
    /// came would else be found by the next build.
    Forgotten,
}

/// Those of the declared caches that can be passed through; one that is not there is made. It stays, since another
/// command may be at work in it by the time that this one has ended.
pub(super) fn passed(root: &Path, declared: &[RelPath]) -> Vec<PathBuf> {
    let is_there = |cache: &PathBuf| fs::symlink_metadata(cache).is_ok() || make(cache);
    possible(root, declared).into_iter().filter(is_there).collect()
}

/// Those of the declared caches that are directories or could be made. One in whose place something else is, or whose
/// parent is not there, is none here; nor is one to which a link leads, since that could lead anywhere.
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
