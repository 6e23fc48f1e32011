//! Layers: changes to a directory in a view, in the format of overlayfs. A character device with number
//! 0/0 marks a deleted entry, and a directory marked as opaque hides the directories below it (kernel
//! documentation of overlayfs).

mod content;
mod staged;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, fgetxattr, lgetxattr,
    openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

pub use staged::StagedLayer;

use crate::policy::View;

use content::Compared;

/// Extended attribute that marks an opaque directory in mounts with `userxattr`.
pub(crate) const OPAQUE: &CStr = c"user.overlay.opaque";
/// Extended attribute that marks an entry copied from a lower directory before it was changed.
const ORIGIN: &CStr = c"user.overlay.origin";
/// Maximum depth of nested directories in the changes of a command.
const DEPTH_MAX: usize = 128;
/// Maximum size in bytes of files whose content is compared. A larger file is reported as modified if the
/// command opened it for writing.
const COMPARED_MAX: u64 = 64 << 20;
/// Mode bits that chmod(2) can set.
const MODE_BITS: RawMode = 0o7777;

/// Changes that a command made in its view. If the layer is in memory, dropping this discards them.
#[derive(Debug)]
pub struct Layer {
    root: OwnedFd,
    /// Lower directories of the view, uppermost first.
    lower: Vec<OwnedFd>,
    /// Path of the last lower directory, the base of the view, when the command was started.
    base: PathBuf,
    caches: Vec<PathBuf>,
    /// Time before the command started. Files changed since then have a later timestamp.
    since: Timespec,
}

/// Difference at one path between the states before and after the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path relative to the base of the view.
    pub path: PathBuf,
    /// State before the command, including staged changes, or `None` if the path did not exist.
    pub before: Option<Node>,
    /// State after the command, or `None` if the path no longer exists.
    pub after: Option<Node>,
    /// Whether another process moved, created or removed entries here while the command ran, so that the
    /// command worked on a different state than `before`. For changes to the content of a file, see
    /// [`Layer::changed_meanwhile`].
    pub is_disturbed: bool,
}

/// Kind and attributes of a file system entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File {
        /// Permissions, set-id bits and sticky bit.
        mode: u32,
        /// Size in bytes.
        size: u64,
    },
    /// A directory.
    Directory {
        /// Permissions, set-id bits and sticky bit.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// Target as stored in the link.
        target: PathBuf,
    },
    /// A FIFO, a socket or a device.
    Special {
        /// Permissions, set-id bits and sticky bit.
        mode: u32,
    },
}

/// Error while reading or creating a layer.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// An entry could not be read or created.
    #[error("cannot {step} `{}`: {why}", path.display())]
    Io {
        /// Attempted step, such as `open`.
        step: &'static str,
        /// Path of the entry.
        path: PathBuf,
        /// Error reported by the system.
        why: io::Error,
    },
    /// Directories are nested too deeply.
    #[error("`{}` is nested more than {DEPTH_MAX} directories deep", .0.display())]
    TooDeep(PathBuf),
    /// The path is empty, absolute, or contains `.`, `..` or a NUL byte.
    #[error("`{}` is not a valid path in a view: it must be relative, without `.` and `..`", .0.display())]
    Path(PathBuf),
    /// The base of the view was removed or replaced.
    #[error("`{}` was replaced by another directory while the command ran", .0.display())]
    Replaced(PathBuf),
}

type Result<T> = std::result::Result<T, LayerError>;

trait ResultExt<T> {
    fn doing(self, step: &'static str, path: &Path) -> Result<T>;
}

impl<T> ResultExt<T> for rustix::io::Result<T> {
    fn doing(self, step: &'static str, path: &Path) -> Result<T> {
        self.map_err(io::Error::from).doing(step, path)
    }
}

impl<T> ResultExt<T> for io::Result<T> {
    fn doing(self, step: &'static str, path: &Path) -> Result<T> {
        self.map_err(|why| LayerError::Io { step, path: path.to_owned(), why })
    }
}

impl Layer {
    /// Creates the handle of a layer that captured the changes in a view over `lower`.
    pub(crate) fn captured(
        root: OwnedFd,
        view: &View,
        lower: Vec<OwnedFd>,
        since: Timespec,
    ) -> Self {
        let caches = view.caches.iter().filter_map(|path| path.strip_prefix(&view.base).ok());
        let caches = caches.map(Path::to_owned).collect();
        Self { root, lower, base: view.base.clone(), caches, since }
    }

