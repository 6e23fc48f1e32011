//! Objects of a commit, which are on the disk before it counts.
//!
//! libgit2 syncs what it writes (`settings.rs`), one object after another. The file system combines syncs that several
//! threads request at once, so several threads write. However, libgit2 writes no object that exists already, and git
//! itself leaves loose objects to the system. Of a new directory libgit2 syncs only the content. This module handles
//! both.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::{io, thread};

use git2::{ObjectType, Odb, Oid, Repository as Raw};

use crate::problem::{GitProblem, ResultExt};
use crate::repository::Repository;

/// Object that has to be on the disk.
pub(crate) struct Object<'a> {
    kind: ObjectType,
    bytes: Cow<'a, [u8]>,
    pub(crate) id: Oid,
}

const DOING: &str = "writing the objects of the commit";

/// Number of threads that write; more gain nothing on one disk.
const WRITERS_MAX: usize = 8;

impl<'a> Object<'a> {
    /// Returns the blob of these bytes.
    pub(crate) fn blob(bytes: &'a [u8]) -> Result<Self, GitProblem> {
        let id = Oid::hash_object(ObjectType::Blob, bytes).doing(DOING)?;
        Ok(Self { kind: ObjectType::Blob, bytes: bytes.into(), id })
    }

    /// Returns the commit of these bytes.
    pub(crate) fn commit(bytes: &'a [u8]) -> Result<Self, GitProblem> {
        let id = Oid::hash_object(ObjectType::Commit, bytes).doing(DOING)?;
        Ok(Self { kind: ObjectType::Commit, bytes: bytes.into(), id })
    }

    /// Returns the tree with this id.
    pub(crate) fn tree(odb: &Odb<'_>, id: Oid) -> Result<Self, GitProblem> {
        let bytes = odb.read(id).doing(DOING)?.data().to_vec();
        Ok(Self { kind: ObjectType::Tree, bytes: bytes.into(), id })
    }

    /// Writes the object, or ensures that the existing one is on the disk.
    fn write(&self, raw: &Raw) -> Result<(), GitProblem> {
        let odb = raw.odb().doing(DOING)?;
        if !odb.exists(self.id) {
            return odb.write(self.kind, &self.bytes).map(drop).doing(DOING);
        }
        let name = self.id.to_string();
        let (directory, file) = name.split_at(2);
        match sync(&objects(raw).join(directory).join(file)) {
            // The object is in a pack.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced.doing(DOING),
        }
    }
}

/// Writes objects. When this returns they are on the disk.
pub(crate) fn write(repository: &Repository, all: &[Object<'_>]) -> Result<(), GitProblem> {
    let share = all.len().div_ceil(WRITERS_MAX).max(1);
    let writer = |share: &[Object<'_>]| {
        // An open repository belongs to one thread.
        let handle = repository.handle()?;
        share.iter().try_for_each(|object| object.write(&handle.raw))
    };
    thread::scope(|scope| {
        let writers: Vec<_> =
            all.chunks(share).map(|share| scope.spawn(move || writer(share))).collect();
        let ended = |ended: thread::Result<_>| {
            ended.unwrap_or_else(|_| Err(io::Error::other("a writer panicked")).doing(DOING))
        };
        writers.into_iter().map(|writer| ended(writer.join())).collect::<Result<Vec<()>, _>>()
    })?;
    sync(&objects(&repository.handle()?.raw)).doing(DOING)
}

/// Syncs a file or a directory.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).open(path)?.sync_all()
}

fn objects(raw: &Raw) -> PathBuf {
    raw.commondir().join("objects")
}
