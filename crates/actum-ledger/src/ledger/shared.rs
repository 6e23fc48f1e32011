//! The store of a ledger in this process: the writer appends to it, and readers look at it in between.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use super::Opener;
use crate::error::{LedgerError, Refusal};
use crate::limits::LOG_BYTES_MAX;
use crate::log::Log;
use crate::new_entry::{Appended, Request};
use crate::snapshot::{OpenSnapshot, Snapshot};
use crate::store::Store;

/// A store that one thread uses at a time.
///
/// One connection serves appends and reads: a process that makes one change opens no second one.
/// Only a reader that would wait for the disk, since the writer is appending, opens a snapshot of
/// its own.
pub(super) struct SharedStore {
    state: Mutex<State>,
    /// True while an append is made durable.
    is_appending: AtomicBool,
    /// Most bytes of the log, for a store that is opened again.
    bytes_max: AtomicU64,
    /// Opens snapshots beside the store, if the store has such.
    snapshots: OnceLock<OpenSnapshot>,
}

struct State {
    open: Opener,
    store: Option<Box<dyn Store>>,
    /// Reason why the store could not be opened early.
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

    /// Opens the store before it is needed. The error is returned to the first caller.
    pub(super) fn open_early(&self) {
        let mut state = self.lock();
        let failed = state.store(self).err();
        state.unreported = failed;
    }

    /// Sets the most bytes of the log for every store that is opened from now on.
    pub(super) fn set_limit(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Calls `work` with the store, which is opened if it is not yet, or was closed after a failure.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut (dyn Store + 'static)) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.lock().store(self).and_then(work)
    }

    /// Appends in one durable transaction.
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

    /// Calls `question` with the log as it is at one moment.
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
            // The answer is what it was; a connection that stays at a past moment is not used again.
            state.store = None;
        }
        answer
    }

    /// Returns a snapshot for a reader that would wait for an append otherwise. `None` if the store
    /// has no snapshots or none can be opened: the reader then waits.
    fn snapshot_beside_append(&self) -> Option<Box<dyn Snapshot>> {
        let is_appending = self.is_appending.load(Ordering::Relaxed);
        let open = self.snapshots.get().filter(|_| is_appending)?;
        open().ok()
    }

    /// Waits for the store. After a panic of its last user it is opened again: a transaction may be
    /// open in it.
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
                // All of them are of one log.
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
