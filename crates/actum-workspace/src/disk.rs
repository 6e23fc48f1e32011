//! Defines the system calls of the engine as a trait, so that tests can use a simulated disk that loses power at any of
//! them.
//!
//! Every path is either a single name in an open directory, or is resolved beneath an open directory without following
//! any link (FO-7). No code outside of this module handles file descriptors.

use std::io;
use std::path::Path;

use actum_core::{FileMode, RelPath};

mod ext4;
mod linux;

pub use linux::{LinuxDisk, nothing_there};
pub(crate) use linux::{is_input_output, is_loop};

/// Metadata of a file system object, including the values that identify its inode (inode(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Kind of the object, such as a regular file.
    pub kind: Kind,
    /// ID of the device that contains the object.
    pub device: u64,
    /// Inode number of the object.
    pub inode: u64,
    /// Number of hard links to the object.
    pub links: u64,
    /// Size of the object in bytes.
    pub size: u64,
    /// Permission bits of the object, or [`FileMode::LINK`] for a symbolic link.
    pub mode: FileMode,
    /// User ID of the owner.
    pub user: u32,
    /// Group ID of the object.
    pub group: u32,
    /// Time of the last change of the content (`mtime`).
    pub modified: Time,
    /// Time of the last change of the content or attributes (`ctime`).
    pub changed: Time,
}

impl Stat {
    /// Returns the time of the last change of content or attributes. A program that sets the modification time of a file
    /// to an earlier value cannot hide the change, because this updates the change time.
    pub(crate) fn last_change(&self) -> Time {
        self.modified.max(self.changed)
    }
}

/// Time in nanoseconds since 1970-01-01 UTC. The times of a new file may be some milliseconds behind [`Disk::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Kind {
    /// Returns true for a regular file and for a symbolic link. The content of a symbolic link is its target.
    pub(crate) fn has_content(self) -> bool {
        matches!(self, Self::File | Self::Symlink)
    }
}

/// Kind of a file system object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Symbolic links are never followed.
    Symlink,
    /// A FIFO, socket or device.
    Special,
}

/// Behavior of [`Disk::rename`] with respect to the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// The destination must not exist (`RENAME_NOREPLACE`).
    NoReplace,
    /// Both names must exist and are swapped atomically (`RENAME_EXCHANGE`).
    Exchange,
    /// The destination is replaced if it exists. Used only for actum's own files, in `.actum` and in the reports of tasks.
    Replace,
}

/// Purpose of a sync. The simulated disk can be configured to ignore the syncs of a barrier, and for each barrier there
/// is a test that fails without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Barrier {
    /// The state directory and the empty journal must be durable before they are used.
    Birth,
    /// The bytes of a kept image must be durable before an INTENT record refers to it.
    KeptImage,
    /// The name of a kept image must be durable before an INTENT record refers to it.
    KeptName,
    /// The INTENT record must be durable before the first target changes.
    Intent,
    /// The end of a run must be durable before it is acknowledged.
    End,
    /// A rebuilt image must be completely durable before it replaces a target.
    Rebuilt,
    /// The start of a recovery must be durable before the recovery changes anything.
    Rebuilding,
    /// The zeros that extend the journal must be durable before a record relies on them.
    Growth,
    /// The files of the workspace and the history must be durable before a record is removed from the journal.
    Checkpoint,
    /// The head of the journal must be durable before the space of removed records is reused.
    Forget,
    /// The last write of an earlier process must be durable before anything is written after it.
    Reread,
    /// The checkpoint and the reports of a task must be durable before its first target changes.
    Report,
    /// A request to bind the workspace to a different ledger, or the end of such a request, must be durable before it is
    /// acknowledged.
    Adoption,
    /// Data kept for later use, such as lost images, blocked paths and captures of queued plans, must be durable before
    /// the run ends or the plan is queued.
    Lost,
}

/// Period during which a file system cannot lose unsynced writes, identified by the boot of the system and the mount of
/// the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub [u8; 16]);

