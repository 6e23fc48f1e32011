//! Reading and copying in a byte worker, using only the few system calls that its filter allows.

use std::os::fd::OwnedFd;

use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek};
use rustix::io::{Errno, read, write};

use super::worker::Files;
use crate::job::{Answer, Job};
use crate::sys;

/// Maximum number of bytes per copy_file_range(2) call, so that the disk can write one part while the
/// next one is copied.
const COPY_BYTES_MAX: u64 = 16 << 20;

/// Reason why a byte worker stopped before its job was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The job's limit on bytes read and written would be exceeded.
    OverStorage,
    /// A system call failed.
    Failed(Errno),
}

impl From<Errno> for Stopped {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

impl From<Stopped> for Answer {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::OverStorage => Self::OverStorage,
            Stopped::Failed(error) => Self::Failed(error.raw_os_error()),
        }
    }
}

/// Number of bytes read and written so far, and the limit on them.
struct Storage {
    used: u64,
    max: u64,
}

impl Storage {
    fn new(job: &Job) -> Self {
        Self { used: 0, max: job.storage_max.unwrap_or(u64::MAX) }
    }

    /// Adds `bytes` to the count. Returns an error if the limit is exceeded.
    fn take(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.max { Err(Stopped::OverStorage) } else { Ok(()) }
    }
}

impl Files {
    /// Reads the whole source and passes each piece to `each`.
    ///
    /// # Errors
    /// Returns [`Stopped`] if a read fails or the job's storage limit is reached.
    pub fn read(&mut self, job: &Job, mut each: impl FnMut(&[u8])) -> Result<(), Stopped> {
        let mut storage = Storage::new(job);
        loop {
            let count = read(&self.source, self.buffer.as_mut_slice())?;
            let piece = self.buffer.get(..count).unwrap_or_default();
            if piece.is_empty() {
                return Ok(());
            }
            storage.take(u64::try_from(count).unwrap_or(u64::MAX))?;
            each(piece);
        }
    }

    /// Copies the source to the staged file.
    ///
    /// # Errors
    /// Returns [`Stopped`] if a system call fails or the job's storage limit is reached.
    pub fn copy(&mut self, job: &Job) -> Result<(), Stopped> {
        let Self { source, staged, buffer } = self;
        let staged = staged.as_ref().ok_or(Errno::BADF)?;
        copy_bytes(source, staged, job.size, buffer, &mut Storage::new(job))
    }
}

/// Copies the source to the staged file and preserves holes. Shares blocks if the file system supports
/// it. Otherwise copies inside the kernel if possible, or else through `buffer`.
fn copy_bytes(
    source: &OwnedFd,
    staged: &OwnedFd,
    size: u64,
    buffer: &mut [u8],
    storage: &mut Storage,
) -> Result<(), Stopped> {
    let both = size.saturating_mul(2);
    if storage.used.saturating_add(both) <= storage.max && ioctl_ficlone(staged, source).is_ok() {
        return storage.take(both);
    }
    let (mut at, mut in_kernel) = (0, true);
    while at < size {
        let data = match seek(source, SeekFrom::Data(at)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => break, // only a hole is left
            Err(_) => at,
        };
        let hole = match seek(source, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => hole.min(size),
            Ok(_) | Err(_) => size,
        };
        seek(source, SeekFrom::Start(data))?;
        seek(staged, SeekFrom::Start(data))?;
        at = data;
        while at < hole {
            let count = piece(source, staged, hole - at, &mut in_kernel, buffer, storage)?;
            if count == 0 {
                return Ok(ftruncate(staged, at)?); // the source shrank, which the host detects later
            }
            sys::start_writing(staged, at, count);
            at = at.saturating_add(count);
        }
    }
    Ok(ftruncate(staged, size)?)
}

/// Copies the next piece of at most `left` bytes and returns its size, which is zero at the end of the
/// source.
fn piece(
    source: &OwnedFd,
    staged: &OwnedFd,
    left: u64,
    in_kernel: &mut bool,
    buffer: &mut [u8],
    storage: &mut Storage,
) -> Result<u64, Stopped> {
    let most =
        left.min(COPY_BYTES_MAX).min(storage.max.saturating_sub(storage.used).div_ceil(2).max(1));
    if *in_kernel {
        let length = usize::try_from(most).unwrap_or(usize::MAX);
        match copy_file_range(source, None, staged, None, length) {
            Ok(0) | Err(_) => *in_kernel = false,
            Ok(count) => {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                storage.take(count.saturating_mul(2))?;
                return Ok(count);
            }
        }
    }
    let length = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
    let count = read(source, buffer.get_mut(..length).unwrap_or_default())?;
    let mut bytes = buffer.get(..count).unwrap_or_default();
    storage.take(u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(2))?;
    while !bytes.is_empty() {
        let written = write(staged, bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}
