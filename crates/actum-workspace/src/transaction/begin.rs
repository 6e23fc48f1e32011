//! Beginning of a transaction.

use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::record::RunKind;
use crate::transaction::Transaction;
use crate::workspace::{RunOptions, Workspace};

/// Number of bytes of ended runs in the journal above which a checkpoint comes first.
const TAIL_BYTES_MAX: u64 = 2 << 20;
/// Limit for a handle that had to read them, since the next process would have to read them as well. For a process that
/// makes one run, reading the runs before it costs more than its part of a checkpoint.
const READ_BYTES_MAX: u64 = 512 << 10;
/// Limit of the number of runs.
const TAIL_RUNS_MAX: usize = 256;

impl<D: Disk> Workspace<D> {
    /// Begins a transaction: takes the lock and recovers what is unfinished.
    ///
    /// # Errors
    /// `Busy` when another process holds the workspace and the options do not wait; `Poisoned`; `Damaged`, `Io` and any
    /// other error of recovery.
    pub fn begin(&mut self, options: RunOptions) -> Result<Transaction<'_, D>> {
        let lock = self.lock(options.wait, &options.label)?;
        if self.journal.tail_bytes() > TAIL_BYTES_MAX
            || self.read_bytes > READ_BYTES_MAX
            || self.tail.len() > TAIL_RUNS_MAX
        {
            match self.checkpoint(None) {
                // There may be space for the run itself, and the run may free space.
                Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                    if source.kind() == std::io::ErrorKind::StorageFull && !self.poisoned => {}
                tidied => tidied?,
            }
        }
        Transaction::new(self, lock, RunKind::Apply, options.label, options.limits)
    }
}
