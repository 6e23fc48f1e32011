//! Tree of a commit: that of HEAD with some files added or removed, and nothing else.

use git2::{ObjectType, Oid, Repository as Raw, Tree};

use crate::bounded::Bounded;
use crate::problem::{GitProblem, ResultExt};

/// File as a tree holds it: its blob, and `0o100644` or `0o100755`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) blob: Oid,
    pub(crate) mode: i32,
}

pub(crate) const REGULAR: i32 = 0o100_644;
pub(crate) const EXECUTABLE: i32 = 0o100_755;
const DIRECTORY: i32 = 0o040_000;

/// Path with its wanted file, if any.
pub(crate) type Wanted<'a> = (&'a [u8], Option<Entry>);

/// Trees that were written, the topmost last.
pub(crate) type Written = Vec<Oid>;

const DOING: &str = "building the tree of the commit";

/// Writes the tree that results from `base`. An empty directory is left out, as git does.
///
/// # Errors
/// An impossible tree: a file in the place of a directory with other files; names that git refuses.
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

/// Builds one directory; `wanted` is sorted by components. `None` if nothing is left in it.
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
            // A file below which a path is removed is no directory, and remains.
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
    let source = git2::Error::from_str(&format!("{new} would stand where {old} stays"));
    GitProblem::Git { doing: DOING, source }
}

/// Splits a path into its first component and the rest.
fn first(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = path.splitn(2, |byte| *byte == b'/');
    (parts.next().unwrap_or_default(), parts.next())
}
