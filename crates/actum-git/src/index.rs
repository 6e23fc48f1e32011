//! The user's index: the entries of exactly the committed files are brought along.
//!
//! libgit2 would compare other files of the work tree when it writes the index of a repository, since
//! what was changed in the moment in which an index was written looks unchanged. So a copy that belongs
//! to no repository is changed, under the lock that git uses, and takes the place of the index. It keeps
//! the time of the old one, by which git tells such entries; and the new entries hold no time at all, so
//! that git compares these files once.

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

/// What became of the user's index.
#[derive(Debug)]
pub enum IndexOutcome {
    /// It has the committed files as they were committed; all else that is staged stays as it was.
    Updated,
    /// It is as it was, so that git shows the committed files as staged to be taken back, until
    /// `git reset -- PATH` is run for them.
    NotUpdated(IndexProblem),
}

/// Why the user's index was not updated.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// Another process holds its lock.
    #[error(
        "updating the index: another process holds `.git/index.lock`; the commit was made, and the index \
         was not changed; run `git reset -- PATH` for its files when the lock is gone"
    )]
    Locked,
    /// HEAD was moved to something else in the same moment.
    #[error(
        "updating the index: HEAD is not at the commit any more; the commit was made, and the index was not changed"
    )]
    HeadMoved,
    /// Somebody took its lock away.
    #[error(
        "updating the index: somebody removed its lock from the process that held it; the commit was \
         made, and the index was not changed; run `git reset -- PATH` for its files"
    )]
    LockRemoved,
    /// It was changed, and the disk did not confirm it.
    #[error(
        "updating the index: {0}; the commit was made, and the index was changed, but may be as before after a power cut"
    )]
    NotDurable(io::Error),
    /// It has files of the commit as they were before it.
    #[error(
        "the index has files of the commit as they were before it; run `git reset -- PATH` for those that nobody staged so"
    )]
    Behind,
    /// It cannot be read or written.
    #[error(
        "updating the index: {0}; the commit was made, and the index was not changed; run `git reset -- PATH` \
         for its files"
    )]
    Git(#[from] git2::Error),
    /// The system does not let it be written.
    #[error(
        "updating the index: {0}; the commit was made, and the index was not changed; run `git reset -- PATH` \
         for its files"
    )]
    Disk(#[from] io::Error),
}

/// A file that was committed: what HEAD had before, and what it has now.
pub(crate) struct Moved<'a> {
    pub(crate) path: &'a RelPath,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
}

/// An index that is ready, under the lock; dropped, it leaves nothing.
pub(crate) struct Pending {
    copy: PathBuf,
    index: PathBuf,
    /// Dropped last.
    lock: IndexLock,
}

/// What a process that is no more left of an index.
pub(crate) enum LeftIndex {
    /// Nothing that is known to be its.
    None,
    /// One that is ready, for the commit to which the branch was to be moved.
    Ready(Pending),
}

/// Why there is no index that is ready.
pub(crate) enum NotReady {
    /// The commit can be made without it.
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
        // Under our lock this name is ours, and what has it is left of a process that was killed. It goes before git's
        // lock is taken: who finds both knows then that they belong together.
        let copy = directory.join("index.actum");
        remove(&copy)?;
        let lock = own.take()?.ok_or(IndexProblem::Locked)?;
        let pending = Self { copy, index: directory.join("index"), lock };
        pending.write(files)?;
        Ok(pending)
    }

    /// What a process left that was killed between [`Self::prepare`] and [`Self::publish`]; what it left of others
    /// is removed.
    ///
    /// # Errors
    /// `LockRemoved` where somebody may have changed the index since; `Locked` where somebody is about to; `Disk`.
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

    /// Whether the index is the one that was copied, whose time the copy has.
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

    /// The index that is ready.
    pub(crate) fn ready(&self) -> Result<Index, git2::Error> {
        Index::open(&self.copy)
    }

    /// Lets the new index take the place of the old one, and the lock go.
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
        // What cannot be removed here stands in the way of the next one, which says so.
        remove(&self.copy).ok();
    }
}

/// An entry without what the file system says about the file; marks that the user set stay.
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

/// Copies a file, and gives what the system says about it; nothing where there is none.
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
