//! System calls of the transactional directory, as a trait, so that a simulated disk can lose power at each of them.
//!
//! Every path is one name in a directory that is already open, or is resolved beneath one
//! without following any link (FO-7). Nothing above this module knows a file descriptor.

use std::io;
use std::path::Path;

use actum_core::{FileMode, RelPath};

mod ext4;
mod linux;

pub use linux::{LinuxDisk, nothing_there};
pub(crate) use linux::{is_input_output, is_loop};

/// Object that a name refers to, with the facts that identify one file (inode(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Kind of the object.
    pub kind: Kind,
    /// The device that holds it.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Number of its names.
    pub links: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its permission bits; [`FileMode::LINK`] for a symbolic link.
    pub mode: FileMode,
    /// Its owner.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// Time of the last change of its content.
    pub modified: Time,
    /// Time of the last change of its content or attributes.
    pub changed: Time,
}

impl Stat {
    /// Returns the time of the last change of content or attributes. A program that restores the stamp of the content
    /// moves the other one.
    pub(crate) fn last_change(&self) -> Time {
        self.modified.max(self.changed)
    }
}

/// Nanoseconds since 1970-01-01 UTC. The stamps of files may be some milliseconds behind
/// [`Disk::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Kind {
    /// Returns true for a file, and for a symbolic link, whose content is its target.
    pub(crate) fn has_content(self) -> bool {
        matches!(self, Self::File | Self::Symlink)
    }
}

/// Kind of object that a name can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, which is never followed.
    Symlink,
    /// A FIFO, socket or device.
    Special,
}

/// Treatment of the destination by [`Disk::rename`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// The destination must not exist (`RENAME_NOREPLACE`).
    NoReplace,
    /// Both names must exist and change places (`RENAME_EXCHANGE`).
    Exchange,
    /// The destination is replaced. Only used for actum's own files: in `.actum`, and among the reports of tasks.
    Replace,
}

/// Purpose of a sync. A test named after each one fails if it is left out: the simulated disk can be configured to
/// ignore one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Barrier {
    /// The state directory and the empty journal exist.
    Birth,
    /// A kept image's bytes are on the disk before INTENT names it.
    KeptImage,
    /// A kept image's durable name exists before INTENT names it.
    KeptName,
    /// INTENT is on the disk before the first target changes.
    Intent,
    /// The end of a run is on the disk before it is acknowledged.
    End,
    /// A rebuilt image is whole before it takes a target's place.
    Rebuilt,
    /// Recovery is durably marked as begun before it changes anything.
    Rebuilding,
    /// The journal's zeros are on the disk before a record relies on them.
    Growth,
    /// The tree and the history are on the disk before a record is forgotten.
    Checkpoint,
    /// The journal's head is on the disk before the space of forgotten records is used again.
    Forget,
    /// The last write of an earlier process is on the disk before anything is written behind it.
    Reread,
    /// The checkpoint and the reports of a task exist before its first target changes.
    Report,
    /// A request to bind the workspace to another ledger, or its end, is durable before it is acknowledged.
    Adoption,
    /// Lost images and blocked paths, which are kept for the user, are on the disk before a run is ended.
    Lost,
}

/// Span of time between possible losses of unsynced writes by a file system: a boot, and within it one mount of the
/// file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub [u8; 16]);

impl Epoch {
    /// Joins the id of the boot (first half) and that of the mount within it (second half).
    pub fn new(boot: [u8; 8], mount: [u8; 8]) -> Self {
        let mut epoch = [0; 16];
        for (to, from) in epoch.iter_mut().zip(boot.into_iter().chain(mount)) {
            *to = from;
        }
        Self(epoch)
    }
}

/// Extended attribute: its name and its value (xattr(7)). POSIX ACLs are among them.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// System calls that the engine makes; it makes no others.
///
/// A handle is the authority over the object that it names; dropping it closes it. Names are single components. No
/// method follows a symbolic link.
pub trait Disk {
    /// Open file or directory.
    type Handle;

    /// Size of a new journal in bytes, and the step by which it grows; a multiple of 4096. Each recovery after a
    /// restart reads all of it.
    const JOURNAL_STEP: u64 = 4 << 20;

