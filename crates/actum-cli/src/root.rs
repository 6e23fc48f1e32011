//! Where the workspace is: the only place that asks for the current directory.

use std::io;
use std::path::{Path, PathBuf};

use actum::PolicyFiles;
use actum_workspace::STATE_DIRECTORY;

use crate::failure::Failure;

/// The directory to start in, without symbolic links: `directory`, or else the current one.
pub(crate) fn start(directory: Option<&Path>) -> Result<PathBuf, Failure> {
    let found = match directory {
        Some(directory) => std::fs::canonicalize(directory).and_then(|found| {
            if found.is_dir() { Ok(found) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }),
        None => current_directory(),
    };
    let named = directory.unwrap_or(Path::new("."));
    found.map_err(|source| Failure::Start { directory: named.to_owned(), source })
}

#[expect(clippy::disallowed_methods, reason = "this is the module that knows where we stand")]
fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// The root of the workspace that `start` lies in; where there is none `start` itself, which the
/// engine then refuses.
pub(crate) fn existing(start: &Path) -> &Path {
    nearest(start, STATE_DIRECTORY).unwrap_or(start)
}

/// The same where a workspace may be made: then the root of the git repository, else where a policy
/// stands, which would not count for a workspace below it; else `start`.
pub(crate) fn existing_or_new(start: &Path) -> &Path {
    let ruled = || nearest(start, PolicyFiles::IN_WORKSPACE);
    nearest(start, STATE_DIRECTORY).or_else(|| repository(start)).or_else(ruled).unwrap_or(start)
}

/// The same for who asks for a workspace to be made: the root of a repository gets its own, also
/// inside the workspace of another.
pub(crate) fn wanted(start: &Path) -> &Path {
    let nearest = [nearest(start, STATE_DIRECTORY), repository(start)].into_iter().flatten();
    nearest.max_by_key(|root| root.components().count()).unwrap_or(start)
}

/// The root of the git repository that `start` lies in.
pub(crate) fn repository(start: &Path) -> Option<&Path> {
    nearest(start, ".git")
}

/// Whether `root` has a state directory, sound or not.
pub(crate) fn is_made(root: &Path) -> bool {
    has(root, STATE_DIRECTORY)
}

fn nearest<'a>(start: &'a Path, name: &str) -> Option<&'a Path> {
    start.ancestors().find(|directory| has(directory, name))
}

/// Whatever the name is, a link included: the engine judges what it is worth.
fn has(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own directories")]
    fn the_nearest_workspace_wins_over_a_nearer_repository() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let inner = root.join("outer/repository/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(root.join("outer/repository/.git")).unwrap();
        assert_eq!(existing_or_new(&inner), root.join("outer/repository"));
        assert_eq!(existing(&inner), inner);
        std::fs::create_dir(root.join("outer/.actum")).unwrap();
        assert_eq!(existing_or_new(&inner), root.join("outer"));
        assert_eq!(existing(&inner), root.join("outer"));
        assert_eq!(wanted(&inner), root.join("outer/repository"));
        assert_eq!(wanted(root), root);
    }
}
