//! Past runs, stored as one file per run. The file records what the run changed, with the inverse splices or whole
//! images that an undo needs. Large images and block deltas are separate files in the keep directory.
//!
//! The file name contains the sequence number and id of the run, the run that it undid, and its outcome. A directory
//! listing therefore shows the order of the runs and which of them were undone, without any file being opened. The file
//! contains the two records of the run, framed as in the journal.

pub(crate) mod checkpoint;
pub(crate) mod contents;
pub(crate) mod drift;
pub(crate) mod images;
mod last_left;
pub(crate) mod runs;
pub(crate) mod sweep;
pub(crate) mod view;

use actum_core::{FileMode, RunId};

use crate::disk::Disk;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::record::{End, Intent, Outcome, Record, RunKind};
use crate::journal::sector::{Framed, frame, unframe};

/// Maximum size of a history file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Facts about a past run, as encoded in the name of its history file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRef {
    /// Sequence number of the run; newer runs have higher numbers.
    pub sequence: u64,
    /// Id of the run.
    pub run: RunId,
    /// Kind of the run: a change, or the undo of another run.
    pub kind: RunKind,
    /// Outcome of the run.
    pub outcome: Outcome,
}

impl RunRef {
    pub(crate) fn new(sequence: u64, intent: &Intent, end: &End) -> Self {
        Self { sequence, run: intent.run, kind: intent.kind, outcome: end.outcome }
    }

    fn name(&self) -> Vec<u8> {
        let undo = match self.kind {
            RunKind::Apply => String::new(),
            RunKind::Undo(of) => format!("-undo-{of}"),
        };
        let outcome = match self.outcome {
            Outcome::Committed => "",
            Outcome::RolledBack => "-reverted",
            Outcome::Failed => "-failed",
        };
        format!("{:016x}-{}{undo}{outcome}", self.sequence, self.run).into_bytes()
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (name, outcome) = if let Some(name) = name.strip_suffix("-reverted") {
            (name, Outcome::RolledBack)
        } else if let Some(name) = name.strip_suffix("-failed") {
            (name, Outcome::Failed)
        } else {
            (name, Outcome::Committed)
        };
        let (name, kind) = match name.split_once("-undo-") {
            Some((name, of)) => (name, RunKind::Undo(of.parse().ok()?)),
            None => (name, RunKind::Apply),
        };
        let (sequence, run) = name.split_once('-')?;
        let sequence = u64::from_str_radix(sequence, 16).ok()?;
        Some(Self { sequence, run: run.parse().ok()?, kind, outcome })
    }
}

/// Lists the runs in the history, oldest first.
pub(crate) fn list<D: Disk>(disk: &D, directory: &D::Handle) -> Result<Vec<RunRef>> {
    let names = disk.list(directory).doing(|| "list the history".to_owned())?;
    let mut runs: Vec<_> = names.iter().filter_map(|name| RunRef::parse(name)).collect();
    runs.sort_unstable_by_key(|run| run.sequence);
    Ok(runs)
}

/// Writes the history file of a run. The file becomes durable only with the next sync of the file system.
pub(crate) fn write<D: Disk>(
    disk: &D,
    directory: &D::Handle,
    sequence: u64,
    intent: &Intent,
    end: &End,
) -> Result<()> {
    let name = RunRef::new(sequence, intent, end).name();
    let doing = || format!("write run {} to the history", intent.run);
    if disk.stat_at(directory, &name).doing(doing)?.is_some() {
        disk.unlink(directory, &name).doing(doing)?; // left by an earlier attempt
    }
    let framed = framed(sequence, intent, end);
    let file = disk.create(directory, &name, FileMode::PRIVATE).doing(doing)?;
    let written = disk.write_at(&file, &framed, 0);
    if written.is_err() {
        drop(disk.unlink(directory, &name)); // free the space again in case the disk is full
    }
    written.doing(doing)
}

/// Encodes the content of a run's history file.
fn framed(sequence: u64, intent: &Intent, end: &End) -> Vec<u8> {
    let (encoded, bodies) = intent.encode();
    let head = Record::head(&encoded);
    let mut pieces: Vec<&[u8]> = vec![&head, &encoded];
    pieces.extend(bodies);
    let mut framed = frame(sequence, &pieces);
    let encoded = end.encode();
    framed.extend(frame(sequence + 1, &[&Record::head(&encoded), &encoded]));
    framed
}

/// Returns the size in bytes that the history file of a run will have.
pub(crate) fn size_once_written(sequence: u64, intent: &Intent, end: &End) -> u64 {
    u64::try_from(framed(sequence, intent, end).len()).unwrap_or(u64::MAX)
}

/// Reads the two records of a run from its history file. Fails with `DamagedHistory` if the file is not valid.
pub(crate) fn read<D: Disk>(
    disk: &D,
    directory: &D::Handle,
    reference: &RunRef,
) -> Result<(Intent, End)> {
    let RunRef { sequence, run, .. } = *reference;
    let doing = || format!("read run {run} from the history");
    let damaged = || ErrorKind::DamagedHistory { run };
    let file = disk.open_file(directory, &reference.name()).doing(doing)?;
    let size = disk.stat(&file).doing(doing)?.size;
    if size > FILE_BYTES_MAX {
        return Err(damaged().into());
    }
    let bytes = crate::tree::read_whole(disk, &file, size).doing(doing)?;
    let mut record = Vec::new();
    let mut decode = |framed: &[u8], sequence| match unframe(framed, sequence, &mut record) {
        Framed::Whole(length) => match Record::decode(&record) {
            Ok(decoded) => Ok((decoded, length)),
            Err(_) => Err(damaged()),
        },
        Framed::Missing | Framed::Torn | Framed::Damaged(_) => Err(damaged()),
    };
    let (first, length) = decode(&bytes, sequence)?;
    let (second, _) = decode(bytes.get(length..).unwrap_or_default(), sequence + 1)?;
    match (first, second) {
        (Record::Intent(intent), Record::End(end)) if intent.run == run => Ok((intent, end)),
        _ => Err(damaged().into()),
    }
}

/// Removes the history file of a run.
pub(crate) fn remove<D: Disk>(disk: &D, directory: &D::Handle, run: &RunRef) -> Result<()> {
    let doing = || format!("remove run {} from the history", run.run);
    // A power cut can turn the file into a directory.
    disk.unlink(directory, &run.name())
        .or_else(|error| disk.remove_directory(directory, &run.name()).map_err(|_| error))
        .doing(doing)
}

/// Returns the size of a run's history file in bytes, or 0 if the file does not exist.
pub(crate) fn size<D: Disk>(disk: &D, directory: &D::Handle, run: &RunRef) -> Result<u64> {
    let stat = disk.stat_at(directory, &run.name());
    Ok(stat
        .doing(|| "check the size of a run in the history".to_owned())?
        .map_or(0, |stat| stat.size))
}
