//! List of the paths that a run changes.

use std::io::{self, Write};

use actum_api::change::{Change as Line, ChangeKind as Kind, Changes, Sides};
use actum_api::path::WorkspacePath;
use actum_core::FileMode;
use actum_workspace::{Change, ChangeKind, Extent, Lines};
use anstyle::Style;

use crate::count::{count, painted_lines};
use crate::folded_paths::{self, ChangedPath, LISTED_MAX};
use crate::style::{ADDED, CHANGED, Painted, REMOVED};

/// Maximum length of a path that is aligned with the others, in characters.
const ALIGNED_MAX: usize = 60;

/// Converts changes for a document and computes their totals.
pub(crate) fn list<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Changes {
    let mut list = Changes::default();
    for change in changes {
        let line = line(change);
        list.files += u64::from(!line.kind.is_of_directory());
        list.added = list.added.saturating_add(line.added);
        list.removed = list.removed.saturating_add(line.removed);
        list.changes.push(line);
    }
    list
}

/// Converts a single change for a document.
pub(crate) fn line(Change { path, kind, extent, modes }: &Change) -> Line {
    let Lines { added, removed } = extent.lines();
    let (kind, renamed_from) = kind_of(kind);
    let bytes = match *extent {
        Extent::Lines(_) => None,
        Extent::Bytes { before, after } => Some(Sides { before, after }),
    };
    let mode = modes.map(|modes| Sides { before: octal(modes.before), after: octal(modes.after) });
    Line { path: path.into(), renamed_from, kind, added, removed, bytes, mode }
}

/// Returns the kind of a change, and the old path of a renamed file.
fn kind_of(kind: &ChangeKind) -> (Kind, Option<WorkspacePath>) {
    let kind = match kind {
        ChangeKind::Renamed { from } => return (Kind::Renamed, Some(from.into())),
        ChangeKind::Created => Kind::Created,
        ChangeKind::Modified => Kind::Modified,
        ChangeKind::Mode => Kind::Mode,
        ChangeKind::Attributes => Kind::Attributes,
        ChangeKind::Deleted => Kind::Deleted,
        ChangeKind::DirectoryCreated => Kind::DirectoryCreated,
        ChangeKind::DirectoryRemoved => Kind::DirectoryRemoved,
    };
    (kind, None)
}

/// Writes one line per path, indented by `indent` spaces. A long list is summarized by directory.
pub(crate) fn write_lines(
    Changes { changes, .. }: &Changes,
    out: &mut dyn Write,
    indent: usize,
) -> io::Result<()> {
    if changes.len() > LISTED_MAX {
        let paths = changes.iter().map(|line| ChangedPath {
            word: word(&line.kind).to_owned(),
            path: shown_path(line),
            added: line.added,
            removed: line.removed,
        });
        return folded_paths::write(&paths.collect::<Vec<_>>(), indent, out);
    }
    let shown: Vec<_> = changes.iter().map(shown_path).collect();
    let widths = shown.iter().map(|path| path.chars().count());
    let width = widths.filter(|width| *width <= ALIGNED_MAX).max().unwrap_or(0);
    for (line, path) in changes.iter().zip(shown) {
        writeln!(out, "{:indent$}{}", "", text(line, &path, width))?;
    }
    Ok(())
}

/// Returns the change as a line of text for the user.
pub(crate) fn title(line: &Line) -> String {
    text(line, &shown_path(line), 0)
}

/// Returns the path of a change as text for the user. A directory ends with `/`, and a renamed file is shown as `old -> new`.
fn shown_path(Line { path, renamed_from, kind, .. }: &Line) -> String {
    let slash = if kind.is_of_directory() { "/" } else { "" };
    match renamed_from {
        None => format!("{path}{slash}"),
        Some(from) => format!("{from} -> {path}"),
    }
}

fn text(line: &Line, path: &str, width: usize) -> String {
    let word = Painted(style(&line.kind), format!("{:10}", word(&line.kind)));
    let details: Vec<_> = [extent(line), mode(line)].into_iter().flatten().collect();
    match details.is_empty() {
        true => format!("{word}  {path}"),
        false => format!("{word}  {path:width$}  {}", details.join("  ")),
    }
}

fn extent(line: &Line) -> Option<String> {
    match &line.bytes {
        Some(Sides { before, after }) => Some(format!("{before} -> {}", count(*after, "byte"))),
        None => painted_lines(line.added, line.removed),
    }
}

fn mode(line: &Line) -> Option<String> {
    let Sides { before, after } = line.mode.as_ref()?;
    let word = if line.kind == Kind::Mode { "" } else { "mode " };
    Some(format!("{word}{before} -> {after}"))
}

/// Formats permission bits in octal, as chmod(1) does.
pub(crate) fn octal(mode: FileMode) -> String {
    format!("{:04o}", mode.bits())
}

/// Returns the color for a kind of change.
fn style(kind: &Kind) -> Style {
    match kind {
        Kind::Created | Kind::DirectoryCreated => ADDED,
        Kind::Deleted | Kind::DirectoryRemoved => REMOVED,
        Kind::Modified | Kind::Renamed | Kind::Mode | Kind::Attributes => CHANGED,
        Kind::Other(_) => Style::new(),
    }
}

/// Returns the word for a kind of change. Files and directories share the same words, because a directory is recognized by the `/`
/// after its name.
fn word(kind: &Kind) -> &str {
    match kind {
        Kind::DirectoryCreated => "created",
        Kind::DirectoryRemoved => "deleted",
        Kind::Created
        | Kind::Modified
        | Kind::Renamed
        | Kind::Mode
        | Kind::Attributes
        | Kind::Deleted
        | Kind::Other(_) => kind.as_str(),
    }
}
