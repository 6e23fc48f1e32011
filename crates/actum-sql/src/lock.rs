//! Finds the process that has a database open. DuckDB locks the database file as long as it is open (fcntl(2), record
//! locks).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::{F_UNLCK, F_WRLCK, SEEK_SET, flock};

/// Returns the id of the process that holds a lock on a file, or `None` if the file is not locked. The id is 0 if the
/// kernel does not report it. This function acquires no lock.
///
/// # Errors
/// Returns an error if the file cannot be opened, for example because it is a symbolic link.
pub fn lock_holder(path: &Path) -> std::io::Result<Option<i32>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let kind = |kind: i32| i16::try_from(kind).unwrap_or_default();
    let mut asked =
        flock { l_type: kind(F_WRLCK), l_whence: kind(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0 };
    fcntl(&file, FcntlArg::F_OFD_GETLK(&mut asked))?;
    Ok((asked.l_type != kind(F_UNLCK)).then_some(asked.l_pid.max(0)))
}
