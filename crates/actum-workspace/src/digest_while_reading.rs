//! Computes the digest of a large file in a second thread while the first thread reads the file.

use std::io;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::{Builder, scope};

use actum_core::{Digest, Hasher};

use crate::disk::Disk;

/// Size in bytes of the buffers into which content is read.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
/// Minimum size in bytes of a content for which a second thread is worthwhile.
const THREAD_BYTES_MIN: u64 = 4 << 20;

/// Reads a content with `next` and returns its digest.
///
/// `next` reads into a buffer of [`PIECE_BYTES`] bytes and returns the number of bytes read, or 0 at the end. If `size` is
/// large, the digest is computed in a second thread.
///
/// # Errors
/// Returns errors of `next`.
pub(crate) fn digest_while_reading<E>(
    size: u64,
    mut next: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<Digest, E> {
    if size < THREAD_BYTES_MIN {
        return digest_inline(next);
    }
    scope(|scope| {
        let (give, taken) = sync_channel::<(Vec<u8>, usize)>(1);
        let (give_back, free) = channel();
        let hash = move || {
            let mut hasher = Hasher::new();
            for (buffer, count) in taken {
                hasher.update(buffer.get(..count).unwrap_or_default());
                drop(give_back.send(buffer)); // fails after the last piece, when the receiver is gone
            }
            hasher.finish()
        };
        let Ok(hashing) = Builder::new().name("digest".to_owned()).spawn_scoped(scope, hash) else {
            return digest_inline(next);
        };
        loop {
            let mut buffer = free.try_recv().unwrap_or_else(|_| vec![0; PIECE_BYTES]);
            let count = next(&mut buffer)?;
            if count == 0 || give.send((buffer, count)).is_err() {
                break;
            }
        }
        drop(give);
        match hashing.join() {
            Ok(digest) => Ok(digest),
            Err(panicked) => std::panic::resume_unwind(panicked),
        }
    })
}

/// Returns the digest of a file. Memory use does not depend on the size of the file.
///
/// # Errors
/// Returns errors of the disk.
pub fn digest_of_file<D: Disk>(disk: &D, file: &D::Handle) -> io::Result<Digest> {
    digest_of_pieces(disk, file, disk.stat(file)?.size, |_, _| Ok(()))
}

/// Copies the content of a file to an empty file, and returns the digest of the copied bytes. Memory use does not depend
/// on the size of the file.
///
/// # Errors
/// Returns errors of the disk.
pub fn copy_file<D: Disk>(disk: &D, from: &D::Handle, to: &D::Handle) -> io::Result<Digest> {
    digest_of_pieces(disk, from, disk.stat(from)?.size, |piece, at| disk.write_at(to, piece, at))
}

/// Passes the content of a file to the callback in pieces with their offsets, and returns the digest of the content.
/// `size` is the approximate size of the file in bytes.
pub(crate) fn digest_of_pieces<D: Disk>(
    disk: &D,
    file: &D::Handle,
    size: u64,
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<Digest> {
    let mut at = 0u64;
    digest_while_reading(size, |buffer| {
        let count = disk.read_at(file, buffer, at)?;
        if count > 0 {
            each(buffer.get(..count).unwrap_or_default(), at)?;
        }
        at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    })
}

fn digest_inline<E>(mut next: impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<Digest, E> {
    let (mut hasher, mut buffer) = (Hasher::new(), vec![0; PIECE_BYTES]);
    loop {
        let count = next(&mut buffer)?;
        if count == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8], size: u64) -> Result<Digest, &'static str> {
        let mut rest = bytes;
        digest_while_reading(size, |buffer| {
            let (piece, others) = rest.split_at(rest.len().min(buffer.len()));
            buffer[..piece.len()].copy_from_slice(piece);
            rest = others;
            if piece.first() == Some(&b'!') { Err("cannot read") } else { Ok(piece.len()) }
        })
    }

    /// FE-9
    #[test]
    fn digest_while_reading_covers_all_bytes() {
        for size in
            [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 9 * PIECE_BYTES, (4 << 20) + 7]
        {
            let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
            for size_hint in [0, THREAD_BYTES_MIN] {
                assert_eq!(digest(&bytes, size_hint), Ok(Digest::of(&bytes)), "{size}");
            }
        }
    }

    /// FE-9
    #[test]
    fn a_read_error_ends_both_threads() {
        let bytes = [vec![0; 3 * PIECE_BYTES], vec![b'!'; PIECE_BYTES]].concat();
        for size_hint in [0, THREAD_BYTES_MIN] {
            assert_eq!(digest(&bytes, size_hint), Err("cannot read"));
        }
    }
}
