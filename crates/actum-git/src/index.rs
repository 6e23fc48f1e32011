//! Update of the user's index: only the entries of the committed files change.
//!
//! libgit2 would compare other files of the work tree when it writes the index of a repository. It does so because a
//! file that changed in the moment in which an index was written looks unchanged. So a copy that belongs to no
//! repository is changed, under the lock that git uses, and replaces the index. It keeps the time of the old one, by
//! which git recognises such entries. The new entries hold no time at all, so git compares these files once.

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

/// Outcome for the user's index.
#[derive(Debug)]
pub enum IndexOutcome {
    /// The index has the committed files as they were committed; all else that is staged is unchanged.
    Updated,
    /// The index is unchanged, so git shows the committed files as staged for a revert, until `git reset -- PATH` is
    /// run for them.
    NotUpdated(IndexProblem),
}

/// Reason why the user's index was not updated.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// Another process holds its lock.
    #[error(
        "updating the index: another process holds `.git/index.lock`; the commit was made, and the index \
         was not changed; run `git reset -- PATH` for its files when the lock is gone"
    )]
    Locked,
    /// HEAD was moved to another commit in the same moment.
    #[error(
        "updating the index: HEAD is no longer at the commit; the commit was made, and the index was not changed"
    )]
    HeadMoved,
    /// Another process or a user removed the lock.
    #[error(
        "updating the index: another process removed its lock from the process that held it; the commit was \
         made, and the index was not changed; run `git reset -- PATH` for its files"
    )]
    LockRemoved,
    /// The index was changed, and the disk did not confirm it.
    #[error(
        "updating the index: {0}; the commit was made, and the index was changed, but may be as before after a power cut"
    )]
    NotDurable(io::Error),
    /// The index has files of the commit as they were before it.
    #[error(
        "the index has files of the commit as they were before it; run `git reset -- PATH` for those that no user staged so"
    )]
    Behind,
    /// The index cannot be read or written.
    #[error(
        "updating the index: {0}; the commit was made, and the index was not changed; run `git reset -- PATH` \
         for its files"
    )]
    Git(#[from] git2::Error),
    /// The system denies writing it.
    #[error(
        "updating the index: {0}; the commit was made, and the index was not changed; run `git reset -- PATH` \
         for its files"
    )]
    Disk(#[from] io::Error),
}

/// File that was committed: the entry of HEAD before, and the current one.
pub(crate) struct Moved<'a> {
    pub(crate) path: &'a RelPath,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
}

/// Index that is ready, under the lock; dropped, it leaves nothing.
pub(crate) struct Pending {
    copy: PathBuf,
    index: PathBuf,
    /// The lock, which is dropped last.
    lock: IndexLock,
}

/// Index that a process left which no longer runs.
pub(crate) enum LeftIndex {
    /// Nothing that is known to belong to it.
    None,
    /// An index that is ready, for the commit to which the branch was to be moved.
    Ready(Pending),
}

/// Reason why no index is ready.
pub(crate) enum NotReady {
    /// The commit can be made without the index.
    Index(IndexProblem),
    /// The commit must not be made.
    Stop(GitProblem),
}

impl<E: Into<IndexProblem>> From<E> for NotReady {
    fn from(error: E) -> Self {
        Self::Index(error.into())
    }
}

impl Pending {
    /// Takes the lock and makes the new index beside the old one.
    pub(crate) fn prepare(raw: &Raw, files: &[Moved<'_>]) -> Result<Self, NotReady> {
        let directory = raw.path();
        let own = IndexLock::own(directory)?.ok_or(IndexProblem::Locked)?;
        // Under actum's lock this name belongs to actum, and a file that has it is left of a process that was killed.
        // It is removed before git's lock is taken, so a process that finds both knows that they belong together.
        let copy = directory.join("index.actum");
        remove(&copy)?;
        let lock = own.take()?.ok_or(IndexProblem::Locked)?;
        let pending = Self { copy, index: directory.join("index"), lock };
        pending.write(files)?;
        Ok(pending)
    }

    /// Finds the index of a process that was killed between [`Self::prepare`] and [`Self::publish`]. Other leftovers of
    /// that process are removed.
    ///
    /// # Errors
    /// `LockRemoved` if the index may have been changed since; `Locked` if another process is about to change it;
    /// `Disk`.
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

    /// Returns true if the index is the one that was copied, whose time the copy has.
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

    /// Opens the index that is ready.
    pub(crate) fn ready(&self) -> Result<Index, git2::Error> {
        Index::open(&self.copy)
    }

    /// Replaces the old index by the new one, and releases the lock.
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
        // A copy that cannot be removed here blocks the next one, which reports it.
        remove(&self.copy).ok();
    }
}

/// Returns an entry without the file system's facts about the file; marks that the user set remain.
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

/// Copies a file, and returns the system's facts about it; `None` if it is missing.
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
