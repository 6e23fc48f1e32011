//! Support for ext4 without a journal, where the name of a directory, its inode and its blocks reach the disk in any
//! order.
//!
//! A removed directory frees its inode. The inode may be given to a new file that reaches the disk before the name of
//! the directory has left it. Then the next e2fsck(8) finds the old name leading to the new file, and the blocks of a
//! new directory may hold the names of an old one. Files are safe from that because what a run displaces keeps its
//! inode until a checkpoint.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, CWD, Mode, OFlags};

use super::linux::read_kernel_file;

/// Magic number of ext2, ext3 and ext4 (statfs(2)).
const EXT4_MAGIC: u64 = 0xEF53;

/// Makes `name` below `parent` durable, and the names in it, if it is a directory on ext4 without a journal; `.` stands
/// for `parent` itself. Elsewhere this does nothing.
pub(super) fn settle(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    if !is_without_journal(parent)? {
        return Ok(());
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(fs::fsync(fs::openat(parent, name, flags, Mode::empty())?)?)
}

/// Returns true for a directory on ext4 without a journal. Where this is unknown, the result is true, which costs only
/// time.
fn is_without_journal(directory: &OwnedFd) -> io::Result<bool> {
    if u64::try_from(fs::fstatfs(directory)?.f_type) != Ok(EXT4_MAGIC) {
        return Ok(false);
    }
    let device = fs::fstat(directory)?.st_dev;
    let (major, minor) = (fs::major(device), fs::minor(device));
    let Ok(device) = fs::readlinkat(CWD, format!("/sys/dev/block/{major}:{minor}"), Vec::new())
    else {
        return Ok(true);
    };
    let name = Path::new(OsStr::from_bytes(device.to_bytes())).file_name().unwrap_or_default();
    let task = Path::new("/sys/fs/ext4").join(name).join("journal_task");
    Ok(read_kernel_file(&task).map_or(true, |task| task.trim_ascii() == b"<none>"))
}
