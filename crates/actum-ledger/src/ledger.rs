//! Ledger of one tenant that is open for appending. Handles send their requests to a single writer thread.

mod shared;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use actum_core::{RunId, Timestamp, canonical};
use actum_record::ledger::{EntryKind, LogStarted, StartedKey, TenantId};
use actum_record::signer::{KeyRole, Signer};

use crate::error::LedgerError;
use crate::home::LedgerHome;
use crate::keys::Keys;
use crate::log::{Log, SignedCheckpoint};
use crate::new_entry::{Appended, NewEntry, Prepared};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::store::Store;
use shared::SharedStore;
use writer::{Message, Writer};

/// Log that can be appended to. Clones are handles on the same writer thread, which ends when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

/// Answer of the writer thread that is still pending.
#[must_use]
#[derive(Debug)]
pub struct Pending<T> {
    answer: Receiver<Result<T, LedgerError>>,
}

/// Function that opens the store. It is called again after a failure.
pub(crate) type Opener = Box<dyn FnMut() -> Result<Box<dyn Store>, LedgerError> + Send>;
/// Function that returns the currently valid key for signing checkpoints.
pub(crate) type CheckpointKey = Box<dyn Fn() -> Result<Box<dyn Signer>, LedgerError> + Send>;

#[derive(Debug)]
struct Shared {
    /// Channel to the writer thread, which ends once the channel is closed.
    messages: Option<Sender<Message>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    store: Arc<SharedStore>,
    /// Whether the writer has been asked to prepare for an append.
    is_warm: AtomicBool,
    /// Error that prevented the writer thread from starting.
    unstarted: Option<LedgerError>,
    warning: Arc<Mutex<Option<LedgerError>>>,
}

impl Ledger {
    /// Starts the writer thread, which opens the log of the tenant, or creates it at first use.
    ///
    /// Does not wait for the log to be opened. An error is reported as the answer to the first request.
    pub fn open(
        home: &LedgerHome,
        tenant: &TenantId,
        keys: Arc<Keys>,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Self {
        let (home, tenant, checkpoint_keys) = (home.clone(), tenant.clone(), Arc::clone(&keys));
        let first_clock = Arc::clone(&clock);
        let opener = move || {
            let directory = home.tenant(&tenant)?;
            let mut first = |random| first(&tenant, &keys, first_clock(), random);
            let store = SqliteStore::open(directory.path(), SqliteOptions::default(), &mut first)?;
            Ok(Box::new(store) as Box<dyn Store>)
        };
        let key = move || {
            let signer = checkpoint_keys.signer(KeyRole::Checkpoint, clock())?;
            Ok(Box::new(signer) as Box<dyn Signer>)
        };
        Self::over(Box::new(opener), Box::new(key))
    }

    /// Starts the writer thread for any kind of store.
    ///
    /// `open` is called in advance to open the store, and again after a failure. `key` returns the key for signing
    /// checkpoints.
    pub fn over(
        open: Box<dyn FnMut() -> Result<Box<dyn Store>, LedgerError> + Send>,
        key: Box<dyn Fn() -> Result<Box<dyn Signer>, LedgerError> + Send>,
    ) -> Self {
        let (messages, requests) = channel();
        let warning = Arc::new(Mutex::new(None));
        let store = Arc::new(SharedStore::new(open));
        let (opened, shown) = (Arc::clone(&store), Arc::clone(&warning));
        let serve = move || Writer::new(opened, key, shown).serve(&requests);
        let start = || std::thread::Builder::new().name("ledger writer".to_owned()).spawn(serve);
        let started = room_for_thread().and_then(|()| start().map_err(|error| error.to_string()));
        let (writer, unstarted) = match started {
            Ok(writer) => (Some(writer), None),
            Err(message) => (None, Some(LedgerError::NoWriter { message })),
        };
        let (messages, writer) = (Some(messages), Mutex::new(writer));
        let is_warm = AtomicBool::new(false);
        Self { shared: Arc::new(Shared { messages, writer, store, is_warm, unstarted, warning }) }
    }

    /// Appends entries in one durable transaction. If one entry is refused, none is appended.
    pub fn append(&self, entries: Vec<NewEntry>) -> Pending<Vec<Appended>> {
        let (answer, pending) = Pending::new();
        match Prepared::all(entries) {
            Ok(entries) => self.send(Message::Append { entries, answer }),
            // Sending cannot fail, because `pending` still holds the receiver.
            Err(refusal) => drop(answer.send(Err(refusal.into()))),
        }
        pending
    }

    /// Sets the maximum size of the log in bytes, which applies to all later appends. See [`Store::limit`].
    pub fn limit(&self, bytes_max: u64) {
        self.shared.store.set_limit(bytes_max);
        // Ignore the answer, because a store that cannot be opened does not accept any entries anyway.
        drop(self.ask(move |store| {
            store.limit(bytes_max);
            Ok(())
        }));
    }

    /// Calls `question` on the current thread with a consistent view of the log.
    ///
    /// The view includes all appends that were acknowledged before, by any process. `question` must not use this ledger.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the store cannot be opened or read, and any error of `question`.
    pub fn read<T>(
        &self,
        question: impl FnOnce(&dyn Log) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Some(error) = &self.shared.unstarted {
            return Err(error.clone());
        }
        let answer = self.shared.store.read(question);
        // A reader usually appends next, so let the writer prepare for it while the caller continues.
        if !self.shared.is_warm.swap(true, Ordering::Relaxed) {
            self.send(Message::Warm);
        }
        answer
    }

    /// Calls `question` on the writer thread, after all requests that were sent earlier.
    ///
    /// This is for work that depends on the order of requests. Use [`Ledger::read`] if the log is only read.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Pending<T> {
        let (answer, pending) = Pending::new();
        self.send(Message::Ask(Box::new(move |store| {
            let answered = match store {
                Ok(store) => question(store),
                Err(error) => Err(error),
            };
            // Sending fails if the caller is no longer waiting.
            drop(answer.send(answered));
        })));
        pending
    }

