//! How a run ended, for whoever keeps a record of it elsewhere.

use actum_core::{RunId, Timestamp};

use crate::disk::{Disk, Time};
use crate::error::{Doing, Error, ErrorKind, Result};
use crate::home::SET_ASIDE;
use crate::journal::record::Outcome;
use crate::transaction::Transaction;

/// What the workspace knows of a run that was announced elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It ended so, at this time.
    Ended(Outcome, Time),
    /// It was never announced in the journal, without which nothing is touched.
    NeverBegan,
    /// The journal that would know was set aside.
    Unknown,
}

impl<D: Disk> Transaction<'_, D> {
    /// How `run` ended, which was announced elsewhere at `since`. The journal has been recovered, so
    /// every run that began has ended.
    ///
    /// # Errors
    /// `DamagedHistory`, `Io`.
    pub fn ending_of(&self, run: RunId, since: Timestamp) -> Result<Ending> {
        let runs = self.workspace.runs_since(run)?;
        match runs.read(run) {
            Ok((_, end)) => Ok(Ending::Ended(end.outcome, end.time)),
            Err(Error { kind: ErrorKind::UnknownRun { .. }, .. }) => {
                let lost = self.workspace.disk.list(&self.workspace.home.lost);
                let lost = lost.doing(|| "look for journals that were set aside".to_owned())?;
                let set_aside = lost.iter().filter_map(|name| {
                    let time = std::str::from_utf8(name).ok()?.strip_prefix(SET_ASIDE)?;
                    time.parse::<i64>().ok()
                });
                let later = |nanos: i64| nanos / 1000 >= since.micros();
                Ok(if set_aside.into_iter().any(later) {
                    Ending::Unknown
                } else {
                    Ending::NeverBegan
                })
            }
            Err(error) => Err(error),
        }
    }
}