    /// Returns all paths whose state differs from before the command, including staged changes. New
    /// directories come before their entries, and deleted entries before their directory. Unchanged files
    /// are left out, except that files over 64 MiB are included if they were opened for writing.
    ///
    /// # Errors
    /// Returns [`LayerError`] if an entry cannot be read or is nested too deeply, or if the base was
    /// replaced.
    pub fn changes(&self) -> Result<Vec<Change>> {
        self.check_base()?;
        let mut changes = Vec::from_iter(self.mode_of_base()?);
        let here = Place { path: PathBuf::new(), depth: 0 };
        self.compare(&reopen(&self.root)?, self.reopened()?, (&here, Below::Seen), &mut changes)?;
        changes.retain(|change| !self.caches.iter().any(|cache| change.path.starts_with(cache)));
        Ok(changes)
    }

    /// Returns the change to the permissions of the base itself, if any, with the path `.`. Set-ID bits
    /// are ignored because ordinary users may be unable to set them on the layer.
    fn mode_of_base(&self) -> Result<Option<Change>> {
        const BITS: RawMode = 0o1777;
        let Some(base) = self.lower.last() else { return Ok(None) };
        let mode = |directory| {
            let stat = rustix::fs::fstat(directory).doing("inspect", &self.base)?;
            Ok(stat.st_mode & BITS)
        };
        let (before, after) = (mode(base)?, mode(&self.root)?);
        let node = |mode| Some(Node::Directory { mode });
        Ok((before != after).then(|| Change {
            path: PathBuf::from("."),
            before: node(before),
            after: node(after),
            is_disturbed: false,
        }))
    }

    /// Returns an error if the path of the base no longer leads to the directory it led to at the start.
    fn check_base(&self) -> Result<()> {
        let Some(base) = self.lower.last() else { return Ok(()) };
        let there = match statat(CWD, &self.base, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Err(LayerError::Replaced(self.base.clone())),
            found => found.doing("inspect", &self.base)?,
        };
        let was = rustix::fs::fstat(base).doing("inspect", &self.base)?;
        match (there.st_dev, there.st_ino) == (was.st_dev, was.st_ino) {
            true => Ok(()),
            false => Err(LayerError::Replaced(self.base.clone())),
        }
    }

    /// Returns whether the layer is stored in the directory at `path`, and not in memory.
    pub fn is_at(&self, path: &Path) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let there = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        there.is_ok_and(|there| rustix::fs::fstat(&self.root).map(identity) == Ok(there))
    }

