//! Support for ext4 without a journal, which writes the name, the inode and the blocks of a directory to the disk in
//! arbitrary order.
//!
//! When a directory is removed, its inode can be reused for a new file. If the new file reaches the disk before the
//! removal of the directory's name does, e2fsck(8) later finds the old name pointing to the new file. Similarly, the
//! blocks of a new directory may contain the names of an old one. Files do not have this problem, because a displaced
//! file keeps its inode until the next checkpoint.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, CWD, Mode, OFlags};

use super::linux::read_kernel_file;

/// Magic number of ext2, ext3 and ext4 (statfs(2)).
const EXT4_MAGIC: u64 = 0xEF53;

/// Makes the directory `name` in `parent` and its entries durable if it is on ext4 without a journal. Does nothing on
/// other file systems. The name `.` refers to `parent` itself.
pub(super) fn settle(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    if !is_without_journal(parent)? {
        return Ok(());
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(fs::fsync(fs::openat(parent, name, flags, Mode::empty())?)?)
}

/// Returns true if a directory is on ext4 without a journal. If this cannot be determined for an ext4 file system, also
/// returns true, because unnecessary syncs only cost time.
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
