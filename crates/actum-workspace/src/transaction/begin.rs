//! Beginning of a transaction.

use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::record::RunKind;
use crate::transaction::Transaction;
use crate::workspace::{RunOptions, Workspace};

/// When the journal holds more bytes of ended runs than this, a checkpoint comes first.
const TAIL_BYTES_MAX: u64 = 2 << 20;
/// The limit for a handle that had to read them, since the next process would have to as well: a process that
/// makes one run pays more for reading the runs before it than for its part in tidying them up.
const READ_BYTES_MAX: u64 = 512 << 10;
/// The limit for the number of runs.
const TAIL_RUNS_MAX: usize = 256;

impl<D: Disk> Workspace<D> {
    /// Begins a transaction: takes the lock and recovers what is unfinished.
    ///
    /// # Errors
    /// `Busy` when another process is at work and the options do not say to wait; `Poisoned`;
    /// `Damaged`, `Io` and any other that recovery meets.
    pub fn begin(&mut self, options: RunOptions) -> Result<Transaction<'_, D>> {
        let lock = self.lock(options.wait, &options.label)?;
        if self.journal.tail_bytes() > TAIL_BYTES_MAX
            || self.read_bytes > READ_BYTES_MAX
            || self.tail.len() > TAIL_RUNS_MAX
        {
            match self.checkpoint(None) {
                // There may be room for the run itself, which may be what makes room.
                Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                    if source.kind() == std::io::ErrorKind::StorageFull && !self.poisoned => {}
                tidied => tidied?,
            }
        }
        Transaction::new(self, lock, RunKind::Apply, options.label, options.limits)
    }
}
