//! Reads files of a workspace for a client. Only files below the root are read, and symbolic links are not followed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;
use actum_core::{Digest, RelPath};
use actum_gate::credential::spans;
use actum_workspace::{STATE_DIRECTORY, read_file};

use crate::failure::Failure;
use crate::private_place;

/// Maximum size of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Content of a workspace file, with its digest.
pub(crate) struct WorkspaceFile {
    pub(crate) digest: Digest,
    bytes: Vec<u8>,
}

/// Selected lines of a file, with the total number of lines.
pub(crate) struct Lines {
    pub(crate) total: usize,
    pub(crate) text: String,
}

/// Converts a relative or absolute path from a client to a path in the workspace.
pub(crate) fn path(named: &str, root: &Path) -> Result<RelPath, Failure> {
    let inside = Path::new(named).strip_prefix(root).unwrap_or(Path::new(named));
    RelPath::new(inside.as_os_str().as_bytes())
        .map_err(|error| unreadable(named, io::Error::other(error.to_string())))
}

/// Reads a file of the workspace, or returns `None` if it does not exist.
pub(crate) fn read(root: &Path, path: &RelPath) -> Result<Option<WorkspaceFile>, Failure> {
    let quoted = || String::from_utf8_lossy(path.as_bytes()).into_owned();
    let bytes = bytes(root, path).map_err(|error| unreadable(&quoted(), error))?;
    Ok(bytes.map(|bytes| WorkspaceFile { digest: Digest::of(&bytes), bytes }))
}

/// Creates the failure for a path that cannot be read.
pub(crate) fn unreadable(named: &str, source: io::Error) -> Failure {
    Failure::Unreadable { input: format!("`{}`", Quoted(named.as_bytes())), source }
}

/// Reads the bytes of a file, or returns `None` if it does not exist. Rejects files that clients may not read.
fn bytes(root: &Path, path: &RelPath) -> io::Result<Option<Vec<u8>>> {
    if path.components().any(|name| name == STATE_DIRECTORY.as_bytes()) {
        return Err(io::Error::other("it belongs to the internal state of actum"));
    }
    if private_place::is_private(&root.join(OsStr::from_bytes(path.as_bytes()))) {
        return Err(io::Error::other("it is in a well-known location for credentials"));
    }
    read_file(root, path, FILE_BYTES_MAX)
}

impl WorkspaceFile {
    /// Returns up to `max` lines, starting at line number `first`, which counts from 1. Stops once the lines have `chars_max`
    /// characters or more. Lines that seem to contain a credential are withheld.
    ///
    /// # Errors
    /// Returns an error if the file is not UTF-8 text.
    pub(crate) fn lines(&self, first: usize, max: usize, chars_max: usize) -> io::Result<Lines> {
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|_| io::Error::other("it is not UTF-8 text"))?;
        let (found, mut start, mut shown) = (spans(&self.bytes), 0, String::new());
        let (mut total, mut chars) = (0, 0_usize);
        let end = first.saturating_add(max);
        for line in text.split_inclusive('\n') {
            total += 1;
            let range = start..start + line.len();
            start = range.end;
            if total < first || total >= end || chars >= chars_max {
                continue;
            }
            let has_credential =
                found.iter().any(|span| span.start < range.end && range.start < span.end);
            let line = match has_credential {
                true => "(this line is withheld because it seems to contain a credential)\n",
                false => line,
            };
            chars += line.chars().count();
            shown.push_str(line);
        }
        Ok(Lines { total, text: shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> WorkspaceFile {
        WorkspaceFile { digest: Digest::of(text.as_bytes()), bytes: text.as_bytes().to_vec() }
    }

    /// Issue 27
    #[test]
    fn lines_are_counted_and_truncated() {
        let lines = |first, max| {
            let lines = file("a\nb\nc").lines(first, max, 100).unwrap();
            (lines.total, lines.text)
        };
        assert_eq!(lines(1, 9), (3, "a\nb\nc".to_owned()));
        assert_eq!(lines(2, 1), (3, "b\n".to_owned()));
        assert_eq!(lines(4, 1), (3, String::new()));
        assert_eq!(file("a\nb\n").lines(1, 9, 1).unwrap().text, "a\n");
        let binary = WorkspaceFile { digest: Digest::of(b""), bytes: vec![0xff] };
        assert!(binary.lines(1, 1, 1).is_err());
    }

    /// Issue 27
    #[test]
    fn a_line_with_a_credential_is_withheld() {
        let text = format!("a\nkey = \"AKIA{}\"\nb\n", "Q3EGRZV7M5PLXW2T");
        let shown = file(&text).lines(1, 9, 1000).unwrap().text;
        assert!(shown.starts_with("a\n(this line is withheld") && shown.ends_with(")\nb\n"));
        assert!(!shown.contains("AKIA"), "{shown}");
    }
}
