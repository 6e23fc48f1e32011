//! The runs in a journal: each INTENT with the end that names it.

use actum_core::Digest;

use super::record::{End, Intent, Record};
use super::{Journal, Located, Scan};
use crate::disk::Disk;
use crate::error::{ErrorKind, Result};

/// A run as the journal tells it: the end is missing where nobody wrote one.
pub(crate) struct LoggedRun {
    pub(crate) sequence: u64,
    pub(crate) digest: Digest,
    pub(crate) intent: Intent,
    pub(crate) end: Option<End>,
}

/// Pairs each INTENT with its end, as they are read.
pub(crate) struct RunReader {
    runs: Vec<LoggedRun>,
    /// Whether the new bytes of runs that have ended are wanted.
    post_bytes: bool,
}

impl RunReader {
    /// All that the journal says.
    pub(crate) fn with_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: true }
    }

    /// All but the new bytes of runs that have ended, which are most of a journal.
    pub(crate) fn without_post_bytes() -> Self {
        Self { runs: Vec::new(), post_bytes: false }
    }

    /// Reads a journal; gives the runs in it, and whether a torn record follows them.
    ///
    /// # Errors
    /// `Damaged`, `Io`.
    pub(crate) fn read_all<D: Disk>(
        mut self,
        journal: &mut Journal<D::Handle>,
        disk: &D,
        scan: Scan,
    ) -> Result<(Vec<LoggedRun>, bool)> {
        let torn = journal.scan(disk, scan, |located| self.take(located))?;
        Ok((self.runs, torn))
    }

    fn take(&mut self, Located { sequence, record, digest }: Located) -> Result<()> {
        let open = self.runs.last_mut().filter(|run| run.end.is_none());
        let damaged = |what| ErrorKind::Damaged { offset: 0, what };
        match (record, open) {
            (Record::Intent(intent), None) => {
                self.runs.push(LoggedRun { sequence, digest, intent, end: None });
            }
            (Record::End(end), Some(run))
                if end.intent == run.sequence && end.digest == run.digest =>
            {
                run.end = Some(end);
                if !self.post_bytes {
                    run.intent.drop_post_bytes();
                }
            }
            (Record::Intent(_), Some(_)) => {
                return Err(damaged("a run begins before the one before it has ended").into());
            }
            (Record::End(_), _) => {
                return Err(damaged("the end of a run that did not begin").into());
            }
        }
        Ok(())
    }
}
