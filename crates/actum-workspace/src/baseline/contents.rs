//! Copies of the contents of files for baselines, stored in `.actum/contents` under their digests.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath};

use super::{Baseline, Known, Source, Stamp};
use crate::disk::{Disk, Kind, Time};
use crate::error::{Result, ResultExt};
use crate::journal::record::{Body, FileImage, Image, Intent};
use crate::tree::{Found, Tree, read_whole};
use crate::workspace::Workspace;

const DIRECTORY: &[u8] = b"contents";
/// Maximum size in bytes of a file that is copied.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum total size in bytes of the copies that a baseline includes. A second limit of this size applies to all other
/// copies.
const BYTES_MAX: u64 = 128 << 20;

/// Retention time in nanoseconds of a copy that the baseline does not include (one day).
const AGE_MAX: i64 = 24 * 3_600_000_000_000;
/// Maximum number of entries of a run whose resulting contents are kept.
const FILES_MAX: usize = 64;

/// Returns the resulting contents of a run that its record includes. Returns none for a run with more than
/// [`FILES_MAX`] entries.
pub(crate) fn contents_left(intent: &Intent) -> Vec<(Digest, Arc<Vec<u8>>)> {
    if intent.entries.len() > FILES_MAX {
        return Vec::new();
    }
    let left = intent.entries.iter().filter_map(|entry| match &entry.post {
        Image::File(FileImage { digest, body: Body::Inline(bytes), .. }) => {
            Some((*digest, Arc::clone(bytes)))
        }
        Image::File(_) | Image::Absent | Image::Directory(_) => None,
    });
    left.collect()
}

/// Open directory `.actum/contents` with an index of its copies.
pub(super) struct Contents<H> {
    directory: H,
    /// Size and modification time of each existing copy.
    there: BTreeMap<Digest, (u64, Time)>,
    used: BTreeSet<Digest>,
    used_bytes: u64,
}

impl<D: Disk> Workspace<D> {
    /// Opens the directory `.actum/contents`, and creates it if it is missing.
    pub(super) fn contents(&self) -> Result<Contents<D::Handle>> {
        let (disk, state) = (&self.disk, &self.home.state);
        let doing = || "open `.actum/contents`".to_owned();
        let directory = match disk.open_directory(state, DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                disk.make_directory(state, DIRECTORY, FileMode::PRIVATE_DIRECTORY).doing(doing)?;
                disk.open_directory(state, DIRECTORY).doing(doing)?
            }
            opened => opened.doing(doing)?,
        };
        let mut there = BTreeMap::new();
        for name in disk.list(&directory).doing(doing)? {
            let stat = disk.stat_at(&directory, &name).doing(doing)?;
            let file = stat.filter(|stat| stat.kind == Kind::File);
            if let Some((digest, stat)) = Digest::from_text(&name).zip(file) {
                there.insert(digest, (stat.size, stat.modified));
            }
        }
        let (used, used_bytes) = (BTreeSet::new(), 0);
        Ok(Contents { directory, there, used, used_bytes })
    }

    /// Copies the resulting contents of a run, because its record no longer contains them once the run has ended. Does
    /// nothing if no baseline was ever taken in this workspace. Errors are ignored: if a copy cannot be written, its
    /// absence is reported when it is needed.
    pub(crate) fn keep_contents(&self, left: &[(Digest, Arc<Vec<u8>>)]) {
        let (disk, state) = (&self.disk, &self.home.state);
        let Ok(directory) = disk.open_directory(state, DIRECTORY) else { return };
        for (digest, bytes) in left {
            let name = digest.to_string().into_bytes();
            let created = disk.create(&directory, &name, FileMode::PRIVATE);
            let written = created.and_then(|file| disk.write_at(&file, bytes, 0));
            match written {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => drop(disk.unlink(&directory, &name)),
            }
        }
    }

    /// Reads a copy. Returns `None` if it is missing or does not match its digest.
    pub(super) fn read_copy(&self, digest: Digest) -> Result<Option<Vec<u8>>> {
        let doing = || "read a copy of a file from `.actum/contents`".to_owned();
        let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let directory = match self.disk.open_directory(&self.home.state, DIRECTORY) {
            Err(error) if missing(&error) => return Ok(None),
            opened => opened.doing(doing)?,
        };
        let file = match self.disk.open_file(&directory, digest.to_string().as_bytes()) {
            Err(error) if missing(&error) => return Ok(None),
            opened => opened.doing(doing)?,
        };
        let bytes = read_whole(&self.disk, &file, FILE_BYTES_MAX).doing(doing)?;
        Ok(Some(bytes).filter(|bytes| Digest::of(bytes) == digest))
    }
}

