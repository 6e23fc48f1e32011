//! Reads input files and standard input. No other module reads files outside a workspace.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_edit::Operation;
use actum_edit::format::{INPUT_BYTES_MAX, Reading, parse};
use nix::fcntl::OFlag;

use crate::failure::Failure;
use crate::snippet::Quote;

/// Text that describes a change, read from a file, from standard input or from a client.
pub(crate) struct Input {
    /// File name for the log, which escapes it. `None` for standard input.
    pub(crate) name: Option<String>,
    /// Name of the input in messages, already quoted.
    quoted: String,
    bytes: Vec<u8>,
    /// Path of the file; `None` for standard input.
    file: Option<PathBuf>,
}

impl Input {
    /// Reads `file`, whose path is relative to `start`, or standard input if `file` is `-`.
    pub(crate) fn read(file: &Path, start: &Path) -> Result<Self, Failure> {
        let (name, quoted, read) = if file == Path::new("-") {
            (None, "standard input".to_owned(), read_limited(io::stdin().lock(), INPUT_BYTES_MAX))
        } else {
            let name = file.file_name().unwrap_or(file.as_os_str());
            let quoted = format!("`{}`", Quoted(file.as_os_str().as_bytes()));
            let read = read_file(&start.join(file), INPUT_BYTES_MAX);
            (Some(name.to_string_lossy().into_owned()), quoted, read)
        };
        match read {
            Ok(bytes) if bytes.len() > INPUT_BYTES_MAX => Err(Failure::TooLarge { input: quoted }),
            Ok(bytes) => {
                let file = path(file, start);
                Ok(Self { name, quoted, bytes, file })
            }
            Err(source) => Err(Failure::Unreadable { input: quoted, source }),
        }
    }

    /// Creates an input from text that a client sent.
    pub(crate) fn from_client(text: String) -> Self {
        let quoted = "the change".to_owned();
        Self { name: None, quoted, bytes: text.into_bytes(), file: None }
    }

    /// Parses the text into file operations. An error quotes the offending line, if the file is not private.
    pub(crate) fn operations(&self, reading: &Reading) -> Result<Vec<Operation>, Failure> {
        parse(&self.bytes, reading).map_err(|source| {
            let quote = Quote::new(self.file.as_deref(), &self.bytes, source.place);
            Failure::Input { input: self.quoted.clone(), source: Box::new(source), quote }
        })
    }
}

/// Returns the path of the input `file` relative to `start`, or `None` for standard input (`-`).
pub(crate) fn path(file: &Path, start: &Path) -> Option<PathBuf> {
    (file != Path::new("-")).then(|| start.join(file))
}

/// Reads an input other than a change, such as a lease or a keyring, and returns its name for messages and its content.
/// `file` is relative to `start`, and `-` is standard input. An input longer than `max` bytes is cut after `max + 1` bytes,
/// so that the caller can detect it.
pub(crate) fn document(
    file: &Path,
    start: &Path,
    max: usize,
) -> Result<(String, Vec<u8>), Failure> {
    let (name, read) = if file == Path::new("-") {
        ("standard input".to_owned(), read_limited(io::stdin().lock(), max))
    } else {
        let name = format!("`{}`", Quoted(file.as_os_str().as_bytes()));
        (name, read_file(&start.join(file), max))
    };
    match read {
        Ok(bytes) => Ok((name, bytes)),
        Err(source) => Err(Failure::Unreadable { input: name, source }),
    }
}

fn read_file(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    read_limited(open(path)?, max)
}

/// Opens a file that was named on the command line for reading. It must be a regular file, because a FIFO may never get a
/// writer and opening a device may have side effects. Only a descriptor that the caller already has open (`/dev/stdin`,
/// `/dev/fd/3`) may refer to any type of file.
///
/// # Errors
/// Errors of open(2), and an error if the file is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let is_open = is_descriptor(path);
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(if is_open { 0 } else { OFlag::O_NONBLOCK.bits() | OFlag::O_NOCTTY.bits() })
        .open(path)?;
    let found = opened.metadata()?;
    if is_open || found.is_file() {
        return Ok(opened);
    }
    Err(match found.is_dir() {
        true => io::ErrorKind::IsADirectory.into(),
        false => io::Error::other("it is not a regular file; use `-` to read standard input"),
    })
}

/// Returns whether a path is exactly `/dev/stdin` or `/dev/fd/N`, and thus names an open descriptor of this process.
fn is_descriptor(path: &Path) -> bool {
    let is_number = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit);
    let path = path.as_os_str().as_bytes();
    path == b"/dev/stdin" || path.strip_prefix(b"/dev/fd/").is_some_and(is_number)
}

/// Reads at most one byte more than the limit, so that the caller can detect an input that exceeds it.
fn read_limited(from: impl Read, max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stdin_and_numbered_dev_fd_paths_are_descriptors() {
        for path in ["/dev/stdin", "/dev/fd/0", "/dev/fd/63"] {
            assert!(is_descriptor(Path::new(path)), "{path}");
        }
        let others =
            ["/dev/fd", "/dev/fd/", "/dev/fd/3x", "/dev/fd/../root/fifo", "/dev/fd/3/x", "fd/3"];
        for path in others {
            assert!(!is_descriptor(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn reading_stops_one_byte_past_the_limit() {
        assert_eq!(read_limited(io::repeat(b'x'), 9).unwrap().len(), 10);
    }
}
