//! Rejection of paths in private locations, such as a home of ledgers and keys.

use actum_core::RelPath;

use crate::disk::Disk;
use crate::error::{ErrorKind, PrivatePlace, Result, ResultExt};
use crate::ledger_home::holds_keys;
use crate::transaction::Transaction;
use crate::tree::Tree;

impl<D: Disk> Transaction<'_, D> {
    /// Rejects a path in a private location before anything there is read, so that no message can quote its content. An
    /// undo may still restore files in a directory that became a home of ledgers and keys after the run.
    pub(crate) fn check_private(&mut self, path: &RelPath) -> Result<()> {
        let mut named = self.workspace.private.iter();
        let place = named.find(|place| is_within(path, place)).cloned().map(PrivatePlace::Named);
        let place = match place {
            None if !self.undoes_change => self.home_holding(path)?.map(PrivatePlace::Home),
            place => place,
        };
        match place {
            None => Ok(()),
            Some(place) => Err(ErrorKind::Private { path: path.clone(), place }.into()),
        }
    }

    /// Returns the home of ledgers and keys that contains `path`, if there is one. Each directory is examined only once
    /// per transaction.
    fn home_holding(&mut self, path: &RelPath) -> Result<Option<RelPath>> {
        let (disk, root) = (&self.workspace.disk, &self.workspace.home.root);
        let tree = Tree::sharing(disk, root, &self.parents);
        let mut below = path.clone();
        while let Some(directory) = below.parent().filter(|it| !self.looked_at.contains(it)) {
            let handle = match tree.parent(&below) {
                // A path below a file or symbolic link cannot be inside a home.
                Err(error) if error.is_in_the_way() => None,
                opened => opened?,
            };
            let is_home = handle.map_or(Ok(false), |handle| holds_keys(disk, &handle));
            if is_home.doing(|| format!("look for ledgers and keys in `{directory}`"))? {
                return Ok(Some(directory));
            }
            self.looked_at.insert(directory.clone());
            below = directory;
        }
        Ok(None)
    }
}

/// Returns true if `path` is equal to `place` or inside it. Case is ignored, because some file systems ignore it.
fn is_within(path: &RelPath, place: &RelPath) -> bool {
    let (path, place) = (path.as_bytes(), place.as_bytes());
    let is_at = path.get(..place.len()).is_some_and(|it| it.eq_ignore_ascii_case(place));
    is_at && path.get(place.len()).is_none_or(|&next| next == b'/')
}
