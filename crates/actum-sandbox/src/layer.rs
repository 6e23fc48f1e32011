//! Layers: changes over a directory in a view, as overlayfs keeps them. A name of a character
//! device 0/0 is a file that was deleted; a directory marked opaque hides all below it (overlayfs,
//! kernel documentation).

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

/// The mark of an opaque directory, where an ordinary user mounts (`userxattr`).
pub(crate) const OPAQUE: &CStr = c"user.overlay.opaque";
/// Mark of an entry that was copied from below before it was changed.
const ORIGIN: &CStr = c"user.overlay.origin";
/// Limit of nested directories in the changes of a command.
const DEPTH_MAX: usize = 128;
/// Largest file whose content is compared, in bytes. A larger one that was opened for writing is
/// reported as modified.
const COMPARED_MAX: u64 = 64 << 20;
/// The bits of a mode that chmod(2) sets.
const MODE_BITS: RawMode = 0o7777;

/// Changes of a command in its view. They exist while this is held, and nowhere else.
#[derive(Debug)]
pub struct Layer {
    root: OwnedFd,
    /// Directories below it, uppermost first.
    lower: Vec<OwnedFd>,
    /// Path of the last of these when the command was started.
    base: PathBuf,
    caches: Vec<PathBuf>,
    /// The command began after this; every later change of a file has a later stamp.
    since: Timespec,
}

/// One path that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the base of the view.
    pub path: PathBuf,
    /// State before the command, with the staged changes; `None` if nothing was there.
    pub before: Option<Node>,
    /// State after the command; `None` if nothing is there.
    pub after: Option<Node>,
    /// True if another process moved, made or removed something here while the command ran, so that
    /// it worked on another state than is reported. [`Layer::changed_meanwhile`] does so for the
    /// content of a file.
    pub is_disturbed: bool,
}

/// Kind of an entry at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File {
        /// Permissions, set-id bits and sticky bit.
        mode: u32,
        /// In bytes.
        size: u64,
    },
    /// A directory.
    Directory {
        /// Same bits as for files.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// Target as stored in the link.
        target: PathBuf,
    },
    /// A FIFO, a socket or a device.
    Special {
        /// Same bits as for files.
        mode: u32,
    },
}

