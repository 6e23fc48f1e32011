//! State of the paths of a transaction, and the bytes of files as its steps leave them.

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

    /// Checks the scope of a directory, which may contain a path in scope: [`Self::check_limits`] reports it when all
    /// paths are known.
    pub(crate) fn directory_in_scope(&self, path: &RelPath) -> Result<()> {
        match self.in_scope(path) {
            Err(Error {
                kind: ErrorKind::Scope { source: ScopeError::NotAllowed { .. } }, ..
            }) => Ok(()),
            other => other,
        }
    }

    /// Returns the node of `path`, read from the disk if it is new.
    pub(crate) fn node(&mut self, path: &RelPath) -> Result<&mut Node<D::Handle>> {
        self.node_unless(path, &mut || false)
    }

    /// Returns the [`node`](Self::node), but stops reading a large file once `is_stopped` returns true.
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
        // INVARIANT: inserted just above if it was missing.
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
                    let detail = "its size changed while it was read";
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

    /// Returns the bytes of a small file by its path, since memory holds no more.
    fn by_path(&mut self, path: &RelPath, stat: &Stat) -> Result<Bytes<D::Handle>> {
        let directory = match &self.root {
            Some(root) => Arc::clone(root),
            None => {
                let workspace = &*self.workspace;
                let root = workspace.disk.open_directory(&workspace.home.root, b".");
                let root = root.doing(|| "open the workspace once more".to_owned())?;
                Arc::clone(self.root.insert(Arc::new(OpenedDirectory::new(root))))
            }
        };
        let (path, stat, xattrs) = (path.clone(), *stat, Vec::new());
        Ok(Bytes::ByPath(Arc::new(FileByPath { directory, path, stat, xattrs })))
    }

    /// Removes second names that actum made, or leaves them out of the count of links. A large file may still have such
    /// a name from a run not yet in the history, and any file one from a run that was cut off. A name of actum's must
    /// not be taken for one of another program. Returns the facts without such names, and the number of those that
    /// remain.
    pub(crate) fn without_our_links(
        &mut self,
        path: &RelPath,
        stat: Stat,
        file: &D::Handle,
    ) -> Result<(Stat, u64)> {
        if stat.links < 2 {
            return Ok((stat, 0));
        }
        let doing = || format!("look at `{path}`");
        match self.workspace.checkpoint(Some(self.run)) {
            // The names remain until there is space, but they are known.
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

    /// Checks that this process may change the object at `path`: that it may make and remove names in its directory, or
    /// in the nearest existing one above.
    ///
    /// # Errors
    /// `Io` with the reason of the system, if it may not.
    pub fn may_change(&self, path: &RelPath) -> Result<()> {
        let (disk, root) = (&self.workspace.disk, &self.workspace.home.root);
        let mut above = path.parent();
        while let Some(directory) = &above {
            let doing = || format!("change what is in `{directory}`");
            match disk.open_parent(root, directory) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // The step that meets another obstacle reports it.
                Err(_) => return Ok(()),
                Ok(directory) => return disk.may_write(&directory).doing(doing),
            }
            above = directory.parent();
        }
        disk.may_write(root).doing(|| "change what is in the workspace".to_owned())
    }

    /// Checks that a file can be replaced: its owner and group can be given to the new file.
    ///
    /// # Errors
    /// `Attributes` with `PermissionDenied`; those of reading the file.
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

    /// Returns the file at `path`, which must be one.
    pub(crate) fn file(&mut self, path: &RelPath) -> Result<PostFile<D::Handle>> {
        let file = self.file_or_link(path)?;
        if file.attributes.mode.is_link() {
            let found = NotAFile::Symlink;
            return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
        }
        Ok(file)
    }

    /// Returns the file or symbolic link at `path`.
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

    /// Returns the [`expected_file`](Self::expected_file), or a symbolic link with a target of this digest.
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

    /// Returns the bytes of `file`, if they are available without reading.
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

/// Returns the error for a path below a file or a link.
pub(crate) fn under<H>(path: &RelPath, component: &RelPath, file: &PostFile<H>) -> Error {
    let (path, component) = (path.clone(), component.clone());
    match file.attributes.mode.is_link() {
        true => ErrorKind::Component { path, component, found: NotAFile::Symlink }.into(),
        false => ErrorKind::UnderAFile { path, component }.into(),
    }
}
