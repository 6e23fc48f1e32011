//! Reads all files of a plugin package into memory without following symbolic links.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::package::PackageProblem;

/// Maximum number of files in a package.
pub(super) const FILES_MAX: usize = 2000;
/// Maximum total size of all files in a package: 32 MiB.
pub(super) const BYTES_MAX: u64 = 32 << 20;
/// Maximum depth of nested directories in a package.
pub(super) const DEPTH_MAX: usize = 32;

/// File of a package, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackedFile {
    /// True if the owner may execute the file. All other mode bits are ignored.
    pub(super) is_executable: bool,
    pub(super) bytes: Vec<u8>,
}

/// Files of a package by relative path. Path components are separated by `/`.
pub(super) type Files = BTreeMap<String, PackedFile>;

type Result<T> = std::result::Result<T, PackageProblem>;

/// Reads all files of the package in `directory`. Skips `node_modules/.bin`, whose links to programs cannot be imported.
pub(super) fn read(directory: &Path) -> Result<Files> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = match openat(CWD, directory, flags, Mode::empty()) {
        Ok(root) => root,
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(PackageProblem::NoDirectory),
        Err(error) => return Err(unreadable("")(error)),
    };
    let mut reading = Reading { files: Files::new(), bytes: 0 };
    reading.directory(root, "", 0)?;
    Ok(reading.files)
}

struct Reading {
    files: Files,
    bytes: u64,
}

fn unreadable(path: &str) -> impl FnOnce(Errno) -> PackageProblem {
    let path = path.to_owned();
    move |error| PackageProblem::Unreadable { path, why: io::Error::from(error) }
}

impl Reading {
    fn directory(&mut self, directory: OwnedFd, path: &str, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(PackageProblem::TooDeep { path: path.to_owned() });
        }
        for name in names(&directory, path)? {
            let at = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let found = statat(&directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
            let found = found.map_err(unreadable(&at))?;
            // Only regular files and directories are opened, because opening a device can have side effects.
            match kind(&found, &at)? {
                Kind::Directory if is_of_programs(&at) => {}
                Kind::Directory => {
                    let flags =
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let inner = openat(&directory, name.as_str(), flags, Mode::empty());
                    self.directory(inner.map_err(unreadable(&at))?, &at, depth + 1)?;
                }
                Kind::File => self.file(&directory, &name, at)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, directory: &OwnedFd, name: &str, at: String) -> Result<()> {
        if self.files.len() >= FILES_MAX {
            return Err(PackageProblem::TooManyFiles);
        }
        // `NONBLOCK` keeps the call from blocking if the file has been replaced by a pipe in the meantime.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(directory, name, flags, Mode::empty()).map_err(unreadable(&at))?;
        let found = fstat(&opened).map_err(unreadable(&at))?;
        match kind(&found, &at)? {
            Kind::File if found.st_nlink > 1 => {
                return Err(PackageProblem::HardLink { path: at });
            }
            Kind::File => {}
            Kind::Directory => return Err(PackageProblem::Special { path: at, is: "a directory" }),
        }
        let mut bytes = Vec::new();
        let left = BYTES_MAX.saturating_sub(self.bytes);
        // Read one byte past the limit to detect a file that is too large.
        let read = File::from(opened).take(left.saturating_add(1)).read_to_end(&mut bytes);
        let read = read.map_err(|why| PackageProblem::Unreadable { path: at.clone(), why })?;
        self.bytes = self.bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        if self.bytes > BYTES_MAX {
            return Err(PackageProblem::TooLarge);
        }
        let is_executable = Mode::from_raw_mode(found.st_mode).contains(Mode::XUSR);
        self.files.insert(at, PackedFile { is_executable, bytes });
        Ok(())
    }
}

/// Returns true if the path is a `node_modules/.bin` directory, which contains links to programs.
fn is_of_programs(path: &str) -> bool {
    path == "node_modules/.bin" || path.ends_with("/node_modules/.bin")
}

enum Kind {
    File,
    Directory,
}

fn kind(found: &Stat, path: &str) -> Result<Kind> {
    let is = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => return Ok(Kind::File),
        FileType::Directory => return Ok(Kind::Directory),
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "neither a file nor a directory",
    };
    Err(PackageProblem::Special { path: path.to_owned(), is })
}

/// Lists the names in a directory in sorted order. Fails if there are more names than a package may have files.
fn names(directory: &OwnedFd, path: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).map_err(unreadable(path))? {
        let entry = entry.map_err(unreadable(path))?;
        let name = entry.file_name().to_bytes();
        if [&b"."[..], b".."].contains(&name) {
            continue;
        }
        let Ok(name) = std::str::from_utf8(name) else {
            let within = path.to_owned();
            return Err(PackageProblem::NoText { within, name: name.to_owned() });
        };
        if names.len() > FILES_MAX {
            return Err(PackageProblem::TooManyFiles);
        }
        names.push(name.to_owned());
    }
    names.sort();
    Ok(names)
}
