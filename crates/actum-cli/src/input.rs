//! Description of a change, from a file or standard input: the only module that reads a file outside a workspace.

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

/// Text that describes a change.
pub(crate) struct Input {
    /// Name of the file for the log, which escapes it. Standard input has none.
    pub(crate) name: Option<String>,
    /// Name in messages.
    quoted: String,
    bytes: Vec<u8>,
    /// Path of the file; `None` for standard input.
    file: Option<PathBuf>,
}

impl Input {
    /// Reads `file`, relative to `start`; `-` is standard input.
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

    /// Makes an input of a text that a client sent.
    pub(crate) fn from_client(text: String) -> Self {
        let quoted = "the change".to_owned();
        Self { name: None, quoted, bytes: text.into_bytes(), file: None }
    }

    /// Parses the operations that the text describes.
    pub(crate) fn operations(&self, reading: &Reading) -> Result<Vec<Operation>, Failure> {
        parse(&self.bytes, reading).map_err(|source| {
            let quote = Quote::new(self.file.as_deref(), &self.bytes, source.place);
            Failure::Input { input: self.quoted.clone(), source: Box::new(source), quote }
        })
    }
}

/// Returns the path of the input `file`, relative to `start`; standard input has none.
pub(crate) fn path(file: &Path, start: &Path) -> Option<PathBuf> {
    (file != Path::new("-")).then(|| start.join(file))
}

/// Reads a file that describes no change, relative to `start`, and returns its name in messages; `-` is standard input.
/// If it is longer than `max` bytes, returns more than `max` of its first bytes.
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

/// Opens a file named on the command line for reading. It has to be a regular file, since a FIFO may never have a
/// writer, and opening a device may have an effect. A descriptor that the caller has open (`/dev/stdin`, `/dev/fd/3`)
/// may be any file.
///
/// # Errors
/// Those of open(2), and that it is not a regular file.
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
        false => io::Error::other("it is not a regular file; give `-` to read standard input"),
    })
}

/// Returns true if a path names a descriptor of this process, and nothing below or beside it.
fn is_descriptor(path: &Path) -> bool {
    let is_number = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit);
    let path = path.as_os_str().as_bytes();
    path == b"/dev/stdin" || path.strip_prefix(b"/dev/fd/").is_some_and(is_number)
}

/// Reads one byte more than the limit at most, so that the caller can detect an excess.
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
    fn only_a_number_names_a_descriptor() {
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
