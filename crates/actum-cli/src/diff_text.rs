//! Rendering of a change as a unified diff.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use actum_core::path::Harmless;
use actum_core::{Digest, FileMode, RelPath};
use actum_edit::format::git_diff::write::{self as git, Part, Piece, Side};
use actum_workspace::path_change::{CONTENT_BYTES_MAX, Content, PathChange, State};

use crate::style::{Painted, of_part};

/// Reader of a diff, which determines its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// User at a terminal. The diff is colored, and control characters are escaped.
    Terminal,
    /// Program that may apply the diff, so file content is written byte for byte.
    Program,
}

/// Part of a diff that shows the change to a single file.
pub(crate) struct Section<'a> {
    /// Change to the file. For a renamed file, this is the change at the new path.
    pub(crate) change: &'a PathChange,
    /// File before and after the change, or the reason why it cannot be shown completely.
    sides: Result<Sides<'a>, String>,
}

/// File before and after the change, each `None` if it does not exist.
type Sides<'a> = (Option<Side<'a>>, Option<Side<'a>>);

/// Returns a section for each file that differs, sorted by path. A renamed file has one section at its new path.
pub(crate) fn sections(changes: &[PathChange]) -> Vec<Section<'_>> {
    let by_path: BTreeMap<_, _> = changes.iter().map(|change| (&change.path, change)).collect();
    let gone: BTreeSet<_> = changes.iter().filter_map(|it| it.renamed_from.as_ref()).collect();
    let sections = changes.iter().map(|change| {
        let from = change.renamed_from.as_ref().and_then(|from| by_path.get(from));
        let before = match from {
            Some(from) => side(&from.path, &from.before),
            None if gone.contains(&change.path) => Ok(None),
            None => side(&change.path, &change.before),
        };
        let after = side(&change.path, &change.after);
        let sides = before.and_then(|before| Ok((before, after?))).map_err(|why| {
            let before = from.map_or(&change.before, |from| &from.before);
            format!("{why}; before: {}, after: {}", facts(before), facts(&change.after))
        });
        Section { change, sides }
    });
    sections.filter(|section| !matches!(section.sides, Ok((None, None)))).collect()
}

impl Section<'_> {
    /// Passes the text of the section to `out`, piece by piece.
    pub(crate) fn pieces(&self, out: impl FnMut(Part, &[u8])) {
        match &self.sides {
            Ok((old, new)) => git::section(*old, *new, out),
            Err(_) if !self.change.excerpts.is_empty() => {
                let pieces = self.change.excerpts.iter().map(|excerpt| Piece {
                    old: &excerpt.before,
                    new: &excerpt.after,
                    lines: excerpt.lines,
                });
                git::pieces(&self.change.path, self.modes(), &pieces.collect::<Vec<_>>(), out);
            }
            Err(why) => {
                let path = &self.change.path;
                git::unknown(self.change.renamed_from.as_ref().unwrap_or(path), path, why, out);
            }
        }
    }

    /// Returns the mode before and after the change, for a file that exists on both sides.
    fn modes(&self) -> (FileMode, FileMode) {
        let mode = |state: &State| match state {
            State::File { mode, .. } => *mode,
            State::Absent | State::Directory { .. } => FileMode::REGULAR,
        };
        (mode(&self.change.before), mode(&self.change.after))
    }

    /// Writes the section. A git diff only distinguishes two modes, so any other permissions are first written on a separate line.
    pub(crate) fn write(&self, audience: Audience, out: &mut dyn Write) -> io::Result<()> {
        if audience == Audience::Terminal {
            write_permissions(self.change, out)?;
        }
        let mut written = Ok(());
        let mut is_binary = false;
        self.pieces(|part, piece| {
            is_binary |= part == Part::Binary;
            if written.is_ok() && (audience == Audience::Program || part != Part::Binary) {
                written = write_piece(part, piece, audience, out);
            }
        });
        written?;
        match (&self.sides, audience) {
            (Ok((old, new)), Audience::Terminal) if is_binary => write_binary(*old, *new, out),
            (Ok(_) | Err(_), Audience::Terminal | Audience::Program) => Ok(()),
        }
    }
}

