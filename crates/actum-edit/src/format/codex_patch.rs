//! Parses the patch format of OpenAI's Codex. A patch starts with `*** Begin Patch`, has sections that add, delete, update
//! or move files, and ends with `*** End Patch`.
//!
//! Text before and after the patch is skipped, but a line inside the patch that has no meaning is an error. In contrast
//! to Codex, each chunk must match exactly one position in its file, and an existing file is overwritten only on request.
//!
//! Like Codex, the parser ignores whitespace around a marker. Inside a chunk, however, a line that begins with a space is
//! a context line, even if it looks like a marker. The only exception is the last `*** End Patch` of the input.

mod problem;

pub use problem::CodexProblem;

use std::collections::BTreeMap;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::error::{ParseError, Problem};
use super::{RootPrefix, TextSyntax};
use crate::codex_marker::{ADD, BEGIN, DELETE, END, END_OF_FILE, MOVE, UPDATE, is_section};
use crate::edit::{Chunk, ChunkLine, Edit};
use crate::hunk::Side;
use crate::{EmptyParents, Operation};

/// Maximum number of `@@` lines in a chunk.
pub const ANCHORS_MAX: usize = 16;

/// Syntax of the format `codex-patch`.
pub(super) const SYNTAX: TextSyntax = TextSyntax {
    read: |input, reading| parse_with(input, &reading.root),
    is_in: Some(begins),
    sign: "begins with `*** Begin Patch`",
    absence: "it has no `*** Begin Patch` line",
};

/// Checks whether `input` contains a line that starts a Codex patch.
pub fn begins(input: &[u8]) -> bool {
    has_marker(input, BEGIN)
}

/// Checks whether a line of `input` equals `marker`, ignoring whitespace around it.
fn has_marker(input: &[u8], marker: &str) -> bool {
    let is_inner = |b: &&u8| !b.is_ascii_whitespace() || **b == b'\n';
    let is_bound = |byte: Option<&u8>| byte.is_none_or(|&b| b == b'\n');
    memchr::memmem::find_iter(input, marker.as_bytes()).any(|at| {
        let before = input.iter().take(at).rev().find(is_inner);
        let behind = input.iter().skip(at + marker.len()).find(is_inner);
        is_bound(before) && is_bound(behind)
    })
}

/// Parses the operations of a Codex patch, in the order of its sections.
///
/// # Errors
/// Returns [`ParseError`] for the first invalid line.
pub fn parse(input: &[u8]) -> Result<Vec<Operation>, ParseError> {
    parse_with(input, RootPrefix::NONE)
}

/// Parses a patch like [`parse`], and also accepts absolute paths below `root`.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn parse_with(input: &[u8], root: &RootPrefix) -> Result<Vec<Operation>, ParseError> {
    super::check_input(input)?;
    let mut reader = Reader { rest: input, number: 1, sections: BTreeMap::new(), root };
    reader.begin()?;
    let mut operations = Vec::new();
    loop {
        let place = reader.place();
        if let Some(path) = reader.keyword(ADD)? {
            operations.push(reader.added(path, place)?);
        } else if let Some(path) = reader.keyword(DELETE)? {
            let path = reader.new_section(path, place)?;
            let parents = EmptyParents::Remove;
            operations.push(Operation::Delete { path, expected: None, parents });
        } else if let Some(path) = reader.keyword(UPDATE)? {
            reader.updated(path, place, &mut operations)?;
        } else if reader.is(END) {
            reader.advance();
            return reader.end(operations);
        } else {
            return Err(reader.unexpected());
        }
    }
}

/// Cursor over the lines of a patch.
struct Reader<'a> {
    /// Rest of the input, starting at the current line.
    rest: &'a [u8],
    /// Number of the current line, counted from 1.
    number: u64,
    /// Paths that the sections have named so far, with the line number of each section.
    sections: BTreeMap<RelPath, u64>,
    /// Root directory that absolute paths must be below.
    root: &'a RootPrefix,
}

impl<'a> Reader<'a> {
    /// Returns the current line without its newline, or `None` at the end of the input.
    fn current(&self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.rest.split(|&b| b == b'\n').next()
    }

