//! Resolution of symbolic links in paths, and identity of files.

use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Returns the device and inode number of the file at a path, following symbolic links. Returns `None` if the file
/// cannot be accessed.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Resolves all symbolic links in an existing path. Reading a link in `/proc/self/fd` (proc_pid_fd(5)) is faster than
/// realpath(3), which inspects every component.
fn resolved(path: &Path) -> Option<PathBuf> {
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    match std::fs::read_link(link) {
        // If the file was removed in the meantime, the kernel appends ` (deleted)` to its path.
        Ok(real) if real.is_absolute() && !real.as_os_str().as_bytes().ends_with(b" (deleted)") => {
            Some(real)
        }
        Ok(_) | Err(_) => std::fs::canonicalize(path).ok(),
    }
}

/// Resolves the symbolic links in the existing part of a path, and appends the rest unchanged.
pub fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|there| Some((there, resolved(there)?)));
    there.map_or_else(
        || path.to_owned(),
        |(there, real)| match path.strip_prefix(there) {
            Ok(rest) if rest != Path::new("") => real.join(rest),
            // Joining an empty path would append a slash.
            Ok(_) | Err(_) => real,
        },
    )
}
