//! Implements the system calls of the engine on Linux with `rustix`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use actum_core::{Digest, FileMode, RelPath};
use rustix::fs::{
    self, Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags,
    StatxFlags, XattrFlags,
};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Barrier, Disk, Epoch, Kind, Rename, Stat, Time, Xattr, ext4};

/// Returns the system error for a name that does not exist (`ENOENT`).
pub fn nothing_there() -> io::Error {
    Errno::NOENT.into()
}

/// Real file system of a Linux host.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinuxDisk;

/// Restricts path resolution to paths beneath the root, without links and on the same file system (openat2(2)).
const CONFINED: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

const PARENT: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::RDONLY);
/// Flags for opening a symbolic link itself instead of its target (open(2), `O_PATH`).
const LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const OWN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::RDWR);

impl LinuxDisk {
    /// Creates a directory like [`Disk::make_directory`], but without the additional syncs for ext4 without a journal. On
    /// such a file system, the directory is not protected against a power cut until everything has been synced.
    ///
    /// # Errors
    /// Returns the error of the system call.
    pub fn make_plain_directory(
        &self,
        parent: &OwnedFd,
        name: &[u8],
        mode: FileMode,
    ) -> io::Result<()> {
        Ok(fs::mkdirat(parent, name, Mode::from_raw_mode(mode.bits()))?)
    }

    /// Opens a path with `openat2`. If the kernel or a seccomp filter does not support it, opens one component after the
    /// other.
    fn open_confined(root: &OwnedFd, path: &[u8], last: OFlags) -> io::Result<OwnedFd> {
        loop {
            match fs::openat2(root, path, last, Mode::empty(), CONFINED) {
                Ok(handle) => return Ok(handle),
                // The lookup raced with a rename elsewhere on the system, so the kernel requests a retry.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => return Self::open_stepwise(root, path, last),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open_stepwise(root: &OwnedFd, path: &[u8], last: OFlags) -> io::Result<OwnedFd> {
        let mount = MountOf::new(root)?;
        let mut components = path.split(|&b| b == b'/').peekable();
        let mut current: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let flags = if components.peek().is_some() { PARENT } else { last };
            let parent = current.as_ref().unwrap_or(root);
            let next = fs::openat(parent, component, flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|error| match error {
                    // With `O_PATH | O_DIRECTORY`, the kernel reports a symbolic link as `ENOTDIR`.
                    Errno::NOTDIR if is_symlink(parent, component) => Errno::LOOP,
                    other => other,
                })?;
            if MountOf::new(&next)? != mount {
                return Err(Errno::XDEV.into());
            }
            current = Some(next);
        }
        current.ok_or_else(|| Errno::NOENT.into())
    }
}

/// Identity of the mount of a handle, used on hosts without openat2(2). The device alone is not sufficient, because a
/// bind mount has the same device as its source. Linux before 5.8 reports only the device.
#[derive(Debug, PartialEq, Eq)]
struct MountOf {
    device: u64,
    id: Option<u64>,
}

impl MountOf {
    fn new(handle: &OwnedFd) -> io::Result<Self> {
        let device = fs::fstat(handle)?.st_dev;
        let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
        let id = match fs::statx(handle, c"", flags, StatxFlags::MNT_ID) {
            Ok(stat) => {
                let is_reported = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                is_reported.then_some(stat.stx_mnt_id)
            }
            Err(Errno::NOSYS | Errno::PERM) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { device, id })
    }
}

/// Reads a short file in `/proc` or `/sys`, up to 64 bytes.
pub(super) fn read_kernel_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = [0u8; 64];
    let size = retry(|| rustix::io::read(&file, &mut text))?;
    Ok(text.get(..size).unwrap_or_default().to_vec())
}

/// Returns true if the error is an I/O error of the storage device (`EIO`).
pub(crate) fn is_input_output(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Returns true if a call failed with `EBADF`, as calls do on a handle that was opened with `O_PATH` (open(2)).
fn is_bad_handle(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::BADF.raw_os_error())
}

/// Returns true if a handle refers to a symbolic link.
fn is_link(handle: &OwnedFd) -> bool {
    fs::fstat(handle).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Symlink)
}

