//! Resolution of paths beneath the workspace root, with precise errors (FO-7).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use actum_core::{Digest, Hasher, RelPath};

use crate::attributes::Attributes;
use crate::disk::{Disk, Kind, Stat, Time, is_loop, nothing_there};
use crate::error::{Error, ErrorKind, NotAFile, Result, ResultExt};

/// Maximum number of directories that are kept open. Paths arrive in order, so only a few directories are in use at a
/// time.
const PARENTS_MAX: usize = 16;
/// Maximum number of directories that are kept open by a tree that records their identities. At most a quarter of the
/// process limit is used.
const REMEMBERED_MAX: usize = 256;
/// Number of directories that may be kept open before the process limit is queried.
const UNASKED_MAX: usize = 4;
/// Number of bytes that are read from a file at a time.
const PIECE: usize = 128 << 10;
/// Number of bytes in the first read of a file. It is smaller because most files are small and clearing a large buffer
/// takes time.
const FIRST_PIECE: usize = 16 << 10;
/// Age of a timestamp, in nanoseconds, below which the file could change again without getting a new timestamp. File
/// clocks tick every 10 ms in the worst case.
const STAMP_STEP: i64 = 20_000_000;

/// Directory tree beneath the workspace root, with a cache of open directories.
pub(crate) struct Tree<'a, D: Disk> {
    pub(crate) disk: &'a D,
    root: &'a D::Handle,
    parents: Parents<D::Handle>,
    /// Identity of each directory when it was first opened, if the tree records identities.
    identities: Option<RefCell<HashMap<RelPath, Identity>>>,
    /// Current maximum number of open directories. It may be raised once the process limit was queried.
    parents_max: Cell<usize>,
}

/// Device and inode number of a directory.
pub(crate) type Identity = (u64, u64);

/// Cache of open directories, by path.
pub(crate) type Parents<H> = Arc<RefCell<HashMap<RelPath, Arc<H>>>>;

/// Open handle of a parent directory, which is either the workspace root or a directory below it.
pub(crate) enum Parent<'a, H> {
    Root(&'a H),
    Below(Arc<H>),
}

impl<H> Deref for Parent<'_, H> {
    type Target = H;

    fn deref(&self) -> &H {
        match self {
            Self::Root(handle) => handle,
            Self::Below(handle) => handle,
        }
    }
}

/// Object found at a path.
pub(crate) enum Found<H> {
    Nothing,
    Directory,
    /// A regular file, or a symbolic link, which is not followed and whose content is its target.
    File(Stat, H),
    Other(NotAFile),
}

impl<'a, D: Disk> Tree<'a, D> {
    pub(crate) fn new(disk: &'a D, root: &'a D::Handle) -> Self {
        Self::sharing(disk, root, &Parents::default())
    }

    /// Creates a tree that records the identity of each directory it opens.
    pub(crate) fn remembering(disk: &'a D, root: &'a D::Handle) -> Self {
        let (identities, parents_max) = (Some(RefCell::default()), Cell::new(UNASKED_MAX));
        Self { identities, parents_max, ..Self::new(disk, root) }
    }

    /// Creates a tree that shares its cache of open directories.
    pub(crate) fn sharing(disk: &'a D, root: &'a D::Handle, parents: &Parents<D::Handle>) -> Self {
        let parents_max = Cell::new(PARENTS_MAX);
        Self { disk, root, parents: Arc::clone(parents), identities: None, parents_max }
    }

    /// Returns true if the cache is full. Queries the process limit when the first few directories are open.
    fn holds_enough(&self, held: usize) -> bool {
        if self.identities.is_some() && held == UNASKED_MAX {
            self.parents_max.set(REMEMBERED_MAX.min(self.disk.handles_max() / 4));
        }
        held >= self.parents_max.get()
    }