impl Epoch {
    /// Creates an epoch from the ID of the boot (first half) and the ID of the mount (second half).
    pub fn new(boot: [u8; 8], mount: [u8; 8]) -> Self {
        let mut epoch = [0; 16];
        for (to, from) in epoch.iter_mut().zip(boot.into_iter().chain(mount)) {
            *to = from;
        }
        Self(epoch)
    }
}

/// Name and value of an extended attribute (xattr(7)), which can also be a POSIX ACL.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// All system calls that the engine makes.
///
/// A handle grants access to the object that it refers to, and is closed when it is dropped. Names are single path
/// components. No method follows symbolic links.
pub trait Disk {
    /// Handle of an open file or directory.
    type Handle;

    /// Initial size of the journal in bytes, and the size by which it grows. Must be a multiple of 4096. Every recovery
    /// after a restart reads the entire journal.
    const JOURNAL_STEP: u64 = 4 << 20;

    /// Opens the directory at `path` as the root of a workspace. Fails with `ELOOP` if any component is a symbolic link,
    /// because a link created after the caller checked the path could redirect it.
    fn open_root(&self, path: &Path) -> io::Result<Self::Handle>;
    /// Opens the directory at `path` beneath `root` for use as a parent. This requires only search permission (`O_PATH`).
    /// Fails with `ELOOP` if a component is a symbolic link, and with `EXDEV` if the path leaves `root` or its file
    /// system.
    fn open_parent(&self, root: &Self::Handle, path: &RelPath) -> io::Result<Self::Handle>;
    /// Opens the directory `name` so that it can be listed and synced.
    fn open_directory(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Opens a file for reading, without waiting for the writer of a FIFO. Fails with `EXDEV` at a mount point.
    fn open_file(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Opens a symbolic link itself instead of its target. Fails with `EINVAL` for any other object.
    ///
    /// The handle can be used with [`stat`](Self::stat), [`set_owner`](Self::set_owner) and
    /// [`set_modified`](Self::set_modified). [`read_at`](Self::read_at) reads the target of the link, and
    /// [`xattrs`](Self::xattrs) returns no attributes. The link cannot be synced individually.
    fn open_link(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Creates a symbolic link. Fails if the name already exists.
    fn make_link(&self, parent: &Self::Handle, name: &[u8], target: &[u8]) -> io::Result<()>;
    /// Opens a file that belongs to actum itself for reading and writing.
    fn open_own(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Creates a file and opens it for reading and writing. Fails if the name already exists. The umask is applied to
    /// `mode`.
    fn create(
        &self,
        parent: &Self::Handle,
        name: &[u8],
        mode: FileMode,
    ) -> io::Result<Self::Handle>;

    /// Checks whether this process may create and remove names in a directory (access(2), with the effective user). Fails
    /// with `PermissionDenied` or `ReadOnlyFilesystem` if it may not. Succeeds if the system cannot determine it.
    fn may_write(&self, directory: &Self::Handle) -> io::Result<()>;
    /// Returns the metadata of an open object.
    fn stat(&self, handle: &Self::Handle) -> io::Result<Stat>;
    /// Returns the metadata of the object with this name, or `None` if it does not exist.
    fn stat_at(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Option<Stat>>;
    /// Returns the creation time of the inode, if the file system records it (statx(2), `STATX_BTIME`).
    fn born(&self, handle: &Self::Handle) -> io::Result<Option<Time>>;
    /// Returns the names in a directory in any order, without `.` and `..`.
    fn list(&self, directory: &Self::Handle) -> io::Result<Vec<Vec<u8>>>;
    /// Reads bytes into `buffer`, starting at `offset`. Returns fewer than `buffer.len()` bytes only at the end of the
    /// file.
    fn read_at(&self, file: &Self::Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes`, starting at `offset`.
    fn write_at(&self, file: &Self::Handle, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Clones the content of `from` into the empty file `to` atomically, sharing the blocks (ioctl_ficlone(2)). Returns
    /// false if the file system does not support this.
    fn clone_content(&self, _from: &Self::Handle, _to: &Self::Handle) -> io::Result<bool> {
        Ok(false)
    }
    /// Truncates or extends a file to the given size in bytes.
    fn set_size(&self, file: &Self::Handle, size: u64) -> io::Result<()>;
    /// Sets the permission bits of a file or directory.
    fn set_mode(&self, handle: &Self::Handle, mode: FileMode) -> io::Result<()>;
    /// Sets the owner and group of an object.
    fn set_owner(&self, handle: &Self::Handle, user: u32, group: u32) -> io::Result<()>;
    /// Sets the modification time of a file. Its access time remains unchanged.
    fn set_modified(&self, _file: &Self::Handle, _modified: Time) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Returns all extended attributes that this process may see, ordered by name. Returns an empty list if the file
    /// system does not support extended attributes.
    fn xattrs(&self, handle: &Self::Handle) -> io::Result<Vec<Xattr>>;
    /// Sets an extended attribute of an object.
    fn set_xattr(&self, handle: &Self::Handle, name: &[u8], value: &[u8]) -> io::Result<()>;
    /// Removes an extended attribute of an object.
    fn remove_xattr(&self, handle: &Self::Handle, name: &[u8]) -> io::Result<()>;

    /// Creates the hard link `to` to the file `from`.
    fn link(
        &self,
        from_parent: &Self::Handle,
        from: &[u8],
        to_parent: &Self::Handle,
        to: &[u8],
    ) -> io::Result<()>;
    /// Renames or moves an object from `from` to `to`.
    fn rename(
        &self,
        from_parent: &Self::Handle,
        from: &[u8],
        to_parent: &Self::Handle,
        to: &[u8],
        rename: Rename,
    ) -> io::Result<()>;
    /// Removes a name of a file or any other object except a directory.
    fn unlink(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<()>;
    /// Creates a directory. The umask is applied to `mode`.
    fn make_directory(&self, parent: &Self::Handle, name: &[u8], mode: FileMode) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<()>;

    /// Makes a file's bytes and size durable (`fdatasync`).
    fn sync_data(&self, file: &Self::Handle, barrier: Barrier) -> io::Result<()>;
    /// Makes a file with its attributes, or the entries of a directory, durable (`fsync`).
    fn sync(&self, handle: &Self::Handle, barrier: Barrier) -> io::Result<()>;
    /// Makes all changes of the file system that contains `handle` durable (`syncfs`).
    fn sync_all(&self, handle: &Self::Handle, barrier: Barrier) -> io::Result<()>;

    /// Acquires an exclusive lock, which is released when the handle is dropped. Returns false if another process holds
    /// the lock and `wait` is false.
    fn lock(&self, file: &Self::Handle, wait: bool) -> io::Result<bool>;
    /// Releases the lock immediately, even if a forked process that is about to start another program has a copy of the
    /// handle (flock(2)).
    fn unlock(_file: &Self::Handle)
    where
        Self: Sized,
    {
    }
    /// Returns the number of free bytes that are available to this process on the file system of an open directory
    /// (fstatvfs(3)).
    fn free_bytes(&self, directory: &Self::Handle) -> io::Result<u64>;
    /// Returns the maximum number of handles that the process can have open (`RLIMIT_NOFILE`, getrlimit(2)).
    fn handles_max(&self) -> usize;
    /// Returns the current epoch of the file system that contains `root`.
    fn epoch(&self, root: &Self::Handle) -> io::Result<Epoch>;
    /// Returns the current time, which is never earlier than the times of a file that was just written.
    fn now(&self) -> Time;
    /// Returns the umask, whose bits are removed from the mode of every new file and directory (umask(2)).
    fn umask(&self) -> u32;
    /// Returns the effective user and group of this process, which own the files that it creates.
    fn identity(&self) -> (u32, u32);
    /// Returns true if this process can change the owner of a file to this user and group (chown(2)).
    fn can_give_to(&self, user: u32, group: u32) -> bool;
    /// Returns the ID of this process, which is recorded in the lock file.
    fn process(&self) -> u32;
    /// Returns 64 random bits from the system.
    fn random(&self) -> io::Result<u64>;
}
