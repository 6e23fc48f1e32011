//! Paths that changed since the newest run that touched them.

use std::collections::BTreeMap;

use actum_core::{RelPath, RunId};

use crate::disk::Disk;
use crate::error::{Difference, Result, ResultExt};
use crate::history::view::View;
use crate::journal::record::{Image, Outcome};
use crate::tree::{Found, Tree, digest_of_found};

/// Path whose state differs from what the newest run that changed it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The path.
    pub path: RelPath,
    /// Kind of the difference.
    pub difference: Difference,
    /// The newest run that changed the path.
    pub run: RunId,
}

impl<D: Disk> View<D> {
    /// Returns the paths whose state differs from what the newest of the last `count` runs left.
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

    /// Returns the difference between `path` and the image that a run left.
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
            // Directories come and go with the files in them.
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