    /// Returns the parent directory of `path` as it was when it was first opened, or `None` if it does not exist.
    pub(crate) fn parent(&self, path: &RelPath) -> Result<Option<Parent<'a, D::Handle>>> {
        let Some(parent) = path.parent() else {
            return Ok(Some(Parent::Root(self.root)));
        };
        if let Some(handle) = self.parents.borrow().get(&parent) {
            return Ok(Some(Parent::Below(Arc::clone(handle))));
        }
        match self.disk.open_parent(self.root, &parent) {
            Ok(handle) => {
                if let Some(identities) = &self.identities {
                    let stat = self.disk.stat(&handle).doing(|| format!("inspect `{parent}`"))?;
                    let mut identities = identities.borrow_mut();
                    identities.entry(parent.clone()).or_insert((stat.device, stat.inode));
                }
                let handle = Arc::new(handle);
                let mut parents = self.parents.borrow_mut();
                if self.holds_enough(parents.len()) {
                    parents.clear();
                }
                parents.insert(parent, Arc::clone(&handle));
                Ok(Some(Parent::Below(handle)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.explain(path, error)),
        }
    }

    /// Returns the recorded identity of the parent directory of `path`. Returns `None` if the parent is the root or was
    /// not opened.
    pub(crate) fn identity(&self, path: &RelPath) -> Option<Identity> {
        self.identities.as_ref()?.borrow().get(&path.parent()?).copied()
    }

    /// Returns the parent directory of `path`, or an error if it does not exist.
    pub(crate) fn existing_parent(&self, path: &RelPath) -> Result<Parent<'a, D::Handle>> {
        self.parent(path)?.ok_or_else(|| {
            let source = nothing_there();
            ErrorKind::Io { action: format!("reach the directory of `{path}`"), source }.into()
        })
    }

    /// Drops cached handles of directories at and below `path`, which is about to be removed.
    pub(crate) fn forget(&self, path: &RelPath) {
        self.parents.borrow_mut().retain(|known, _| !known.starts_with(path));
    }

    /// Converts an error into one that names the path component that could not be entered.
    fn explain(&self, path: &RelPath, error: io::Error) -> Error {
        let mut way = Vec::new();
        for component in path.components() {
            let before = RelPath::new(way.join(&b'/')).ok();
            way.push(component);
            let Ok(here) = RelPath::new(way.join(&b'/')) else { break };
            if here == *path {
                break;
            }
            let parent = match &before {
                None => None,
                Some(before) => match self.disk.open_parent(self.root, before) {
                    Ok(handle) => Some(handle),
                    Err(_) => break,
                },
            };
            let parent = parent.as_ref().unwrap_or(self.root);
            let component = here.clone();
            match self.disk.stat_at(parent, here.name()).ok().flatten().map(|stat| stat.kind) {
                Some(Kind::Directory) | None => {}
                Some(Kind::File) => {
                    return ErrorKind::UnderAFile { path: path.clone(), component }.into();
                }
                Some(Kind::Symlink) => {
                    let found = NotAFile::Symlink;
                    return ErrorKind::Component { path: path.clone(), component, found }.into();
                }
                Some(Kind::Special) => {
                    let found = NotAFile::Special;
                    return ErrorKind::Component { path: path.clone(), component, found }.into();
                }
            }
        }
        if error.kind() == io::ErrorKind::CrossesDevices {
            return ErrorKind::OtherFileSystem { path: path.clone() }.into();
        }
        ErrorKind::Io { action: format!("reach `{path}`"), source: error }.into()
    }

    /// Finds the object at `path`. In contrast to [`find`](Self::find), a symbolic link is not treated as a file.
    pub(crate) fn find_file(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        let found = self.find(path)?;
        let is_link = matches!(&found, Found::File(stat, _) if stat.kind == Kind::Symlink);
        Ok(if is_link { Found::Other(NotAFile::Symlink) } else { found })
    }

