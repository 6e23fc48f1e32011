//! Verification of a log. All stored data is recomputed from the exact bytes of the entries and compared (AEC-8, AEC-11).
//!
//! Verification has two limits. The holder of the checkpoint key can rewrite a log from some entry on without being
//! detected. Entries can also be removed from the end if no available checkpoint covers them.

mod chunk;
mod documents;
mod fold;
mod signatures;

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use actum_core::Digest;
use actum_core::path::Quoted;
use actum_record::checkpoint::Checkpoint;
use actum_record::note::Note;

use crate::error::LedgerError;
pub use crate::finding::{Finding, Subject};
use crate::limits::CHECKPOINT_ENTRIES;
use crate::log::{Log, SignedCheckpoint};
use crate::snapshot::Snapshot;
use chunk::{Chunk, chunks};
use documents::{Documents, Rows};
pub(crate) use fold::Fold;
pub(crate) use signatures::SignatureKind;
pub use signatures::{Checks, EntryCheck, NoteCheck, Receipts};

/// Maximum number of threads that read and hash in parallel. Fewer are used if the machine has fewer processors.
const THREADS_MAX: usize = 8;
/// Maximum number of chunks that all threads together may have read ahead.
const WAITING: usize = 8;
/// Maximum number of checkpoints that are loaded at the same time.
const CHECKPOINTS: u64 = 1024;

/// Result of verifying a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Verification {
    /// Name of the log, or `None` if it cannot be read from the first entry.
    pub origin: Option<String>,
    /// Number of entries in the log.
    pub entries: u64,
    /// Root hash of the log's Merkle tree.
    pub root: Digest,
    /// Number of runs that were started.
    pub runs: u64,
    /// Number of runs that have not ended yet.
    pub open_runs: u64,
    /// Number of stored documents.
    pub documents: u64,
    /// Number of signed checkpoints.
    pub checkpoints: u64,
    /// Number of entries covered by the newest valid checkpoint.
    pub covered: u64,
    /// Number of receipts whose own signature was checked and is valid.
    pub receipts: u64,
    /// Number of entries whose time is considerably earlier than that of the previous entry. This indicates that a clock was
    /// changed, but is not a problem of the log.
    pub steps_back: u64,
    /// Indexes of the entries that list or change the keys, which are `LOG_STARTED` and `KEY_ROTATED`.
    pub key_entries: Vec<u64>,
    /// Inconsistencies that were found, at most [`Verification::FINDINGS_MAX`] of them.
    pub findings: Vec<Finding>,
    /// Number of findings that were omitted because there were too many.
    pub findings_left_out: u64,
}

impl Verification {
    /// Maximum number of findings that are reported individually.
    pub const FINDINGS_MAX: usize = 100;

    /// Returns whether the verification found no inconsistencies.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding, or only counts it if there are already [`Verification::FINDINGS_MAX`] findings.
    pub fn add_finding(&mut self, subject: Subject, message: String) {
        if self.findings.len() < Self::FINDINGS_MAX {
            self.findings.push(Finding { subject, message });
        } else {
            self.findings_left_out = self.findings_left_out.saturating_add(1);
        }
    }
}

