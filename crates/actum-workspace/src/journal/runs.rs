//! Reads the runs in a journal, and pairs each INTENT record with its end record.

use actum_core::Digest;

use super::record::{End, Intent, Record};
use super::{Journal, Located, Scan};
use crate::disk::Disk;
use crate::error::{ErrorKind, Result};

/// Run as recorded in the journal. The end is missing if no process has written one.
pub(crate) struct LoggedRun {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: Option<End>,
    /// Sequence number of the run's last record. This is the end record, if there is one, and otherwise the intent.
    pub(crate) last: u64,
}

impl LoggedRun {
    /// Returns the digest that the end record of this run must contain. Only valid while the intent still contains its
    /// new bytes.
    pub(crate) fn digest(&self) -> Digest {
        Intent::digest(self.sequence, &self.intent.encode().0)
    }
}

/// Pairs each INTENT record with its end record while a journal is read.
pub(crate) struct RunReader {
    runs: Vec<LoggedRun>,
    /// True if the new bytes of runs that have ended are kept.
    post_bytes: bool,
}

impl RunReader {
    /// Creates a reader that keeps everything in the journal.
    pub(crate) fn with_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: true }
    }

    /// Creates a reader that drops the new bytes of runs that have ended. They make up most of a journal.
    pub(crate) fn without_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: false }
    }

    /// Reads a journal. Returns its runs, and true if a torn record follows them.
    ///
    /// # Errors
    /// `Damaged`, `Io`.
    pub(crate) fn read_all<D: Disk>(
        mut self,
        journal: &mut Journal<D::Handle>,
        disk: &D,
        scan: Scan,
    ) -> Result<(Vec<LoggedRun>, bool)> {
        let torn = journal.scan(disk, scan, |located| self.take(located, scan))?;
        Ok((self.runs, torn))
    }

    /// Adds a record. An end record refers to its INTENT by sequence number and digest. If no sync can have been lost,
    /// the checksums and numbers of the sectors are sufficient proof. The digest is not checked then, because computing
    /// it would take as long as everything else.
    fn take(&mut self, Located { sequence, record }: Located, scan: Scan) -> Result<()> {
        let open = self.runs.last_mut().filter(|run| run.end.is_none());
        let damaged = |what| ErrorKind::Damaged { offset: 0, what };
        match (record, open) {
            (Record::Intent(intent), None) => {
                self.runs.push(LoggedRun { sequence, intent, end: None, last: sequence });
            }
            (Record::Adopted(mut intent), None) => {
                let end = Some(intent.end_of_adopted(sequence));
                if !self.post_bytes {
                    intent.drop_post_bytes();
                }
                self.runs.push(LoggedRun { sequence, intent, end, last: sequence });
            }
            (Record::End(end), Some(run))
                if end.intent == run.sequence
                    && (scan == Scan::Tail || end.digest == run.digest()) =>
            {
                run.end = Some(end);
                run.last = sequence;
                if !self.post_bytes {
                    run.intent.drop_post_bytes();
                }
            }
            (Record::Intent(_) | Record::Adopted(_), Some(_)) => {
                return Err(damaged("a run begins before the previous one has ended").into());
            }
            (Record::End(_), _) => {
                return Err(damaged("a run ends that did not begin").into());
            }
        }
        Ok(())
    }
}
