//! Writes the objects of a commit, and ensures that they are on disk before the commit takes effect.
//!
//! libgit2 syncs the objects that it writes one after another (`settings.rs`). File systems combine syncs that are
//! requested concurrently, so this module writes with several threads. libgit2 does not write objects that already
//! exist, but git may have left them unsynced. It also does not sync the parent of a new directory. This module handles
//! both cases.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::{io, thread};

use git2::{ObjectType, Odb, Oid, Repository as Raw};

use crate::problem::{GitProblem, ResultExt};
use crate::repository::Repository;

/// Git object that must be on disk before the commit takes effect.
pub(crate) struct Object<'a> {
    kind: ObjectType,
    bytes: Cow<'a, [u8]>,
    pub(crate) id: Oid,
}

const DOING: &str = "writing the objects of the commit";

/// Maximum number of threads that write objects. More threads do not help on a single disk.
const WRITERS_MAX: usize = 8;

impl<'a> Object<'a> {
    /// Creates a blob from its content.
    pub(crate) fn blob(bytes: &'a [u8]) -> Result<Self, GitProblem> {
        let id = Oid::hash_object(ObjectType::Blob, bytes).doing(DOING)?;
        Ok(Self { kind: ObjectType::Blob, bytes: bytes.into(), id })
    }

    /// Creates a commit object from its serialized form.
    pub(crate) fn commit(bytes: &'a [u8]) -> Result<Self, GitProblem> {
        let id = Oid::hash_object(ObjectType::Commit, bytes).doing(DOING)?;
        Ok(Self { kind: ObjectType::Commit, bytes: bytes.into(), id })
    }

    /// Reads the tree with this id from the object database.
    pub(crate) fn tree(odb: &Odb<'_>, id: Oid) -> Result<Self, GitProblem> {
        let bytes = odb.read(id).doing(DOING)?.data().to_vec();
        Ok(Self { kind: ObjectType::Tree, bytes: bytes.into(), id })
    }

    /// Writes the object, or syncs the existing object to disk.
    fn write(&self, raw: &Raw) -> Result<(), GitProblem> {
        let odb = raw.odb().doing(DOING)?;
        if !odb.exists(self.id) {
            return odb.write(self.kind, &self.bytes).map(drop).doing(DOING);
        }
        let name = self.id.to_string();
        let (directory, file) = name.split_at(2);
        match sync(&objects(raw).join(directory).join(file)) {
            // The object is stored in a pack file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced.doing(DOING),
        }
    }
}

/// Writes all objects and syncs them to disk.
pub(crate) fn write(repository: &Repository, all: &[Object<'_>]) -> Result<(), GitProblem> {
    let share = all.len().div_ceil(WRITERS_MAX).max(1);
    let writer = |share: &[Object<'_>]| {
        // A repository handle cannot be shared between threads, so each thread opens its own.
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

/// Syncs a file or a directory to disk.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).open(path)?.sync_all()
}

fn objects(raw: &Raw) -> PathBuf {
    raw.commondir().join("objects")
}