/// Verifies the log in a snapshot of any store. `checks` verifies the signatures of checkpoints and entries. `progress` is
/// called with the number of entries processed so far.
///
/// # Errors
/// Returns [`LedgerError`] if the log cannot be read completely, for example because the database is damaged.
pub fn verify(
    view: &dyn Snapshot,
    checks: &mut Checks<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Verification, LedgerError> {
    let mut fold = Fold::default();
    fold.found(view.check_structure()?);
    let size = plausible_size(view, &mut fold)?;
    let mut upper = chunk::Upper::default();
    let starts: Vec<u64> = chunks(size).collect();
    let read = |log: &dyn Snapshot, start: u64| Chunk::read(log, start, size);
    in_order(
        view,
        (&starts, WAITING),
        read,
        || Ok(()),
        |chunk| {
            upper.take(&mut fold, &chunk);
            fold.found(chunk.findings);
            let entries = chunk.facts.into_iter().zip(chunk.leaves);
            for ((facts, leaf), index) in entries.zip(chunk.start..) {
                if let Some(facts) = facts {
                    fold.take(&facts, (index, leaf));
                }
            }
            progress(fold.entries());
        },
    )?;
    let root = match view.frontier(size) {
        Ok(frontier) => frontier.root(),
        Err(error) => {
            fold.add_finding(Subject::Log, error.to_string());
            Digest::from_bytes([0; 32])
        }
    };
    let (stretches, rest) = documents::stretches(fold.named().len());
    let mut documents = Documents::default();
    let (mut rows, mut projected) = (Vec::new(), Vec::new());
    // Other threads read the documents while this thread checks the projection. Only this snapshot shows the projection
    // in the state that is being verified, because theirs may be newer.
    in_order(
        view,
        (&stretches, stretches.len()),
        Rows::read,
        || {
            projected = view.check_projection(&fold.projection())?;
            Ok(())
        },
        |some| rows.push(some),
    )?;
    rows.push(Rows::read(view, rest)?);
    fold.found(projected);
    rows.into_iter().for_each(|rows| documents.take(&mut fold, rows));
    let documents = documents.finish(view, &mut fold)?;
    let origin = view.origin().ok();
    let mut checked = Checkpoints { origin: origin.as_deref(), count: 0, covered: 0 };
    let mut from = 0;
    loop {
        let some = view.checkpoints(from, CHECKPOINTS)?;
        let Some(last) = some.last() else { break };
        from = last.size.saturating_add(1);
        for signed in &some {
            let root = view.frontier(signed.size.min(size)).map(|frontier| frontier.root());
            checked.take(&mut fold, signed, size, root.ok(), checks);
        }
    }
    checked.check_end(&mut fold, size);
    let (count, covered) = (checked.count, checked.covered);
    signatures::check(view, &mut fold, (covered, size), checks, progress)?;
    Ok(fold.finish(origin, root, documents, (count, covered)))
}

/// Maximum number of missing entries for which a log is still verified up to its last index.
const MISSING_MAX: u64 = 1024;

/// Returns the number of entries to verify. It is derived from the index of the last entry, or from the number of stored
/// entries if far too many are missing. The latter case is reported as a finding.
fn plausible_size(view: &dyn Snapshot, fold: &mut Fold) -> Result<u64, LedgerError> {
    let size = view.size()?;
    let rows = view.count_entries()?;
    if size.saturating_sub(rows) <= MISSING_MAX {
        return Ok(size);
    }
    let last = size.saturating_sub(1);
    fold.add_finding(
        Subject::Log,
        format!("there are only {rows} entries, but the last index is {last}"),
    );
    Ok(rows)
}

/// Checks that the log still starts with the entries that a saved checkpoint covers. The inner result contains a message if
/// it does not. The caller must have verified the signature of the checkpoint.
///
/// # Errors
/// Returns [`LedgerError`] if the log cannot be read.
pub fn compare(log: &dyn Log, kept: &Checkpoint) -> Result<Result<(), String>, LedgerError> {
    let (origin, size) = (log.origin()?, log.size()?);
    let root = if kept.size <= size { Some(log.frontier(kept.size)?.root()) } else { None };
    Ok(compared(kept, &origin, size, root))
}

/// Performs the comparison for [`compare`]. `root` is the root hash of the first `kept.size` entries of the log, if it has
/// that many.
pub(crate) fn compared(
    kept: &Checkpoint,
    origin: &str,
    size: u64,
    root: Option<Digest>,
) -> Result<(), String> {
    if kept.origin != origin {
        return Err(format!("it belongs to a different log, `{}`", Quoted(kept.origin.as_bytes())));
    }
    if kept.size > size {
        let lost = kept.size.saturating_sub(size);
        return Err(format!("it covers {} entries, but the last {lost} are missing", kept.size));
    }
    match root == Some(kept.root) {
        true => Ok(()),
        false => Err(format!("the first {} entries have changed", kept.size)),
    }
}

/// Executes jobs in several threads, and passes their results to `take` in the order of the jobs.
///
/// The threads together may finish about `ahead` jobs before their results are taken. After the threads have started,
/// `meanwhile` runs on the calling thread.
fn in_order<J: Copy + Sync, T: Send>(
    view: &dyn Snapshot,
    (jobs, ahead): (&[J], usize),
    read: impl Fn(&dyn Snapshot, J) -> Result<T, LedgerError> + Sync,
    meanwhile: impl FnOnce() -> Result<(), LedgerError>,
    mut take: impl FnMut(T),
) -> Result<(), LedgerError> {
    if let [] | [_] = jobs {
        meanwhile()?;
        return jobs.iter().try_for_each(|job| {
            take(read(view, *job)?);
            Ok(())
        });
    }
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let open = view.opener();
    thread::scope(|scope| {
        let (read, open) = (&read, &open);
        let readers: Vec<Receiver<Result<T, LedgerError>>> = (0..threads)
            .map(|thread| {
                let (sender, receiver) = sync_channel(ahead.div_ceil(threads).max(1));
                scope.spawn(move || {
                    let read_all = || {
                        let log = open()?;
                        for job in jobs.iter().skip(thread).step_by(threads) {
                            // Stop if the receiver was dropped, which happens after an error in another thread.
                            if sender.send(Ok(read(&*log, *job)?)).is_err() {
                                break;
                            }
                        }
                        Ok(())
                    };
                    if let Err(error) = read_all() {
                        drop(sender.send(Err(error)));
                    }
                });
                receiver
            })
            .collect();
        meanwhile()?;
        for (_, reader) in jobs.iter().zip(readers.iter().cycle()) {
            take(reader.recv().unwrap_or(Err(LedgerError::Stopped))?);
        }
        Ok(())
    })
}

/// State of the verification of checkpoints, which are processed in ascending order of size.
pub(crate) struct Checkpoints<'a> {
    pub(crate) origin: Option<&'a str>,
    pub(crate) count: u64,
    pub(crate) covered: u64,
}

