//! Store of a ledger that the writer thread and readers of the same process share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use super::Opener;
use crate::error::{LedgerError, Refusal};
use crate::limits::LOG_BYTES_MAX;
use crate::log::Log;
use crate::new_entry::{Appended, Request};
use crate::snapshot::{OpenSnapshot, Snapshot};
use crate::store::Store;

/// Store that is used by one thread at a time.
///
/// Appends and reads share one connection, so that a process that makes a single change does not open a second one. A
/// reader opens its own snapshot only if the writer is appending and the reader would have to wait for the disk.
pub(super) struct SharedStore {
    state: Mutex<State>,
    /// Whether an append is currently in progress.
    is_appending: AtomicBool,
    /// Maximum size of the log in bytes, which is set again whenever the store is reopened.
    bytes_max: AtomicU64,
    /// Function that opens a snapshot independently of the store, if the store supports this.
    snapshots: OnceLock<OpenSnapshot>,
}

struct State {
    open: Opener,
    store: Option<Box<dyn Store>>,
    /// Error from opening the store in advance that has not been reported to a caller yet.
    unreported: Option<LedgerError>,
}

impl SharedStore {
    pub(super) fn new(open: Opener) -> Self {
        let state = Mutex::new(State { open, store: None, unreported: None });
        Self {
            state,
            is_appending: AtomicBool::new(false),
            bytes_max: AtomicU64::new(LOG_BYTES_MAX),
            snapshots: OnceLock::new(),
        }
    }

    /// Opens the store in advance. An error is reported to the first caller that uses the store.
    pub(super) fn open_early(&self) {
        let mut state = self.lock();
        let failed = state.store(self).err();
        state.unreported = failed;
    }

    /// Sets the maximum size of the log in bytes for every store that is opened from now on.
    pub(super) fn set_limit(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Calls `work` with the store. Opens the store first if it is not open or was closed after a failure.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut (dyn Store + 'static)) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.lock().store(self).and_then(work)
    }

    /// Appends all requests in one durable transaction.
    pub(super) fn append(
        &self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError> {
        self.with(|store| {
            self.is_appending.store(true, Ordering::Relaxed);
            let appended = store.append(requests);
            self.is_appending.store(false, Ordering::Relaxed);
            appended
        })
    }

    /// Calls `question` with a consistent view of the log.
    pub(super) fn read<T>(
        &self,
        question: impl FnOnce(&dyn Log) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => match self.snapshot_beside_append() {
                Some(snapshot) => return question(&*snapshot),
                None => self.lock(),
            },
            Err(TryLockError::Poisoned(_)) => self.lock(),
        };
        let store = state.store(self)?;
        store.begin_snapshot()?;
        let answer = question(store);
        if store.end_snapshot().is_err() {
            // The answer is still correct. Discard the connection, because it may remain at an outdated snapshot.
            state.store = None;
        }
        answer
    }

    /// Returns a snapshot for a reader that would otherwise have to wait for an append in progress.
    ///
    /// Returns `None` if no append is in progress, if the store does not support snapshots or if none can be opened. The
    /// reader has to wait in this case.
    fn snapshot_beside_append(&self) -> Option<Box<dyn Snapshot>> {
        let is_appending = self.is_appending.load(Ordering::Relaxed);
        let open = self.snapshots.get().filter(|_| is_appending)?;
        open().ok()
    }

    /// Waits for the store. If its last user panicked, closes it so that it is opened again, because a transaction may still
    /// be open.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut is_poisoned = false;
        let mut state = self.state.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            is_poisoned = true;
            poisoned.into_inner()
        });
        if is_poisoned {
            state.store = None;
            self.is_appending.store(false, Ordering::Relaxed);
            self.state.clear_poison();
        }
        state
    }
}

impl State {
    fn store(&mut self, shared: &SharedStore) -> Result<&mut (dyn Store + 'static), LedgerError> {
        if let Some(error) = self.unreported.take() {
            return Err(error);
        }
        if self.store.is_none() {
            let mut store = (self.open)()?;
            store.limit(shared.bytes_max.load(Ordering::Relaxed));
            if let Some(open) = store.opener() {
                // Keep the first function, because all of them open the same log.
                drop(shared.snapshots.set(open));
            }
            self.store = Some(store);
        }
        self.store.as_deref_mut().ok_or(LedgerError::Stopped)
    }
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedStore")
    }
}
