//! Start of a transaction.

use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::record::RunKind;
use crate::transaction::Transaction;
use crate::workspace::{RunOptions, Workspace};

/// Size of the ended runs in the journal, in bytes, above which a checkpoint is taken before the next run.
const TAIL_BYTES_MAX: u64 = 2 << 20;
/// Lower size limit in bytes for a handle that had to read the journal, because the next process would have to read it
/// too. For a process that makes a single run, reading earlier runs costs more than its share of a checkpoint.
const READ_BYTES_MAX: u64 = 512 << 10;
/// Number of ended runs in the journal above which a checkpoint is taken before the next run.
const TAIL_RUNS_MAX: usize = 256;

impl<D: Disk> Workspace<D> {
    /// Begins a transaction: takes the workspace lock and recovers any unfinished run.
    ///
    /// # Errors
    /// `Busy` if another process holds the workspace and the options do not allow waiting; `Poisoned`, `Damaged`, `Io`,
    /// and any other error of recovery.
    pub fn begin(&mut self, options: RunOptions) -> Result<Transaction<'_, D>> {
        let lock = self.lock(options.wait, &options.label)?;
        if self.journal.tail_bytes() > TAIL_BYTES_MAX
            || self.read_bytes > READ_BYTES_MAX
            || self.tail.len() > TAIL_RUNS_MAX
        {
            match self.checkpoint(None) {
                // Continue without the checkpoint. The run itself may still fit on the disk, or may even free space.
                Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                    if source.kind() == std::io::ErrorKind::StorageFull && !self.poisoned => {}
                tidied => tidied?,
            }
        }
        Transaction::new(self, lock, RunKind::Apply, options.label, options.limits)
    }
}
