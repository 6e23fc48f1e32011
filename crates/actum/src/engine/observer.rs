//! Observer: a caller looks at each step of a run, and may stop the request there.

use actum_workspace::disk::Disk;

use crate::engine::clear::Cleared;
use crate::engine::stage::Staged;
use crate::engine::verify::Verified;
use crate::error::Error;

/// What a caller does between the steps of [`Engine::run_with`](crate::Engine::run_with). A stop before the change is
/// published leaves no trace of it.
pub trait Observer<D: Disk> {
    /// Why a request ended without its change: an error of the engine, or what the caller stopped it for.
    type Stop: From<Error>;

    /// The change is computed, and nothing has judged it.
    ///
    /// # Errors
    /// Stops the request.
    fn staged(&mut self, _staged: &mut Staged<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// The gates let the change pass, and its checks have not run.
    ///
    /// # Errors
    /// Stops the request.
    fn cleared(&mut self, _cleared: &mut Cleared<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// The checks passed; the change is published next.
    ///
    /// # Errors
    /// Stops the request.
    fn verified(&mut self, _verified: &mut Verified<'_, D>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called while the ledger waits for its disk, before the change is announced: for what has to be durable first.
    ///
    /// # Errors
    /// Nothing is announced or touched, and the run is recorded as rejected.
    fn checkpoint(&mut self) -> actum_workspace::Result<()> {
        Ok(())
    }
}

/// The observer of [`Engine::run`](crate::Engine::run), which does nothing.
pub(crate) struct Nobody;

impl<D: Disk> Observer<D> for Nobody {
    type Stop = Error;
}
