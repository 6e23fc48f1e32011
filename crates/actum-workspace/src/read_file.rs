//! Reads the current files of a workspace, resolving paths in the same way as runs.

use std::io;
use std::path::Path;

use actum_core::RelPath;

use crate::disk::{Disk, LinuxDisk};
use crate::tree::{Found, Tree, read_whole};

/// Reads the file at `path` below `root`, or returns `None` if it does not exist. Only regular files are opened. The
/// path is never resolved through a symbolic link or into another file system.
///
/// # Errors
/// Fails if the object at the path is not a regular file, cannot be reached or cannot be read. If the file has more
/// than `bytes_max` bytes, the error is `FileTooLarge`.
pub fn read_file(root: &Path, path: &RelPath, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let disk = LinuxDisk;
    let root = disk.open_root(root)?;
    let found = match Tree::new(&disk, &root).find_file(path) {
        Ok(found) => found,
        Err(error) => return Err(io::Error::other(error.kind)),
    };
    match found {
        Found::Nothing => Ok(None),
        Found::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Found::Other(found) => Err(io::Error::other(format!("it is {found}"))),
        Found::File(stat, _) if stat.size > bytes_max => Err(io::ErrorKind::FileTooLarge.into()),
        Found::File(stat, file) => read_whole(&disk, &file, stat.size).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Issue 27
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test creates files")]
    fn only_regular_files_below_the_root_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "12").unwrap();
        symlink("sub/a", root.join("link")).unwrap();
        symlink("sub", root.join("way")).unwrap();
        let read = |path: &str, max| read_file(&root, &RelPath::new(path).unwrap(), max);
        assert_eq!(read("sub/a", 2).unwrap().as_deref(), Some(&b"12"[..]));
        assert_eq!(read("sub/a", 1).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read("none/b", 2).unwrap(), None);
        assert_eq!(read("sub", 2).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        for link in ["link", "way/a"] {
            let error = read(link, 2).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
        }
    }
}
