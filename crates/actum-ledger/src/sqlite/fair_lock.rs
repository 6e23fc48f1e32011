//! Fair lock before the database: processes append in the order in which they come.
//!
//! SQLite itself lets waiting processes try again after a while, so that some try for seconds. Here
//! the kernel wakes them: the holder of the queue waits for the inner lock, and all others wait for
//! the queue.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::LedgerError;

const QUEUE: &str = "ledger.queue";
const DOOR: &str = "ledger.door";

/// Two files that are locked, and never written.
#[derive(Debug)]
pub(super) struct FairLock {
    queue: Lock,
    door: Lock,
    /// Database that it guards, for messages.
    database: PathBuf,
    patience: Duration,
}

/// Held while one transaction is made.
#[must_use]
#[derive(Debug)]
pub(super) struct Inside<'t>(&'t Lock);

/// A file that one process has at a time.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
}

impl FairLock {
    pub(super) fn open(database: &Path, patience: Duration) -> Result<Self, LedgerError> {
        let open = |name| Lock::open(database.with_file_name(name));
        let (queue, door) = (open(QUEUE)?, open(DOOR)?);
        Ok(Self { queue, door, database: database.to_owned(), patience })
    }

    /// Waits for the turn.
    pub(super) fn enter(&mut self) -> Result<Inside<'_>, LedgerError> {
        let Self { queue, door, database, patience } = self;
        let late = || LedgerError::Locked {
            store: database.as_path().into(),
            seconds: patience.as_secs(),
        };
        if !queue.take(*patience)? {
            return Err(late());
        }
        let entered = door.take(*patience);
        let left = queue.give_back();
        let inside = if entered? { Inside(door) } else { return Err(late()) };
        left.map(|()| inside)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // A lock that cannot be released ends with the file's last descriptor.
        drop(self.0.give_back());
    }
}

impl Lock {
    fn open(path: PathBuf) -> Result<Self, LedgerError> {
        let file = open(&path)?;
        Ok(Self { path, file })
    }

    /// Waits until the lock is free; returns true if that was in time. The system has no lock with
    /// a timeout, so a thread of its own waits with a descriptor of its own. If it gets the lock
    /// too late it closes the descriptor, and so releases the unwanted lock.
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

/// Waits as long as it takes, also if signals come in between.
fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

fn open(path: &Path) -> Result<File, LedgerError> {
    // No other user can put one into this directory; a link put there by mistake is reported.
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(LedgerError::NoFile { path: path.to_owned(), found: "a link, or no file" });
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let opened = options.open(path);
    opened.map_err(|error| failed("open", path, error))
}

fn failed(action: &'static str, path: &Path, error: io::Error) -> LedgerError {
    LedgerError::File { action, path: path.to_owned(), source: Arc::new(error) }
}
