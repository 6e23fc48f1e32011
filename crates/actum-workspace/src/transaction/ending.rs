//! End of a run that was announced outside the workspace, too.

use actum_core::RunId;

use crate::disk::{Disk, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::record::Outcome;
use crate::transaction::Transaction;

/// End of a run, as far as the workspace knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The run ended with this outcome, at this time.
    Ended(Outcome, Time),
    /// The run was never announced in the journal, so nothing was touched: another run has its place there, or none
    /// yet.
    NeverBegan,
    /// The record of the journal at its place is no longer known: it was set aside or forgotten, or it is damaged in
    /// the history.
    Unknown,
}

impl<D: Disk> Transaction<'_, D> {
    /// Returns the place in the journal that this run will have.
    pub fn place(&self) -> u64 {
        self.workspace.journal.next_sequence()
    }

    /// Returns the newest run that ended. The history is only listed where the journal has none.
    ///
    /// # Errors
    /// `Io`.
    pub fn newest_ended(&self) -> Result<Option<RunId>> {
        match self.workspace.tail.last() {
            Some(ended) => Ok(Some(ended.intent.run)),
            None => Ok(self.workspace.runs()?.refs().last().map(|run| run.run)),
        }
    }

    /// Returns the end of `run`, which was to have this place in the journal. The journal has been recovered, so every
    /// run that began has ended. No clock is read.
    ///
    /// # Errors
    /// `Io`.
    pub fn ending_of(&self, run: RunId, place: u64) -> Result<Ending> {
        let runs = self.workspace.runs()?;
        match runs.read(run) {
            Ok((_, end)) => Ok(Ending::Ended(end.outcome, end.time)),
            Err(Error { kind: ErrorKind::UnknownRun { .. }, .. }) => {
                // A run takes two numbers. A record that was torn takes one, and was not durable, so nothing had been
                // touched.
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
