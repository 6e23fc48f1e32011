//! What a run changes, path by path.

use std::io::{self, Write};

use actum_workspace::{Change, ChangeKind};
use serde::Serialize;

use crate::shown_path::ShownPath;

/// What happens to the paths of one run, and the sums.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChangeList {
    /// How many files change; directories are not counted.
    pub(crate) files: u64,
    /// Lines added.
    pub(crate) added: u64,
    /// Lines removed.
    pub(crate) removed: u64,
    changes: Vec<ChangeLine>,
}

#[derive(Debug, Clone, Serialize)]
struct ChangeLine {
    #[serde(flatten)]
    path: ShownPath,
    #[serde(serialize_with = "kind_name")]
    kind: ChangeKind,
    added: u64,
    removed: u64,
}

/// Paths longer than this are not aligned, in characters.
const ALIGNED_MAX: usize = 60;

impl ChangeList {
    pub(crate) fn of(changes: &[Change]) -> Self {
        let sum =
            |lines: fn(&Change) -> u64| changes.iter().map(lines).fold(0, u64::saturating_add);
        Self {
            files: sum(|change| u64::from(is_file(change.kind))),
            added: sum(|change| change.added),
            removed: sum(|change| change.removed),
            changes: changes
                .iter()
                .map(|Change { path, kind, added, removed }| ChangeLine {
                    path: ShownPath(path.clone()),
                    kind: *kind,
                    added: *added,
                    removed: *removed,
                })
                .collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// `1 file`, `3 files`.
    pub(crate) fn count(&self) -> String {
        count(self.files, "file")
    }

    /// One line for each path, indented by this many spaces.
    pub(crate) fn write_lines(&self, out: &mut dyn Write, indent: usize) -> io::Result<()> {
        let shown: Vec<_> =
            self.changes.iter().map(|line| path_of(line.kind, &line.path)).collect();
        let widths = shown.iter().map(|path| path.chars().count());
        let width = widths.filter(|width| *width <= ALIGNED_MAX).max().unwrap_or(0);
        for (line, path) in self.changes.iter().zip(shown) {
            let word = word(line.kind);
            let text = match lines(line.added, line.removed) {
                None => format!("{word:10}  {path}"),
                Some(lines) => format!("{word:10}  {path:width$}  {lines}"),
            };
            writeln!(out, "{:indent$}{text}", "")?;
        }
        Ok(())
    }
}

/// The path for people: that of a directory ends with `/`.
pub(crate) fn path_of(kind: ChangeKind, path: &ShownPath) -> String {
    let slash = if is_file(kind) { "" } else { "/" };
    format!("{path}{slash}")
}

/// `1 run`, `3 runs`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `+3 -1`, where there is anything to count.
pub(crate) fn lines(added: u64, removed: u64) -> Option<String> {
    (added > 0 || removed > 0).then(|| format!("+{added} -{removed}"))
}

/// The word for people; a directory is told from a file by the `/` behind its name.
pub(crate) fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created | ChangeKind::DirectoryCreated => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Attributes => "attributes",
        ChangeKind::Deleted | ChangeKind::DirectoryRemoved => "deleted",
    }
}

/// The name for programs.
pub(crate) fn name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Attributes => "attributes",
        ChangeKind::Deleted => "deleted",
        ChangeKind::DirectoryCreated => "directory_created",
        ChangeKind::DirectoryRemoved => "directory_removed",
    }
}

fn kind_name<S: serde::Serializer>(kind: &ChangeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*kind))
}

fn is_file(kind: ChangeKind) -> bool {
    match kind {
        ChangeKind::Created
        | ChangeKind::Modified
        | ChangeKind::Attributes
        | ChangeKind::Deleted => true,
        ChangeKind::DirectoryCreated | ChangeKind::DirectoryRemoved => false,
    }
}
