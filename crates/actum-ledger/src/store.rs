//! Interface of the stores that a log can be kept in.
//!
//! A store in a different crate must implement [`Log`] and [`Store`], and pass the suite in
//! [`conformance`](crate::conformance). It must use [`ProjectionUpdate`](crate::projection::ProjectionUpdate) to decide which
//! entries to accept. Two implementations exist, one with SQLite and an in-memory store in the tests of this crate.

use crate::error::{LedgerError, Refusal};
use crate::log::{Log, SignedCheckpoint};
use crate::new_entry::{Appended, Request};
use crate::snapshot::OpenSnapshot;

/// Log that supports appending, in addition to the queries of [`Log`].
pub trait Store: Log + Send {
    /// Appends requests in a durable transaction, and returns the result of each request. A request is accepted completely
    /// or not at all, and a refused request does not affect the others.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if no request was appended. The error is `OutcomeUnknown` if requests may have been appended.
    fn append(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError>;

    /// Stores a signed checkpoint. It must cover more entries than the newest checkpoint, but not more than the log contains.
    ///
    /// # Errors
    /// See [`Store::append`].
    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError>;

    /// Sets the size of the log in bytes from which it accepts no new run, plan, action, lease, file task or agent step.
    ///
    /// Entries that end something are always accepted. An in-memory store does not need a limit.
    fn limit(&mut self, _bytes_max: u64) {}

    /// Makes all readable entries durable, including those of a process that was killed before it could do so itself.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the system reports an error.
    fn make_durable(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Rebuilds `agent_execution_current` from `agent_execution_ledger`, and returns the number of rebuilt rows (AEC-8). A
    /// store without these tables returns the number of rows that the table would have.
    ///
    /// # Errors
    /// See [`Store::append`].
    fn rebuild_agent_current(&mut self) -> Result<u64, LedgerError>;

    /// Returns a function that opens snapshots of the log on any thread, independently of this store. Returns `None` if
    /// readers have to share the store with its writer.
    fn opener(&self) -> Option<OpenSnapshot> {
        None
    }

    /// Makes all reads until [`Store::end_snapshot`] show the same state of the log. The caller must not append in between.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn begin_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Ends the reads that [`Store::begin_snapshot`] started, so that later reads show new entries again.
    ///
    /// # Errors
    /// See [`Log::size`]. After an error, the store must not be used any longer.
    fn end_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Prepares the next append, for example by filling caches. Called while no caller is waiting.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn warm(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Performs deferred maintenance, such as emptying a write-ahead log. Called while no caller is waiting.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn tidy(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }
}
