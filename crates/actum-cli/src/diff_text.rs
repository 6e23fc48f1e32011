//! A change as a unified diff.

use std::io::{self, Write};

use actum_core::RelPath;
use actum_core::format::git_diff::write::{self as git, Part, Side};
use actum_core::path::Harmless;
use actum_workspace::path_change::{CONTENT_BYTES_MAX, Content, PathChange, State};

use crate::style::{Painted, of_part};

/// For whom a diff is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A person at a terminal: in colour, and without what a terminal would obey.
    Terminal,
    /// A program: byte for byte, so that it can be applied.
    Program,
}

/// Writes the sections of all files, ordered by path.
pub(crate) fn write(
    changes: &[PathChange],
    audience: Audience,
    out: &mut dyn Write,
) -> io::Result<()> {
    changes.iter().try_for_each(|change| section(change, changes, audience, out))
}

/// One section as text, where it is UTF-8.
pub(crate) fn text(change: &PathChange, all: &[PathChange]) -> Option<String> {
    let mut bytes = Vec::new();
    section(change, all, Audience::Program, &mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

fn section(
    change: &PathChange,
    all: &[PathChange],
    audience: Audience,
    out: &mut dyn Write,
) -> io::Result<()> {
    let origin = change.renamed_from.as_ref();
    let origin = origin.and_then(|from| all.iter().find(|change| change.path == *from));
    let before = match origin {
        Some(from) => (&from.path, &from.before),
        // The file that was here is shown where it went.
        None if all.iter().any(|other| other.renamed_from.as_ref() == Some(&change.path)) => {
            (&change.path, &State::Absent)
        }
        None => (&change.path, &change.before),
    };
    let mut written = Ok(());
    let mut put = |part: Part, piece: &[u8]| {
        if written.is_ok() {
            written = write_piece(part, piece, audience, out);
        }
    };
    match (side(before.0, before.1), side(&change.path, &change.after)) {
        (Ok(old), Ok(new)) => git::section(old, new, put),
        (Err(why), _) | (_, Err(why)) => {
            let line = format!("# {}: {why}\n", change.path);
            put(Part::Header, line.as_bytes());
        }
    }
    written
}

/// One side of a section; a directory is none, since git knows only files.
fn side<'a>(path: &'a RelPath, state: &'a State) -> Result<Option<Side<'a>>, String> {
    match state {
        State::Absent | State::Directory { .. } => Ok(None),
        State::File { mode, content: Content::Known(bytes), .. } => {
            Ok(Some(Side { path, mode: *mode, content: bytes }))
        }
        State::File { content: Content::TooLarge, size, .. } => {
            Err(format!("{size} bytes, more than the {CONTENT_BYTES_MAX} that are shown"))
        }
        State::File { content: Content::Unknown, digest, .. } => Err(format!(
            "its content (SHA-256 {digest}) is not known any more: something else than a run changed \
             the file later, or what was kept of it is gone"
        )),
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
