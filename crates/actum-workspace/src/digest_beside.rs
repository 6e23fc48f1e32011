//! Digest of a large file, computed in a second thread while the file is read.

use std::sync::mpsc::{channel, sync_channel};
use std::thread::{Builder, scope};

use actum_core::{Digest, Hasher};

/// How many bytes are read at once.
pub(crate) const PIECE: usize = 256 << 10;
/// Size in bytes from which a second thread is worth its start.
const BESIDE_BYTES_MIN: u64 = 4 << 20;

/// Reads a content with `next`, which fills a buffer of [`PIECE`] bytes and gives how many there were, none at the end; gives the
/// digest of all of it. Of a large one it is computed in a second thread, while `next` reads on.
///
/// # Errors
/// Those of `next`.
pub(crate) fn digest_beside<E>(
    size: u64,
    mut next: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<Digest, E> {
    if size < BESIDE_BYTES_MIN {
        return digest_here(next);
    }
    scope(|scope| {
        let (give, taken) = sync_channel::<(Vec<u8>, usize)>(1);
        let (give_back, free) = channel();
        let hash = move || {
            let mut hasher = Hasher::new();
            for (buffer, count) in taken {
                hasher.update(buffer.get(..count).unwrap_or_default());
                drop(give_back.send(buffer)); // nobody takes it after the last
            }
            hasher.finish()
        };
        let Ok(hashing) = Builder::new().name("digest".to_owned()).spawn_scoped(scope, hash) else {
            return digest_here(next);
        };
        loop {
            let mut buffer = free.try_recv().unwrap_or_else(|_| vec![0; PIECE]);
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

fn digest_here<E>(mut next: impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<Digest, E> {
    let (mut hasher, mut buffer) = (Hasher::new(), vec![0; PIECE]);
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
        digest_beside(size, |buffer| {
            let (piece, others) = rest.split_at(rest.len().min(buffer.len()));
            buffer[..piece.len()].copy_from_slice(piece);
            rest = others;
            if piece.first() == Some(&b'!') { Err("cannot read") } else { Ok(piece.len()) }
        })
    }

    /// FE-9
    #[test]
    fn the_digest_beside_is_that_of_all_bytes() {
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 9 * PIECE, (4 << 20) + 7] {
            let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
            for told in [0, BESIDE_BYTES_MIN] {
                assert_eq!(digest(&bytes, told), Ok(Digest::of(&bytes)), "{size}");
            }
        }
    }

    /// FE-9
    #[test]
    fn an_error_of_reading_ends_both() {
        let bytes = [vec![0; 3 * PIECE], vec![b'!'; PIECE]].concat();
        for told in [0, BESIDE_BYTES_MIN] {
            assert_eq!(digest(&bytes, told), Err("cannot read"));
        }
    }
}