    fn advance(&mut self) {
        let length = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |end| end + 1);
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.number += 1;
    }

    fn place(&self) -> Place {
        Place { line: self.number, column: 1 }
    }

    fn error(&self, problem: CodexProblem) -> ParseError {
        codex(self.place(), problem)
    }

    fn is(&self, marker: &str) -> bool {
        self.current().is_some_and(|line| line.trim_ascii() == marker.as_bytes())
    }

    /// Checks whether the current line is the last `*** End Patch` of the input. An earlier one that follows a space is a
    /// context line of a chunk.
    fn is_last_end(&self) -> bool {
        let behind = memchr::memchr(b'\n', self.rest).and_then(|end| self.rest.get(end..));
        self.is(END) && !has_marker(behind.unwrap_or_default(), END)
    }

    /// If the current line starts with `keyword`, consumes the line and returns the text after the keyword.
    fn keyword(&mut self, keyword: &str) -> Result<Option<&'a [u8]>, ParseError> {
        let Some(line) = self.current() else { return Ok(None) };
        let Some(rest) = line.trim_ascii_start().strip_prefix(keyword.as_bytes()) else {
            return Ok(None);
        };
        if rest.ends_with(b"\r") {
            return Err(self.error(CodexProblem::CarriageReturn));
        }
        self.advance();
        Ok(Some(rest.trim_ascii()))
    }

    /// Skips the text before the patch and its `*** Begin Patch` line.
    fn begin(&mut self) -> Result<(), ParseError> {
        while let Some(line) = self.current() {
            if self.is(BEGIN) {
                if line.ends_with(b"\r") {
                    return Err(self.error(CodexProblem::CarriageReturn));
                }
                self.advance();
                return Ok(());
            }
            self.refuse_outside(line)?;
            self.advance();
        }
        Err(ParseError::whole(Problem::Codex(CodexProblem::NoBegin)))
    }

    /// Checks the text after the patch, which must not contain another change.
    fn end(&mut self, operations: Vec<Operation>) -> Result<Vec<Operation>, ParseError> {
        while let Some(line) = self.current() {
            if self.is(BEGIN) {
                return Err(self.error(CodexProblem::Second));
            }
            self.refuse_outside(line)?;
            self.advance();
        }
        if operations.is_empty() {
            return Err(ParseError::whole(Problem::Codex(CodexProblem::NoSection)));
        }
        Ok(operations)
    }

    /// Returns an error if a line outside the patch is part of a change, because skipping it would lose that change.
    fn refuse_outside(&self, line: &[u8]) -> Result<(), ParseError> {
        let found = Excerpt::new(line);
        if is_section(line.trim_ascii_start()) {
            return Err(self.error(CodexProblem::Outside { found }));
        }
        let next = self.rest.splitn(3, |&b| b == b'\n').nth(1).unwrap_or_default();
        let is_diff = line.starts_with(b"diff --git ")
            || (line.starts_with(b"--- ") && next.starts_with(b"+++ "));
        let is_block = line.trim_ascii_end() == super::search_replace::HEAD.as_bytes();
        if is_diff || is_block || super::is_json_change(line) {
            return Err(self.error(CodexProblem::Mixed { found }));
        }
        Ok(())
    }

    /// Parses the path of a section, and returns an error if another section has already named it.
    fn new_section(&mut self, path: &[u8], place: Place) -> Result<RelPath, ParseError> {
        let path = RelPath::new(self.root.relative(path))
            .map_err(|error| ParseError::at(place, Problem::Path(error)))?;
        match self.sections.insert(path.clone(), place.line) {
            None => Ok(path),
            Some(first) => Err(codex(place, CodexProblem::SamePath { path, first })),
        }
    }

    fn added(&mut self, path: &[u8], place: Place) -> Result<Operation, ParseError> {
        let path = self.new_section(path, place)?;
        let mut content = Vec::new();
        while let Some(line) = self.current().and_then(|line| line.strip_prefix(b"+")) {
            content.extend_from_slice(line);
            content.push(b'\n');
            self.advance();
        }
        Ok(Operation::Create { path, content, mode: None })
    }

    fn updated(
        &mut self,
        path: &[u8],
        place: Place,
        operations: &mut Vec<Operation>,
    ) -> Result<(), ParseError> {
        let path = self.new_section(path, place)?;
        let move_place = self.place();
        let to = self.keyword(MOVE)?.map(|to| self.new_section(to, move_place)).transpose()?;
        let chunks = self.chunks()?;
        if chunks.is_empty() && to.is_none() {
            return Err(codex(place, CodexProblem::ChangesNothing { path }));
        }
        if !chunks.is_empty() {
            let (path, edit) = (path.clone(), Edit::Chunks(chunks));
            operations.push(Operation::Edit { path, edit, expected: None });
        }
        if let Some(to) = to {
            operations.push(Operation::Rename { from: path, to, parents: EmptyParents::Remove });
        }
        Ok(())
    }

    fn chunks(&mut self) -> Result<Vec<Chunk>, ParseError> {
        let mut chunks = Vec::new();
        loop {
            let place = self.place();
            let anchors = self.anchors()?;
            let lines = self.chunk_lines();
            let at_end = self.is(END_OF_FILE);
            if at_end {
                self.advance();
            }
            if lines.is_empty() && anchors.is_none() && !at_end {
                return Ok(chunks);
            }
            if lines.iter().all(|line| line.side == Side::Context) {
                return Err(codex(place, CodexProblem::ChunkChangesNothing));
            }
            chunks.push(Chunk { anchors: anchors.unwrap_or_default(), lines, at_end });
        }
    }

    /// Parses the `@@` lines at the start of a chunk. Returns `None` if there are no such lines.
    fn anchors(&mut self) -> Result<Option<Vec<Vec<u8>>>, ParseError> {
        let mut anchors = None;
        while let Some(rest) = self.current().and_then(|line| line.strip_prefix(b"@@")) {
            let anchor = rest.trim_ascii();
            if is_range(anchor) {
                let found = Excerpt::new(anchor);
                return Err(self.error(CodexProblem::HunkHeader { found }));
            }
            if !rest.is_empty() && !rest.starts_with(b" ") {
                return Err(self.unexpected());
            }
            let anchors = anchors.get_or_insert_with(Vec::new);
            if anchors.len() == ANCHORS_MAX {
                return Err(self.error(CodexProblem::TooManyAnchors));
            }
            if !anchor.is_empty() {
                anchors.push(anchor.to_vec());
            }
            self.advance();
        }
        Ok(anchors)
    }

    fn chunk_lines(&mut self) -> Vec<ChunkLine> {
        let mut lines = Vec::new();
        while let Some(line) = self.current() {
            let (side, bytes) = match line.split_first() {
                Some((b' ', _)) if self.is_last_end() => break,
                Some((b' ', rest)) => (Side::Context, rest),
                Some((b'-', rest)) => (Side::Old, rest),
                Some((b'+', rest)) => (Side::New, rest),
                None => (Side::Context, line),
                Some(_) => break,
            };
            lines.push(ChunkLine { side, bytes: bytes.to_vec() });
            self.advance();
        }
        lines
    }

    /// Returns the error for a line that cannot occur at this position of the patch.
    fn unexpected(&self) -> ParseError {
        match self.current() {
            None => ParseError::whole(Problem::Codex(CodexProblem::NoEnd)),
            Some(line) if line.starts_with(b"--- ") || line.starts_with(b"diff --git ") => {
                self.error(CodexProblem::Diff { found: Excerpt::new(line) })
            }
            Some(line) => self.error(CodexProblem::Unexpected { found: Excerpt::new(line) }),
        }
    }
}

fn codex(place: Place, problem: CodexProblem) -> ParseError {
    ParseError::at(place, Problem::Codex(problem))
}

/// Checks whether the text after `@@` is that of a hunk header in a unified diff, such as `-1,3 +1,4 @@`.
fn is_range(anchor: &[u8]) -> bool {
    let words: Vec<_> = anchor.split(|&b| b == b' ').take(3).collect();
    let is = |word: &[u8], sign: u8| {
        let rest = word.strip_prefix(&[sign]).unwrap_or_default();
        !rest.is_empty() && rest.iter().all(|b| b.is_ascii_digit() || *b == b',')
    };
    matches!(words.as_slice(), [old, new, b"@@"] if is(old, b'-') && is(new, b'+'))
}

#[cfg(test)]
mod tests;