impl<H> Contents<H> {
    /// Returns true if a copy with this digest and size exists, and marks it as used.
    pub(super) fn has(&mut self, digest: Digest, size: u64) -> bool {
        let is_there = self.there.get(&digest).is_some_and(|(there, _)| *there == size);
        if is_there && self.used.insert(digest) {
            self.used_bytes += size;
        }
        is_there
    }

    /// Copies a file or the target of a symbolic link. Returns `None` if it is too large, exceeds the total limit, cannot
    /// be read, or has changed.
    pub(super) fn copy<D: Disk<Handle = H>>(
        &mut self,
        workspace: &Workspace<D>,
        path: &RelPath,
        stamp: &Stamp,
    ) -> Result<Option<Digest>> {
        if stamp.size > FILE_BYTES_MAX.min(BYTES_MAX.saturating_sub(self.used_bytes)) {
            return Ok(None);
        }
        let disk = &workspace.disk;
        // A file that cannot be read is not copied.
        let Ok(Found::File(stat, file)) = Tree::new(disk, &workspace.home.root).find(path) else {
            return Ok(None);
        };
        match read_whole(disk, &file, stat.size) {
            Ok(bytes) if Stamp::from(&stat) == *stamp => self.write(disk, &bytes).map(Some),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Writes a copy of `bytes` unless it already exists, and returns its digest.
    pub(super) fn write<D: Disk<Handle = H>>(&mut self, disk: &D, bytes: &[u8]) -> Result<Digest> {
        let doing = || "copy a file to `.actum/contents`".to_owned();
        let digest = Digest::of(bytes);
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.has(digest, size) {
            return Ok(digest);
        }
        let name = digest.to_string().into_bytes();
        if self.there.contains_key(&digest) {
            disk.unlink(&self.directory, &name).doing(doing)?; // it has the wrong size
        }
        let file = disk.create(&self.directory, &name, FileMode::PRIVATE).doing(doing)?;
        let written = disk.write_at(&file, bytes, 0);
        if written.is_err() {
            drop(disk.unlink(&self.directory, &name)); // free the space, as the disk may be full
        }
        written.doing(doing)?;
        self.there.insert(digest, (size, disk.now()));
        self.has(digest, size);
        Ok(digest)
    }

    /// Removes copies that the baseline does not include. Copies from the last day are kept, newest first, up to the size
    /// limit.
    pub(super) fn sweep<D: Disk<Handle = H>>(&self, disk: &D, baseline: &Baseline) -> Result<()> {
        let included = |file: &Known| match file.source {
            Source::Copy(digest) => Some(digest),
            Source::Nowhere | Source::Blob(_) => None,
        };
        let included: BTreeSet<_> = baseline.files.values().filter_map(included).collect();
        let others = self.there.iter().filter(|(digest, _)| !included.contains(digest));
        let mut others: Vec<_> =
            others.map(|(digest, (size, since))| (since, size, digest)).collect();
        others.sort_unstable_by(|one, other| other.cmp(one));
        let oldest = disk.now().0.saturating_sub(AGE_MAX);
        let mut room = BYTES_MAX;
        for (since, size, digest) in others {
            room = room.saturating_sub(*size);
            if room == 0 || since.0 < oldest {
                let unlinked = disk.unlink(&self.directory, digest.to_string().as_bytes());
                unlinked.doing(|| "remove a copy in `.actum/contents`".to_owned())?;
            }
        }
        Ok(())
    }
}
