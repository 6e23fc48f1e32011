//! Updates the entries of committed files in the user's index. All other entries stay unchanged.
//!
//! When libgit2 writes the index of a repository, it also compares other files of the work tree. It does so because a
//! file that changes at the moment of the write looks unchanged afterwards. To avoid this comparison, a copy of the
//! index that belongs to no repository is changed under git's own lock, and then replaces the index. The copy keeps the
//! modification time of the old index, by which git detects such entries. The new entries have no file times, so git
//! compares these files once.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use actum_core::RelPath;
use git2::{Index, IndexEntry, IndexTime, Repository as Raw};

use crate::check::{as_path, is_staged};
use crate::lock::{IndexLock, remove};
use crate::objects;
use crate::problem::{Dirt, GitProblem};
use crate::tree::Entry;

/// Result of updating the user's index after a commit.
#[derive(Debug)]
pub enum IndexOutcome {
    /// The index contains the committed files. All other staged changes are kept.
    Updated,
    /// The index was not updated, so git shows the committed files as staged for a revert. Running `git reset -- PATH`
    /// for these files corrects that.
    NotUpdated(IndexProblem),
}

/// Reason why the user's index was not updated.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// Another process holds the lock of the index.
    #[error(
        "the index was not updated after the commit because another process holds `.git/index.lock`; when \
         the lock is gone, run `git reset -- PATH` for the committed files"
    )]
    Locked,
    /// HEAD moved to another commit right after the commit was created.
    #[error("the index was not updated after the commit because HEAD moved to another commit")]
    HeadMoved,
    /// Another process or a user removed the lock while it was held.
    #[error(
        "the index was not updated after the commit because its lock was removed while it was held; run \
         `git reset -- PATH` for the committed files"
    )]
    LockRemoved,
    /// The index was updated, but the disk did not confirm the write.
    #[error("the index was updated after the commit, but a power failure may undo the update: {0}")]
    NotDurable(io::Error),
    /// The index has the state from before the commit for some of the committed files.
    #[error(
        "the index has an older state of some committed files; run `git reset -- PATH` for those that no user staged"
    )]
    Behind,
    /// libgit2 cannot read or write the index.
    #[error(
        "the index was not updated after the commit: {0}; run `git reset -- PATH` for the committed files"
    )]
    Git(#[from] git2::Error),
    /// The operating system reports an error for the index or its lock.
    #[error(
        "the index was not updated after the commit: {0}; run `git reset -- PATH` for the committed files"
    )]
    Disk(#[from] io::Error),
}

/// Committed file, with its entry in HEAD before and after the commit.
pub(crate) struct Moved<'a> {
    pub(crate) path: &'a RelPath,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
}

/// New index that is ready to replace the old one, with the lock held. If it is dropped, the copy is removed.
pub(crate) struct Pending {
    copy: PathBuf,
    index: PathBuf,
    /// Lock of the index. It must be dropped after the copy was removed.
    lock: IndexLock,
}

/// Index that a process prepared before it was killed.
pub(crate) enum LeftIndex {
    /// No index was found that is known to belong to the commit.
    None,
    /// The index is ready for the commit that the branch was going to be moved to.
    Ready(Pending),
}

/// Reason why the new index could not be prepared.
pub(crate) enum NotReady {
    /// The commit can be created without updating the index.
    Index(IndexProblem),
    /// The commit must not be created.
    Stop(GitProblem),
}

impl<E: Into<IndexProblem>> From<E> for NotReady {
    fn from(error: E) -> Self {
        Self::Index(error.into())
    }
}

