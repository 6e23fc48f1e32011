//! The runs in a journal: each INTENT with the end that names it.

use actum_core::Digest;

use super::record::{End, Intent, Record};
use super::{Journal, Located, Scan};
use crate::disk::Disk;
use crate::error::{ErrorKind, Result};

/// Run as the journal records it; the end is missing where no process wrote one.
pub(crate) struct LoggedRun {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: Option<End>,
    /// Number of the last record of the run: its end, or its intent where that is also its end or has none.
    pub(crate) last: u64,
}

impl LoggedRun {
    /// Returns the digest that the end of this run must name. Valid only while the new bytes are in the intent.
    pub(crate) fn digest(&self) -> Digest {
        Intent::digest(self.sequence, &self.intent.encode().0)
    }
}

/// Pairs each INTENT with its end, as they are read.
pub(crate) struct RunReader {
    runs: Vec<LoggedRun>,
    /// True if the new bytes of runs that have ended are kept.
    post_bytes: bool,
}

impl RunReader {
    /// Creates a reader that keeps all that the journal holds.
    pub(crate) fn with_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: true }
    }

    /// Creates a reader that drops the new bytes of runs that have ended, which are most of a journal.
    pub(crate) fn without_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: false }
    }

    /// Reads a journal. Returns the runs in it, and whether a torn record follows them.
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

    /// Adds a record. An end names its INTENT by number and digest. Where no sync was lost the sectors' checksums and
    /// numbers are proof enough, and a digest would take as long as all the rest.
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
                return Err(damaged("a run begins before the one before it has ended").into());
            }
            (Record::End(_), _) => {
                return Err(damaged("the end of a run that did not begin").into());
            }
        }
        Ok(())
    }
}
