//! Reads git objects only if their header states an acceptable size, because a loose object of a few megabytes can
//! expand to gigabytes.

use git2::{Blob, Commit, ErrorClass, ErrorCode, Oid, Repository as Raw, Tree};

/// Maximum size of a blob to read, in bytes: 50 MB, which is the limit for a file of a task.
const FILE_BYTES_MAX: u64 = 50_000_000;
/// Maximum size of a commit or tree to read, in bytes: 64 MiB.
const STRUCTURE_BYTES_MAX: u64 = 64 << 20;

/// Lookup of git objects that fails if the object is too large.
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
    let message =
        format!("the object {id} is too large to read ({size} bytes, but the limit is {max})");
    Err(git2::Error::new(ErrorCode::GenericError, ErrorClass::Odb, message))
}
