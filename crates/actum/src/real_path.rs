//! Paths without links, and the directories that they lead to.

use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Which directory a path leads to, where it leads to one.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The path of something that is there, without links. The kernel resolves it in one call (proc_pid_fd(5)), and
/// realpath(3) looks at each directory.
fn resolved(path: &Path) -> Option<PathBuf> {
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    match std::fs::read_link(link) {
        // What was removed meanwhile has no path any more.
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
            // To join nothing would add a slash.
            Ok(_) | Err(_) => real,
        },
    )
}
