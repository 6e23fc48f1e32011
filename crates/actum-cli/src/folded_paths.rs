//! Folds long lists of changed paths by directory, so that a change to thousands of files stays readable.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::count::{count, number, painted_lines};

/// Maximum number of changed paths that are listed individually. Longer lists are folded by directory.
pub(crate) const LISTED_MAX: usize = 200;
/// Maximum number of rows in a folded list, unless there are even more kinds of change, each of which needs a row.
const ROWS_MAX: usize = 60;

/// Maximum depth of the directories by which paths are grouped. Each level costs one pass over all paths.
const DEPTH_MAX: usize = 8;

/// Changed path as it is printed.
pub(crate) struct ChangedPath {
    /// Word for the kind of change, such as `created`.
    pub(crate) word: String,
    /// Path, escaped for a terminal.
    pub(crate) path: String,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// Summary of all paths below one directory that change in the same way.
#[derive(Default)]
struct Row<'a> {
    paths: usize,
    /// Path of the change if the row covers only one.
    only: Option<&'a str>,
    added: u64,
    removed: u64,
}

/// Kind of change and directory, which together identify a row.
type RowKey<'a> = (&'a str, &'a str);

/// Writes one row per directory and kind of change, at the greatest depth that needs at most [`ROWS_MAX`] rows.
pub(crate) fn write(changed: &[ChangedPath], indent: usize, out: &mut dyn Write) -> io::Result<()> {
    let depth_of = |changed: &ChangedPath| changed.path.matches('/').count();
    let deepest = changed.iter().map(depth_of).max().unwrap_or(0).min(DEPTH_MAX);
    let by_depth = (0..=deepest).rev().map(|depth| rows(changed, depth));
    let rows = by_depth.into_iter().find(|rows| rows.len() <= ROWS_MAX);
    for ((word, directory), row) in rows.unwrap_or_else(|| self::rows(changed, 0)) {
        let lines = painted_lines(row.added, row.removed);
        let lines = lines.map(|lines| format!("  {lines}")).unwrap_or_default();
        match row.only {
            Some(path) => writeln!(out, "{:indent$}{word:10}  {path}{lines}", "")?,
            None => {
                let place = if directory.is_empty() { "./" } else { directory };
                let paths = count(number(row.paths), "path");
                writeln!(out, "{:indent$}{word:10}  {place}  {paths}{lines}", "")?;
            }
        }
    }
    Ok(())
}

/// Groups paths by kind of change and by their first `depth` directories.
fn rows(changed: &[ChangedPath], depth: usize) -> BTreeMap<RowKey<'_>, Row<'_>> {
    let mut rows = BTreeMap::<_, Row<'_>>::new();
    for ChangedPath { word, path, added, removed } in changed {
        let row = rows.entry((word.as_str(), directory(path, depth))).or_default();
        row.only = (row.paths == 0).then_some(path.as_str());
        row.paths = row.paths.saturating_add(1);
        row.added = row.added.saturating_add(*added);
        row.removed = row.removed.saturating_add(*removed);
    }
    rows
}

/// Returns the first `depth` directories of a path, including the trailing `/`.
fn directory(path: &str, depth: usize) -> &str {
    // The path of a directory itself ends with `/`; it is grouped under its parent directory.
    let inner = path.strip_suffix('/').unwrap_or(path);
    let end = inner.match_indices('/').take(depth).last().map_or(0, |(at, _)| at.saturating_add(1));
    inner.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(paths: impl IntoIterator<Item = (&'static str, String)>) -> String {
        let changed = paths.into_iter().map(|(word, path)| {
            let (word, added, removed) = (word.to_owned(), 2, 1);
            ChangedPath { word, path, added, removed }
        });
        let mut out = Vec::new();
        write(&changed.collect::<Vec<_>>(), 0, &mut out).unwrap();
        let is_mark = |c: char| ('\u{fdd0}'..='\u{fdef}').contains(&c);
        String::from_utf8(out).unwrap().replace(is_mark, "")
    }

    #[test]
    fn paths_are_folded_by_the_deepest_directories_that_fit() {
        let paths = (0..400).map(|n| ("created", format!("a/d{}/f{n}", n % 4)));
        let expected: String =
            (0..4).map(|d| format!("created     a/d{d}/  100 paths  +200 -100\n")).collect();
        assert_eq!(folded(paths), expected);
    }

    #[test]
    fn too_many_directories_are_folded_into_their_parents() {
        let paths = (0..400).map(|n| ("deleted", format!("a{}/d{n}/f", n % 2)));
        assert_eq!(
            folded(paths),
            "deleted     a0/  200 paths  +400 -200\ndeleted     a1/  200 paths  +400 -200\n"
        );
        let flat = (0..400).map(|n| ("deleted", format!("f{n}")));
        assert_eq!(folded(flat), "deleted     ./  400 paths  +800 -400\n");
    }

    #[test]
    fn folding_depth_is_limited_for_deep_paths() {
        let deep = "d/".repeat(1000);
        let paths = (0..400).map(|n| ("created", format!("{deep}f{n}")));
        let expected = format!("created     {}  400 paths  +800 -400\n", "d/".repeat(DEPTH_MAX));
        assert_eq!(folded(paths), expected);
    }

    #[test]
    fn a_single_change_in_a_directory_is_named() {
        let paths = (0..300).map(|n| ("created", format!("n/f{n}")));
        let one = std::iter::once(("modified", "src/main.rs".to_owned()));
        assert_eq!(
            folded(paths.chain(one)),
            "created     n/  300 paths  +600 -300\nmodified    src/main.rs  +2 -1\n"
        );
    }
}
