//! Byte worker, which reads and copies the bytes of a file task within the quotas of its lease.

use actum_core::{Digest, Hasher};
use actum_workspace::disk::Disk;

use crate::quota::Bounds;
use crate::worker_error::WorkerError;

/// Reads and copies the bytes of open files. A worker has no access to paths.
///
/// The host does not rely on a worker's result. It compares the staged bytes with the source, and compares each digest
/// with one that it computes itself.
pub trait ByteWorker<D: Disk> {
    /// Copies all bytes of `source` to the empty file `staged`.
    ///
    /// # Errors
    /// Returns [`WorkerError`] if a file cannot be read or written, a quota is exceeded, or the task is cancelled.
    fn copy(
        &mut self,
        source: &D::Handle,
        staged: &D::Handle,
        bounds: &Bounds<'_>,
    ) -> Result<(), WorkerError>;

    /// Computes the SHA-256 of `source`.
    ///
    /// # Errors
    /// Returns [`WorkerError`] if the file cannot be read, a quota is exceeded, or the task is cancelled.
    fn hash(&mut self, source: &D::Handle, bounds: &Bounds<'_>) -> Result<Digest, WorkerError>;
}

/// Byte worker that runs in the calling process, for simulated disks and tests.
#[derive(Debug)]
pub struct InProcess<D>(pub D);

/// Maximum number of bytes per read.
const PIECE: usize = 256 << 10;

impl<D: Disk> InProcess<D> {
    /// Passes the content of `source` to `each` in pieces, with the offset of each piece. Every byte counts `factor`
    /// times toward the storage quota.
    fn read(
        &self,
        source: &D::Handle,
        bounds: &Bounds<'_>,
        factor: u64,
        mut each: impl FnMut(&[u8], u64) -> Result<(), WorkerError>,
    ) -> Result<(), WorkerError> {
        let failed = |source| WorkerError::System { doing: "read the file", source };
        let (mut buffer, mut at) = (vec![0; PIECE], 0u64);
        loop {
            bounds.check()?;
            let count = self.0.read_at(source, &mut buffer, at).map_err(failed)?;
            let piece = buffer.get(..count).unwrap_or_default();
            if piece.is_empty() {
                return Ok(());
            }
            each(piece, at)?;
            at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            bounds.check_storage(at.saturating_mul(factor))?;
        }
    }
}

impl<D: Disk> ByteWorker<D> for InProcess<D> {
    fn copy(
        &mut self,
        source: &D::Handle,
        staged: &D::Handle,
        bounds: &Bounds<'_>,
    ) -> Result<(), WorkerError> {
        let failed = |source| WorkerError::System { doing: "write the copy", source };
        let write = |piece: &[u8], at: u64| self.0.write_at(staged, piece, at).map_err(failed);
        self.read(source, bounds, 2, write)
    }

    fn hash(&mut self, source: &D::Handle, bounds: &Bounds<'_>) -> Result<Digest, WorkerError> {
        let mut hasher = Hasher::new();
        self.read(source, bounds, 1, |piece, _| {
            hasher.update(piece);
            Ok(())
        })?;
        Ok(hasher.finish())
    }
}
