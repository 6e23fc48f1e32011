//! Fair lock that processes acquire before they write to the database, so that they append in the order of their arrival.
//!
//! Processes that wait for SQLite's own lock only retry at intervals, so some of them may wait for seconds. Here, the kernel
//! wakes the next process. The first waiting process holds the queue file and waits for the inner lock, and all others wait
//! for the queue file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::LedgerError;

const QUEUE: &str = "ledger.queue";
const INNER: &str = "ledger.door";

/// Fair lock that consists of two files, which are only locked and never written to.
#[derive(Debug)]
pub(super) struct FairLock {
    queue: Lock,
    inner: Lock,
    /// Path of the protected database, for error messages.
    database: PathBuf,
    patience: Duration,
}

/// Guard that holds the lock during a transaction, and releases it when it is dropped.
#[must_use]
#[derive(Debug)]
pub(super) struct Inside<'t>(&'t Lock);

/// File that only one process can lock at a time.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
}

impl FairLock {
    pub(super) fn open(database: &Path, patience: Duration) -> Result<Self, LedgerError> {
        let open = |name| Lock::open(database.with_file_name(name));
        let (queue, inner) = (open(QUEUE)?, open(INNER)?);
        Ok(Self { queue, inner, database: database.to_owned(), patience })
    }

    /// Acquires the lock, first waiting in the queue. Returns `Locked` if one of the two waits times out.
    pub(super) fn enter(&mut self) -> Result<Inside<'_>, LedgerError> {
        let Self { queue, inner, database, patience } = self;
        let late = || LedgerError::Locked {
            store: database.as_path().into(),
            seconds: patience.as_secs(),
        };
        if !queue.take(*patience)? {
            return Err(late());
        }
        let entered = inner.take(*patience);
        let left = queue.give_back();
        let inside = if entered? { Inside(inner) } else { return Err(late()) };
        left.map(|()| inside)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // Ignore errors, because the kernel releases the lock at the latest when the last descriptor of the file is closed.
        drop(self.0.give_back());
    }
}

impl Lock {
    fn open(path: PathBuf) -> Result<Self, LedgerError> {
        let file = open(&path)?;
        Ok(Self { path, file })
    }

    /// Waits for the lock, and returns whether it was acquired before the timeout.
    ///
    /// The system has no file lock with a timeout, so a separate thread waits with its own descriptor. If that thread
    /// acquires the lock too late, it closes the descriptor, which releases the lock again.
    fn take(&mut self, patience: Duration) -> Result<bool, LedgerError> {
        match self.file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock", &self.path, error)),
        }
        let file = open(&self.path)?;
        let (sender, locked) = channel();
        let wait = move || drop(sender.send(lock(&file).map(|()| file)));
        let waits = std::thread::Builder::new().name("ledger turn".to_owned()).spawn(wait);
        waits.map_err(|error| failed("wait for", &self.path, error))?;
        match locked.recv_timeout(patience) {
            Ok(file) => {
                self.file = file.map_err(|error| failed("lock", &self.path, error))?;
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn give_back(&self) -> Result<(), LedgerError> {
        self.file.unlock().map_err(|error| failed("unlock", &self.path, error))
    }
}

/// Locks the file, waiting without a timeout and continuing if a signal interrupts the wait.
fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

fn open(path: &Path) -> Result<File, LedgerError> {
    // Other users cannot write to this directory, so this check only reports a link that was created by mistake.
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(LedgerError::NoFile {
            path: path.to_owned(),
            found: "a link, directory or special file",
        });
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let opened = options.open(path);
    opened.map_err(|error| failed("open", path, error))
}

fn failed(action: &'static str, path: &Path, error: io::Error) -> LedgerError {
    LedgerError::File { action, path: path.to_owned(), source: Arc::new(error) }
}
