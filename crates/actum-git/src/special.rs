//! Search for FIFOs and devices in `.git`. libgit2 opens files there without checking their type, and opening or reading
//! a FIFO or device can block forever.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::problem::{GitProblem, ResultExt};

const DOING: &str = "looking for special files in `.git`";

/// Directories in `.git` from which libgit2 opens files at any depth. In other directories, libgit2 only checks whether
/// files exist.
const OPENED: [&str; 4] = ["info", "logs", "objects", "refs"];

/// Looks for a FIFO or device among the files that libgit2 opens in a git directory. Returns the path of the first one,
/// relative to the git directory.
pub(crate) fn find(git: &Path) -> Result<Option<PathBuf>, GitProblem> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let is_top = directory.as_os_str().is_empty();
        let entries = match fs::read_dir(git.join(&directory)) {
            // The directory does not exist, or another git process has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.doing(DOING)?,
        };
        for entry in entries {
            let entry = entry.doing(DOING)?;
            let path = directory.join(entry.file_name());
            match Kind::new(&entry) {
                Kind::Special => return Ok(Some(path)),
                Kind::Directory if !is_top || OPENED.iter().any(|it| path == Path::new(it)) => {
                    directories.push(path);
                }
                Kind::Directory | Kind::Other => {}
            }
        }
    }
    Ok(None)
}

/// Kind of file that is opened through a directory entry, after following a symbolic link.
enum Kind {
    Special,
    Directory,
    /// Regular file, link to a file or directory, or socket. Sockets are harmless because open(2) does not block on them,
    /// and git's file system monitor creates one in `.git`.
    Other,
}

impl Kind {
    fn new(entry: &DirEntry) -> Self {
        let Ok(kind) = entry.file_type() else { return Self::Other };
        if kind.is_dir() {
            return Self::Directory;
        }
        let waits =
            |kind: fs::FileType| kind.is_fifo() || kind.is_char_device() || kind.is_block_device();
        let is_special = match kind.is_symlink() {
            true => fs::metadata(entry.path()).is_ok_and(|found| waits(found.file_type())),
            false => waits(kind),
        };
        if is_special { Self::Special } else { Self::Other }
    }
}
