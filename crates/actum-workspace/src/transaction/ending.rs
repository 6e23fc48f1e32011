//! Lookup of the outcome of a run that was also announced outside of the workspace.

use actum_core::RunId;

use crate::disk::{Disk, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::record::Outcome;
use crate::transaction::Transaction;

/// Outcome of a run, as far as the workspace knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The run ended with this outcome at this time.
    Ended(Outcome, Time),
    /// The run was never announced in the journal, so it changed nothing. Its place in the journal is unused or belongs
    /// to another run.
    NeverBegan,
    /// The journal record at the place of the run is not available: it was set aside, forgotten, or is damaged in the
    /// history.
    Unknown,
}

impl<D: Disk> Transaction<'_, D> {
    /// Returns the sequence number that this run will get in the journal.
    pub fn place(&self) -> u64 {
        self.workspace.journal.next_sequence()
    }

    /// Returns the newest run that ended. The history is listed only if the journal has no such run.
    ///
    /// # Errors
    /// `Io`.
    pub fn newest_ended(&self) -> Result<Option<RunId>> {
        match self.workspace.tail.last() {
            Some(ended) => Ok(Some(ended.intent.run)),
            None => Ok(self.workspace.runs()?.refs().last().map(|run| run.run)),
        }
    }

    /// Returns the outcome of `run`, which was expected to get the journal sequence number `place`. The journal is
    /// already recovered, so every run that began has ended. The function does not read the clock.
    ///
    /// # Errors
    /// `Io`.
    pub fn ending_of(&self, run: RunId, place: u64) -> Result<Ending> {
        let runs = self.workspace.runs()?;
        match runs.read(run) {
            Ok((_, end)) => Ok(Ending::Ended(end.outcome, end.time)),
            Err(Error { kind: ErrorKind::UnknownRun { .. }, .. }) => {
                // A run takes two sequence numbers. A torn record takes one, and the run changed nothing because its
                // record was never durable.
                let behind = place.saturating_add(1);
                let is_at_hand = |sequence: u64| sequence == place || sequence == behind;
                let taken = runs.refs().iter().any(|known| is_at_hand(known.sequence));
                let never_began = taken || is_at_hand(self.place());
                Ok(if never_began { Ending::NeverBegan } else { Ending::Unknown })
            }
            Err(Error { kind: ErrorKind::DamagedHistory { .. }, .. }) => Ok(Ending::Unknown),
            Err(error) => Err(error),
        }
    }
}