    /// Returns the name of the log.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Ledger::read`].
    pub fn origin(&self) -> Result<String, LedgerError> {
        self.read(|log| log.origin())
    }

    /// Makes all readable entries durable, because the process that appended them may have been killed before it could do so.
    ///
    /// This runs on the writer thread.
    pub fn make_durable(&self) -> Pending<()> {
        self.ask(|store| store.make_durable())
    }

    /// Rebuilds the table `agent_execution_current` from `agent_execution_ledger`, and returns its number of rows (AEC-8).
    pub fn rebuild_agent_current(&self) -> Pending<u64> {
        self.ask(|store| store.rebuild_agent_current())
    }

    /// Signs a checkpoint that covers the entire log, or returns the latest one if it already does. Returns `None` if the log
    /// is empty.
    ///
    /// The writer also signs a checkpoint automatically once 64 entries have been appended since the last one, after it has
    /// sent its answers. If that fails, the entries are not affected, [`Ledger::warning`] returns the reason, and the
    /// writer tries again after the next append.
    pub fn checkpoint(&self) -> Pending<Option<SignedCheckpoint>> {
        let (answer, pending) = Pending::new();
        self.send(Message::Checkpoint(answer));
        pending
    }

    /// Returns the error of the writer's last automatic attempt to sign a checkpoint. One possible error is that the log
    /// contradicts the previous checkpoint.
    ///
    /// This does not wait for an attempt to complete. The writer makes it after sending its answers, so the error may not be
    /// available right after an answer. It is available after the answer to a later request.
    pub fn warning(&self) -> Option<LedgerError> {
        self.shared.warning.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the writer has finished the work that it does after sending its answers. Returns [`Ledger::warning`], or
    /// an error that occurred while waiting.
    pub fn finish(&self) -> Option<LedgerError> {
        self.ask(|_| Ok(())).wait().err().or_else(|| self.warning())
    }

    /// Sends a message to the writer. If it cannot be delivered, the sender of its answer is dropped with it, so that the
    /// waiting caller receives `Stopped`.
    fn send(&self, message: Message) {
        if let Some(error) = &self.shared.unstarted {
            return message.refuse(error.clone());
        }
        if let Some(messages) = &self.shared.messages {
            drop(messages.send(message));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.messages = None;
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // If a question holds the last handle, this runs on the writer thread, which cannot join itself.
        let others = writer.filter(|it| it.thread().id() != std::thread::current().id());
        if let Some(writer) = others {
            // Ignore a panic of the writer, because all waiting callers have received `Stopped`.
            drop(writer.join());
        }
    }
}

impl<T> Pending<T> {
    fn new() -> (Sender<Result<T, LedgerError>>, Self) {
        let (sender, answer) = channel();
        (sender, Self { answer })
    }

    /// Blocks until the writer thread has answered the request.
    ///
    /// # Errors
    /// Returns the [`LedgerError`] of the request, or `Stopped` if the writer ended without an answer.
    pub fn wait(self) -> Result<T, LedgerError> {
        self.answer.recv().unwrap_or(Err(LedgerError::Stopped))
    }
}

/// Creates the first entry of a log.
fn first(
    tenant: &TenantId,
    keys: &Keys,
    time: Timestamp,
    random: u64,
) -> Result<NewEntry, LedgerError> {
    let keys = keys.keyring().keys().iter().map(|key| {
        let (id, role, public) = (key.id.clone(), key.role, key.public);
        StartedKey { id, role, public }
    });
    let started = LogStarted {
        format: LogStarted::FORMAT.to_owned(),
        time,
        tenant: tenant.clone(),
        origin: format!("actum/{}/{tenant}", RunId::from_random(random)),
        keys: keys.collect(),
    };
    let body = canonical::to_vec(&started)
        .map_err(|error| LedgerError::Damaged { message: error.to_string() })?;
    Ok(NewEntry { kind: EntryKind::LogStarted, body, blobs: Vec::new() })
}

/// Memory in bytes that is needed to start a thread, which is 2 MiB for its stack and some more for the standard library.
const THREAD_BYTES: usize = (2 << 20) + (256 << 10);

/// Checks that there is enough memory to start a thread. If the stack can be mapped but a later allocation fails, the
/// standard library aborts the process.
fn room_for_thread() -> Result<(), String> {
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(THREAD_BYTES).map_err(|error| error.to_string())
}
