//! Settings files of clients. A file is read and replaced only if this user owns it, and symbolic links are not followed.

use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::failure::ProtectFailure;

/// Maximum size of a settings file, in bytes.
const SETTINGS_BYTES_MAX: u64 = 4 << 20;
/// Temporary name of a new settings file until it is renamed over the old one.
const TEMPORARY: &str = ".actum-protect.tmp";

/// Settings file as it was read, or its path if it does not exist yet.
pub(crate) struct SettingsFile {
    path: PathBuf,
    /// Open directory of the file, or `None` if the directory does not exist.
    directory: Option<OwnedFd>,
    found: Option<(Vec<u8>, Stat)>,
}

impl SettingsFile {
    /// Reads the settings file at `path`, if it exists.
    ///
    /// # Errors
    /// Returns `File` if the path is not a regular file owned by this user, is a symbolic link or has several hard links.
    /// Returns `Io` if reading fails.
    pub(crate) fn read(path: &Path) -> Result<Self, ProtectFailure> {
        let path = path.to_owned();
        let fails = |action, errno: Errno| {
            let (path, source) = (path.clone(), errno.into());
            ProtectFailure::Io { path, action, source }
        };
        let refuse = |what| ProtectFailure::File { path: path.clone(), what };
        let above = path.parent().unwrap_or(Path::new("/"));
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match openat(CWD, above, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(Self { path, directory: None, found: None }),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(refuse("its directory is a symbolic link"));
            }
            Err(errno) => return Err(fails("read", errno)),
        };
        let name = path.file_name().unwrap_or_default();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&directory, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Self { path, directory: Some(directory), found: None }),
            Err(Errno::LOOP) => return Err(refuse("it is a symbolic link")),
            Err(errno) => return Err(fails("read", errno)),
        };
        let stat = fstat(&file).map_err(|errno| fails("read", errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refuse("it is not a regular file"));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refuse("it belongs to another user"));
        }
        if stat.st_nlink > 1 {
            return Err(refuse("it has more than one hard link"));
        }
        let mut content = Vec::new();
        let read = File::from(file).take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut content);
        read.map_err(|source| ProtectFailure::Io { path: path.clone(), action: "read", source })?;
        if content.len() as u64 > SETTINGS_BYTES_MAX {
            return Err(refuse("it is larger than 4 MiB"));
        }
        Ok(Self { path, directory: Some(directory), found: Some((content, stat)) })
    }

    /// Returns the content that was read, or `None` if the file did not exist.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.found.as_ref().map(|(content, _)| content.as_slice())
    }

    /// Atomically replaces the file with `content`, or removes it for `None`. After a crash, the file has either its old or
    /// its new content.
    ///
    /// # Errors
    /// Returns `File` if the file was changed after it was read, and `Io` if it cannot be written. The file is unchanged then,
    /// unless only syncing its directory failed.
    pub(crate) fn replace(self, content: Option<&[u8]>) -> Result<(), ProtectFailure> {
        let path = self.path.clone();
        let fails = |action, errno: Errno| {
            let (path, source) = (path.clone(), errno.into());
            ProtectFailure::Io { path, action, source }
        };
        let name = self.path.file_name().unwrap_or_default();
        let directory = match self.directory {
            Some(directory) => directory,
            None => {
                let above = self.path.parent().unwrap_or(Path::new("/"));
                DirBuilder::new().recursive(true).mode(0o755).create(above).map_err(|source| {
                    let (path, action) = (path.clone(), "create the directory of");
                    ProtectFailure::Io { path, action, source }
                })?;
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                openat(CWD, above, flags, Mode::empty()).map_err(|errno| fails("write", errno))?
            }
        };
        let now = rustix::fs::statat(&directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        let is_as_read = match (&now, &self.found) {
            (Err(Errno::NOENT), None) => true,
            (Ok(now), Some((_, read))) => stamps(now) == stamps(read),
            (Ok(_) | Err(_), _) => false,
        };
        if !is_as_read {
            let what = "another program changed it after it was read; try again";
            return Err(ProtectFailure::File { path: path.clone(), what });
        }
        let Some(content) = content else {
            unlinkat(&directory, name, rustix::fs::AtFlags::empty())
                .map_err(|errno| fails("remove", errno))?;
            return fsync(&directory).map_err(|errno| fails("sync", errno));
        };
        let mode = self.found.as_ref().map_or(0o644, |(_, stat)| stat.st_mode & 0o777);
        remove_temporary(&directory); // left by an earlier attempt
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&directory, TEMPORARY, flags, Mode::from_raw_mode(mode))
            .map_err(|errno| fails("write", errno))?;
        let mut file = File::from(file);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let renamed = written.map_err(|source| ProtectFailure::Io {
            path: path.clone(),
            action: "write",
            source,
        });
        let renamed = renamed.and_then(|()| {
            renameat(&directory, TEMPORARY, &directory, name).map_err(|errno| fails("write", errno))
        });
        if renamed.is_err() {
            remove_temporary(&directory);
        }
        renamed?;
        fsync(&directory).map_err(|errno| fails("sync", errno))
    }
}

/// Removes the temporary file. Failure is ignored, because the next attempt tries again.
fn remove_temporary(directory: &OwnedFd) {
    let _there_or_not = unlinkat(directory, TEMPORARY, rustix::fs::AtFlags::empty()).is_ok();
}

/// Returns the metadata by which a change of the file is detected: device, inode, size and modification time.
fn stamps(stat: &Stat) -> (u64, u64, i64, i64, u64) {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}
