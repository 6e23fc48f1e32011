//! Observer of a run, which is called after each step and can stop the run.

use actum_record::receipt::{ExternalPipeline, ExternalRun};
use actum_workspace::disk::Disk;

use crate::engine::clear::Cleared;
use crate::engine::stage::Staged;
use crate::engine::verify::Verified;
use crate::error::Error;

/// Callbacks between the steps of [`Engine::run_with`](crate::Engine::run_with). An error returned by `staged`,
/// `cleared` or `verified` ends the request before its change is published or recorded.
pub trait Observer<D: Disk> {
    /// Error type of `run_with`, which is either an engine error or the observer's own reason to stop.
    type Stop: From<Error>;

    /// Called after the change has been computed and before the gates evaluate it.
    ///
    /// # Errors
    /// Any error ends the request. Entries that the observer has appended to the ledger stay there.
    fn staged(&mut self, _staged: &mut Staged<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the gates have allowed the change and before its checks run.
    ///
    /// # Errors
    /// Same as [`staged`](Self::staged).
    fn cleared(&mut self, _cleared: &mut Cleared<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the checks have passed and before the change is published.
    ///
    /// # Errors
    /// Same as [`staged`](Self::staged).
    fn verified(&mut self, _verified: &mut Verified<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the change has become visible and durable, and before its receipt is written.
    ///
    /// Runs the external pipelines of the request and returns how they ended. If it returns `None`, the receipt records
    /// that they were not started.
    fn published(&mut self, _external: &[ExternalPipeline]) -> Option<Vec<ExternalRun>> {
        None
    }

    /// Called while the ledger syncs the intent of the run. Makes everything durable that must exist before the change
    /// does.
    ///
    /// # Errors
    /// Any error ends the run before its change is published, and the ledger records the run as rejected.
    fn checkpoint(&mut self) -> actum_workspace::Result<()> {
        Ok(())
    }
}

/// Observer whose callbacks do nothing.
pub(crate) struct NoObserver;

impl<D: Disk> Observer<D> for NoObserver {
    type Stop = Error;
}