impl Pending {
    /// Takes the lock, and writes the new index next to the old one.
    pub(crate) fn prepare(raw: &Raw, files: &[Moved<'_>]) -> Result<Self, NotReady> {
        let directory = raw.path();
        let own = IndexLock::own(directory)?.ok_or(IndexProblem::Locked)?;
        // While actum's own lock is held, only actum uses this file name, so an existing file is a leftover of a killed
        // process. It is removed before git's lock is taken, so that a process that finds both knows that they belong
        // together.
        let copy = directory.join("index.actum");
        remove(&copy)?;
        let lock = own.take()?.ok_or(IndexProblem::Locked)?;
        let pending = Self { copy, index: directory.join("index"), lock };
        pending.write(files)?;
        Ok(pending)
    }

    /// Finds the index that a killed process left between [`Self::prepare`] and [`Self::publish`], and removes other
    /// leftovers of that process.
    ///
    /// # Errors
    /// Returns `LockRemoved` if the index may have changed since, `Locked` if another process is about to change it,
    /// and `Disk` for errors of the file system.
    pub(crate) fn left(raw: &Raw) -> Result<LeftIndex, IndexProblem> {
        let directory = raw.path();
        let copy = directory.join("index.actum");
        if !IndexLock::was_taken(directory) && !copy.try_exists()? {
            return Ok(LeftIndex::None);
        }
        let lock = IndexLock::own(directory)?.ok_or(IndexProblem::Locked)?;
        let pending = Self { copy, index: directory.join("index"), lock };
        if !pending.copy.try_exists()? {
            return Ok(LeftIndex::None);
        }
        match pending.lock.is_taken()? && pending.is_of_this_index()? {
            true => Ok(LeftIndex::Ready(pending)),
            false => Err(IndexProblem::LockRemoved),
        }
    }

    /// Returns true if the current index is still the one that was copied, or is missing. The copy has the modification
    /// time of the original.
    fn is_of_this_index(&self) -> io::Result<bool> {
        let time = |path: &Path| match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found?.modified().map(Some),
        };
        let now = time(&self.index)?;
        Ok(now.is_none() || now == time(&self.copy)?)
    }

    fn write(&self, files: &[Moved<'_>]) -> Result<(), NotReady> {
        remove(&self.copy.with_extension("actum.lock"))?;
        let old = copied(&self.index, &self.copy)?;
        let mut index = Index::open(&self.copy)?;
        for Moved { path, old, .. } in files {
            if is_staged(&index, path, *old) {
                let (path, dirt) = ((*path).clone(), Dirt::Staged);
                return Err(NotReady::Stop(GitProblem::Dirty { path, dirt }));
            }
        }
        for Moved { path, .. } in
            files.iter().filter(|file| file.old.is_some() && file.new.is_none())
        {
            index.remove(as_path(path), 0)?;
        }
        for Moved { path, new, .. } in files {
            if let Some(new) = new {
                let held = index.get_path(as_path(path), 0);
                index.add(&entry(path, *new, held.as_ref()))?;
            }
        }
        index.write()?;
        if let Some(old) = old {
            let written = OpenOptions::new().write(true).open(&self.copy)?;
            written.set_permissions(old.permissions())?;
            written.set_modified(old.modified()?)?;
        }
        objects::sync(&self.copy)?;
        Ok(())
    }

    /// Opens the new index.
    pub(crate) fn ready(&self) -> Result<Index, git2::Error> {
        Index::open(&self.copy)
    }

    /// Replaces the old index with the new one, and releases the lock.
    pub(crate) fn publish(self) -> Result<(), IndexProblem> {
        if !self.lock.is_taken()? {
            return Err(IndexProblem::LockRemoved);
        }
        rename(&self.copy, &self.index)?;
        self.index.parent().map_or(Ok(()), objects::sync).map_err(IndexProblem::NotDurable)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // If the copy cannot be removed here, the next attempt to prepare an index reports it.
        remove(&self.copy).ok();
    }
}

/// Returns an index entry without file times and other file metadata. Flags that the user set on the existing entry are
/// kept.
fn entry(path: &RelPath, new: Entry, held: Option<&IndexEntry>) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: u32::try_from(new.mode).unwrap_or(0),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: new.blob,
        flags: held.map_or(0, |held| held.flags),
        flags_extended: held.map_or(0, |held| held.flags_extended),
        path: path.as_bytes().to_vec(),
    }
}

/// Copies a file and returns its metadata. Returns `None` if it does not exist.
fn copied(from: &Path, to: &Path) -> io::Result<Option<fs::Metadata>> {
    let mut from = match OpenOptions::new().read(true).open(from) {
        Ok(from) => from,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut to = OpenOptions::new().write(true).create_new(true).open(to)?;
    io::copy(&mut from, &mut to)?;
    from.metadata().map(Some)
}

#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}