    /// Opens a file that the command created or changed.
    ///
    /// # Errors
    /// Returns an error if the path is not in the layer or cannot be opened.
    pub fn open(&self, path: &Path) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = openat2(&self.root, path, flags, Mode::empty(), resolve);
        file.map(File::from).doing("open", path)
    }

    /// Opens a file as it was before the command, including staged changes. Files of the base that the
    /// staged changes delete or replace are not found.
    ///
    /// # Errors
    /// Returns an error if the file did not exist or cannot be opened.
    pub fn open_before(&self, path: &Path) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut at = Place { path: PathBuf::new(), depth: 0 };
        let mut lower = self.reopened()?;
        for directory in path.parent().into_iter().flat_map(Path::components) {
            let name = name_of(directory, path)?;
            at = at.join(&name)?;
            // For an entry that is not a directory, the list is empty, so the search fails below.
            lower = find(&lower, &name, &at)?.map(|(_, held)| held).unwrap_or_default();
        }
        let name = path.components().next_back().ok_or_else(|| LayerError::Path(path.to_owned()));
        let name = name_of(name?, path)?;
        for directory in lower {
            match statat(&directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_whiteout(&stat) => break,
                Ok(_) => {
                    let file = openat(&directory, name.as_c_str(), flags, Mode::empty());
                    return file.map(File::from).doing("open", path);
                }
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error).doing("inspect", path),
            }
        }
        Err(Errno::NOENT).doing("open", path)
    }

    /// Returns whether another process changed or created a file of the lower directories while the
    /// command ran. Call this after reading: if it returns false, the bytes read are those from before
    /// the command.
    ///
    /// # Errors
    /// Returns an error if the file cannot be inspected.
    pub fn changed_meanwhile(&self, before: &File) -> io::Result<bool> {
        let stat = rustix::fs::fstat(before)?;
        Ok(self.is_since(stat.st_ctime, stat.st_ctime_nsec))
    }

    fn reopened(&self) -> Result<Vec<OwnedFd>> {
        self.lower.iter().map(reopen).collect()
    }

    /// Compares a directory of the layer with the lower directories at the same path. If the command
    /// removed and recreated a directory, its former content and everything below it is hidden.
    fn compare(
        &self,
        upper: &OwnedFd,
        lower: Vec<OwnedFd>,
        (here, seen): (&Place, Below),
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        for name in names(upper, here)? {
            let at = here.join(&name)?;
            let stat = statat(upper, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)
                .doing("inspect", &at.path)?;
            let below = find(&lower, &name, &at)?;
            if is_whiteout(&stat) {
                self.remove((&lower, &name), &at, changes)?;
                continue;
            }
            let after = node(upper, &name, &stat, &at)?;
            let directory = match after {
                Node::Directory { .. } => Some(open_directory(upper, &name, &at)?),
                Node::File { .. } | Node::Symlink { .. } | Node::Special { .. } => None,
            };
            let seen = match &directory {
                Some(directory) if !is_opaque(directory) => seen,
                Some(_) | None => Below::Hidden,
            };
            let is_disturbed =
                self.is_disturbed_at((&lower, &name), below.as_ref(), Some(&after), &at)?
                    || self.is_disturbed_below(
                        (upper, &lower, &name),
                        below.as_ref(),
                        directory.as_ref(),
                        seen,
                    )?;
            // Replacing a directory also removes its content.
            let (before, held) = match below {
                Some((before, held)) => (Some(before), held),
                None => (None, Vec::new()),
            };
            if seen == Below::Hidden {
                self.remove_contents(&held, directory.as_ref(), &at, changes)?;
            }
            let compared = match is_disturbed || before.as_ref() != Some(&after) {
                true => Compared::Other,
                false => self.compare_content((upper, &lower), &name, &after, &at)?,
            };
            let is_disturbed = is_disturbed || compared == Compared::SameMeanwhile;
            if compared != Compared::Same {
                let (path, after) = (at.path.clone(), Some(after));
                changes.push(Change { path, before, after, is_disturbed });
            }
            if let Some(directory) = directory {
                self.compare(&directory, held, (&at, seen), changes)?;
            }
        }
        Ok(())
    }

    /// Returns whether, while the command ran, another process changed a directory that the command's
    /// change removes, replaces or hides.
    fn is_disturbed_below(
        &self,
        (upper, lower, name): (&OwnedFd, &[OwnedFd], &CStr),
        below: Option<&(Node, Vec<OwnedFd>)>,
        directory: Option<&OwnedFd>,
        seen: Below,
    ) -> Result<bool> {
        match (directory, below) {
            // A copied entry no longer exists below, so a process that changed its directory removed it.
            (_, None) => Ok(self.any_changed(lower)? && was_copied(upper, name, directory)),
            // The directory was created at a free path, or the lower directory was moved while the
            // command ran.
            (Some(_), Some((_, held))) if !held.is_empty() && seen == Below::Seen => {
                Ok(!was_copied(upper, name, directory) || self.any_moved(held, lower)?)
            }
            // The lower directory is hidden, so the command did not see changes to it.
            (_, Some((_, held))) => self.any_changed(held),
        }
    }

    /// Returns whether another process changed the symbolic link at a name while the command ran, because
    /// links have no content to compare later. Also checks directories whose permissions the command
    /// changed.
    fn is_disturbed_at(
        &self,
        (lower, name): (&[OwnedFd], &CStr),
        below: Option<&(Node, Vec<OwnedFd>)>,
        after: Option<&Node>,
        at: &Place,
    ) -> Result<bool> {
        let is_at_stake = match (below.map(|(before, _)| before), after) {
            (Some(Node::Symlink { .. }), _) => true,
            (Some(Node::Directory { mode: before }), Some(Node::Directory { mode: after })) => {
                before != after
            }
            (Some(_) | None, _) => false,
        };
        if !is_at_stake {
            return Ok(false);
        }
        for directory in lower {
            match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => return Ok(self.is_since(stat.st_ctime, stat.st_ctime_nsec)),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error).doing("inspect", &at.path),
            }
        }
        Ok(false)
    }

    /// Reports the former entry and all its content as deleted.
    fn remove(
        &self,
        (lower, name): (&[OwnedFd], &CStr),
        at: &Place,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let Some((before, held)) = find(lower, name, at)? else { return Ok(()) };
        let below = (before, held);
        let is_disturbed = self.is_disturbed_at((lower, name), Some(&below), None, at)?;
        let (before, held) = below;
        // The command did not see entries that another process added to the directory.
        let is_disturbed = self.any_changed(&held)? || is_disturbed;
        self.remove_contents(&held, None, at, changes)?;
        let (path, before) = (at.path.clone(), Some(before));
        changes.push(Change { path, before, after: None, is_disturbed });
        Ok(())
    }

    /// Reports the content of a directory as deleted, except names that also exist in `but`.
    fn remove_contents(
        &self,
        held: &[OwnedFd],
        but: Option<&OwnedFd>,
        at: &Place,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let mut all = BTreeSet::new();
        for directory in held {
            all.extend(names(directory, at)?);
        }
        if let Some(but) = but {
            let kept = names(but, at)?;
            all.retain(|name| !kept.contains(name));
        }
        for name in all {
            let at = at.join(&name)?;
            self.remove((held, &name), &at, changes)?;
        }
        Ok(())
    }

    /// Returns whether the entries or the attributes of any of these directories changed since the command
    /// started.
    fn any_changed(&self, directories: &[OwnedFd]) -> Result<bool> {
        self.any(directories, |stat| self.is_since(stat.st_ctime, stat.st_ctime_nsec))
    }

    /// Returns whether any of these directories may have been moved, or had its permissions changed, since
    /// the command started.
    ///
    /// Moving a directory changes its status and the entries of its parent, but a later change to its own
    /// entries conceals the change of status. Therefore a directory counts as moved if both its entries and
    /// those of its parent changed. (The origin that overlayfs records for mounts by ordinary users contains
    /// no file handle.)
    fn any_moved(&self, directories: &[OwnedFd], parents: &[OwnedFd]) -> Result<bool> {
        let is_moved = self.any(directories, |stat| {
            self.is_since(stat.st_ctime, stat.st_ctime_nsec)
                && !self.is_since(stat.st_mtime, stat.st_mtime_nsec)
        })?;
        Ok(is_moved || self.any_changed(directories)? && self.any_changed(parents)?)
    }

    fn any(&self, directories: &[OwnedFd], is_so: impl Fn(&Stat) -> bool) -> Result<bool> {
        for directory in directories {
            let stat = rustix::fs::fstat(directory).doing("inspect", Path::new("."))?;
            if is_so(&stat) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_since(&self, seconds: i64, nanoseconds: impl TryInto<i64>) -> bool {
        (seconds, nanoseconds.try_into().unwrap_or(i64::MAX))
            > (self.since.tv_sec, self.since.tv_nsec)
    }
}

/// Returns whether overlayfs copied an entry of the layer from below, in contrast to an entry that the
/// command created. Entries that were renamed after copying are included.
fn was_copied(parent: &OwnedFd, name: &CStr, directory: Option<&OwnedFd>) -> bool {
    let mut value = [0; 256];
    match directory {
        Some(directory) => fgetxattr(directory, ORIGIN, &mut value).is_ok(),
        None => {
            let parent = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd()));
            let path = parent.join(OsStr::from_bytes(name.to_bytes()));
            lgetxattr(path, ORIGIN, &mut value).is_ok()
        }
    }
}