    /// Finds the object at `path`. A regular file or symbolic link is opened for reading.
    pub(crate) fn find(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        let Some(parent) = self.parent(path)? else {
            return Ok(Found::Nothing);
        };
        let seen = self.disk.stat_at(&parent, path.name());
        match seen.doing(|| format!("inspect `{path}`"))? {
            None => Ok(Found::Nothing),
            Some(stat) => match stat.kind {
                Kind::Directory => Ok(Found::Directory),
                Kind::Special => Ok(Found::Other(NotAFile::Special)),
                Kind::File | Kind::Symlink => match open_content(self.disk, &parent, path.name()) {
                    Ok(file) => {
                        let stat = self.disk.stat(&file).doing(|| format!("inspect `{path}`"))?;
                        match stat.kind {
                            Kind::File | Kind::Symlink => Ok(Found::File(stat, file)),
                            Kind::Directory => Ok(Found::Directory),
                            Kind::Special => Ok(Found::Other(NotAFile::Special)),
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                        Err(ErrorKind::OtherFileSystem { path: path.clone() }.into())
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
                    Err(source) => {
                        Err(ErrorKind::Io { action: format!("open `{path}`"), source }.into())
                    }
                },
            },
        }
    }

    /// Returns the owner, mode and extended attributes of an open file or directory.
    pub(crate) fn attributes(&self, handle: &D::Handle, stat: &Stat) -> io::Result<Attributes> {
        Ok(Attributes {
            mode: stat.mode,
            user: stat.user,
            group: stat.group,
            xattrs: self.disk.xattrs(handle)?,
        })
    }

    /// Returns the owner, mode and extended attributes of the directory at `path`.
    pub(crate) fn directory_attributes(&self, path: &RelPath) -> Result<Attributes> {
        let doing = || format!("inspect the directory `{path}`");
        let parent = self.existing_parent(path)?;
        let directory = self.disk.open_directory(&parent, path.name()).doing(doing)?;
        let stat = self.disk.stat(&directory).doing(doing)?;
        self.attributes(&directory, &stat).doing(doing)
    }

    /// Lists the names in the directory at `path`.
    pub(crate) fn names(&self, path: &RelPath) -> Result<Vec<Vec<u8>>> {
        let doing = || format!("list the directory `{path}`");
        let parent = self.existing_parent(path)?;
        let directory = self.disk.open_directory(&parent, path.name()).doing(doing)?;
        self.disk.list(&directory).doing(doing)
    }
}

/// Opens a file for reading. A symbolic link is opened itself instead of being followed.
pub(crate) fn open_content<D: Disk>(
    disk: &D,
    directory: &D::Handle,
    name: &[u8],
) -> io::Result<D::Handle> {
    match disk.open_file(directory, name) {
        Err(error) if is_loop(&error) => disk.open_link(directory, name),
        opened => opened,
    }
}

/// Passes the content of a file to a callback piece by piece, and returns the total number of bytes.
pub(crate) fn read_pieces<D: Disk, E: From<io::Error>>(
    disk: &D,
    file: &D::Handle,
    each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<u64, E> {
    read_pieces_to(disk, file, u64::MAX, each)
}

/// Passes the content of a file to a callback piece by piece. Stops at the end of the file, or when a piece ends
/// exactly at the offset `end`.
fn read_pieces_to<D: Disk, E: From<io::Error>>(
    disk: &D,
    file: &D::Handle,
    end: u64,
    mut each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<u64, E> {
    let mut buffer = vec![0; FIRST_PIECE];
    let mut offset = 0u64;
    while offset != end {
        let read = disk.read_at(file, &mut buffer, offset)?;
        if read == 0 {
            break;
        }
        offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        each(buffer.get(..read).unwrap_or_default())?;
        if read == FIRST_PIECE {
            buffer.resize(PIECE, 0);
        }
    }
    Ok(offset)
}

/// Computes the digest of a file, reading it piece by piece.
pub(crate) fn digest_of<D: Disk>(disk: &D, file: &D::Handle) -> io::Result<Digest> {
    digest_to(disk, file, u64::MAX)
}

/// Computes the digest of a file whose size is known from `found`. This avoids the extra read that detects the end of
/// the file.
pub(crate) fn digest_of_found<D: Disk>(
    disk: &D,
    file: &D::Handle,
    found: &Stat,
) -> io::Result<Digest> {
    digest_to(disk, file, found.size)
}

fn digest_to<D: Disk>(disk: &D, file: &D::Handle, end: u64) -> io::Result<Digest> {
    let mut hasher = Hasher::new();
    read_pieces_to::<D, io::Error>(disk, file, end, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finish())
}

/// Reads a whole file that is expected to have `size` bytes. The result is shorter or up to one byte longer if the file
/// changes.
pub(crate) fn read_whole<D: Disk>(disk: &D, file: &D::Handle, size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size.saturating_add(1)];
    let read = disk.read_at(file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns true if a file with this timestamp could still change at `now` without getting a new timestamp.
pub(crate) fn stamp_is_fresh(stamp: Time, now: Time) -> bool {
    now.0.saturating_sub(stamp.0) < STAMP_STEP
}