/// Reads the target of an open symbolic link into `buffer` (readlinkat(2) with an empty path).
fn read_link_at(link: &OwnedFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let target = fs::readlinkat(link, c"", Vec::new())?.into_bytes();
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = target.get(start..).unwrap_or_default();
    let count = rest.len().min(buffer.len());
    for (to, from) in buffer.iter_mut().zip(rest) {
        *to = *from;
    }
    Ok(count)
}

/// Returns true if a call failed because of a symbolic link (`ELOOP`, open(2) with `O_NOFOLLOW`).
pub(crate) fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

fn is_symlink(parent: &OwnedFd, name: &[u8]) -> bool {
    fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Ok(value) => return Ok(value),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads an attribute value or list of unknown length, up to 64 KiB (xattr(7)).
fn read_growing(
    read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    let mut small = [0u8; 256];
    match read(&mut small) {
        Ok(size) => return Ok(small.get(..size).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {}
        Err(error) => return Err(error),
    }
    let mut large = vec![0u8; 64 << 10];
    let size = read(&mut large)?;
    large.truncate(size);
    Ok(large)
}

fn facts(stat: &fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Kind::Special,
    };
    let time = |seconds: i64, nanos: u64| {
        Time(seconds.saturating_mul(1_000_000_000).saturating_add_unsigned(nanos))
    };
    Stat {
        kind,
        device: stat.st_dev,
        inode: stat.st_ino,
        links: stat.st_nlink,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: if kind == Kind::Symlink { FileMode::LINK } else { FileMode::new(stat.st_mode) },
        user: stat.st_uid,
        group: stat.st_gid,
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

impl Disk for LinuxDisk {
    type Handle = OwnedFd;

    fn open_root(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
                Ok(handle) => return Ok(handle),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Without openat2(2), symbolic links in the path are not detected.
                Err(Errno::NOSYS | Errno::PERM) => {
                    return retry(|| fs::openat(CWD, path, flags, Mode::empty()));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open_parent(&self, root: &OwnedFd, path: &RelPath) -> io::Result<OwnedFd> {
        Self::open_confined(root, path.as_bytes(), PARENT)
    }

    fn open_directory(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        Self::open_confined(parent, name, DIRECTORY)
    }

    fn open_file(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        Self::open_confined(parent, name, FILE)
    }

    fn open_link(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        let link = Self::open_confined(parent, name, LINK)?;
        if is_link(&link) { Ok(link) } else { Err(Errno::INVAL.into()) }
    }

    fn make_link(&self, parent: &OwnedFd, name: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(fs::symlinkat(target, parent, name)?)
    }

    fn open_own(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        Self::open_confined(parent, name, OWN)
    }

    fn create(&self, parent: &OwnedFd, name: &[u8], mode: FileMode) -> io::Result<OwnedFd> {
        let flags = OWN | OFlags::CREATE | OFlags::EXCL;
        retry(|| fs::openat(parent, name, flags, Mode::from_raw_mode(mode.bits())))
    }

    fn may_write(&self, directory: &OwnedFd) -> io::Result<()> {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        match fs::accessat(directory, ".", access, AtFlags::EACCESS) {
            // Before Linux 5.8, or with a seccomp filter that rejects the call, permissions cannot be checked in
            // advance. The actual operation will report the error.
            Ok(()) | Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn stat(&self, handle: &OwnedFd) -> io::Result<Stat> {
        Ok(facts(&fs::fstat(handle)?))
    }

    fn stat_at(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<Option<Stat>> {
        match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(facts(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn list(&self, directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    fn read_at(&self, file: &OwnedFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let wanted = rest.len();
            let position = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
            let read = match retry(|| rustix::io::pread(file, &mut *rest, position)) {
                Err(error) if is_bad_handle(&error) && is_link(file) => {
                    return read_link_at(file, buffer, offset);
                }
                read => read?,
            };
            filled += read;
            // For a regular file, a short read means that the end was reached. A caller that must be certain reads again.
            if read < wanted {
                break;
            }
        }
        Ok(filled)
    }

    fn write_at(&self, file: &OwnedFd, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = retry(|| rustix::io::pwrite(file, bytes, offset))?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(written..).unwrap_or_default();
            offset = offset.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    fn clone_content(&self, from: &OwnedFd, to: &OwnedFd) -> io::Result<bool> {
        match fs::ioctl_ficlone(to, from) {
            Ok(()) => Ok(true),
            // File systems report an unsupported operation with different errors.
            Err(
                Errno::OPNOTSUPP
                | Errno::NOTTY
                | Errno::INVAL
                | Errno::XDEV
                | Errno::NOSYS
                | Errno::PERM
                | Errno::ACCESS
                | Errno::TXTBSY
                | Errno::INTR,
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn set_size(&self, file: &OwnedFd, size: u64) -> io::Result<()> {
        retry(|| fs::ftruncate(file, size))
    }

    fn set_mode(&self, handle: &OwnedFd, mode: FileMode) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode.bits());
        match retry(|| fs::fchmod(handle, mode)) {
            // A directory that its owner cannot read is opened with `O_PATH`. Its mode can only be changed through
            // `/proc/self/fd` (proc_pid_fd(5)).
            Err(error) if is_bad_handle(&error) && !is_link(handle) => {
                let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
                retry(|| fs::chmodat(fs::CWD, &path, mode, AtFlags::empty()))
            }
            changed => changed,
        }
    }

    fn set_owner(&self, handle: &OwnedFd, user: u32, group: u32) -> io::Result<()> {
        let (user, group) = (fs::Uid::from_raw(user), fs::Gid::from_raw(group));
        match retry(|| fs::fchown(handle, Some(user), Some(group))) {
            Err(error) if is_bad_handle(&error) && is_link(handle) => {
                retry(|| fs::chownat(handle, c"", Some(user), Some(group), AtFlags::EMPTY_PATH))
            }
            changed => changed,
        }
    }

    fn set_modified(&self, file: &OwnedFd, Time(modified): Time) -> io::Result<()> {
        const SECOND: i64 = 1_000_000_000;
        let times = fs::Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT },
            last_modification: Timespec {
                tv_sec: modified.div_euclid(SECOND),
                tv_nsec: modified.rem_euclid(SECOND),
            },
        };
        match retry(|| fs::futimens(file, &times)) {
            Err(error) if is_bad_handle(&error) && is_link(file) => {
                retry(|| fs::utimensat(file, c"", &times, AtFlags::EMPTY_PATH))
            }
            set => set,
        }
    }

    fn xattrs(&self, handle: &OwnedFd) -> io::Result<Vec<Xattr>> {
        let names = match read_growing(|buffer| fs::flistxattr(handle, buffer)) {
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
            Err(Errno::BADF) if is_link(handle) => return Ok(Vec::new()),
            names => names?,
        };
        let mut xattrs = Vec::new();
        for name in names.split_inclusive(|&b| b == 0) {
            let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
            let value = read_growing(|buffer| fs::fgetxattr(handle, name, buffer))?;
            xattrs.push((name.to_bytes().to_vec(), value));
        }
        xattrs.sort();
        Ok(xattrs)
    }

    fn set_xattr(&self, handle: &OwnedFd, name: &[u8], value: &[u8]) -> io::Result<()> {
        retry(|| fs::fsetxattr(handle, name, value, XattrFlags::empty()))
    }

    fn remove_xattr(&self, handle: &OwnedFd, name: &[u8]) -> io::Result<()> {
        retry(|| fs::fremovexattr(handle, name))
    }

    fn link(
        &self,
        from_parent: &OwnedFd,
        from: &[u8],
        to_parent: &OwnedFd,
        to: &[u8],
    ) -> io::Result<()> {
        Ok(fs::linkat(from_parent, from, to_parent, to, AtFlags::empty())?)
    }

    fn rename(
        &self,
        from_parent: &OwnedFd,
        from: &[u8],
        to_parent: &OwnedFd,
        to: &[u8],
        rename: Rename,
    ) -> io::Result<()> {
        let flags = match rename {
            Rename::NoReplace => RenameFlags::NOREPLACE,
            Rename::Exchange => RenameFlags::EXCHANGE,
            Rename::Replace => RenameFlags::empty(),
        };
        Ok(fs::renameat_with(from_parent, from, to_parent, to, flags)?)
    }

    fn unlink(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(parent, name, AtFlags::empty())?)
    }

    fn make_directory(&self, parent: &OwnedFd, name: &[u8], mode: FileMode) -> io::Result<()> {
        self.make_plain_directory(parent, name, mode)?;
        ext4::settle(parent, name)
    }

    fn remove_directory(&self, parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
        fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
        ext4::settle(parent, b".")
    }

    fn sync_data(&self, file: &OwnedFd, _: Barrier) -> io::Result<()> {
        // Never retry after `EIO`: the kernel has dropped the dirty pages, so a second call would succeed wrongly.
        retry(|| fs::fdatasync(file))
    }

    fn sync(&self, handle: &OwnedFd, _: Barrier) -> io::Result<()> {
        retry(|| fs::fsync(handle))
    }

    fn sync_all(&self, handle: &OwnedFd, _: Barrier) -> io::Result<()> {
        retry(|| fs::syncfs(handle))
    }

    fn lock(&self, file: &OwnedFd, wait: bool) -> io::Result<bool> {
        let operation = if wait {
            FlockOperation::LockExclusive
        } else {
            FlockOperation::NonBlockingLockExclusive
        };
        loop {
            match fs::flock(file, operation) {
                Ok(()) => return Ok(true),
                Err(Errno::WOULDBLOCK) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn unlock(file: &OwnedFd) {
        // Unlocking an open file cannot fail, and the lock is released with the handle in any case.
        let _is_open = fs::flock(file, FlockOperation::Unlock);
    }

    fn free_bytes(&self, directory: &OwnedFd) -> io::Result<u64> {
        let stat = retry(|| fs::fstatvfs(directory))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn handles_max(&self) -> usize {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
    }

    /// Returns the epoch, which consists of the boot ID and the mount ID. The mount ID is included because unsynced writes
    /// can be lost when a file system is unmounted and mounted again without a reboot.
    fn epoch(&self, root: &OwnedFd) -> io::Result<Epoch> {
        let boot = read_kernel_file(Path::new("/proc/sys/kernel/random/boot_id"))?;
        // `STATX_MNT_ID_UNIQUE` (Linux 6.8) returns an ID that is never reused during a boot.
        const MOUNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
        let mount = match fs::statx(root, c"", AtFlags::EMPTY_PATH, MOUNT_ID_UNIQUE) {
            Ok(statx) if statx.stx_mask & MOUNT_ID_UNIQUE.bits() != 0 => statx.stx_mnt_id,
            Ok(_) | Err(_) => 0,
        };
        let digest = Digest::of(&boot);
        let boot = digest.as_bytes().first_chunk::<8>().copied().unwrap_or_default();
        Ok(Epoch::new(boot, mount.to_le_bytes()))
    }

    fn born(&self, handle: &OwnedFd) -> io::Result<Option<Time>> {
        let statx = match fs::statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME) {
            // The kernel is older than Linux 4.11, or a seccomp filter rejects the call.
            Err(Errno::NOSYS | Errno::PERM) => return Ok(None),
            statx => statx?,
        };
        let is_known = statx.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = statx.stx_btime;
        let time =
            born.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(born.tv_nsec));
        Ok(is_known.then_some(Time(time)))
    }

    fn now(&self) -> Time {
        let now = clock_gettime(ClockId::Realtime);
        Time(now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec))
    }

    /// Reads the umask from `/proc`, because umask(2) can only read it by changing it for all threads. Returns the
    /// strictest umask (0077) if `/proc` is not available.
    fn umask(&self) -> u32 {
        let read = || {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = fs::openat(CWD, "/proc/self/status", flags, Mode::empty()).ok()?;
            let mut text = [0u8; 512];
            let size = self.read_at(&file, &mut text, 0).ok()?;
            let text = std::str::from_utf8(text.get(..size)?).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        };
        read().unwrap_or(0o077)
    }

    fn identity(&self) -> (u32, u32) {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }

    fn can_give_to(&self, user: u32, group: u32) -> bool {
        let (own, own_group) = self.identity();
        let is_member = || {
            let groups = rustix::process::getgroups().unwrap_or_default();
            groups.iter().any(|member| member.as_raw() == group)
        };
        own == 0 || user == own && (group == own_group || is_member())
    }

    fn process(&self) -> u32 {
        rustix::process::getpid().as_raw_nonzero().get().unsigned_abs()
    }

    fn random(&self) -> io::Result<u64> {
        let mut bytes = [0u8; 8];
        let size =
            retry(|| rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()))?;
        if size < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(u64::from_le_bytes(bytes))
    }
}