    /// Opens the directory at `path` as the root of a workspace. Fails with `ELOOP` at a symbolic link anywhere in the
    /// path: one that was put there after a caller looked at the path would lead elsewhere.
    fn open_root(&self, path: &Path) -> io::Result<Self::Handle>;
    /// Opens the directory at `path` beneath `root` for use as a parent; search permission is
    /// enough (`O_PATH`). Fails with `ELOOP` at a symbolic link and with `EXDEV` where the path
    /// would leave `root` or its file system.
    fn open_parent(&self, root: &Self::Handle, path: &RelPath) -> io::Result<Self::Handle>;
    /// Opens the directory `name` for listing and syncing.
    fn open_directory(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Opens a file for reading. Does not wait for a FIFO's writer. `EXDEV` at a mount point.
    fn open_file(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Opens a symbolic link itself for [`stat`](Self::stat), [`set_owner`](Self::set_owner) and
    /// [`set_modified`](Self::set_modified). [`read_at`](Self::read_at) reads its target, and [`xattrs`](Self::xattrs)
    /// returns none. It cannot be synced by itself. Fails with `EINVAL` for any other object.
    fn open_link(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Makes a symbolic link at an unused name.
    fn make_link(&self, parent: &Self::Handle, name: &[u8], target: &[u8]) -> io::Result<()>;
    /// Opens one of actum's own files for reading and writing.
    fn open_own(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Self::Handle>;
    /// Makes a file, which must not exist, open for reading and writing. The umask applies.
    fn create(
        &self,
        parent: &Self::Handle,
        name: &[u8],
        mode: FileMode,
    ) -> io::Result<Self::Handle>;

    /// Fails if this process may not make and remove names in a directory, where the system reports it (access(2), with
    /// the effective user): `PermissionDenied`, `ReadOnlyFilesystem`.
    fn may_write(&self, directory: &Self::Handle) -> io::Result<()>;
    /// Returns the facts about an open handle.
    fn stat(&self, handle: &Self::Handle) -> io::Result<Stat>;
    /// Returns the facts about a name, or `None` if it does not exist.
    fn stat_at(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<Option<Stat>>;
    /// Returns the time at which the inode was made, where the file system knows it (statx(2), `STATX_BTIME`).
    fn born(&self, handle: &Self::Handle) -> io::Result<Option<Time>>;
    /// Returns the names in a directory, without `.` and `..`, in any order.
    fn list(&self, directory: &Self::Handle) -> io::Result<Vec<Vec<u8>>>;
    /// Reads at most `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, file: &Self::Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes`.
    fn write_at(&self, file: &Self::Handle, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the empty file `to` share the content that `from` has at one moment (ioctl_ficlone(2)). Returns false
    /// where the file system does not support it.
    fn clone_content(&self, _from: &Self::Handle, _to: &Self::Handle) -> io::Result<bool> {
        Ok(false)
    }
    /// Sets the size of a file.
    fn set_size(&self, file: &Self::Handle, size: u64) -> io::Result<()>;
    /// Sets the permission bits.
    fn set_mode(&self, handle: &Self::Handle, mode: FileMode) -> io::Result<()>;
    /// Sets owner and group.
    fn set_owner(&self, handle: &Self::Handle, user: u32, group: u32) -> io::Result<()>;
    /// Sets the time of modification; the time of the last access is unchanged.
    fn set_modified(&self, _file: &Self::Handle, _modified: Time) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Returns all extended attributes that the caller may see, ordered by name. Empty where the file system has none.
    fn xattrs(&self, handle: &Self::Handle) -> io::Result<Vec<Xattr>>;
    /// Sets one extended attribute.
    fn set_xattr(&self, handle: &Self::Handle, name: &[u8], value: &[u8]) -> io::Result<()>;
    /// Removes one extended attribute.
    fn remove_xattr(&self, handle: &Self::Handle, name: &[u8]) -> io::Result<()>;

    /// Links the file `from` under a second name.
    fn link(
        &self,
        from_parent: &Self::Handle,
        from: &[u8],
        to_parent: &Self::Handle,
        to: &[u8],
    ) -> io::Result<()>;
    /// Moves a name.
    fn rename(
        &self,
        from_parent: &Self::Handle,
        from: &[u8],
        to_parent: &Self::Handle,
        to: &[u8],
        rename: Rename,
    ) -> io::Result<()>;
    /// Removes the name of a file.
    fn unlink(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<()>;
    /// Makes a directory. The umask applies.
    fn make_directory(&self, parent: &Self::Handle, name: &[u8], mode: FileMode) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, parent: &Self::Handle, name: &[u8]) -> io::Result<()>;

    /// Makes a file's bytes and size durable (`fdatasync`).
    fn sync_data(&self, file: &Self::Handle, barrier: Barrier) -> io::Result<()>;
    /// Makes a file with its attributes, or the names in a directory, durable (`fsync`).
    fn sync(&self, handle: &Self::Handle, barrier: Barrier) -> io::Result<()>;
    /// Makes the whole file system durable (`syncfs`).
    fn sync_all(&self, handle: &Self::Handle, barrier: Barrier) -> io::Result<()>;

    /// Takes an exclusive lock that ends with the handle. Returns false if another process holds it and `wait` is not
    /// set.
    fn lock(&self, file: &Self::Handle, wait: bool) -> io::Result<bool>;
    /// Releases the lock at once, also where a process that is about to start another program has a copy of the handle
    /// (flock(2)).
    fn unlock(_file: &Self::Handle)
    where
        Self: Sized,
    {
    }
    /// Returns the number of bytes that this process can still write to the file system of an open directory
    /// (fstatvfs(3)).
    fn free_bytes(&self, directory: &Self::Handle) -> io::Result<u64>;
    /// Returns the number of handles that the process can hold at once (`RLIMIT_NOFILE`, getrlimit(2)).
    fn handles_max(&self) -> usize;
    /// Returns the current epoch.
    fn epoch(&self, root: &Self::Handle) -> io::Result<Epoch>;
    /// Returns the current time; never behind the stamp of a file that was just written.
    fn now(&self) -> Time;
    /// Returns the bits that the process removes from the mode of what it creates (umask(2)).
    fn umask(&self) -> u32;
    /// Returns the user and group that new files of this process get.
    fn identity(&self) -> (u32, u32);
    /// Returns true if this process can make a file that belongs to this user and group (chown(2)).
    fn can_give_to(&self, user: u32, group: u32) -> bool;
    /// Returns the id of this process, for the holder's note in the lock.
    fn process(&self) -> u32;
    /// Returns 64 random bits.
    fn random(&self) -> io::Result<u64>;
}
