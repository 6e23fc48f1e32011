//! Digests of the files that the newest runs left at their paths.

use std::collections::BTreeMap;

use actum_core::{Digest, RelPath};

use crate::disk::Disk;
use crate::error::Result;
use crate::history;
use crate::journal::record::Outcome;
use crate::workspace::Workspace;

/// Maximum number of runs whose records are read to find the files that they left.
const RUNS_MAX: usize = 32;
/// Maximum size of a history file that is read to find the files that a run left, in bytes.
const RECORD_BYTES_MAX: u64 = 1 << 20;

impl<D: Disk> Workspace<D> {
    /// Returns the digests of the files that the newest [`RUNS_MAX`] runs left, by path. The digest is `None` if the
    /// newest run on the path left no file. Records that are damaged or larger than [`RECORD_BYTES_MAX`] are skipped.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn last_left(&self) -> Result<BTreeMap<RelPath, Option<Digest>>> {
        let mut left = BTreeMap::new();
        let runs = self.runs()?;
        let newest = runs.refs().iter().rev().take(RUNS_MAX);
        for known in newest.filter(|known| known.outcome == Outcome::Committed) {
            // A run that is still in the journal normally has no history file, so its size here is 0.
            if history::size(&self.disk, &self.home.history, known)? > RECORD_BYTES_MAX {
                continue;
            }
            let Ok((intent, _)) = runs.read_found(known) else { continue };
            for entry in &intent.entries {
                if !left.contains_key(&entry.path) {
                    left.insert(entry.path.clone(), entry.post.file().map(|file| file.digest));
                }
            }
        }
        Ok(left)
    }
}
