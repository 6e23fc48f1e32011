//! Snapshots of files that another program is about to change. A snapshot holds the state before a run whose files that
//! program publishes ([`Transaction::adopt`](crate::Transaction::adopt)).
//!
//! A snapshot is one file in `.actum/snapshots`, named after its id and a run id of its own, and framed like an intent.
//! Contents that are too large for it are copies in the keep directory, under that run id. It is not synced: after a
//! power cut it may be gone or torn, and then counts as missing.

use actum_core::{Digest, RunId};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Time};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::record::{Intent, Record};
use crate::journal::sector::{Framed, unframe};
use crate::tree::read_whole;
use crate::workspace::Workspace;

pub(crate) const DIRECTORY: &[u8] = b"snapshots";
/// Number of snapshots that are kept. The oldest are removed first.
const SNAPSHOTS_MAX: usize = 256;
/// Time for which a snapshot is kept, in nanoseconds: a day.
const AGE_MAX: i64 = 24 * 3_600_000_000_000;
/// Size limit of the file of a snapshot, in bytes: 16 MiB of images, and paths and attributes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Sequence number of the record in the file.
pub(crate) const SEQUENCE: u64 = 1;

/// Id of a snapshot: a digest of its name outside of the workspace, such as the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(Digest);

impl SnapshotId {
    /// Returns the id of the snapshot with a name of these parts.
    pub fn new(name: &[&str]) -> Self {
        let parts: Vec<_> = name.iter().map(|part| part.as_bytes()).collect();
        Self(Digest::tagged("actum/snapshot/v1", &parts))
    }

    /// Returns the digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

/// File of a snapshot, as its name describes it.
pub(crate) struct SnapshotFile {
    pub(crate) id: SnapshotId,
    /// Run id under which contents are kept.
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
    /// Returns the run id of the snapshot with this id, if it exists. Each snapshot has a new run id.
    ///
    /// # Errors
    /// `Io`.
    pub fn snapshot(&self, id: SnapshotId) -> Result<Option<RunId>> {
        let Some(directory) = self.snapshots()? else { return Ok(None) };
        let files = self.snapshot_files(&directory)?;
        Ok(files.into_iter().find(|file| file.id == id).map(|file| file.run))
    }

    /// Removes a snapshot that is no longer needed, if it exists.
    ///
    /// # Errors
    /// `Busy`, `Poisoned`; `Io`, and those of recovery.
    pub fn drop_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        let _lock = self.lock(true, "drop a snapshot")?;
        self.remove_snapshot(id)
    }

    /// Removes a snapshot while the lock is held.
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

    /// Returns the run ids of the snapshots, under which contents are kept.
    pub(crate) fn snapshot_runs(&self) -> Result<Vec<RunId>> {
        let Some(directory) = self.snapshots()? else { return Ok(Vec::new()) };
        Ok(self.snapshot_files(&directory)?.into_iter().map(|file| file.run).collect())
    }

    /// Reads a snapshot: an intent whose entries have the state before. A torn one counts as missing.
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

    /// Opens the directory of snapshots, if it exists.
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

    /// Removes earlier snapshots of `id`, those that are too old, and the oldest where there are too many.
    pub(crate) fn remove_snapshots(&self, directory: &D::Handle, id: SnapshotId) -> Result<()> {
        let oldest = self.disk.now().0.saturating_sub(AGE_MAX);
        let mut files: Vec<(Time, SnapshotFile)> = Vec::new();
        for file in self.snapshot_files(directory)? {
            let stat = self.disk.stat_at(directory, &file.name());
            let stat = stat.doing(|| "look at a snapshot".to_owned())?;
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
