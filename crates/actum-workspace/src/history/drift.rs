//! Drift detection, which finds paths that changed after the newest run that touched them.

use std::collections::BTreeMap;

use actum_core::{RelPath, RunId};

use crate::disk::Disk;
use crate::error::{Difference, Result, ResultExt};
use crate::history::view::View;
use crate::journal::record::{Image, Outcome};
use crate::tree::{Found, Tree, digest_of_found};

/// Path that has changed since the newest run that touched it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Path that has changed.
    pub path: RelPath,
    /// Kind of difference between the current state and the one that the run left.
    pub difference: Difference,
    /// Newest run that changed the path.
    pub run: RunId,
}

impl<D: Disk> View<D> {
    /// Returns the paths that have changed since the newest run that touched them. Only the last `count` runs are
    /// examined.
    ///
    /// # Errors
    /// `Io`. A run whose record is damaged is skipped.
    pub fn drift(&self, count: usize) -> Result<Vec<Drift>> {
        let runs = self.all_runs()?;
        let mut seen = BTreeMap::new();
        let committed = runs.refs().iter().rev().take(count);
        for known in committed.filter(|known| known.outcome == Outcome::Committed) {
            let Ok((intent, _)) = runs.read_found(known) else { continue };
            for entry in &intent.entries {
                if !seen.contains_key(&entry.path) {
                    seen.insert(entry.path.clone(), (known.run, entry.post.clone()));
                }
            }
        }
        let tree = Tree::remembering(&self.disk, &self.home.root);
        let mut drift = Vec::new();
        for (path, (run, left)) in seen {
            let difference = match self.difference(&tree, &path, &left) {
                Err(error) if error.refusal().is_some() => Some(Difference::Unreadable),
                difference => difference?,
            };
            if let Some(difference) = difference {
                drift.push(Drift { path, difference, run });
            }
        }
        Ok(drift)
    }

    /// Compares the current state of `path` with the image that a run left there.
    fn difference(
        &self,
        tree: &Tree<'_, D>,
        path: &RelPath,
        left: &Image,
    ) -> Result<Option<Difference>> {
        let found = match tree.find(path) {
            Ok(found) => found,
            Err(error) if error.is_in_the_way() => Found::Nothing,
            Err(error) => return Err(error),
        };
        Ok(match (left, found) {
            (Image::Absent, Found::Nothing) => None,
            (Image::Absent | Image::Directory(_), Found::File(..)) => Some(Difference::FileThere),
            // Directories appear and disappear together with the files in them, so they are not reported.
            (Image::Absent, Found::Directory) | (Image::Directory(_), _) => None,
            (Image::Absent | Image::File(_), Found::Other(found)) => {
                Some(Difference::NotAFile(found))
            }
            (Image::File(_), Found::Nothing) => Some(Difference::Gone),
            (Image::File(_), Found::Directory) => Some(Difference::DirectoryThere),
            (Image::File(left), Found::File(stat, file)) => {
                let doing = || format!("read `{path}`");
                if stat.size != left.size
                    || digest_of_found(&self.disk, &file, &stat).doing(doing)? != left.digest
                {
                    Some(Difference::Content)
                } else {
                    let attributes = tree.attributes(&file, &stat).doing(doing)?;
                    (attributes != left.attributes).then_some(Difference::Attributes)
                }
            }
        })
    }
}