/// Writes content that git treats as binary. If it is text with a few NUL bytes, which an interpreter may still execute, its lines
/// are shown with escapes. Other content is described by its size and digest.
fn write_binary(
    old: Option<Side<'_>>,
    new: Option<Side<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [before, after] = [old, new].map(|side| side.map_or(&[][..], |side| side.content));
    if is_nearly_text(before) && is_nearly_text(after) {
        let mut written = Ok(());
        git::hunks(before, after, |part, piece| {
            if written.is_ok() {
                written = write_piece(part, piece, Audience::Terminal, out);
            }
        });
        return written;
    }
    let summary = match new {
        None => "deleted binary content is not shown".to_owned(),
        Some(_) => format!(
            "binary content is not shown: {} bytes after the change, SHA-256 {}",
            after.len(),
            Digest::of(after)
        ),
    };
    writeln!(out, "{}", Painted(of_part(Part::Binary), summary))
}

/// Whether the content is valid UTF-8 and at most 1 % of its bytes are NUL.
fn is_nearly_text(content: &[u8]) -> bool {
    let nuls = content.iter().filter(|&&byte| byte == 0).count();
    nuls.saturating_mul(100) <= content.len() && std::str::from_utf8(content).is_ok()
}

/// Writes the new permissions of a path if they are unusual.
fn write_permissions(change: &PathChange, out: &mut dyn Write) -> io::Result<()> {
    let path = &change.path;
    match &change.after {
        State::Absent => Ok(()),
        State::Directory { mode }
            if *mode == FileMode::EXECUTABLE && matches!(change.before, State::Absent) =>
        {
            Ok(())
        }
        State::File { mode, .. } if [FileMode::REGULAR, FileMode::EXECUTABLE].contains(mode) => {
            Ok(())
        }
        State::Directory { mode } => {
            write!(out, "permissions of the directory `{path}`: ")?;
            if let State::Directory { mode: before } = &change.before {
                write!(out, "{:04o} -> ", before.bits())?;
            }
            writeln!(out, "{:04o}", mode.bits())
        }
        State::File { mode, .. } => writeln!(out, "permissions of `{path}`: {:04o}", mode.bits()),
    }
}

/// Writes the unusual permissions of directories, because a diff has no sections for directories.
pub(crate) fn write_directories(changes: &[PathChange], out: &mut dyn Write) -> io::Result<()> {
    let is_directory = |change: &&PathChange| matches!(change.after, State::Directory { .. });
    changes.iter().filter(is_directory).try_for_each(|change| write_permissions(change, out))
}

/// Returns one side of a section. A directory has none, because git tracks only files.
fn side<'a>(path: &'a RelPath, state: &'a State) -> Result<Option<Side<'a>>, String> {
    match state {
        State::Absent | State::Directory { .. } => Ok(None),
        State::File { mode, content: Content::Known(bytes), .. } => {
            Ok(Some(Side { path, mode: *mode, content: bytes }))
        }
        State::File { content: Content::TooLarge, .. } => {
            Err(format!(
                "the content is too large to be shown: the limit is {CONTENT_BYTES_MAX} bytes per file, or less in very large \
                 changes"
            ))
        }
        State::File { content: Content::Unknown, .. } => Err(
            "the full content is no longer available, because the file was changed outside of a run or its saved content \
             was removed"
                .to_owned(),
        ),
    }
}

/// Describes a state whose content cannot be shown, so that it can be distinguished from other states.
fn facts(state: &State) -> String {
    match state {
        State::Absent => "no file".to_owned(),
        State::Directory { mode } => format!("a directory (mode {:04o})", mode.bits()),
        State::File { mode, size, digest, .. } => {
            format!("{size} bytes (mode {:04o}, SHA-256 {digest})", mode.bits())
        }
    }
}

fn write_piece(
    part: Part,
    piece: &[u8],
    audience: Audience,
    out: &mut dyn Write,
) -> io::Result<()> {
    match audience {
        Audience::Program => out.write_all(piece),
        Audience::Terminal => {
            for line in piece.split_inclusive(|&b| b == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                writeln!(out, "{}", Painted(of_part(part), Harmless(line)))?;
            }
            Ok(())
        }
    }
}
