//! The whole verification of a log: all stored data is computed again from the exact bytes of its
//! entries (AEC-8, AEC-11), and compared.
//!
//! It cannot find a log that the holder of the checkpoint key rewrote from the first changed entry
//! on. Nor can it find entries taken off the end that no available checkpoint covers.

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

/// Limit of the threads that read and hash, if the machine has as many processors.
const THREADS_MAX: usize = 8;
/// Chunks that may wait to be folded, of all threads.
const WAITING: usize = 8;
/// Checkpoints that are read at once.
const CHECKPOINTS: u64 = 1024;

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Verification {
    /// The name of the log, if it has one.
    pub origin: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// The root of its Merkle tree.
    pub root: Digest,
    /// Runs that were started.
    pub runs: u64,
    /// Runs that have no end yet.
    pub open_runs: u64,
    /// Documents.
    pub documents: u64,
    /// Signed checkpoints.
    pub checkpoints: u64,
    /// Number of entries that the newest of them covers.
    pub covered: u64,
    /// Receipts whose own signature was checked, and counts.
    pub receipts: u64,
    /// Number of entries with an earlier time than the one before. They show a changed clock, and
    /// prove nothing about the log.
    pub steps_back: u64,
    /// Entries that list or change the keys: `LOG_STARTED` and `KEY_ROTATED`.
    pub key_entries: Vec<u64>,
    /// Findings, at most [`Verification::FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
}

impl Verification {
    /// Limit of the findings that are reported one by one.
    pub const FINDINGS_MAX: usize = 100;

    /// Returns true if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds another finding.
    pub fn tell(&mut self, subject: Subject, message: String) {
        if self.findings.len() < Self::FINDINGS_MAX {
            self.findings.push(Finding { subject, message });
        } else {
            self.findings_left_out = self.findings_left_out.saturating_add(1);
        }
    }
}

/// Verifies a log as it is in `view`, in any store. `checks` verifies the signatures of each
/// checkpoint, and of entries; `progress` receives the number of entries done.
///
/// # Errors
/// [`LedgerError`] if it cannot be read to the end, as in a damaged database.
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
            fold.tell(Subject::Log, error.to_string());
            Digest::from_bytes([0; 32])
        }
    };
    let (stretches, rest) = documents::stretches(fold.named().len());
    let mut documents = Documents::default();
    let (mut rows, mut projected) = (Vec::new(), Vec::new());
    // The other threads read documents while this one checks the runs. Only this snapshot knows
    // what they were at the moment of the view.
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

/// Entries that may be missing in a log that is looked through to its last one.
const MISSING_MAX: u64 = 1024;

/// Number of entries to look for: as many as the number of the last one says, if there are nearly
/// as many.
fn plausible_size(view: &dyn Snapshot, fold: &mut Fold) -> Result<u64, LedgerError> {
    let size = view.size()?;
    let rows = view.count_entries()?;
    if size.saturating_sub(rows) <= MISSING_MAX {
        return Ok(size);
    }
    let last = size.saturating_sub(1);
    fold.tell(Subject::Log, format!("it has {rows} entries, and the last has the number {last}"));
    Ok(rows)
}

/// Tests whether the log as it was when `kept` was signed is the beginning of the present one; if
/// not, returns the contradiction. The caller has verified the signature.
///
/// # Errors
/// [`LedgerError`] if the log cannot be read.
pub fn compare(log: &dyn Log, kept: &Checkpoint) -> Result<Result<(), String>, LedgerError> {
    let (origin, size) = (log.origin()?, log.size()?);
    let root = if kept.size <= size { Some(log.frontier(kept.size)?.root()) } else { None };
    Ok(compared(kept, &origin, size, root))
}

/// Compares a log with these facts as [`compare`] does; `root` is that of as many entries as `kept`
/// covers.
pub(crate) fn compared(
    kept: &Checkpoint,
    origin: &str,
    size: u64,
    root: Option<Digest>,
) -> Result<(), String> {
    if kept.origin != origin {
        return Err(format!("it is of another log, `{}`", Quoted(kept.origin.as_bytes())));
    }
    if kept.size > size {
        let lost = kept.size.saturating_sub(size);
        return Err(format!("it covers {} entries, so {lost} were cut off", kept.size));
    }
    match root == Some(kept.root) {
        true => Ok(()),
        false => Err(format!("the first {} entries are other ones now", kept.size)),
    }
}

/// Reads `jobs` in several threads, and takes their results in the order of the jobs. Each thread
/// may be `ahead` of that by so many. `meanwhile` is done here, when the threads have begun.
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
                            // The receiver is gone after an error of another thread.
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

/// Checkpoints, as they are looked at one after another.
pub(crate) struct Checkpoints<'a> {
    pub(crate) origin: Option<&'a str>,
    pub(crate) count: u64,
    pub(crate) covered: u64,
}

/// Limit of the entries that a writer is expected to leave without a checkpoint: those after which
/// one is due, and those of one transaction.
const UNSIGNED_ENTRIES_MAX: u64 = CHECKPOINT_ENTRIES + 1024;

impl Checkpoints<'_> {
    /// Checks that the writer left no more entries behind the newest checkpoint than it may, of
    /// `size`.
    pub(crate) fn check_end(&self, fold: &mut Fold, size: u64) {
        let unsigned = size.saturating_sub(self.covered);
        if unsigned > UNSIGNED_ENTRIES_MAX {
            let message = format!(
                "no checkpoint covers the last {unsigned} entries, and one is due after {CHECKPOINT_ENTRIES}: \
                 checkpoints were removed, or could not be signed"
            );
            fold.tell(Subject::Log, message);
        }
    }

    /// Checks the next one. `root` is the one of the log at its size, if that is known.
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
            let message = format!("it covers more than the {size} entries that are there");
            return fold.tell(subject, message);
        }
        let mut read = || {
            let note = Note::read(signed.note.as_bytes()).map_err(|error| error.to_string())?;
            let read = Checkpoint::read(&note.text).map_err(|error| error.to_string())?;
            let root = root.ok_or("the entries that it covers cannot be read")?;
            if read.size != signed.size {
                return Err(format!("it is kept as this, and covers {} entries", read.size));
            }
            if Some(&*read.origin) != self.origin {
                return Err(format!("it is of another log, `{}`", read.origin));
            }
            if read.root != root {
                return Err(format!(
                    "it says that the root was {}, and the entries lead to {root}",
                    read.root
                ));
            }
            (checks.note)(&signed.note)
        };
        match read() {
            Ok(()) => self.covered = self.covered.max(signed.size),
            Err(message) => fold.tell(subject, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-11: removed checkpoints leave a longer unsigned stretch than a writer does.
    #[test]
    fn entries_without_a_checkpoint_that_is_due_are_a_finding() {
        let is_sound = |covered: u64, size: u64| {
            let mut fold = Fold::default();
            Checkpoints { origin: None, count: 0, covered }.check_end(&mut fold, size);
            fold.finish(None, Digest::from_bytes([0; 32]), 0, (0, covered)).is_sound()
        };
        assert!(is_sound(0, 40) && is_sound(0, UNSIGNED_ENTRIES_MAX) && is_sound(5_000, 5_063));
        assert!(!is_sound(0, UNSIGNED_ENTRIES_MAX + 1) && !is_sound(64, 5_000));
    }
}
