//! Files that are opened for each reading: a run of 100,000 files holds neither their contents nor as many handles.

use std::io;
use std::sync::Arc;

use actum_core::RelPath;

use crate::disk::{Disk, Stat, Xattr};
use crate::tree::{Parents, Tree};

/// Directory below which files are opened.
pub(crate) struct OpenedDirectory<H> {
    handle: H,
    /// Directories in it that were opened.
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

/// File that is opened by its path.
pub(crate) struct FileByPath<H> {
    pub(crate) directory: Arc<OpenedDirectory<H>>,
    pub(crate) path: RelPath,
    /// Its facts when its digest was computed.
    pub(crate) stat: Stat,
    pub(crate) xattrs: Vec<Xattr>,
}

impl<H> FileByPath<H> {
    /// Opens it for reading.
    ///
    /// # Errors
    /// An error if another file is there now; errors of the disk.
    pub(crate) fn open<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<H> {
        let root = &self.directory.handle;
        let file = match self.path.parent() {
            None => disk.open_file(root, self.path.name())?,
            Some(parent) => disk.open_file(&disk.open_parent(root, &parent)?, self.path.name())?,
        };
        match disk.stat(&file)?.inode == self.stat.inode {
            true => Ok(file),
            false => Err(io::Error::other("another file took its place")),
        }
    }
}
