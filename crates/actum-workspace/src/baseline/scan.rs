//! Scans the metadata of all files in a workspace without reading their contents.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use actum_core::RelPath;

use super::{BASELINE_FILES_MAX, Baseline, KnownFiles};
use crate::disk::{Disk, Kind, Stat};
use crate::error::{Result, ResultExt};
use crate::home::STATE_DIRECTORY;
use crate::workspace::Workspace;

/// Maximum depth of searched directories. The limit exists because all directories on the path are open at the same time.
const DEPTH_MAX: usize = 64;
/// Name of the file that marks a directory as a cache (Cache Directory Tagging Specification).
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";
/// Signature with which a valid `CACHEDIR.TAG` file begins.
const CACHE_SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Name of the directory of a Git repository.
const REPOSITORY: &[u8] = b".git";

/// Files and directories found in a workspace.
pub(crate) struct Scan {
    pub(super) found: BTreeMap<RelPath, Stat>,
    /// Directories that could not be listed.
    pub(super) unreadable: BTreeSet<RelPath>,
    /// Directories that were not searched.
    pub(super) left_out: BTreeSet<RelPath>,
}

/// Scan in progress. The list of files is converted to a map at the end, which is faster than inserting single paths.
#[derive(Default)]
struct Scanned {
    found: Vec<(RelPath, Stat)>,
    unreadable: BTreeSet<RelPath>,
    left_out: BTreeSet<RelPath>,
}

/// Names in a directory, and the handle of the directory.
type Listed<H> = (Vec<Vec<u8>>, H);

impl<D: Disk> Workspace<D> {
    /// Scans all files except those in Git repositories, caches and directories that `known` excludes. Directories that
    /// `baseline` includes or excludes are treated the same way again. Returns `None` if there are too many files.
    pub(crate) fn scan(
        &self,
        baseline: &Baseline,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<Scan>> {
        let mut scan = Scanned::default();
        let root = &self.home.root;
        let names = self.disk.list(root).doing(|| "list the workspace".to_owned())?;
        let is_whole = self.scan_names((None, root), &names, (baseline, known), &mut scan)?;
        let Scanned { found, unreadable, left_out } = scan;
        Ok(is_whole.then(|| Scan { found: found.into_iter().collect(), unreadable, left_out }))
    }

    /// Scans the given names in a directory. Returns false if the limit on the number of files is exceeded.
    fn scan_names(
        &self,
        (directory, handle): (Option<&RelPath>, &D::Handle),
        names: &[Vec<u8>],
        (baseline, known): (&Baseline, &mut dyn KnownFiles),
        scan: &mut Scanned,
    ) -> Result<bool> {
        for name in names {
            let is_own = directory.is_none() && name == STATE_DIRECTORY.as_bytes();
            if is_own || name == REPOSITORY {
                continue;
            }
            let path = match directory {
                Some(directory) => {
                    RelPath::new([directory.as_bytes(), b"/".as_slice(), name].concat())
                }
                None => RelPath::new(name),
            };
            // Skip names that are not valid workspace paths, because no change can affect them.
            let Ok(path) = path else { continue };
            if self.private.contains(&path) {
                continue;
            }
            let stat = self
                .disk
                .stat_at(handle, name)
                .doing(|| format!("read the metadata of `{path}`"))?;
            // Skip a file that was deleted after the directory was listed.
            let Some(stat) = stat else { continue };
            if scan.found.len() == BASELINE_FILES_MAX {
                return Ok(false);
            }
            if stat.kind != Kind::Directory {
                scan.found.push((path, stat));
                continue;
            }
            let was_read = baseline.files.get(&path).is_some_and(|it| it.stamp.kind == stat.kind);
            let is_left_out = baseline.left_out.contains(&path)
                || !was_read && known.leaves_out(&path)
                || path.depth() >= DEPTH_MAX;
            let listed = match is_left_out {
                true => None,
                false => self.list_directory(handle, name).doing(|| format!("list `{path}`"))?,
            };
            let Some((names, below)) = listed else {
                if !is_left_out {
                    scan.unreadable.insert(path.clone());
                    // The permissions of the directory itself can still be compared.
                    if was_read {
                        scan.found.push((path.clone(), stat));
                    }
                }
                scan.left_out.insert(path);
                continue;
            };
            if !was_read && self.is_cache(&names, &below) {
                scan.left_out.insert(path);
                continue;
            }
            scan.found.push((path.clone(), stat));
            let inside = (Some(&path), &below);
            if !self.scan_names(inside, &names, (baseline, &mut *known), scan)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if a directory is marked as a cache.
    fn is_cache(&self, names: &[Vec<u8>], directory: &D::Handle) -> bool {
        if !names.iter().any(|name| name == CACHE_TAG) {
            return false;
        }
        let mut begin = [0; CACHE_SIGNATURE.len()];
        // A tag file that cannot be read does not mark the directory.
        let file = self.disk.open_file(directory, CACHE_TAG);
        file.and_then(|file| self.disk.read_at(&file, &mut begin, 0))
            .is_ok_and(|read| read == begin.len() && begin == *CACHE_SIGNATURE)
    }

    /// Lists and opens a directory. Returns `None` if it no longer exists or cannot be listed.
    fn list_directory(
        &self,
        parent: &D::Handle,
        name: &[u8],
    ) -> io::Result<Option<Listed<D::Handle>>> {
        let opened = self.disk.open_directory(parent, name);
        let listed = opened.and_then(|directory| Ok((self.disk.list(&directory)?, directory)));
        let is_closed = |error: &io::Error| {
            let closed = [
                io::ErrorKind::NotFound,
                io::ErrorKind::NotADirectory,
                io::ErrorKind::PermissionDenied,
                io::ErrorKind::CrossesDevices,
            ];
            closed.contains(&error.kind())
        };
        match listed {
            Ok(listed) => Ok(Some(listed)),
            Err(error) if is_closed(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