/// Opens the lower directories of a view, uppermost first.
pub(crate) fn open_lower(view: &View) -> io::Result<Vec<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &PathBuf| openat(CWD, path, flags, Mode::empty());
    let lower = view.staged.iter().chain([&view.base]).map(open);
    Ok(lower.collect::<rustix::io::Result<_>>()?)
}

/// Returns whether a layer has an entry at a path other than the mark of a deleted one.
pub(crate) fn is_in(layer: &OwnedFd, path: &Path) -> bool {
    statat(layer, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| !is_whiteout(&stat))
}

/// Visibility of the lower directories at the path of a layer's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Seen,
    Hidden,
}

/// Current position while walking a directory tree.
struct Place {
    path: PathBuf,
    depth: usize,
}

impl Place {
    fn join(&self, name: &CStr) -> Result<Self> {
        let path = self.path.join(OsStr::from_bytes(name.to_bytes()));
        if self.depth >= DEPTH_MAX {
            return Err(LayerError::TooDeep(path));
        }
        Ok(Self { path, depth: self.depth + 1 })
    }
}

/// Converts a path component to a file name. Returns an error for a root, prefix, `.` or `..`.
fn name_of(component: Component<'_>, path: &Path) -> Result<CString> {
    match component {
        Component::Normal(name) => {
            CString::new(name.as_bytes()).map_err(|_| LayerError::Path(path.to_owned()))
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(LayerError::Path(path.to_owned()))
        }
    }
}

