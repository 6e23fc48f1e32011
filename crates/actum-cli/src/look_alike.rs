//! Directories that look like a home of ledgers and keys at, in or above a recorded workspace.
//!
//! No home is made in a workspace, and no workspace in a home. So a directory there with a keyring, which neither the
//! environment nor the password database names, was marked by another program or user. It must not reject commands.

use std::path::{Path, PathBuf};

use actum::RootState;
use actum_ledger::LedgerHome;
use actum_workspace::is_ledger_home;

use crate::home;

/// Returns true if `directory` looks like a home, and lies at, in or above the recorded workspace at `root`.
pub(crate) fn is_one(directory: &Path, root: &Path) -> bool {
    (directory.starts_with(root) || root.starts_with(directory))
        && RootState::inspect(root) == RootState::Made
        && is_unnamed_home(directory)
}

/// Returns true if `directory` looks like a home, and lies at or in some recorded workspace.
pub(crate) fn is_in_workspace(directory: &Path) -> bool {
    is_unnamed_home(directory)
        && directory.ancestors().any(|above| RootState::inspect(above) == RootState::Made)
}

/// Returns true if a directory is a home by its content alone.
fn is_unnamed_home(directory: &Path) -> bool {
    let is_named = |own: &PathBuf| directory.starts_with(own);
    is_ledger_home(directory) && !home::operators_own_real().iter().any(is_named)
}

/// Returns the parts of a home that hold ledgers, keys and trusted digests.
pub(crate) fn parts(home: &Path) -> [PathBuf; LedgerHome::DIRECTORIES.len()] {
    LedgerHome::DIRECTORIES.map(|name| home.join(name))
}

/// Returns true if a path is or lies in a part of the home around it.
pub(crate) fn is_in_part(path: &Path, home: &Path) -> bool {
    parts(home).iter().any(|part| path.starts_with(part))
}
