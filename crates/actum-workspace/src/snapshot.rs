//! Snapshots of files that another program is about to change. When that program has published its changes,
//! [`Transaction::adopt`](crate::Transaction::adopt) uses the snapshot as the state before the run.
//!
//! A snapshot is a single file in `.actum/snapshots`, framed like an intent and named after the snapshot id and a run
//! id of its own. Contents that do not fit in the file are copied to the keep directory under that run id. The file is
//! never synced. After a power cut it may be lost or torn, and is then treated as missing.

use actum_core::{Digest, RunId};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Time};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::record::{Intent, Record};
use crate::journal::sector::{Framed, unframe};
use crate::tree::read_whole;
use crate::workspace::Workspace;

pub(crate) const DIRECTORY: &[u8] = b"snapshots";
/// Maximum number of snapshots that are kept. The oldest ones are removed first.
const SNAPSHOTS_MAX: usize = 256;
/// Time for which a snapshot is kept, in nanoseconds (24 hours).
const AGE_MAX: i64 = 24 * 3_600_000_000_000;
/// Maximum size of a snapshot file in bytes. It leaves room for 16 MiB of images, plus paths and attributes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Sequence number of the single record in a snapshot file.
pub(crate) const SEQUENCE: u64 = 1;

/// Id of a snapshot, derived by hashing its external name, such as the id of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(Digest);

impl SnapshotId {
    /// Derives the id of the snapshot whose external name has these parts.
    pub fn new(name: &[&str]) -> Self {
        let parts: Vec<_> = name.iter().map(|part| part.as_bytes()).collect();
        Self(Digest::tagged("actum/snapshot/v1", &parts))
    }

    /// Returns the id as a digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

/// Snapshot file, as described by its file name.
pub(crate) struct SnapshotFile {
    pub(crate) id: SnapshotId,
    /// Run id under which the snapshot's large contents are stored in the keep directory.
    pub(crate) run: RunId,
}

impl SnapshotFile {
    pub(crate) fn name(&self) -> Vec<u8> {
        format!("{}.{}", self.id.0, self.run).into_bytes()
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let (id, run) = std::str::from_utf8(name).ok()?.split_once('.')?;
        Some(Self { id: SnapshotId(id.parse().ok()?), run: run.parse().ok()? })
    }
}

impl<D: Disk> Workspace<D> {
    /// Returns the run id of the snapshot with this id, or `None` if it does not exist. A snapshot gets a new run id
    /// each time it is taken.
    ///
    /// # Errors
    /// `Io`.
    pub fn snapshot(&self, id: SnapshotId) -> Result<Option<RunId>> {
        let Some(directory) = self.snapshots()? else { return Ok(None) };
        let files = self.snapshot_files(&directory)?;
        Ok(files.into_iter().find(|file| file.id == id).map(|file| file.run))
    }

    /// Removes a snapshot that is no longer needed. Does nothing if it does not exist.
    ///
    /// # Errors
    /// `Busy`, `Poisoned`, `Io`, and any error of recovery.
    pub fn drop_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        let _lock = self.lock(true, "remove a snapshot")?;
        self.remove_snapshot(id)
    }

    /// Removes a snapshot. The caller must hold the workspace lock.
    pub(crate) fn remove_snapshot(&self, id: SnapshotId) -> Result<()> {
        let Some(directory) = self.snapshots()? else { return Ok(()) };
        for file in self.snapshot_files(&directory)? {
            if file.id == id {
                self.remove(&directory, &file.name());
                self.sweep_run(file.run);
            }
        }
        Ok(())
    }

    /// Returns the run ids under which snapshots have contents in the keep directory.
    pub(crate) fn snapshot_runs(&self) -> Result<Vec<RunId>> {
        let Some(directory) = self.snapshots()? else { return Ok(Vec::new()) };
        Ok(self.snapshot_files(&directory)?.into_iter().map(|file| file.run).collect())
    }

    /// Reads a snapshot as an intent whose entries record the state before the change. A torn snapshot file is treated
    /// as missing.
    ///
    /// # Errors
    /// `NoSnapshot`, `Io`.
    pub(crate) fn read_snapshot(&self, id: SnapshotId) -> Result<Intent> {
        let doing = || "read a snapshot".to_owned();
        let missing = || ErrorKind::NoSnapshot;
        let directory = self.snapshots()?.ok_or_else(missing)?;
        let files = self.snapshot_files(&directory)?;
        let found = files.into_iter().find(|file| file.id == id).ok_or_else(missing)?;
        let file = self.disk.open_file(&directory, &found.name()).doing(doing)?;
        let size = self.disk.stat(&file).doing(doing)?.size.min(FILE_BYTES_MAX);
        let framed = read_whole(&self.disk, &file, size).doing(doing)?;
        let mut record = Vec::new();
        match unframe(&framed, SEQUENCE, &mut record) {
            Framed::Whole(_) => {}
            Framed::Missing | Framed::Torn | Framed::Damaged(_) => return Err(missing().into()),
        }
        match Record::decode(&record) {
            Ok(Record::Intent(intent)) if intent.run == found.run => Ok(intent),
            Ok(Record::Intent(_) | Record::End(_) | Record::Adopted(_)) | Err(_) => {
                Err(missing().into())
            }
        }
    }

    /// Opens the snapshot directory, or returns `None` if it does not exist.
    fn snapshots(&self) -> Result<Option<D::Handle>> {
        match self.disk.open_directory(&self.home.state, DIRECTORY) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open `.actum/snapshots`".to_owned()).map(Some),
        }
    }

    fn snapshot_files(&self, directory: &D::Handle) -> Result<Vec<SnapshotFile>> {
        let names = self.disk.list(directory).doing(|| "list snapshots".to_owned())?;
        Ok(names.iter().filter_map(|name| SnapshotFile::parse(name)).collect())
    }

    /// Removes earlier snapshots with the id `id`, expired snapshots, and the oldest ones if the limit would be
    /// exceeded.
    pub(crate) fn remove_snapshots(&self, directory: &D::Handle, id: SnapshotId) -> Result<()> {
        let oldest = self.disk.now().0.saturating_sub(AGE_MAX);
        let mut files: Vec<(Time, SnapshotFile)> = Vec::new();
        for file in self.snapshot_files(directory)? {
            let stat = self.disk.stat_at(directory, &file.name());
            let stat = stat.doing(|| "inspect a snapshot".to_owned())?;
            files.extend(stat.map(|stat| (stat.modified, file)));
        }
        files.sort_by_key(|(modified, _)| *modified);
        let too_many = (files.len() + 1).saturating_sub(SNAPSHOTS_MAX);
        for (index, (modified, file)) in files.into_iter().enumerate() {
            if file.id == id || modified.0 < oldest || index < too_many {
                self.remove(directory, &file.name());
                self.sweep_run(file.run);
            }
        }
        Ok(())
    }
}
