//! Steps that create and remove directories and change their permissions.

use actum_core::{FileMode, RelPath};

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, NeededFor, Result};
use crate::transaction::Transaction;
use crate::transaction::node::Post;

impl<D: Disk> Transaction<'_, D> {
    /// Creates an empty directory at an unused path, together with any missing parent directories.
    pub fn make_directory(&mut self, path: &RelPath, mode: Option<FileMode>) -> Result<()> {
        self.directory_in_scope(path)?;
        self.check_absent(path)?;
        self.make_parents(path)?;
        let attributes = self.fresh_directory_attributes(path, mode)?;
        self.set(path, Post::Directory(attributes))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `Scope`; `Missing`; `Exists` if the path is a file; `Conflict` if the directory is not empty.
    pub fn remove_directory(&mut self, path: &RelPath) -> Result<()> {
        self.directory_in_scope(path)?;
        match self.node(path)?.post {
            Post::Directory(_) => {}
            Post::Absent => {
                return Err(Error::from(ErrorKind::missing(path)).needed_for(NeededFor::Delete));
            }
            Post::File(_) => return Err(ErrorKind::Exists { path: path.clone() }.into()),
        }
        if !self.is_empty_directory(path)? {
            let detail = "the directory to remove is not empty";
            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
        }
        self.set(path, Post::Absent)
    }

    /// Changes the permission bits of a directory that currently has the bits `expected`.
    ///
    /// # Errors
    /// `Scope`; `Missing`; `Exists` if the path is a file; `Conflict` if the directory has other permission bits.
    pub fn chmod_directory(
        &mut self,
        path: &RelPath,
        mode: FileMode,
        expected: FileMode,
    ) -> Result<()> {
        self.in_scope(path)?;
        let attributes = match &self.node(path)?.post {
            Post::Directory(attributes) => attributes.clone(),
            Post::Absent => return Err(ErrorKind::missing(path).into()),
            Post::File(_) => return Err(ErrorKind::Exists { path: path.clone() }.into()),
        };
        if attributes.mode != expected {
            let detail = "its permissions differ from those that the change expects";
            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
        }
        self.set(path, Post::Directory(Attributes { mode, ..attributes }))
    }
}