/// Opens another handle of a directory, which lists its entries from the start.
fn reopen(directory: &OwnedFd) -> Result<OwnedFd> {
    open_directory(directory, c".", &Place { path: PathBuf::new(), depth: 0 })
}

fn open_directory(parent: &OwnedFd, name: &CStr, at: &Place) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).doing("open", &at.path)
}

/// Returns the sorted names of the entries in a directory.
fn names(directory: &OwnedFd, at: &Place) -> Result<BTreeSet<CString>> {
    let mut names = BTreeSet::new();
    for entry in Dir::read_from(directory).doing("list", &at.path)? {
        let entry = entry.doing("list", &at.path)?;
        if ![c".", c".."].contains(&entry.file_name()) {
            names.insert(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

fn is_opaque(directory: &OwnedFd) -> bool {
    let mut value = [0; 4];
    matches!(fgetxattr(directory, OPAQUE, &mut value), Ok(length) if value.get(..length) == Some(b"y"))
}

fn node(parent: &OwnedFd, name: &CStr, stat: &Stat, at: &Place) -> Result<Node> {
    let mode = stat.st_mode & MODE_BITS;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Node::File { mode, size: u64::try_from(stat.st_size).unwrap_or(0) }
        }
        FileType::Directory => Node::Directory { mode },
        FileType::Symlink => {
            let target = readlinkat(parent, name, Vec::new()).doing("read", &at.path)?;
            Node::Symlink { target: OsStr::from_bytes(target.as_bytes()).into() }
        }
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Node::Special { mode },
    })
}

/// Returns the entry that the merged lower directories show at a name. For a directory, also returns the
/// directories of which it is merged.
fn find(lower: &[OwnedFd], name: &CStr, at: &Place) -> Result<Option<(Node, Vec<OwnedFd>)>> {
    let mut found: Option<(Node, Vec<OwnedFd>)> = None;
    for directory in lower {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error).doing("inspect", &at.path),
        };
        if is_whiteout(&stat) {
            break;
        }
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory {
            // A directory found in an upper layer hides this file.
            let node = node(directory, name, &stat, at)?;
            return Ok(found.or(Some((node, Vec::new()))));
        }
        let opened = open_directory(directory, name, at)?;
        let hides = is_opaque(&opened);
        match &mut found {
            Some((_, parts)) => parts.push(opened),
            None => found = Some((node(directory, name, &stat, at)?, vec![opened])),
        }
        if hides {
            break;
        }
    }
    Ok(found)
}
