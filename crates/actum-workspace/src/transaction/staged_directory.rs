//! Staged directories, in which a process edits copies of files without access to the rest of the workspace.
//!
//! The transaction does not trust anything that this process reports. It computes the digest of each resulting file
//! itself.

use std::path::PathBuf;
use std::sync::Arc;

use actum_core::text::{LineCounter, TextFinder};
use actum_core::{FileMode, FileState, RelPath};

use crate::STATE_DIRECTORY;
use crate::content::{Bytes, Store, Written};
use crate::digest_while_reading::digest_while_reading;
use crate::disk::{Disk, Kind, Rename};
use crate::error::{ErrorKind, NotAFile, Result, ResultExt};
use crate::history::sweep::is_staged;
use crate::transaction::Transaction;
use crate::transaction::node::{Post, PostFile};

/// Directory that other processes cannot see. It is removed by [`Transaction::discard`], or when its transaction is
/// aborted.
pub struct StagedDirectory<D: Disk> {
    name: Vec<u8>,
    handle: D::Handle,
}

impl<D: Disk> StagedDirectory<D> {
    /// Returns the path of the directory, relative to the workspace root.
    pub fn path(&self) -> PathBuf {
        // The name consists of letters, digits and dots, so the conversion is lossless.
        let name = String::from_utf8_lossy(&self.name).into_owned();
        [STATE_DIRECTORY, "stage", &name].iter().collect()
    }
}

impl<D: Disk> Transaction<'_, D> {
    /// Creates an empty directory that other processes cannot see, with the mode 0700. Also removes staged directories
    /// left by killed processes.
    ///
    /// # Errors
    /// `Io`
    pub fn stage_directory(&mut self) -> Result<StagedDirectory<D>> {
        let name = self.stage_name();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let doing = || "create a staged directory".to_owned();
        let own = format!("{}.", self.run).into_bytes();
        for left in disk.list(stage).doing(doing)? {
            // This process holds the workspace lock, so no other process can be using the directory.
            let found = disk.stat_at(stage, &left).doing(doing)?;
            let is_directory = found.is_some_and(|found| found.kind == Kind::Directory);
            if is_staged(&left) && is_directory && !left.starts_with(&own) {
                self.workspace.remove_staged(&left);
            }
        }
        disk.make_directory(stage, &name, FileMode::new(0o700)).doing(doing)?;
        let handle = disk.open_directory(stage, &name).doing(doing)?;
        Ok(StagedDirectory { name, handle })
    }

    /// Copies a file, with the steps so far applied, into a staged directory under another name and with the mode 0600.
    /// The copy shares its blocks with the original if the file system supports it.
    ///
    /// # Errors
    /// `Missing`, `NotAFile`, `Component`, `Scope`, `Blocked`, `Private`, `Io`.
    pub fn copy_into(
        &mut self,
        directory: &StagedDirectory<D>,
        name: &str,
        path: &RelPath,
    ) -> Result<FileState> {
        self.check_private(path)?;
        let file = self.file(path)?;
        let disk = &self.workspace.disk;
        let doing = || format!("copy `{path}`");
        let copy =
            disk.create(&directory.handle, name.as_bytes(), FileMode::PRIVATE).doing(doing)?;
        let is_cloned = match self.bytes(path, &file) {
            Some(Bytes::File(source, _)) => disk.clone_content(&source, &copy).doing(doing)?,
            Some(Bytes::Memory(_) | Bytes::ByPath(_)) | None => false,
        };
        let mut at = 0u64;
        if !is_cloned {
            self.each_piece(path, &file, |piece| {
                disk.write_at(&copy, piece, at).doing(doing)?;
                at = at.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                Ok(())
            })?;
        }
        Ok(FileState { sha256: file.digest, size: file.size, mode: file.attributes.mode })
    }

    /// Moves a file out of a staged directory and uses it as the content of `path`. An existing file at `path` keeps
    /// its attributes; otherwise a new file is created. No other process may be writing to the staged file anymore.
    ///
    /// Returns the size and mode of the file, and its digest, which is computed here. Memory use does not depend on the
    /// file size.
    ///
    /// # Errors
    /// `NotAFile` and `HardLink` if the process left something other than a regular file; `Missing` if it left nothing;
    /// `Conflict` if the file changes while it is being read; `Scope`, `UnderAFile`, `Blocked`, `Private`, `Io`.
    pub fn take_from(
        &mut self,
        directory: &StagedDirectory<D>,
        name: &str,
        path: &RelPath,
    ) -> Result<FileState> {
        self.in_scope(path)?;
        self.check_private(path)?;
        let (attributes, origin) = match &self.node(path)?.post {
            Post::File(file) => (file.attributes.clone(), file.content.origin(path).cloned()),
            Post::Absent | Post::Directory(_) => {
                self.check_absent(path)?;
                self.make_parents(path)?;
                (self.fresh_attributes(path, None)?, None)
            }
        };
        let staged = self.stage_name();
        let disk = &self.workspace.disk;
        let doing = || format!("accept the staged file for `{path}`");
        let left = disk.stat_at(&directory.handle, name.as_bytes()).doing(doing)?;
        let left = left.ok_or_else(|| ErrorKind::missing(path))?;
        let not_a_file = |found| Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
        match left.kind {
            Kind::File if left.links == 1 => {}
            Kind::File => {
                let (path, links) = (path.clone(), left.links);
                return Err(ErrorKind::HardLink { path, links }.into());
            }
            Kind::Directory => return not_a_file(NotAFile::Directory),
            Kind::Symlink => return not_a_file(NotAFile::Symlink),
            Kind::Special => return not_a_file(NotAFile::Special),
        }
        let stage = &self.workspace.home.stage;
        let from = (&directory.handle, name.as_bytes());
        disk.rename(from.0, from.1, stage, &staged, Rename::NoReplace).doing(doing)?;
        let handle = disk.open_own(stage, &staged).doing(doing)?;
        let written = self.read_staged(path, staged, handle)?;
        let (sha256, size, mode) = (written.digest, written.size, attributes.mode);
        self.set(path, Post::File(PostFile::written(written, attributes, origin)))?;
        Ok(FileState { sha256, size, mode })
    }

    /// Removes a staged directory with all of its content. Anything that cannot be removed now is swept later.
    pub fn discard(&self, directory: StagedDirectory<D>) {
        let StagedDirectory { name, handle } = directory;
        drop(handle);
        self.workspace.remove_staged(&name);
    }

    /// Reads a staged file and computes its digest, size, line count and text blocks.
    fn read_staged(
        &self,
        path: &RelPath,
        name: Vec<u8>,
        handle: D::Handle,
    ) -> Result<Written<D::Handle>> {
        let disk = &self.workspace.disk;
        let doing = || format!("read the staged file for `{path}`");
        let before = disk.stat(&handle).doing(doing)?;
        let (mut lines, mut text, mut size) = (LineCounter::default(), TextFinder::default(), 0u64);
        let digest = digest_while_reading(before.size, |buffer| {
            let count = disk.read_at(&handle, buffer, size).doing(doing)?;
            let piece = buffer.get(..count).unwrap_or_default();
            lines.feed(piece);
            text.feed(piece);
            size = size.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            Ok::<_, crate::error::Error>(count)
        })?;
        let after = disk.stat(&handle).doing(doing)?;
        if (after.kind, after.size, after.modified) != (Kind::File, size, before.modified) {
            let detail = "the staged file changed while it was being read";
            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
        }
        let (lines, text_blocks) = (lines.finish(), Some(Arc::new(text.finish())));
        Ok(Written { digest, size, lines, text_blocks, store: Store::Staged(name, handle) })
    }
}
