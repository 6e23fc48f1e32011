//! Scan of all files of a workspace, without reading them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use actum_core::RelPath;

use super::{BASELINE_FILES_MAX, Baseline, KnownFiles};
use crate::disk::{Disk, Kind, Stat};
use crate::error::{Result, ResultExt};
use crate::home::STATE_DIRECTORY;
use crate::workspace::Workspace;

/// Depth of directories that are searched; each is open meanwhile.
const DEPTH_MAX: usize = 64;
/// File that marks a directory as a cache (the Cache Directory Tagging Specification).
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";
/// Signature at the beginning of the file.
const CACHE_SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Directory of a repository.
const REPOSITORY: &[u8] = b".git";

/// Files and directories of a workspace.
pub(crate) struct Scan {
    pub(super) found: BTreeMap<RelPath, Stat>,
    /// Directories among them that may not be listed.
    pub(super) unreadable: BTreeSet<RelPath>,
    /// Directories that were not searched.
    pub(super) left_out: BTreeSet<RelPath>,
}

/// Scan that is under way. A map is made of it once: that is faster than to insert each path.
#[derive(Default)]
struct Scanned {
    found: Vec<(RelPath, Stat)>,
    unreadable: BTreeSet<RelPath>,
    left_out: BTreeSet<RelPath>,
}

/// Names in a directory, and the directory.
type Listed<H> = (Vec<Vec<u8>>, H);

impl<D: Disk> Workspace<D> {
    /// Scans all files, except those of repositories, caches and directories that `known` leaves out; `None` where
    /// there are too many. A directory is left out or searched as in `baseline`.
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

    /// Scans these names in a directory; returns false once there are too many files.
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
            // A name that no change can have.
            let Ok(path) = path else { continue };
            if self.private.contains(&path) {
                continue;
            }
            let stat = self.disk.stat_at(handle, name).doing(|| format!("look at `{path}`"))?;
            // It is gone by now.
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
                    // Its own permissions are still compared.
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
        // A tag that cannot be read marks nothing.
        let file = self.disk.open_file(directory, CACHE_TAG);
        file.and_then(|file| self.disk.read_at(&file, &mut begin, 0))
            .is_ok_and(|read| read == begin.len() && begin == *CACHE_SIGNATURE)
    }

    /// Returns the names in a directory, and the directory; `None` where it is gone or may not be listed.
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
