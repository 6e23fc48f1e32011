//! System calls on the directories and files in the home of the ledger, which are accessed relative to open handles.
//!
//! An entry is opened first and then checked through its handle (fstat(2)). It is never checked by its path, because the
//! path could refer to a different entry a moment later.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    self, Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags,
    StatxFlags,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use super::NEW;
use super::problem::{HomeError, Thing};

/// Maximum number of attempts to take a lock that another process holds briefly. With [`LOCK_PAUSE`] between the
/// attempts, they take two seconds in total.
const LOCK_TRIES: u32 = 100;
/// Pause between two attempts to take a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Open directory that belongs to the current user and is not accessible to other users.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

/// Held file lock (flock(2)), which is released when it is dropped or when the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    handle: OwnedFd,
    path: PathBuf,
}

/// Mode in which a lock is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Any number of processes may hold the lock in shared mode at the same time.
    Shared,
    /// No other process may hold the lock at the same time.
    Exclusive,
}

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Flags for opening a file. If there is a FIFO in its place, opening it does not block.
const FILE: OFlags =
    OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// Permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

impl Directory {
    /// Opens the directory at a path. Returns `None` if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, HomeError> {
        Self::open_at(CWD, path.as_os_str(), path.to_owned())
    }

    /// Creates the directory at a path, together with its missing parent directories. Only the user has access to them, as
    /// required by the XDG Base Directory Specification.
    pub(crate) fn make(path: &Path) -> Result<(), HomeError> {
        let make = |path: &Path| fs::mkdirat(CWD, path, mode_of(Thing::Directory));
        let mut missing = Vec::new();
        for ancestor in path.ancestors() {
            match make(ancestor) {
                Ok(()) | Err(Errno::EXIST) => break,
                Err(Errno::NOENT) => missing.push(ancestor),
                Err(error) => return Err(refused("create", ancestor.to_owned(), error)),
            }
        }
        for path in missing.into_iter().rev() {
            match make(path) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(refused("create", path.to_owned(), error)),
            }
        }
        Ok(())
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the subdirectory with this name. Returns `None` if it does not exist.
    pub(crate) fn directory(&self, name: &str) -> Result<Option<Self>, HomeError> {
        Self::open_at(&self.handle, OsStr::new(name), self.path.join(name))
    }

    /// Opens the subdirectory with this name, and creates it if it does not exist.
    pub(crate) fn directory_made(&self, name: &str) -> Result<Self, HomeError> {
        match fs::mkdirat(&self.handle, name, mode_of(Thing::Directory)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(refused("create", self.path.join(name), error)),
        }
        let gone = || refused("open", self.path.join(name), Errno::NOENT);
        self.directory(name)?.ok_or_else(gone)
    }

    /// Reads the file with this name, which may have at most `max` bytes. Returns `None` if it does not exist.
    pub(crate) fn read(
        &self,
        name: &str,
        max: usize,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, HomeError> {
        let path = self.path.join(name);
        let opened = retry(|| fs::openat(&self.handle, name, FILE | OFlags::RDONLY, Mode::empty()));
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(HomeError::Symlink { path, what: Thing::File }),
            Err(error) => return Err(refused("open", path, error)),
        };
        let stat = check(&file, &path, Thing::File)?;
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        if size > max {
            return Err(HomeError::TooLarge { path, max });
        }
        // Allocate the entire buffer first, because a growing one would leave copies of private keys in memory.
        let mut bytes = Zeroizing::new(vec![0; size]);
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match retry(|| rustix::io::read(&file, &mut *rest)) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) => return Err(refused("read", path, error)),
            }
        }
        bytes.truncate(filled);
        Ok(Some(bytes))
    }

    /// Creates a file with this name, which must not exist. Its content is durable afterwards, but its name is not.
    pub(crate) fn create(&self, name: &str, bytes: &[u8]) -> Result<(), HomeError> {
        let created = self.written(name, bytes).and_then(|file| {
            // Do not retry after EIO, because a second call would report success although the data is lost.
            retry(|| fs::fsync(&file))
        });
        created.map_err(|error| refused("write", self.path.join(name), error))
    }

    fn written(&self, name: &str, bytes: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = retry(|| fs::openat(&self.handle, name, flags, mode_of(Thing::File)))?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = retry(|| rustix::io::write(&file, rest))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(file)
    }

    /// Replaces the content of a file atomically and durably, or creates the file.
    ///
    /// The caller must ensure that no other process replaces the file at the same time. If an error occurs, the file keeps
    /// its old content, but after a power cut it may have either content.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), HomeError> {
        let new = format!("{name}{NEW}");
        self.remove(&new)?;
        self.create(&new, bytes)?;
        let has_old = match self.rename_with(&new, name, RenameFlags::EXCHANGE) {
            Ok(()) => true,
            Err(Errno::NOENT) => {
                self.rename(&new, name)?;
                false
            }
            // The file system does not support `RENAME_EXCHANGE`.
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.rename(&new, name)?;
                return self.sync();
            }
            Err(error) => return Err(refused("rename", self.path.join(&new), error)),
        };
        if let Err(error) = self.sync() {
            match has_old {
                true => self.rename(&new, name)?,
                false => self.remove(name)?,
            }
            return Err(error);
        }
        drop(self.remove(&new)); // a leftover is removed by the next call
        Ok(())
    }

    /// Replaces a file like [`Self::replace`], but not durably. After a crash of the machine, the file may contain
    /// arbitrary bytes.
    pub(crate) fn replace_for_now(&self, name: &str, bytes: &[u8]) -> Result<(), HomeError> {
        let new = format!("{name}{NEW}");
        self.remove(&new)?;
        let written = self.written(&new, bytes);
        written.map_err(|error| refused("write", self.path.join(&new), error))?;
        self.rename(&new, name)
    }

    /// Makes the content and the name of a file durable.
    pub(crate) fn sync_file(&self, name: &str) -> Result<(), HomeError> {
        let synced = retry(|| fs::openat(&self.handle, name, FILE | OFlags::RDONLY, Mode::empty()))
            .and_then(|file| retry(|| fs::fsync(&file)));
        synced.map_err(|error| refused("sync", self.path.join(name), error))?;
        self.sync()
    }

    /// Returns the device number of the file system that contains the directory.
    pub(crate) fn device(&self) -> Result<u64, HomeError> {
        let stat = fs::fstat(&self.handle);
        stat.map(|stat| stat.st_dev).map_err(|error| refused("inspect", self.path.clone(), error))
    }

    /// Renames an entry within the directory. An existing entry with the new name is replaced.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), HomeError> {
        self.rename_with(from, to, RenameFlags::empty())
            .map_err(|error| refused("rename", self.path.join(from), error))
    }

    fn rename_with(&self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        fs::renameat_with(&self.handle, from, &self.handle, to, flags)
    }

    /// Removes the file with this name if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<(), HomeError> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes the empty subdirectory with this name if it exists.
    pub(crate) fn remove_directory(&self, name: &str) -> Result<(), HomeError> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<(), HomeError> {
        match fs::unlinkat(&self.handle, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(refused("remove", self.path.join(name), error)),
        }
    }

    /// Lists the names in the directory in ascending order. Names that are not UTF-8 are omitted, because actum creates
    /// none.
    pub(crate) fn names(&self) -> Result<Vec<String>, HomeError> {
        let list = || {
            let mut names = Vec::new();
            for entry in fs::Dir::read_from(&self.handle)? {
                let name = entry?.file_name().to_owned();
                names.extend(name.into_string().ok().filter(|name| name != "." && name != ".."));
            }
            names.sort();
            Ok(names)
        };
        list().map_err(|error| refused("list", self.path.clone(), error))
    }

    /// Removes leftovers of interrupted writes, which are files with a temporary name that were modified more than `seconds`
    /// before the file `written`.
    pub(crate) fn remove_cut_off(&self, written: &str, seconds: i64) -> Result<(), HomeError> {
        let modified = |name: &str| match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
        {
            Ok(found) => Ok(Some(found.st_mtime)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(refused("inspect", self.path.join(name), error)),
        };
        let Some(now) = modified(written)? else { return Ok(()) };
        for name in self.names()?.iter().filter(|name| name.ends_with(NEW)) {
            if modified(name)?.is_some_and(|begun| now.saturating_sub(begun) > seconds) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Makes the names in the directory durable.
    pub(crate) fn sync(&self) -> Result<(), HomeError> {
        retry(|| fs::fsync(&self.handle)).map_err(|error| refused("sync", self.path.clone(), error))
    }

    /// Makes the names on the path to the directory durable.
    ///
    /// Parent directories that cannot be opened for lack of permission are skipped, because actum cannot have created
    /// anything in them.
    pub(crate) fn sync_way(&self) -> Result<(), HomeError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        for above in self.path.ancestors().skip(1) {
            match fs::openat(CWD, above, flags, Mode::empty()) {
                Ok(handle) => retry(|| fs::fsync(&handle)),
                Err(Errno::ACCESS | Errno::PERM) => Ok(()),
                Err(error) => Err(error),
            }
            .map_err(|error| refused("sync", above.to_owned(), error))?;
        }
        Ok(())
    }

    /// Returns an error if the process has no permission to write to the directory.
    pub(crate) fn check_writable(&self) -> Result<(), HomeError> {
        let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        match fs::accessat(&self.handle, ".", access, AtFlags::EACCESS) {
            // Before Linux 5.8, the kernel cannot check this. A missing permission is then detected by the first write.
            Ok(()) | Err(Errno::NOSYS | Errno::INVAL) => Ok(()),
            Err(error) => {
                Err(HomeError::Unwritable { path: self.path.clone(), source: error.into() })
            }
        }
    }

    /// Takes the lock with this name, and waits until it is available. Creates the lock file if it does not exist.
    pub(crate) fn lock(&self, name: &str, sharing: Sharing) -> Result<Lock, HomeError> {
        let operation = match sharing {
            Sharing::Shared => FlockOperation::LockShared,
            Sharing::Exclusive => FlockOperation::LockExclusive,
        };
        let path = self.path.join(name);
        let taken = self.take_lock(name, OFlags::CREATE, operation)?;
        taken.ok_or_else(|| refused("lock", path, Errno::AGAIN))
    }

    /// Takes the lock with this name exclusively. Returns `None` if it does not exist or another process holds it.
    pub(crate) fn lock_if_free(&self, name: &str) -> Result<Option<Lock>, HomeError> {
        found(self.take_lock(name, OFlags::empty(), FlockOperation::NonBlockingLockExclusive))
    }

    /// Takes the lock with this name exclusively. Returns `None` if it does not exist.
    ///
    /// Waits for a process that holds the lock briefly, and returns an error if it is not released within two seconds.
    pub(crate) fn lock_soon(&self, name: &str) -> Result<Option<Lock>, HomeError> {
        let operation = FlockOperation::NonBlockingLockExclusive;
        for _ in 0..LOCK_TRIES {
            match self.take_lock(name, OFlags::empty(), operation) {
                Ok(None) => std::thread::sleep(LOCK_PAUSE),
                taken => return found(taken),
            }
        }
        let held = "another process holds the lock, such as a suspended `actum status`; end that process \
                    and try again";
        let source = io::Error::new(io::ErrorKind::WouldBlock, held);
        Err(HomeError::System { doing: "lock", path: self.path.join(name), source })
    }

    /// Takes the lock with this name exclusively, and creates it if it does not exist. Returns `None` if another process
    /// holds it.
    pub(crate) fn lock_if_free_made(&self, name: &str) -> Result<Option<Lock>, HomeError> {
        loop {
            let operation = FlockOperation::NonBlockingLockExclusive;
            let Some(lock) = self.take_lock(name, OFlags::CREATE, operation)? else {
                return Ok(None);
            };
            // The previous holder may have removed the file between opening and locking it here. A lock on a removed file
            // has no effect, because the next process would lock a new file.
            let stat = fs::fstat(&lock.handle);
            let stat = stat.map_err(|error| refused("inspect", lock.path.clone(), error))?;
            if stat.st_nlink != 0 {
                return Ok(Some(lock));
            }
        }
    }

    fn take_lock(
        &self,
        name: &str,
        flags: OFlags,
        operation: FlockOperation,
    ) -> Result<Option<Lock>, HomeError> {
        let path = self.path.join(name);
        let flags = FILE | OFlags::RDWR | flags;
        let handle = match retry(|| fs::openat(&self.handle, name, flags, mode_of(Thing::File))) {
            Ok(handle) => handle,
            Err(Errno::LOOP) => return Err(HomeError::Symlink { path, what: Thing::File }),
            Err(error) => return Err(refused("open", path, error)),
        };
        check(&handle, &path, Thing::File)?;
        match retry(|| fs::flock(&handle, operation)) {
            Ok(()) => Ok(Some(Lock { handle, path })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(refused("lock", path, error)),
        }
    }

    fn open_at(
        parent: impl std::os::fd::AsFd,
        name: &OsStr,
        path: PathBuf,
    ) -> Result<Option<Self>, HomeError> {
        let name = name.as_bytes();
        // Reject symbolic links in the entire path. Otherwise, another process could replace a parent directory with a
        // link, so that each access would reach a different directory.
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let handle = match retry(|| fs::openat2(&parent, name, DIRECTORY, Mode::empty(), resolve)) {
            Err(Errno::NOSYS | Errno::PERM) => {
                retry(|| fs::openat(&parent, name, DIRECTORY, Mode::empty()))
            }
            opened => opened,
        };
        let handle = match handle {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            // The kernel may report a symbolic link as either of these errors. The distinction only affects the message.
            Err(Errno::LOOP) => return Err(HomeError::Symlink { path, what: Thing::Directory }),
            Err(Errno::NOTDIR) => {
                let what = Thing::Directory;
                let found = fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
                let is_link = found
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
                return Err(match is_link {
                    true => HomeError::Symlink { path, what },
                    false => HomeError::Other { path, what },
                });
            }
            Err(error) => return Err(refused("open", path, error)),
        };
        check(&handle, &path, Thing::Directory)?;
        Ok(Some(Self { handle, path }))
    }
}

impl Lock {
    /// Returns whether all names guarded by the lock were recorded as durable and have not been changed since.
    pub(crate) fn is_settled(&self) -> Result<bool, HomeError> {
        match fs::fstat(&self.handle) {
            Ok(stat) => Ok(stat.st_size > 0),
            Err(error) => Err(refused("inspect", self.path.clone(), error)),
        }
    }

    /// Records whether all names guarded by the lock are durable.
    ///
    /// The record itself does not need to be durable, because every name that is left after a power cut is durable.
    pub(crate) fn settle(&self, is_settled: bool) -> Result<(), HomeError> {
        retry(|| fs::ftruncate(&self.handle, u64::from(is_settled)))
            .map_err(|error| refused("write", self.path.clone(), error))
    }
}

/// Identity of a file, made up of the device of its file system and its inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId((u32, u32), u64);

impl FileId {
    /// Returns the id of the entry at `path` without following a symbolic link.
    ///
    /// Requests only the inode number. Since Linux 6.13, querying timestamps forces the kernel to give the next write a
    /// distinct timestamp, which makes the next sync slower.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let found = fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO)?;
        Ok(Self((found.stx_dev_major, found.stx_dev_minor), found.stx_ino))
    }
}

/// Returns 32 random bytes from the kernel.
pub(crate) fn random() -> io::Result<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    // Requests of up to 256 bytes are never served partially (getrandom(2)).
    match retry(|| getrandom(&mut *bytes, GetRandomFlags::empty()))? {
        32 => Ok(bytes),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Checks that an open entry has the expected kind, belongs to the current user and is not accessible to other users.
fn check(handle: &OwnedFd, path: &Path, what: Thing) -> Result<fs::Stat, HomeError> {
    let stat = fs::fstat(handle).map_err(|error| refused("inspect", path.to_owned(), error))?;
    let path = || path.to_owned();
    let wanted = match what {
        Thing::Directory => FileType::Directory,
        Thing::File => FileType::RegularFile,
    };
    let user = rustix::process::geteuid().as_raw();
    let mode = stat.st_mode & 0o7777;
    if FileType::from_raw_mode(stat.st_mode) != wanted {
        Err(HomeError::Other { path: path(), what })
    } else if stat.st_uid != user {
        Err(HomeError::Owner { path: path(), owner: stat.st_uid, user })
    } else if mode & OTHERS != 0 {
        Err(HomeError::TooOpen { path: path(), what, mode })
    } else {
        Ok(stat)
    }
}

fn mode_of(what: Thing) -> Mode {
    Mode::from_raw_mode(what.mode())
}

/// Converts the error for a missing lock file to `None`.
fn found(taken: Result<Option<Lock>, HomeError>) -> Result<Option<Lock>, HomeError> {
    match taken {
        Err(HomeError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        taken => taken,
    }
}

fn refused(doing: &'static str, path: PathBuf, error: Errno) -> HomeError {
    HomeError::System { doing, path, source: error.into() }
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
