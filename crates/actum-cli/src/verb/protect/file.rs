//! Settings files of clients: read and replaced without following links, and only those of this user.

use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::failure::ProtectFailure;

/// Limit of the bytes of settings.
const SETTINGS_BYTES_MAX: u64 = 4 << 20;
/// Name of the new file until it replaces the old one.
const TEMPORARY: &str = ".actum-protect.tmp";

/// Settings that were read.
pub(crate) struct SettingsFile {
    path: PathBuf,
    /// Directory; `None` if it does not exist.
    directory: Option<OwnedFd>,
    found: Option<(Vec<u8>, Stat)>,
}

impl SettingsFile {
    /// Reads the file at `path`, if there is one.
    ///
    /// # Errors
    /// `File` if it is no regular file of this user, or a link leads there; `Io`.
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
                return Err(refuse("a link leads to its directory"));
            }
            Err(errno) => return Err(fails("read", errno)),
        };
        let name = path.file_name().unwrap_or_default();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&directory, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Self { path, directory: Some(directory), found: None }),
            Err(Errno::LOOP) => return Err(refuse("it is a link")),
            Err(errno) => return Err(fails("read", errno)),
        };
        let stat = fstat(&file).map_err(|errno| fails("read", errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refuse("it is no regular file"));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refuse("it belongs to another user"));
        }
        if stat.st_nlink > 1 {
            return Err(refuse("it has other names (hard links)"));
        }
        let mut content = Vec::new();
        let read = File::from(file).take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut content);
        read.map_err(|source| ProtectFailure::Io { path: path.clone(), action: "read", source })?;
        if content.len() as u64 > SETTINGS_BYTES_MAX {
            return Err(refuse("it has more than 4 MiB"));
        }
        Ok(Self { path, directory: Some(directory), found: Some((content, stat)) })
    }

    /// Returns the content; `None` if the file does not exist.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.found.as_ref().map(|(content, _)| content.as_slice())
    }

    /// Replaces the content by `content`, or removes the file. After a crash it is the old one or the new one.
    ///
    /// # Errors
    /// `File` if it changed since it was read; `Io`. The file is unchanged.
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
                    let (path, action) = (path.clone(), "make the directory of");
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
            let what = "another program changed it since it was read; try again";
            return Err(ProtectFailure::File { path: path.clone(), what });
        }
        let Some(content) = content else {
            unlinkat(&directory, name, rustix::fs::AtFlags::empty())
                .map_err(|errno| fails("remove", errno))?;
            return fsync(&directory).map_err(|errno| fails("sync", errno));
        };
        let mode = self.found.as_ref().map_or(0o644, |(_, stat)| stat.st_mode & 0o777);
        remove_temporary(&directory); // of an earlier try
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

/// Removes the new file if it does not replace the old one; a remaining one is removed by the next attempt.
fn remove_temporary(directory: &OwnedFd) {
    let _there_or_not = unlinkat(directory, TEMPORARY, rustix::fs::AtFlags::empty()).is_ok();
}

/// Returns the values that distinguish the states of a file.
fn stamps(stat: &Stat) -> (u64, u64, i64, i64, u64) {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}