/// Maximum number of entries that a writer may leave without a checkpoint. It allows for the interval between checkpoints
/// and for the entries of one transaction.
const UNSIGNED_ENTRIES_MAX: u64 = CHECKPOINT_ENTRIES + 1024;

impl Checkpoints<'_> {
    /// Checks that not too many entries follow the newest checkpoint, in a log that has `size` entries.
    pub(crate) fn check_end(&self, fold: &mut Fold, size: u64) {
        let unsigned = size.saturating_sub(self.covered);
        if unsigned > UNSIGNED_ENTRIES_MAX {
            let message = format!(
                "no checkpoint covers the last {unsigned} entries, although one is due after {CHECKPOINT_ENTRIES}; \
                 checkpoints were removed or could not be signed"
            );
            fold.add_finding(Subject::Log, message);
        }
    }

    /// Checks the next checkpoint. `root` is the root hash of the log at the size of the checkpoint, if it is known.
    pub(crate) fn take(
        &mut self,
        fold: &mut Fold,
        signed: &SignedCheckpoint,
        size: u64,
        root: Option<Digest>,
        checks: &mut Checks<'_>,
    ) {
        self.count = self.count.saturating_add(1);
        let subject = Subject::Checkpoint(signed.size);
        if signed.size > size {
            let message = format!("the checkpoint covers more entries than the log has ({size})");
            return fold.add_finding(subject, message);
        }
        let mut read = || {
            let note = Note::read(signed.note.as_bytes()).map_err(|error| error.to_string())?;
            let read = Checkpoint::read(&note.text).map_err(|error| error.to_string())?;
            let root = root.ok_or("the entries that the checkpoint covers cannot be read")?;
            if read.size != signed.size {
                return Err(format!("the signed note covers {} entries instead", read.size));
            }
            if Some(&*read.origin) != self.origin {
                return Err(format!(
                    "the checkpoint belongs to a different log, `{}`",
                    read.origin
                ));
            }
            if read.root != root {
                return Err(format!(
                    "the checkpoint states the root {}, but the entries have the root {root}",
                    read.root
                ));
            }
            (checks.note)(&signed.note)
        };
        match read() {
            Ok(()) => self.covered = self.covered.max(signed.size),
            Err(message) => fold.add_finding(subject, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-11: removing checkpoints leaves more entries unsigned than a writer ever would.
    #[test]
    fn missing_due_checkpoint_is_a_finding() {
        let is_sound = |covered: u64, size: u64| {
            let mut fold = Fold::default();
            Checkpoints { origin: None, count: 0, covered }.check_end(&mut fold, size);
            fold.finish(None, Digest::from_bytes([0; 32]), 0, (0, covered)).is_sound()
        };
        assert!(is_sound(0, 40) && is_sound(0, UNSIGNED_ENTRIES_MAX) && is_sound(5_000, 5_063));
        assert!(!is_sound(0, UNSIGNED_ENTRIES_MAX + 1) && !is_sound(64, 5_000));
    }
}
