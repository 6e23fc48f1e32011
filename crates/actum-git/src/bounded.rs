//! Objects that are read whole only if their header says that they are small enough: a few megabytes of a loose object
//! can hold gigabytes.

use git2::{Blob, Commit, ErrorClass, ErrorCode, Oid, Repository as Raw, Tree};

/// Size of the largest blob that is read, in bytes: 50 MB, the limit of a file of a task.
const FILE_BYTES_MAX: u64 = 50_000_000;
/// Size of the largest commit or tree that is read, in bytes: 64 MiB.
const STRUCTURE_BYTES_MAX: u64 = 64 << 20;

/// Reading of objects of a bounded size.
pub(crate) trait Bounded {
    fn bounded_commit(&self, id: Oid) -> Result<Commit<'_>, git2::Error>;
    fn bounded_tree(&self, id: Oid) -> Result<Tree<'_>, git2::Error>;
    fn bounded_blob(&self, id: Oid) -> Result<Blob<'_>, git2::Error>;
}

impl Bounded for Raw {
    fn bounded_commit(&self, id: Oid) -> Result<Commit<'_>, git2::Error> {
        check_size(self, id, STRUCTURE_BYTES_MAX)?;
        self.find_commit(id)
    }

    fn bounded_tree(&self, id: Oid) -> Result<Tree<'_>, git2::Error> {
        check_size(self, id, STRUCTURE_BYTES_MAX)?;
        self.find_tree(id)
    }

    fn bounded_blob(&self, id: Oid) -> Result<Blob<'_>, git2::Error> {
        check_size(self, id, FILE_BYTES_MAX)?;
        self.find_blob(id)
    }
}

fn check_size(raw: &Raw, id: Oid, max: u64) -> Result<(), git2::Error> {
    let (size, _) = raw.odb()?.read_header(id)?;
    if u64::try_from(size).unwrap_or(u64::MAX) <= max {
        return Ok(());
    }
    let message = format!("the object {id} has {size} bytes, and at most {max} are read");
    Err(git2::Error::new(ErrorCode::GenericError, ErrorClass::Odb, message))
}
