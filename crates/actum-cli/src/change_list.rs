//! What a run changes, path by path.

use std::io::{self, Write};

use actum_core::FileMode;
use actum_workspace::{Change, ChangeKind, Extent, Lines};
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

/// What happens to one path.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChangeLine {
    #[serde(flatten)]
    path: ShownPath,
    /// Where a renamed file was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<ShownPath>,
    #[serde(serialize_with = "kind_name")]
    kind: ChangeKind,
    added: u64,
    removed: u64,
    /// The sizes of a file whose content is binary and changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Sides<u64>>,
    /// The permission bits, where they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Sides<String>>,
}

/// Something before a change and after it.
#[derive(Debug, Clone, Serialize)]
struct Sides<T> {
    before: T,
    after: T,
}

/// Paths longer than this are not aligned, in characters.
const ALIGNED_MAX: usize = 60;

impl ChangeList {
    pub(crate) fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut list = Self { files: 0, added: 0, removed: 0, changes: Vec::new() };
        for change in changes {
            let line = ChangeLine::of(change);
            list.files += u64::from(line.kind.is_of_file());
            list.added = list.added.saturating_add(line.added);
            list.removed = list.removed.saturating_add(line.removed);
            list.changes.push(line);
        }
        list
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
        let shown: Vec<_> = self.changes.iter().map(ChangeLine::shown_path).collect();
        let widths = shown.iter().map(|path| path.chars().count());
        let width = widths.filter(|width| *width <= ALIGNED_MAX).max().unwrap_or(0);
        for (line, path) in self.changes.iter().zip(shown) {
            writeln!(out, "{:indent$}{}", "", line.text(&path, width))?;
        }
        Ok(())
    }
}

impl ChangeLine {
    pub(crate) fn of(Change { path, kind, extent, modes }: &Change) -> Self {
        let Lines { added, removed } = extent.lines();
        let renamed_from = match kind {
            ChangeKind::Renamed { from } => Some(ShownPath(from.clone())),
            ChangeKind::Created
            | ChangeKind::Modified
            | ChangeKind::Mode
            | ChangeKind::Attributes
            | ChangeKind::Deleted
            | ChangeKind::DirectoryCreated
            | ChangeKind::DirectoryRemoved => None,
        };
        let bytes = match *extent {
            Extent::Lines(_) => None,
            Extent::Bytes { before, after } => Some(Sides { before, after }),
        };
        let mode =
            modes.map(|modes| Sides { before: octal(modes.before), after: octal(modes.after) });
        let (path, kind) = (ShownPath(path.clone()), kind.clone());
        Self { path, renamed_from, kind, added, removed, bytes, mode }
    }

    /// The line for people.
    pub(crate) fn title(&self) -> String {
        self.text(&self.shown_path(), 0)
    }

    /// The path for people: that of a directory ends with `/`, that of a renamed file stands behind
    /// the old one.
    fn shown_path(&self) -> String {
        let slash = if self.kind.is_of_file() { "" } else { "/" };
        match &self.renamed_from {
            None => format!("{}{slash}", self.path),
            Some(from) => format!("{from} -> {}", self.path),
        }
    }

    fn text(&self, path: &str, width: usize) -> String {
        let word = word(&self.kind);
        let details: Vec<_> = [self.extent(), self.mode()].into_iter().flatten().collect();
        match details.is_empty() {
            true => format!("{word:10}  {path}"),
            false => format!("{word:10}  {path:width$}  {}", details.join("  ")),
        }
    }

    fn extent(&self) -> Option<String> {
        match &self.bytes {
            Some(Sides { before, after }) => Some(format!("{before} -> {}", count(*after, "byte"))),
            None => lines(self.added, self.removed),
        }
    }

    fn mode(&self) -> Option<String> {
        let Sides { before, after } = self.mode.as_ref()?;
        let word = if self.kind == ChangeKind::Mode { "" } else { "mode " };
        Some(format!("{word}{before} -> {after}"))
    }
}

/// Permission bits as chmod(1) takes them.
pub(crate) fn octal(mode: FileMode) -> String {
    format!("{:04o}", mode.bits())
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
fn word(kind: &ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created | ChangeKind::DirectoryCreated => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Renamed { .. } => "renamed",
        ChangeKind::Mode => "mode",
        ChangeKind::Attributes => "attributes",
        ChangeKind::Deleted | ChangeKind::DirectoryRemoved => "deleted",
    }
}

/// The name for programs.
fn name(kind: &ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Renamed { .. } => "renamed",
        ChangeKind::Mode => "mode",
        ChangeKind::Attributes => "attributes",
        ChangeKind::Deleted => "deleted",
        ChangeKind::DirectoryCreated => "directory_created",
        ChangeKind::DirectoryRemoved => "directory_removed",
    }
}

fn kind_name<S: serde::Serializer>(kind: &ChangeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(kind))
}
