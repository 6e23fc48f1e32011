//! Parses unified diffs: plain ones from diff(1), and those of git with extended headers (git-diff(1), "Generating patch
//! text with -p") and binary patches.
//!
//! Prose around the file sections, such as mail headers, commit messages, diffstats and signatures, is skipped. A line
//! outside of all sections that looks like part of a change is an error, because skipping it would apply only half of the
//! intended change.

mod binary;
mod header;
mod hunks;
mod lines;
mod names;
mod order;
mod plain;
mod problem;
mod section;
pub mod write;

pub use binary::{BinaryProblem, Side, UNPACKED_BYTES_MAX};
pub use problem::{DiffProblem, Found, Moves};

use super::error::ParseError;
use super::{Reading, TextSyntax};
use crate::Operation;
use lines::Lines;

/// Syntax of the format `git-diff`.
pub(super) const SYNTAX: TextSyntax = TextSyntax {
    read: parse_with,
    is_in: None,
    sign: "has a `diff --git` line or a `--- ` line followed by a `+++ ` line",
    absence: "it has neither a `diff --git` line nor a `--- ` line followed by a `+++ ` line",
};

/// Parses the operations of a diff, and orders them so that each can be applied to the result of the previous ones.
///
/// Several diffs in one input are treated as a single diff that starts from one tree, as in `git apply`. A new file gets
/// the default mode unless the diff marks it as executable. A deletion expects exactly the content that the diff removes,
/// and a binary patch expects exactly the content that it was created from.
///
/// # Errors
/// Returns [`ParseError`] for the first problem in the diff.
pub fn parse(input: &[u8]) -> Result<Vec<Operation>, ParseError> {
    parse_with(input, &Reading::default())
}

/// Parses a diff like [`parse`], with the root and the source of line counts that `reading` sets.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn parse_with(input: &[u8], reading: &Reading) -> Result<Vec<Operation>, ParseError> {
    super::check_input(input)?;
    let mut lines = Lines::new(input, reading);
    let mut room = binary::Room::new();
    let mut sections = Vec::new();
    while let Some(line) = lines.current() {
        if line.starts_with(b"diff --git ") {
            sections.push(header::section(&mut lines, &mut room)?);
        } else if plain::starts(&lines) {
            sections.push(plain::section(&mut lines)?);
        } else {
            refuse_stray(&lines, line)?;
            lines.advance();
        }
    }
    if sections.is_empty() {
        return Err(ParseError::whole(super::Problem::Diff(DiffProblem::NoSection)));
    }
    order::operations(sections)
}

/// Returns an error if a line outside of all sections is part of a change.
fn refuse_stray(lines: &Lines<'_>, line: &[u8]) -> Result<(), ParseError> {
    let found = || lines::excerpt(line);
    let problem = match line.first() {
        Some(b'@') if line.starts_with(b"@@ -") => DiffProblem::HunkWithoutFile { found: found() },
        Some(b'@') if line.starts_with(b"@@@ -") => DiffProblem::Combined,
        Some(b'd') if line.starts_with(b"diff --cc ") => DiffProblem::Combined,
        Some(b'd') if line.starts_with(b"diff --combined ") => DiffProblem::Combined,
        Some(b'B') if is_left_out_binary(line) => DiffProblem::Binary { found: found() },
        Some(b'G') if line.starts_with(b"GIT binary patch") => {
            DiffProblem::BinaryPatch(BinaryProblem::WithoutFile { found: found() })
        }
        Some(b'C' | b'c') if is_encoding(line) => DiffProblem::Encoded { found: found() },
        Some(b'*') if line.starts_with(b"*** Begin Patch") => DiffProblem::Mixed { found: found() },
        Some(b'<') if line.trim_ascii_end() == super::search_replace::HEAD.as_bytes() => {
            DiffProblem::Mixed { found: found() }
        }
        Some(b'{' | b'[') if super::is_json_change(line) => DiffProblem::Mixed { found: found() },
        Some(b'*' | b'S') if is_left_out(line) => DiffProblem::LeftOut { found: found() },
        Some(_) | None => return Ok(()),
    };
    Err(ParseError::diff(lines.place(), problem))
}

/// Checks whether `line` is the note that git writes instead of the change of a binary file.
fn is_left_out_binary(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && line.trim_ascii_end().ends_with(b" differ")
}

/// Checks whether `line` is a mail header which declares that the text is encoded (RFC 2045, section 6).
fn is_encoding(line: &[u8]) -> bool {
    const FIELD: &[u8] = b"Content-Transfer-Encoding:";
    let (field, encoding) = line.split_at(FIELD.len().min(line.len()));
    let encoding = encoding.trim_ascii();
    field.eq_ignore_ascii_case(FIELD)
        && [&b"base64"[..], b"quoted-printable"].iter().any(|e| encoding.eq_ignore_ascii_case(e))
}

/// Checks whether `line` is the note that git writes instead of the change of an unmerged file, or of a submodule with
/// `diff.submodule=log`.
fn is_left_out(line: &[u8]) -> bool {
    let is_id = |id: &[u8]| id.len() >= ID_DIGITS_MIN && id.iter().all(u8::is_ascii_hexdigit);
    let is_range = |word: &[u8]| {
        let dots = memchr::memmem::find(word, b"..").unwrap_or(word.len());
        let (old, new) = word.split_at(dots);
        let new = new.iter().position(|&b| b != b'.').and_then(|start| new.get(start..));
        is_id(old) && new.is_some_and(|new| is_id(new.strip_suffix(b":").unwrap_or(new)))
    };
    line.starts_with(b"* Unmerged path ")
        || (line.starts_with(b"Submodule ") && line.split(u8::is_ascii_whitespace).any(is_range))
}

/// Minimum number of digits of an abbreviated object id in git.
const ID_DIGITS_MIN: usize = 4;
