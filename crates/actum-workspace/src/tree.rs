//! Resolution of paths beneath the root, with exact errors (FO-7).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use actum_core::{Digest, Hasher, RelPath};

use crate::attributes::Attributes;
use crate::disk::{Disk, Kind, Stat, Time, is_loop, nothing_there};
use crate::error::{Error, ErrorKind, NotAFile, Result, ResultExt};

/// Number of directories that are held open at once: paths come in order, so few are in use.
const PARENTS_MAX: usize = 16;
/// Number of directories that are held open if they matter later, and the process can hold four times as many.
const REMEMBERED_MAX: usize = 256;
/// Number of directories that any process can hold, without asking for the limit.
const UNASKED_MAX: usize = 4;
/// Number of bytes of a file that are read at a time.
const PIECE: usize = 128 << 10;
/// Number of bytes of a file that are read first: most files are small, and clearing memory takes time.
const FIRST_PIECE: usize = 16 << 10;
/// Distance of a stamp from the present, in nanoseconds, below which the file could change once more without its stamp
/// moving (clocks of files tick every 10 ms at worst).
const STAMP_STEP: i64 = 20_000_000;

/// Tree beneath the root, with the directories opened so far.
pub(crate) struct Tree<'a, D: Disk> {
    pub(crate) disk: &'a D,
    root: &'a D::Handle,
    parents: Parents<D::Handle>,
    /// Identity of each directory when it was first opened, if that matters later.
    identities: Option<RefCell<HashMap<RelPath, Identity>>>,
    /// Number of directories that are held, as far as the limit was asked for.
    parents_max: Cell<usize>,
}

/// Device and inode number of a directory.
pub(crate) type Identity = (u64, u64);

/// Directories that were opened.
pub(crate) type Parents<H> = Arc<RefCell<HashMap<RelPath, Arc<H>>>>;

/// Directory in which names can be used.
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

/// Object at a path.
pub(crate) enum Found<H> {
    Nothing,
    Directory,
    /// A file, or a symbolic link itself, whose content is its target.
    File(Stat, H),
    Other(NotAFile),
}

impl<'a, D: Disk> Tree<'a, D> {
    pub(crate) fn new(disk: &'a D, root: &'a D::Handle) -> Self {
        Self::sharing(disk, root, &Parents::default())
    }

    /// Creates a tree that can report afterwards which directories it opened.
    pub(crate) fn remembering(disk: &'a D, root: &'a D::Handle) -> Self {
        let (identities, parents_max) = (Some(RefCell::default()), Cell::new(UNASKED_MAX));
        Self { identities, parents_max, ..Self::new(disk, root) }
    }

    /// Creates a tree that shares the directories that were opened before.
    pub(crate) fn sharing(disk: &'a D, root: &'a D::Handle, parents: &Parents<D::Handle>) -> Self {
        let parents_max = Cell::new(PARENTS_MAX);
        Self { disk, root, parents: Arc::clone(parents), identities: None, parents_max }
    }

    /// Returns true if so many directories are held that no other may be.
    fn holds_enough(&self, held: usize) -> bool {
        if self.identities.is_some() && held == UNASKED_MAX {
            self.parents_max.set(REMEMBERED_MAX.min(self.disk.handles_max() / 4));
        }
        held >= self.parents_max.get()
    }

    /// Returns the directory that holds `path`, as it was when it was first opened; `None` if it is missing.
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
                    let stat = self.disk.stat(&handle).doing(|| format!("look at `{parent}`"))?;
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

    /// Returns the identity of the directory that holds `path` when it was first opened; `None` if that is the root, or
    /// was not opened.
    pub(crate) fn identity(&self, path: &RelPath) -> Option<Identity> {
        self.identities.as_ref()?.borrow().get(&path.parent()?).copied()
    }

