//! One tenant's log, open for appending: a handle on the one thread that writes.

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

/// A log that can be appended to. Clones are handles on the same writer, which ends with the last.
#[derive(Debug, Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

/// Pending answer.
#[must_use]
#[derive(Debug)]
pub struct Pending<T> {
    answer: Receiver<Result<T, LedgerError>>,
}

/// Function that opens a store. It is called again after a failure.
pub(crate) type Opener = Box<dyn FnMut() -> Result<Box<dyn Store>, LedgerError> + Send>;
/// Source of the signer of checkpoints: the key that counts now.
pub(crate) type CheckpointKey = Box<dyn Fn() -> Result<Box<dyn Signer>, LedgerError> + Send>;

#[derive(Debug)]
struct Shared {
    /// Gone when the last handle goes, which ends the writer.
    messages: Option<Sender<Message>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    store: Arc<SharedStore>,
    /// True if the writer was asked to get ready for an append.
    is_warm: AtomicBool,
    /// Reason why the thread of the writer could not be started.
    unstarted: Option<LedgerError>,
    warning: Arc<Mutex<Option<LedgerError>>>,
}

impl Ledger {
    /// Starts the writer, which opens the log of the tenant and makes it at first use. This does
    /// not wait for it: an error is the answer to the first question.
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

    /// Starts the writer over any store. `open` is called for it before it is needed, and again
    /// after a failure; `key` returns the signer of checkpoints.
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

    /// Appends in one durable transaction: all of them, or none if one is refused.
    pub fn append(&self, entries: Vec<NewEntry>) -> Pending<Vec<Appended>> {
        let (answer, pending) = Pending::new();
        match Prepared::all(entries) {
            Ok(entries) => self.send(Message::Append { entries, answer }),
            // The other end is held here, so it exists.
            Err(refusal) => drop(answer.send(Err(refusal.into()))),
        }
        pending
    }

    /// Sets the most bytes that the log may have; see [`Store::limit`]. It holds for what is appended
    /// from now on.
    pub fn limit(&self, bytes_max: u64) {
        self.shared.store.set_limit(bytes_max);
        // The answer is not needed: a store that cannot be opened takes no entry either.
        drop(self.ask(move |store| {
            store.limit(bytes_max);
            Ok(())
        }));
    }

    /// Reads the log as it is at one moment, on the calling thread: all that was answered before,
    /// by any process. `question` must not use this ledger.
    ///
    /// # Errors
    /// [`LedgerError`] if the store cannot be opened or read; those of `question`.
    pub fn read<T>(
        &self,
        question: impl FnOnce(&dyn Log) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Some(error) = &self.shared.unstarted {
            return Err(error.clone());
        }
        let answer = self.shared.store.read(question);
        // A reader usually appends next: the writer gets ready while the caller continues.
        if !self.shared.is_warm.swap(true, Ordering::Relaxed) {
            self.send(Message::Warm);
        }
        answer
    }

    /// Runs a question on the writer's thread, after all that was sent before. It is for work that
    /// must keep to that order; pure reads go through [`Ledger::read`].
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
            // The caller may have gone.
            drop(answer.send(answered));
        })));
        pending
    }

    /// The name of the log.
    ///
    /// # Errors
    /// See [`Ledger::read`].
    pub fn origin(&self) -> Result<String, LedgerError> {
        self.read(|log| log.origin())
    }

    /// Makes all readable entries durable: the process that appended them may have been killed
    /// before it did so. Runs on the writer's thread, since it concerns written entries.
    pub fn make_durable(&self) -> Pending<()> {
        self.ask(|store| store.make_durable())
    }

    /// Rebuilds `agent_execution_current` from `agent_execution_ledger`, and returns the number of its rows (AEC-8).
    pub fn rebuild_agent_current(&self) -> Pending<u64> {
        self.ask(|store| store.rebuild_agent_current())
    }

    /// Signs a checkpoint of the whole log, or returns the newest one if that covers it. `None` if
    /// the log is empty.
    ///
    /// The writer signs one by itself, after its answers, when 64 entries came since the last. If
    /// that fails the entries stay, it is tried again after the next ones, and [`Ledger::warning`]
    /// returns the reason.
    pub fn checkpoint(&self) -> Pending<Option<SignedCheckpoint>> {
        let (answer, pending) = Pending::new();
        self.send(Message::Checkpoint(answer));
        pending
    }

    /// Error of the writer's last own attempt to sign the checkpoint that was due: also that the
    /// log differs from the one that was signed before. The attempt comes after the answers, so a
    /// caller who looks right after an answer may be too early. The answer to a later question
    /// comes behind it. This waits for nothing.
    pub fn warning(&self) -> Option<LedgerError> {
        self.shared.warning.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the writer has done its work after the answers. Returns [`Ledger::warning`], or
    /// the error of the wait.
    pub fn finish(&self) -> Option<LedgerError> {
        self.ask(|_| Ok(())).wait().err().or_else(|| self.warning())
    }

    /// Sends a message to the writer. One that cannot be delivered is dropped with the sender of
    /// its answer; the waiting caller then gets `Stopped`.
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
        // A question may hold the last handle, and the writer cannot wait for itself.
        let others = writer.filter(|it| it.thread().id() != std::thread::current().id());
        if let Some(writer) = others {
            // A panic of the writer left all callers without an answer, which was reported to them.
            drop(writer.join());
        }
    }
}

impl<T> Pending<T> {
    fn new() -> (Sender<Result<T, LedgerError>>, Self) {
        let (sender, answer) = channel();
        (sender, Self { answer })
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// [`LedgerError`]; `Stopped` if there will be no answer.
    pub fn wait(self) -> Result<T, LedgerError> {
        self.answer.recv().unwrap_or(Err(LedgerError::Stopped))
    }
}

/// The entry that a log begins with.
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

/// Memory that a thread needs to start, in bytes: a stack of 2 MiB, and what the standard library
/// maps beside it.
const THREAD_BYTES: usize = (2 << 20) + (256 << 10);

/// Tests whether a thread can start. If only its stack can be mapped, and not what comes after it,
/// the standard library ends the process.
fn room_for_thread() -> Result<(), String> {
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(THREAD_BYTES).map_err(|error| error.to_string())
}
