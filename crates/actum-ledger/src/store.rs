//! The port of a log that can be appended to.
//!
//! A store in another crate implements [`Log`] and [`Store`], decides by
//! [`ProjectionUpdate`](crate::projection::ProjectionUpdate) which entries it takes, and passes the suite in
//! [`conformance`](crate::conformance). Two exist: SQLite, and one in memory, in the tests of this crate.

use crate::error::{LedgerError, Refusal};
use crate::log::{Log, SignedCheckpoint};
use crate::new_entry::{Appended, Request};
use crate::snapshot::OpenSnapshot;

/// A log that can be appended to.
pub trait Store: Log + Send {
    /// Appends in one durable transaction. Each request is taken or refused as a whole, and a
    /// refused one does not keep the others out.
    ///
    /// # Errors
    /// [`LedgerError`] if none of them was appended; `OutcomeUnknown` if that is not known.
    fn append(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError>;

    /// Keeps a signed checkpoint, which must cover more than the newest one and no more than the
    /// log has.
    ///
    /// # Errors
    /// See [`Store::append`].
    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError>;

    /// Sets the most bytes that the log may have before it takes no new run, plan, action, lease,
    /// file task or agent step. Entries that end a started one are always taken. A log in memory
    /// has no limit.
    fn limit(&mut self, _bytes_max: u64) {}

    /// Makes all readable entries durable: a process may have been ended before it did so itself.
    ///
    /// # Errors
    /// [`LedgerError`] if the system fails.
    fn make_durable(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Rebuilds `agent_execution_current` from `agent_execution_ledger`, and returns the number of
    /// its rows (AEC-8). A store without these tables returns the number of rows that it would
    /// have.
    ///
    /// # Errors
    /// See [`Store::append`].
    fn rebuild_agent_current(&mut self) -> Result<u64, LedgerError>;

    /// Returns a function that opens snapshots of the same log beside this store, from any thread.
    /// `None` if readers of this process can only share the store with its writer.
    fn opener(&self) -> Option<OpenSnapshot> {
        None
    }

    /// Keeps all reads up to [`Store::end_snapshot`] at one moment. Nothing is appended in between.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn begin_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Ends what [`Store::begin_snapshot`] began.
    ///
    /// # Errors
    /// See [`Log::size`]; the store is no longer used then.
    fn end_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Gets ready what the next append will need, while no caller waits for an answer.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn warm(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Does deferred work while no caller waits for an answer.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn tidy(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }
}
