//! Search for FIFOs and devices in `.git`: opening or reading one can wait for ever, and libgit2 opens without a check.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::problem::{GitProblem, ResultExt};

const DOING: &str = "looking for special files in `.git`";

/// Directories of `.git` whose files libgit2 opens, at any depth. For the others it checks only whether they exist.
const OPENED: [&str; 4] = ["info", "logs", "objects", "refs"];

/// Finds a FIFO or device among the files that libgit2 opens in a git directory. Returns its path there.
pub(crate) fn find(git: &Path) -> Result<Option<PathBuf>, GitProblem> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let is_top = directory.as_os_str().is_empty();
        let entries = match fs::read_dir(git.join(&directory)) {
            // Another process of git removed it, or it never was there.
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

/// Kind of object that opening an entry would open.
enum Kind {
    Special,
    Directory,
    /// A file, a link to a file or directory, or a socket, which no open(2) waits for: git's own monitor keeps one
    /// there.
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
