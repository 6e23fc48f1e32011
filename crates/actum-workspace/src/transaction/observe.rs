//! Reading of paths in a transaction: their state on disk, and their content after the steps so far.

use std::sync::Arc;

use actum_core::scope::ScopeError;
use actum_core::text::{self, LineCounter};
use actum_core::{Digest, RelPath};

use crate::content::{Bytes, INLINE_BYTES_MAX, Opened, Source};
use crate::digest_while_reading::digest_of_pieces;
use crate::disk::{Disk, Stat};
use crate::error::{Error, ErrorKind, NeededFor, NotAFile, Result, ResultExt};
use crate::file_by_path::{FileByPath, OpenedDirectory};
use crate::transaction::Transaction;
use crate::transaction::node::{Content, Node, Post, PostFile, Pre, PreFile};
use crate::transaction::stage::attributes_error;
use crate::tree::{Found, Tree, read_pieces, read_whole};
use crate::workspace::HardLinks;

impl<D: Disk> Transaction<'_, D> {
    pub(crate) fn in_scope(&self, path: &RelPath) -> Result<()> {
        self.limits.scope.check(path).map_err(|source| ErrorKind::Scope { source })?;
        if let Some(run) = self.workspace.blocked.get(path) {
            return Err(ErrorKind::Blocked { path: path.clone(), run: *run }.into());
        }
        Ok(())
    }

    /// Checks the scope of a directory. A directory outside of the scope is accepted for now, because it may contain a
    /// path in scope. [`Self::check_limits`] rejects it once all paths are known.
    pub(crate) fn directory_in_scope(&self, path: &RelPath) -> Result<()> {
        match self.in_scope(path) {
            Err(Error {
                kind: ErrorKind::Scope { source: ScopeError::NotAllowed { .. } }, ..
            }) => Ok(()),
            other => other,
        }
    }

    /// Returns the node of `path`, reading it from disk on first use.
    pub(crate) fn node(&mut self, path: &RelPath) -> Result<&mut Node<D::Handle>> {
        self.node_unless(path, &mut || false)
    }

    /// Returns the [`node`](Self::node), but stops reading a large file as soon as `is_stopped` returns true.
    pub(crate) fn node_unless(
        &mut self,
        path: &RelPath,
        is_stopped: &mut dyn FnMut() -> bool,
    ) -> Result<&mut Node<D::Handle>> {
        if !self.nodes.contains_key(path) {
            let pre = self.look(path, is_stopped)?;
            let post = pre.unchanged();
            self.nodes.insert(path.clone(), Node { pre, post });
            self.record_lookup(path);
        }
        // INVARIANT: the node exists, because it was inserted above if it was missing.
        self.nodes.get_mut(path).ok_or_else(|| ErrorKind::missing(path).into())
    }

    pub(crate) fn look(
        &mut self,
        path: &RelPath,
        is_stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Pre<D::Handle>> {
        let mut above = path.parent();
        while let Some(ancestor) = above {
            match self.nodes.get(&ancestor) {
                Some(Node {
                    pre: Pre::Absent | Pre::File(_), post: Post::Directory(_), ..
                })
                | Some(Node { pre: Pre::Absent | Pre::File(_), post: Post::Absent, .. }) => {
                    return Ok(Pre::Absent);
                }
                Some(Node { post: Post::File(file), .. }) => {
                    return Err(under(path, &ancestor, file));
                }
                Some(Node { pre: Pre::Directory(_), .. }) | None => above = ancestor.parent(),
            }
        }
        self.check_private(path)?;
        let workspace = &*self.workspace;
        let tree = Tree::sharing(&workspace.disk, &workspace.home.root, &self.parents);
        let (stat, file) = match tree.find(path)? {
            Found::Nothing => return Ok(Pre::Absent),
            Found::Directory => return Ok(Pre::Directory(tree.directory_attributes(path)?)),
            Found::Other(found) => {
                return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
            }
            Found::File(stat, file) => (stat, file),
        };
        let (stat, own_names) = self.without_our_links(path, stat, &file)?;
        if stat.links > 1 {
            if self.limits.hard_links == HardLinks::Refuse {
                return Err(ErrorKind::HardLink { path: path.clone(), links: stat.links }.into());
            }
            self.broken_links.push(path.clone());
        }
        let doing = || format!("read `{path}`");
        let disk = &self.workspace.disk;
        let read_at = disk.now();
        let tree = Tree::new(disk, &self.workspace.home.root);
        let attributes = tree.attributes(&file, &stat).doing(doing)?;
        let (digest, lines, bytes) =
            if stat.size <= self.read_bytes_left.min(INLINE_BYTES_MAX as u64) {
                self.read_bytes_left -= stat.size;
                let bytes = read_whole(disk, &file, stat.size).doing(doing)?;
                if u64::try_from(bytes.len()) != Ok(stat.size) {
                    let detail = "its size changed while it was being read";
                    return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
                }
                (Digest::of(&bytes), text::lines(&bytes), Bytes::Memory(Arc::new(bytes)))
            } else {
                let mut counter = LineCounter::default();
                let digest = digest_of_pieces(disk, &file, stat.size, |piece, _| {
                    if is_stopped() {
                        return Err(std::io::ErrorKind::Interrupted.into());
                    }
                    counter.feed(piece);
                    Ok(())
                });
                let digest = digest.doing(doing)?;
                let bytes = match stat.size <= INLINE_BYTES_MAX as u64 {
                    true => self.by_path(path, &stat)?,
                    false => Bytes::File(Arc::new(file), Source::Unnamed),
                };
                (digest, counter.finish(), bytes)
            };
        Ok(Pre::File(PreFile { stat, own_names, attributes, digest, lines, bytes, read_at }))
    }

    /// Returns the content of a small file as a reference to its path, because the memory for cached files is used up.
    fn by_path(&mut self, path: &RelPath, stat: &Stat) -> Result<Bytes<D::Handle>> {
        let directory = match &self.root {
            Some(root) => Arc::clone(root),
            None => {
                let workspace = &*self.workspace;
                let root = workspace.disk.open_directory(&workspace.home.root, b".");
                let root = root.doing(|| "reopen the workspace root".to_owned())?;
                Arc::clone(self.root.insert(Arc::new(OpenedDirectory::new(root))))
            }
        };
        let (path, stat, xattrs) = (path.clone(), *stat, Vec::new());
        Ok(Bytes::ByPath(Arc::new(FileByPath { directory, path, stat, xattrs })))
    }

    /// Removes the hard links that actum created to a file, or excludes them from the link count if they cannot be
    /// removed. A large file may have such a link from a run that is not in the history yet, and any file from an
    /// interrupted run. These links must not be mistaken for those of another program. Returns the adjusted metadata
    /// and the number of actum's links that remain.
    pub(crate) fn without_our_links(
        &mut self,
        path: &RelPath,
        stat: Stat,
        file: &D::Handle,
    ) -> Result<(Stat, u64)> {
        if stat.links < 2 {
            return Ok((stat, 0));
        }
        let doing = || format!("inspect `{path}`");
        match self.workspace.checkpoint(Some(self.run)) {
            // The disk is full, so the links remain for now, but their number is known.
            Err(error) if error.is_disk_full() && !self.workspace.poisoned => {
                let ours = self.workspace.own_names(&stat)?;
                return Ok((Stat { links: stat.links.saturating_sub(ours), ..stat }, ours));
            }
            checkpoint => checkpoint?,
        }
        let stat = self.workspace.disk.stat(file).doing(doing)?;
        if stat.links < 2 || self.is_swept {
            return Ok((stat, 0));
        }
        self.is_swept = true;
        self.workspace.sweep_second_names(self.run);
        Ok((self.workspace.disk.stat(file).doing(doing)?, 0))
    }

    /// Checks that this process may change the file or directory at `path`. It needs permission to create and remove
    /// entries in the parent directory, or in the nearest existing ancestor.
    ///
    /// # Errors
    /// `Io` with the error of the operating system if permission is missing.
    pub fn may_change(&self, path: &RelPath) -> Result<()> {
        let (disk, root) = (&self.workspace.disk, &self.workspace.home.root);
        let mut above = path.parent();
        while let Some(directory) = &above {
            let doing = || format!("change the contents of `{directory}`");
            match disk.open_parent(root, directory) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // Any other obstacle is reported by the step that encounters it.
                Err(_) => return Ok(()),
                Ok(directory) => return disk.may_write(&directory).doing(doing),
            }
            above = directory.parent();
        }
        disk.may_write(root).doing(|| "change the contents of the workspace".to_owned())
    }

    /// Checks that a file can be replaced, which requires that the new file can get its owner and group.
    ///
    /// # Errors
    /// `Attributes` with `PermissionDenied`; errors of reading the file.
    pub fn may_replace(&mut self, path: &RelPath) -> Result<()> {
        let attributes = self.file(path)?.attributes;
        match self.workspace.disk.can_give_to(attributes.user, attributes.group) {
            true => Ok(()),
            false => {
                let denied = std::io::ErrorKind::PermissionDenied.into();
                Err(attributes_error(path, "owner", denied))
            }
        }
    }

    /// Returns the regular file at `path`, or an error if the path has none.
    pub(crate) fn file(&mut self, path: &RelPath) -> Result<PostFile<D::Handle>> {
        let file = self.file_or_link(path)?;
        if file.attributes.mode.is_link() {
            let found = NotAFile::Symlink;
            return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
        }
        Ok(file)
    }

    /// Returns the file or symbolic link at `path`, or an error if the path has neither.
    pub(crate) fn file_or_link(&mut self, path: &RelPath) -> Result<PostFile<D::Handle>> {
        match &self.node(path)?.post {
            Post::File(file) => Ok(file.clone()),
            Post::Absent => Err(ErrorKind::missing(path).into()),
            Post::Directory(_) => {
                let found = NotAFile::Directory;
                Err(ErrorKind::NotAFile { path: path.clone(), found }.into())
            }
        }
    }

    pub(crate) fn expected_file(
        &mut self,
        path: &RelPath,
        expected: Option<Digest>,
    ) -> Result<PostFile<D::Handle>> {
        let file = self.file(path);
        Self::checked(path, file, expected)
    }

    /// Returns the [`expected_file`](Self::expected_file), or a symbolic link whose target has the expected digest.
    pub(crate) fn expected_file_or_link(
        &mut self,
        path: &RelPath,
        expected: Option<Digest>,
    ) -> Result<PostFile<D::Handle>> {
        let file = self.file_or_link(path);
        Self::checked(path, file, expected)
    }

    fn checked(
        path: &RelPath,
        file: Result<PostFile<D::Handle>>,
        expected: Option<Digest>,
    ) -> Result<PostFile<D::Handle>> {
        let file = match (file, expected) {
            (Err(Error { kind: ErrorKind::Missing { path, .. }, .. }), Some(expected)) => {
                return Err(ErrorKind::Expected {
                    path,
                    expected,
                    found: None,
                    needed_for: NeededFor::Change,
                }
                .into());
            }
            (file, _) => file?,
        };
        match expected {
            Some(expected) if expected != file.digest => {
                let (path, found) = (path.clone(), Some(file.digest));
                Err(ErrorKind::Expected { path, expected, found, needed_for: NeededFor::Change }
                    .into())
            }
            Some(_) | None => Ok(file),
        }
    }

    /// Checks that `path` is unused.
    ///
    /// # Errors
    /// `Exists`; `NotAFile` for a symbolic link; errors of reading the path.
    pub fn check_absent(&mut self, path: &RelPath) -> Result<()> {
        match &self.node(path)?.post {
            Post::Absent => Ok(()),
            Post::File(file) if file.attributes.mode.is_link() => {
                let found = NotAFile::Symlink;
                Err(ErrorKind::NotAFile { path: path.clone(), found }.into())
            }
            Post::Directory(_) | Post::File(_) => {
                Err(ErrorKind::Exists { path: path.clone() }.into())
            }
        }
    }

    /// Returns a handle on the content of `file` without reading it.
    pub(crate) fn bytes(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
    ) -> Option<Bytes<D::Handle>> {
        let pre = |path: &RelPath| match &self.nodes.get(path)?.pre {
            Pre::File(file) => Some(file.bytes.clone()),
            Pre::Absent | Pre::Directory(_) => None,
        };
        match &file.content {
            Content::Untouched => pre(path),
            Content::Moved(from) => pre(from),
            Content::New(new) => Some(new.bytes.clone()),
        }
    }

    pub(crate) fn each_piece(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.bytes(path, file).ok_or_else(|| ErrorKind::missing(path))?;
        match bytes.opened(&self.workspace.disk).doing(|| format!("read `{path}`"))? {
            Opened::Memory(bytes) => each(&bytes),
            Opened::File(handle) => {
                let mut failed = None;
                let read =
                    read_pieces::<D, std::io::Error>(&self.workspace.disk, &handle, |piece| {
                        each(piece).map_err(|error| {
                            failed = Some(error);
                            std::io::ErrorKind::Other.into()
                        })
                    });
                match failed {
                    Some(error) => Err(error),
                    None => read.map(|_| ()).doing(|| format!("read `{path}`")),
                }
            }
        }
    }
}

/// Returns the error for a path that has a file or symbolic link as one of its parents.
pub(crate) fn under<H>(path: &RelPath, component: &RelPath, file: &PostFile<H>) -> Error {
    let (path, component) = (path.clone(), component.clone());
    match file.attributes.mode.is_link() {
        true => ErrorKind::Component { path, component, found: NotAFile::Symlink }.into(),
        false => ErrorKind::UnderAFile { path, component }.into(),
    }
}
