//! Run observer: called after each step, and able to stop the request.

use actum_record::receipt::{ExternalPipeline, ExternalRun};
use actum_workspace::disk::Disk;

use crate::engine::clear::Cleared;
use crate::engine::stage::Staged;
use crate::engine::verify::Verified;
use crate::error::Error;

/// Callbacks between the steps of [`Engine::run_with`](crate::Engine::run_with). An error of `staged`, `cleared` or
/// `verified` ends the request before its change is published or recorded.
pub trait Observer<D: Disk> {
    /// Error of `run_with`: an engine error, or the observer's own reason to stop.
    type Stop: From<Error>;

    /// Called after the change is computed, before the gates.
    ///
    /// # Errors
    /// Any error ends the request; entries that the observer appended to the ledger stay.
    fn staged(&mut self, _staged: &mut Staged<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the gates allowed the change, before its checks.
    ///
    /// # Errors
    /// As of [`staged`](Self::staged).
    fn cleared(&mut self, _cleared: &mut Cleared<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the checks passed; the change is published next.
    ///
    /// # Errors
    /// As of [`staged`](Self::staged).
    fn verified(&mut self, _verified: &mut Verified<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called after the change is visible and durable, before its receipt is written. Runs the external pipelines
    /// of the request, and returns how they ended. An observer that runs none returns `None`, and the receipt
    /// records that they were not started.
    fn published(&mut self, _external: &[ExternalPipeline]) -> Option<Vec<ExternalRun>> {
        None
    }

    /// Called while the ledger syncs the intent. Makes everything durable that must exist before the change.
    ///
    /// # Errors
    /// Any error ends the run before it is published; the ledger records it as rejected.
    fn checkpoint(&mut self) -> actum_workspace::Result<()> {
        Ok(())
    }
}

/// Observer that does nothing.
pub(crate) struct NoObserver;

impl<D: Disk> Observer<D> for NoObserver {
    type Stop = Error;
}