    /// Returns the directory that holds `path`, which must exist.
    pub(crate) fn existing_parent(&self, path: &RelPath) -> Result<Parent<'a, D::Handle>> {
        self.parent(path)?.ok_or_else(|| {
            let source = nothing_there();
            ErrorKind::Io { action: format!("reach the directory of `{path}`"), source }.into()
        })
    }

    /// Forgets the directories at and below `path`, which is being removed.
    pub(crate) fn forget(&self, path: &RelPath) {
        self.parents.borrow_mut().retain(|known, _| !known.starts_with(path));
    }

    /// Names the component that blocks the way to `path`.
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

    /// Finds the object at `path`; a symbolic link is not a file.
    pub(crate) fn find_file(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        let found = self.find(path)?;
        let is_link = matches!(&found, Found::File(stat, _) if stat.kind == Kind::Symlink);
        Ok(if is_link { Found::Other(NotAFile::Symlink) } else { found })
    }

    /// Finds the object at `path`, and opens a file or link for reading.
    pub(crate) fn find(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        let Some(parent) = self.parent(path)? else {
            return Ok(Found::Nothing);
        };
        let seen = self.disk.stat_at(&parent, path.name());
        match seen.doing(|| format!("look at `{path}`"))? {
            None => Ok(Found::Nothing),
            Some(stat) => match stat.kind {
                Kind::Directory => Ok(Found::Directory),
                Kind::Special => Ok(Found::Other(NotAFile::Special)),
                Kind::File | Kind::Symlink => match open_content(self.disk, &parent, path.name()) {
                    Ok(file) => {
                        let stat = self.disk.stat(&file).doing(|| format!("look at `{path}`"))?;
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

    /// Returns owner, mode and extended attributes of an open file or directory.
    pub(crate) fn attributes(&self, handle: &D::Handle, stat: &Stat) -> io::Result<Attributes> {
        Ok(Attributes {
            mode: stat.mode,
            user: stat.user,
            group: stat.group,
            xattrs: self.disk.xattrs(handle)?,
        })
    }

    /// Returns owner, mode and extended attributes of the directory `path`.
    pub(crate) fn directory_attributes(&self, path: &RelPath) -> Result<Attributes> {
        let doing = || format!("look at the directory `{path}`");
        let parent = self.existing_parent(path)?;
        let directory = self.disk.open_directory(&parent, path.name()).doing(doing)?;
        let stat = self.disk.stat(&directory).doing(doing)?;
        self.attributes(&directory, &stat).doing(doing)
    }

    /// Returns the names in the directory `path`.
    pub(crate) fn names(&self, path: &RelPath) -> Result<Vec<Vec<u8>>> {
        let doing = || format!("list the directory `{path}`");
        let parent = self.existing_parent(path)?;
        let directory = self.disk.open_directory(&parent, path.name()).doing(doing)?;
        self.disk.list(&directory).doing(doing)
    }
}

/// Opens a file for reading, or a symbolic link itself.
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

/// Passes the bytes of a file to the callback piece by piece, and returns their number.
pub(crate) fn read_pieces<D: Disk, E: From<io::Error>>(
    disk: &D,
    file: &D::Handle,
    each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<u64, E> {
    read_pieces_to(disk, file, u64::MAX, each)
}

/// Passes the bytes of a file to the callback piece by piece, until it ends or a piece ends at `end`.
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

/// Computes the digest of a file, read piece by piece.
pub(crate) fn digest_of<D: Disk>(disk: &D, file: &D::Handle) -> io::Result<Digest> {
    digest_to(disk, file, u64::MAX)
}

/// Computes the digest of a file that was found to have this size, so that no further call searches for its end.
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

/// Reads the bytes of a file of `size` bytes; fewer or more if it is being changed.
pub(crate) fn read_whole<D: Disk>(disk: &D, file: &D::Handle, size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size.saturating_add(1)];
    let read = disk.read_at(file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns true if a file with this stamp could change at `now` without its stamp moving.
pub(crate) fn stamp_is_fresh(stamp: Time, now: Time) -> bool {
    now.0.saturating_sub(stamp.0) < STAMP_STEP
}
