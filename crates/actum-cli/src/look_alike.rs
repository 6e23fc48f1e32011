//! Recognises directories in or around a workspace that only look like a directory of ledgers and keys (a home).
//!
//! actum never creates a home in a workspace or a workspace in a home. If a directory there contains a keyring, but neither
//! the environment nor the password database leads to it, another program or user put the keyring there. Such a directory
//! must not cause commands to be rejected.

use std::path::{Path, PathBuf};

use actum::RootState;
use actum_ledger::LedgerHome;
use actum_workspace::is_ledger_home;

use crate::home;

/// Returns whether `directory` only looks like a home, and is at, in or above the recorded workspace at `root`.
pub(crate) fn is_one(directory: &Path, root: &Path) -> bool {
    (directory.starts_with(root) || root.starts_with(directory))
        && RootState::inspect(root) == RootState::Made
        && is_unnamed_home(directory)
}

/// Returns whether `directory` only looks like a home, and is at or in any recorded workspace.
pub(crate) fn is_in_workspace(directory: &Path) -> bool {
    is_unnamed_home(directory)
        && directory.ancestors().any(|above| RootState::inspect(above) == RootState::Made)
}

/// Returns whether a directory has the content of a home, although neither the environment nor the system names it.
fn is_unnamed_home(directory: &Path) -> bool {
    let is_named = |own: &PathBuf| directory.starts_with(own);
    is_ledger_home(directory) && !home::operators_own_real().iter().any(is_named)
}

/// Returns the subdirectories of a home that contain ledgers, keys and trusted digests.
pub(crate) fn parts(home: &Path) -> [PathBuf; LedgerHome::DIRECTORIES.len()] {
    LedgerHome::DIRECTORIES.map(|name| home.join(name))
}

/// Returns whether a path is at or below one of the [`parts`] of `home`.
pub(crate) fn is_in_part(path: &Path, home: &Path) -> bool {
    parts(home).iter().any(|part| path.starts_with(part))
}
