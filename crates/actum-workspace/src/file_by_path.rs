//! Files that are identified by a directory and a path, and opened only to be read. A run over 100,000 files therefore
//! neither holds all their contents in memory nor keeps all of them open.

use std::io;
use std::sync::Arc;

use actum_core::RelPath;

use crate::disk::{Disk, Stat, Xattr};
use crate::tree::{Parents, Tree};

/// Open directory below which files are looked up, with a cache of the subdirectories opened so far.
pub(crate) struct OpenedDirectory<H> {
    handle: H,
    parents: Parents<H>,
}

impl<H> OpenedDirectory<H> {
    pub(crate) fn new(handle: H) -> Self {
        Self { handle, parents: Parents::default() }
    }

    pub(crate) fn tree<'a, D: Disk<Handle = H>>(&'a self, disk: &'a D) -> Tree<'a, D> {
        Tree::sharing(disk, &self.handle, &self.parents)
    }
}

/// File that is opened by its path each time it is read.
pub(crate) struct FileByPath<H> {
    pub(crate) directory: Arc<OpenedDirectory<H>>,
    pub(crate) path: RelPath,
    /// Metadata of the file at the time its digest was computed.
    pub(crate) stat: Stat,
    pub(crate) xattrs: Vec<Xattr>,
}

impl<H> FileByPath<H> {
    /// Opens the file for reading.
    ///
    /// # Errors
    /// Fails if the path now refers to a different inode, or if the disk reports an error.
    pub(crate) fn open<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<H> {
        let root = &self.directory.handle;
        let file = match self.path.parent() {
            None => disk.open_file(root, self.path.name())?,
            Some(parent) => disk.open_file(&disk.open_parent(root, &parent)?, self.path.name())?,
        };
        match disk.stat(&file)?.inode == self.stat.inode {
            true => Ok(file),
            false => Err(io::Error::other("the file was replaced by a different one")),
        }
    }
}
