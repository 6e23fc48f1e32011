//! Staged files that another process fills through an open handle, and source files that it reads through one.
//!
//! The caller passes both handles to a process that cannot access any path. The transaction does not trust anything
//! that this process reports, and computes the digest of a staged file itself.

use std::sync::Arc;

use actum_core::text::{LineCounter, TextFinder};
use actum_core::{FileMode, FileState, RelPath};

use crate::attributes::Attributes;
use crate::content::{Store, Written};
use crate::digest_while_reading::{PIECE_BYTES, digest_while_reading};
use crate::disk::{Disk, Kind, Stat, Time};
use crate::error::{ErrorKind, NeededFor, NotAFile, Result, ResultExt};
use crate::transaction::Transaction;
use crate::transaction::node::{Post, PostFile};
use crate::transaction::observe::under;
use crate::tree::{Found, Tree};
use crate::workspace::HardLinks;

/// File opened for reading through its handle, with its metadata at the time of opening.
pub struct SourceFile<D: Disk> {
    path: RelPath,
    handle: D::Handle,
    stat: Stat,
    attributes: Attributes,
}

/// New file that other processes cannot see, to be filled through its handle.
pub struct StagedFile<D: Disk> {
    name: Vec<u8>,
    handle: D::Handle,
}

/// Attributes for a file that a transaction adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenAttributes {
    /// Default attributes of a new file created by this process.
    New,
    /// The given attributes and modification time. The run is rejected if any of them cannot be set.
    Kept(Attributes, Time),
}

impl<D: Disk> SourceFile<D> {
    /// Returns the open handle of the source file.
    pub fn handle(&self) -> &D::Handle {
        &self.handle
    }

    /// Returns the size of the source file in bytes at the time of opening.
    pub fn size(&self) -> u64 {
        self.stat.size
    }

    /// Returns the owner, mode, extended attributes and modification time of the source file at the time of opening.
    pub fn attributes(&self) -> TakenAttributes {
        TakenAttributes::Kept(self.attributes.clone(), self.stat.modified)
    }
}

impl<D: Disk> StagedFile<D> {
    /// Returns the open handle of the staged file.
    pub fn handle(&self) -> &D::Handle {
        &self.handle
    }
}