/// Reason why a layer could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// An entry could not be read or made.
    #[error("cannot {step} `{}`: {why}", path.display())]
    Io {
        /// Attempted step.
        step: &'static str,
        /// Path of the entry.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// Directories lie too deep in each other to be taken over.
    #[error("`{}` lies more than {DEPTH_MAX} directories deep", .0.display())]
    TooDeep(PathBuf),
    /// A path that leads out of the layer, or nowhere.
    #[error("`{}` is no path in a view: it must be relative, without `.` and `..`", .0.display())]
    Path(PathBuf),
    /// Another directory is at the path of the base.
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
    /// The layer that captured the changes in a view over `lower`.
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

    /// Returns all paths that differ from before, with the staged changes. The parents of what was
    /// made come before it, and a deleted entry comes before the directory that held it. A file
    /// that was opened for writing and is as before is left out, unless it is larger than 64 MiB.
    ///
    /// # Errors
    /// [`LayerError`] if something cannot be read, lies too deep, or the base is another directory
    /// than it was.
    pub fn changes(&self) -> Result<Vec<Change>> {
        self.check_base()?;
        let mut changes = Vec::from_iter(self.mode_of_base()?);
        let here = Place { path: PathBuf::new(), depth: 0 };
        self.compare(&reopen(&self.root)?, self.reopened()?, (&here, Below::Seen), &mut changes)?;
        changes.retain(|change| !self.caches.iter().any(|cache| change.path.starts_with(cache)));
        Ok(changes)
    }

    /// Returns a change of the permissions of the base itself, with the path `.`. Set-id bits are
    /// ignored, because an ordinary user may not be able to set them on the layer.
    fn mode_of_base(&self) -> Result<Option<Change>> {
        const BITS: RawMode = 0o1777;
        let Some(base) = self.lower.last() else { return Ok(None) };
        let mode = |directory| {
            let stat = rustix::fs::fstat(directory).doing("look at", &self.base)?;
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

    /// Rejects a base whose path leads to another directory than when the command was started.
    fn check_base(&self) -> Result<()> {
        let Some(base) = self.lower.last() else { return Ok(()) };
        let there = match statat(CWD, &self.base, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Err(LayerError::Replaced(self.base.clone())),
            found => found.doing("look at", &self.base)?,
        };
        let was = rustix::fs::fstat(base).doing("look at", &self.base)?;
        match (there.st_dev, there.st_ino) == (was.st_dev, was.st_ino) {
            true => Ok(()),
            false => Err(LayerError::Replaced(self.base.clone())),
        }
    }

    /// Tests whether it is the directory at `path`, and not in memory.
    pub fn is_at(&self, path: &Path) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let there = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        there.is_ok_and(|there| rustix::fs::fstat(&self.root).map(identity) == Ok(there))
    }

    /// Opens a file that the command made or changed.
    ///
    /// # Errors
    /// If it is missing, or is no file.
    pub fn open(&self, path: &Path) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = openat2(&self.root, path, flags, Mode::empty(), resolve);
        file.map(File::from).doing("open", path)
    }

    /// Opens a file as it was before the command, with the staged changes: a file that these delete
    /// or replace is not seen, though it is still below.
    ///
    /// # Errors
    /// If it was missing, or was no file.
    pub fn open_before(&self, path: &Path) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut at = Place { path: PathBuf::new(), depth: 0 };
        let mut lower = self.reopened()?;
        for directory in path.parent().into_iter().flat_map(Path::components) {
            let name = name_of(directory, path)?;
            at = at.join(&name)?;
            // An entry that is no directory has nothing to look into.
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
                Err(error) => return Err(error).doing("look at", path),
            }
        }
        Err(Errno::NOENT).doing("open", path)
    }

    /// Returns true if another process changed such a file, or put it there, while the command ran.
    /// Call it after reading: if false, the bytes that were read are those from when the command
    /// began.
    ///
    /// # Errors
    /// If the file cannot be inspected.
    pub fn changed_meanwhile(&self, before: &File) -> io::Result<bool> {
        let stat = rustix::fs::fstat(before)?;
        Ok(self.is_since(stat.st_ctime, stat.st_ctime_nsec))
    }

    fn reopened(&self) -> Result<Vec<OwnedFd>> {
        self.lower.iter().map(reopen).collect()
    }

    /// Compares a directory of the layer with those that lie below it. If a directory was removed
    /// and made again, nothing below it, or below the directories in it, is seen.
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
                .doing("look at", &at.path)?;
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
            // The content of a directory is removed with it when it is replaced.
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

    /// Returns true if another process changed, while the command ran, a directory that this change
    /// removes, replaces or hides.
    fn is_disturbed_below(
        &self,
        (upper, lower, name): (&OwnedFd, &[OwnedFd], &CStr),
        below: Option<&(Node, Vec<OwnedFd>)>,
        directory: Option<&OwnedFd>,
        seen: Below,
    ) -> Result<bool> {
        match (directory, below) {
            // Nothing of it is left below: another process that changed the directory removed it.
            (_, None) => Ok(self.any_changed(lower)? && was_copied(upper, name, directory)),
            // A directory that was made at a free path, or one that was moved to the path of
            // another.
            (Some(_), Some((_, held))) if !held.is_empty() && seen == Below::Seen => {
                Ok(!was_copied(upper, name, directory) || self.any_moved(held, lower)?)
            }
            // A hidden directory below: the command did not see its changes.
            (_, Some((_, held))) => self.any_changed(held),
        }
    }

    /// Returns true if another process changed, while the command ran, the link at a name.
    /// Permissions of a directory that the command changed as well count, too. Links have no
    /// content that could be compared later.
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
                Err(error) => return Err(error).doing("look at", &at.path),
            }
        }
        Ok(false)
    }

    /// Reports the former entry as deleted, with all that it held.
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
        // No command saw the entries that came into it, or with it.
        let is_disturbed = self.any_changed(&held)? || is_disturbed;
        self.remove_contents(&held, None, at, changes)?;
        let (path, before) = (at.path.clone(), Some(before));
        changes.push(Change { path, before, after: None, is_disturbed });
        Ok(())
    }

    /// Reports the content of a directory as deleted, except for what `but` holds.
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

    /// Returns true if any of these directories was changed since the command began: in its names,
    /// or itself.
    fn any_changed(&self, directories: &[OwnedFd]) -> Result<bool> {
        self.any(directories, |stat| self.is_since(stat.st_ctime, stat.st_ctime_nsec))
    }

    /// Returns true if any of these directories may have been moved, or got other permissions,
    /// since the command began.
    ///
    /// A move changes the status of the directory and the names of its parent, and a new name in
    /// the directory hides the former. So a directory with new names in a parent with new names
    /// counts as moved: what lies there may be another one. (The origin that overlayfs notes has no
    /// file handle where an ordinary user mounts.)
    fn any_moved(&self, directories: &[OwnedFd], parents: &[OwnedFd]) -> Result<bool> {
        let is_moved = self.any(directories, |stat| {
            self.is_since(stat.st_ctime, stat.st_ctime_nsec)
                && !self.is_since(stat.st_mtime, stat.st_mtime_nsec)
        })?;
        Ok(is_moved || self.any_changed(directories)? && self.any_changed(parents)?)
    }

    fn any(&self, directories: &[OwnedFd], is_so: impl Fn(&Stat) -> bool) -> Result<bool> {
        for directory in directories {
            let stat = rustix::fs::fstat(directory).doing("look at", Path::new("."))?;
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

/// Returns true if an entry of the layer was copied there from below, and not made by the command.
/// A file that was copied and then renamed counts, too.
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

/// Opens the directories below the layer of a view, uppermost first.
pub(crate) fn open_lower(view: &View) -> io::Result<Vec<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &PathBuf| openat(CWD, path, flags, Mode::empty());
    let lower = view.staged.iter().chain([&view.base]).map(open);
    Ok(lower.collect::<rustix::io::Result<_>>()?)
}

/// Returns true if a layer has an entry at a path that is not the mark of a removed one.
pub(crate) fn is_in(layer: &OwnedFd, path: &Path) -> bool {
    statat(layer, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| !is_whiteout(&stat))
}

/// Visibility of the directories below a directory of the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Seen,
    Hidden,
}

/// Position of a walk.
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

/// One name of a path in a view.
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

/// A second handle of a directory, read from its beginning.
fn reopen(directory: &OwnedFd) -> Result<OwnedFd> {
    open_directory(directory, c".", &Place { path: PathBuf::new(), depth: 0 })
}

fn open_directory(parent: &OwnedFd, name: &CStr, at: &Place) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).doing("open", &at.path)
}

/// The names in a directory, in order.
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

/// Returns the entry at a name of the lower directories taken together. For a directory, returns
/// also those of which it consists.
fn find(lower: &[OwnedFd], name: &CStr, at: &Place) -> Result<Option<(Node, Vec<OwnedFd>)>> {
    let mut found: Option<(Node, Vec<OwnedFd>)> = None;
    for directory in lower {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error).doing("look at", &at.path),
        };
        if is_whiteout(&stat) {
            break;
        }
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory {
            // Behind a directory of the layer above it, a file is hidden.
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
