//! Builds the tree of a commit from the tree of HEAD by adding, replacing and removing individual files.

use git2::{ObjectType, Oid, Repository as Raw, Tree};

use crate::bounded::Bounded;
use crate::problem::{GitProblem, ResultExt};

/// File entry of a git tree: the id of its blob and its mode, `0o100644` or `0o100755`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) blob: Oid,
    pub(crate) mode: i32,
}

pub(crate) const REGULAR: i32 = 0o100_644;
pub(crate) const EXECUTABLE: i32 = 0o100_755;
const DIRECTORY: i32 = 0o040_000;

/// Path in the new tree with the file to store there, or `None` to remove the path.
pub(crate) type Wanted<'a> = (&'a [u8], Option<Entry>);

/// Ids of the trees that were written, in which the root tree is last.
pub(crate) type Written = Vec<Oid>;

const DOING: &str = "building the tree of the commit";

/// Writes the tree that results from applying `wanted` to `base`. Empty directories are omitted, because git does not
/// store them.
///
/// # Errors
/// Returns an error if a path would be both a file and a non-empty directory, or if git rejects a name.
pub(crate) fn build(
    raw: &Raw,
    base: &Tree<'_>,
    wanted: &[Wanted<'_>],
) -> Result<Written, GitProblem> {
    let mut wanted = wanted.to_vec();
    wanted.sort_by_cached_key(|(path, _)| path.split(|byte| *byte == b'/').collect::<Vec<_>>());
    let mut written = Vec::new();
    if level(raw, Some(base), &wanted, &mut written)?.is_none() {
        let builder = raw.treebuilder(None).doing(DOING)?;
        written.push(builder.write().doing(DOING)?);
    }
    Ok(written)
}

/// Builds the tree of one directory. `wanted` must be sorted by path components. Returns `None` if the directory would be
/// empty.
fn level(
    raw: &Raw,
    base: Option<&Tree<'_>>,
    wanted: &[Wanted<'_>],
    written: &mut Written,
) -> Result<Option<Oid>, GitProblem> {
    let mut builder = raw.treebuilder(base).doing(DOING)?;
    for group in wanted.chunk_by(|(a, _), (b, _)| first(a).0 == first(b).0) {
        let Some((path, _)) = group.first() else { continue };
        let name = first(path).0;
        let file = group.iter().find(|(path, _)| first(path).1.is_none());
        let below: Vec<Wanted<'_>> =
            group.iter().filter_map(|(path, entry)| Some((first(path).1?, *entry))).collect();
        let old = base.and_then(|tree| tree.get_name_bytes(name));
        let is_directory = old.as_ref().is_some_and(|old| old.kind() == Some(ObjectType::Tree));
        let mut directory = None;
        if let (true, Some(old)) = (is_directory, &old) {
            directory = Some(old.id());
        }
        if !below.is_empty() {
            let subtree = directory.map(|id| raw.bounded_tree(id)).transpose().doing(DOING)?;
            directory = level(raw, subtree.as_ref(), &below, written)?;
        }
        match (file.and_then(|(_, entry)| *entry), directory) {
            (Some(_), Some(_)) => return Err(in_the_way("a file", "a directory")),
            (Some(entry), None) => {
                builder.insert(name, entry.blob, entry.mode).doing(DOING)?;
            }
            (None, Some(_)) if file.is_none() && old.is_some() && !is_directory => {
                return Err(in_the_way("a directory", "a file"));
            }
            (None, Some(directory)) => {
                builder.insert(name, directory, DIRECTORY).doing(DOING)?;
            }
            // An entry is only removed if it was requested or is a directory that became empty. Removing a path below
            // a regular file leaves that file in the tree.
            (None, None) if file.is_some() || is_directory => {
                if old.is_some() {
                    builder.remove(name).doing(DOING)?;
                }
            }
            (None, None) => {}
        }
    }
    if builder.is_empty() {
        return Ok(None);
    }
    let tree = builder.write().doing(DOING)?;
    written.push(tree);
    Ok(Some(tree))
}

fn in_the_way(new: &str, old: &str) -> GitProblem {
    let source =
        git2::Error::from_str(&format!("cannot create {new} because {old} exists at this path"));
    GitProblem::Git { doing: DOING, source }
}

/// Splits a path into its first component and the rest.
fn first(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = path.splitn(2, |byte| *byte == b'/');
    (parts.next().unwrap_or_default(), parts.next())
}
