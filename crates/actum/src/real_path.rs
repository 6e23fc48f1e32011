//! Paths without links, and the identity of directories.

use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Returns device and inode of the file that a path leads to, if it exists.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Resolves the links of an existing path. The kernel does that in one call (proc_pid_fd(5)), while realpath(3)
/// reads each directory.
fn resolved(path: &Path) -> Option<PathBuf> {
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    match std::fs::read_link(link) {
        // A file that was removed since has no path.
        Ok(real) if real.is_absolute() && !real.as_os_str().as_bytes().ends_with(b" (deleted)") => {
            Some(real)
        }
        Ok(_) | Err(_) => std::fs::canonicalize(path).ok(),
    }
}

/// Resolves the links of a path, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|there| Some((there, resolved(there)?)));
    there.map_or_else(
        || path.to_owned(),
        |(there, real)| match path.strip_prefix(there) {
            Ok(rest) if rest != Path::new("") => real.join(rest),
            // Joining an empty path would add a slash.
            Ok(_) | Err(_) => real,
        },
    )
}