impl<D: Disk> Transaction<'_, D> {
    /// Opens the file at `path` for reading through its handle. The file is opened as it is on disk, without the steps
    /// of the transaction.
    ///
    /// # Errors
    /// `Missing`, `NotAFile`, `Component`; `HardLink` if the limits forbid hard links; `Scope`, `Blocked`, `Private`,
    /// `Io`.
    pub fn open_source(&mut self, path: &RelPath) -> Result<SourceFile<D>> {
        self.in_scope(path)?;
        self.check_private(path)?;
        let found = {
            let workspace = &*self.workspace;
            Tree::sharing(&workspace.disk, &workspace.home.root, &self.parents).find_file(path)?
        };
        let (stat, handle) = match found {
            Found::File(stat, handle) => (stat, handle),
            Found::Nothing => {
                let missing: crate::error::Error = ErrorKind::missing(path).into();
                return Err(missing.needed_for(NeededFor::Copy));
            }
            Found::Directory => {
                let found = NotAFile::Directory;
                return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
            }
            Found::Other(found) => {
                return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
            }
        };
        let (stat, _) = self.without_our_links(path, stat, &handle)?;
        if stat.links > 1 && self.limits.hard_links == HardLinks::Refuse {
            return Err(ErrorKind::HardLink { path: path.clone(), links: stat.links }.into());
        }
        let disk = &self.workspace.disk;
        let tree = Tree::new(disk, &self.workspace.home.root);
        let attributes = tree.attributes(&handle, &stat).doing(|| format!("inspect `{path}`"))?;
        Ok(SourceFile { path: path.clone(), handle, stat, attributes })
    }

    /// Creates an empty file that other processes cannot see.
    ///
    /// # Errors
    /// `Io`
    pub fn stage_file(&mut self) -> Result<StagedFile<D>> {
        let name = self.stage_name();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let doing = || "create a staged file".to_owned();
        let handle = match disk.create(stage, &name, FileMode::PRIVATE) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                disk.unlink(stage, &name).doing(doing)?; // left by an earlier attempt
                disk.create(stage, &name, FileMode::PRIVATE).doing(doing)?
            }
            created => created.doing(doing)?,
        };
        Ok(StagedFile { name, handle })
    }

    /// Adds a staged file, which must be an exact copy of `source`, at an unused path in an existing directory. No
    /// other process may be writing to the staged file anymore.
    ///
    /// Returns the size and mode of the file, and its digest, which is computed here. Memory use does not depend on the
    /// file size.
    ///
    /// # Errors
    /// `Conflict` if the staged file differs from its source or the source changed; `Scope`; `Exists`; `Missing` with
    /// the path of the missing directory; `UnderAFile`, `Blocked`, `Io`.
    pub fn take_copy(
        &mut self,
        path: &RelPath,
        staged: StagedFile<D>,
        source: &SourceFile<D>,
        attributes: TakenAttributes,
    ) -> Result<FileState> {
        self.in_scope(path)?;
        self.check_absent(path)?;
        self.check_directory(path)?;
        let attributes = match attributes {
            TakenAttributes::New => self.fresh_attributes(path, None)?,
            TakenAttributes::Kept(attributes, modified) => {
                let set = self.workspace.disk.set_modified(&staged.handle, modified);
                set.doing(|| format!("set the modification time of `{path}`"))?;
                attributes
            }
        };
        let written = self.compare(path, staged, source)?;
        let (sha256, size, mode) = (written.digest, written.size, attributes.mode);
        self.set(path, Post::File(PostFile::written(written, attributes, None)))?;
        Ok(FileState { sha256, size, mode })
    }

    /// Checks that the parent directory of `path` exists, so that no step has to create it.
    ///
    /// # Errors
    /// `Missing` with the path of the directory; `UnderAFile`, `Io`.
    pub fn check_directory(&mut self, path: &RelPath) -> Result<()> {
        let Some(parent) = path.parent() else { return Ok(()) };
        match &self.node(&parent)?.post {
            Post::Directory(_) => Ok(()),
            Post::Absent => Err(ErrorKind::missing(&parent).into()),
            Post::File(file) => Err(under(path, &parent, file)),
        }
    }

    /// Compares a staged file with its source. Computes the digest, size, line count and text blocks of the file in the
    /// same pass.
    fn compare(
        &self,
        path: &RelPath,
        StagedFile { name, handle }: StagedFile<D>,
        source: &SourceFile<D>,
    ) -> Result<Written<D::Handle>> {
        let disk = &self.workspace.disk;
        let doing = || format!("compare `{}` with the staged file for `{path}`", source.path);
        let conflict = |detail| {
            let path = source.path.clone();
            crate::error::Error::from(ErrorKind::Conflict { path, detail })
        };
        let (mut lines, mut text, mut size) = (LineCounter::default(), TextFinder::default(), 0u64);
        let mut theirs = vec![0; PIECE_BYTES];
        let digest = digest_while_reading(source.stat.size, |ours| {
            let count = disk.read_at(&handle, ours, size).doing(doing)?;
            let count_of_source = disk.read_at(&source.handle, &mut theirs, size).doing(doing)?;
            let (read, of_source) = (ours.get(..count), theirs.get(..count_of_source));
            let Some(piece) = read.filter(|piece| Some(*piece) == of_source) else {
                return Err(conflict("the staged file has different content"));
            };
            lines.feed(piece);
            text.feed(piece);
            size = size.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            Ok(count)
        })?;
        let staged = disk.stat(&handle).doing(doing)?;
        if (staged.kind, staged.size) != (Kind::File, size) {
            return Err(conflict("the staged file changed while it was being read"));
        }
        let now = disk.stat(&source.handle).doing(doing)?;
        if (now.size, now.modified) != (source.stat.size, source.stat.modified) {
            return Err(conflict("its content changed while it was being read"));
        }
        let (lines, text_blocks) = (lines.finish(), Some(Arc::new(text.finish())));
        Ok(Written { digest, size, lines, text_blocks, store: Store::Staged(name, handle) })
    }
}
