//! The turnstile before the database: processes append in the order in which they come.
//!
//! SQLite itself lets those who wait try again after a while, so that some try for seconds. Here the
//! kernel wakes them: whoever has the queue waits for the door, and everyone else for the queue.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::LedgerError;

const QUEUE: &str = "ledger.queue";
const DOOR: &str = "ledger.door";

/// Two files that are locked, and never written.
#[derive(Debug)]
pub(super) struct Turnstile {
    queue: File,
    door: File,
    /// Of the door, for messages.
    path: PathBuf,
}

/// Held while one transaction is made.
#[must_use]
#[derive(Debug)]
pub(super) struct Inside<'t>(&'t Turnstile);

impl Turnstile {
    pub(super) fn open(directory: &Path) -> Result<Self, LedgerError> {
        let path = directory.join(DOOR);
        Ok(Self { queue: open(&directory.join(QUEUE))?, door: open(&path)?, path })
    }

    /// Waits for the turn.
    pub(super) fn enter(&self) -> Result<Inside<'_>, LedgerError> {
        let failed = |error| failed("lock", &self.path, error);
        self.queue.lock().map_err(failed)?;
        let entered = self.door.lock();
        self.queue.unlock().map_err(failed)?;
        entered.map_err(failed)?;
        Ok(Inside(self))
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // A lock that cannot be released ends with the file's last descriptor.
        drop(self.0.door.unlock());
    }
}

fn open(path: &Path) -> Result<File, LedgerError> {
    // Nobody else can put one into this directory; who did so by mistake is told.
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
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
