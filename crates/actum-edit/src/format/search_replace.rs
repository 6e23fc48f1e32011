//! Parses SEARCH/REPLACE blocks, the format that aider prompts models for. A block consists of a file path, the lines to
//! search for between `<<<<<<< SEARCH` and `=======`, and the lines to replace them with, up to `>>>>>>> REPLACE`.
//!
//! Prose and Markdown code fences around the blocks are skipped. In contrast to aider, a block applies only if its lines
//! occur exactly once in the file, byte for byte. Ambiguous input is rejected: a line that could be a marker or a line of
//! the file, and a line that could be a path or prose.

mod lead;
mod problem;

pub use problem::BlockProblem;

use std::collections::BTreeMap;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::error::{ParseError, Problem};
use super::{RootPrefix, TextSyntax};
use crate::edit::{Chunk, ChunkLine, Edit};
use crate::hunk::Side;
use crate::{Operation, codex_marker};
use lead::Lead;

/// Maximum number of lines in a block, counting its search and replacement lines. It does not apply to blocks that create a file.
pub const LINES_MAX: usize = 1_000_000;

/// Marker line that starts a block.
pub(super) const HEAD: &str = "<<<<<<< SEARCH";
const DIVIDER: &str = "=======";
const TAIL: &str = ">>>>>>> REPLACE";

/// Syntax of the format `search-replace`.
pub(super) const SYNTAX: TextSyntax = TextSyntax {
    read: |input, reading| parse_with(input, &reading.root),
    is_in: Some(begins),
    sign: "have a `<<<<<<< SEARCH` line",
    absence: "it has no `<<<<<<< SEARCH` line",
};

/// Checks whether `input` contains a line that starts a block.
pub fn begins(input: &[u8]) -> bool {
    memchr::memmem::find_iter(input, HEAD).any(|at| {
        let is_start = at.checked_sub(1).is_none_or(|before| input.get(before) == Some(&b'\n'));
        let rest = input.get(at..).unwrap_or_default();
        is_start && marker(first_line(rest)) == Some(Marker::Head)
    })
}

/// Parses SEARCH/REPLACE blocks. Returns one operation for each block, in the order of the input.
///
/// # Errors
/// Returns [`ParseError`] for the first invalid line.
pub fn parse(input: &[u8]) -> Result<Vec<Operation>, ParseError> {
    parse_with(input, RootPrefix::NONE)
}

/// Parses blocks like [`parse`], and also accepts absolute paths below `root`.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn parse_with(input: &[u8], root: &RootPrefix) -> Result<Vec<Operation>, ParseError> {
    super::check_input(input)?;
    let mut reader = Reader { rest: input, number: 1 };
    let mut files: BTreeMap<RelPath, u64> = BTreeMap::new();
    let mut operations = Vec::new();
    let mut lead = Lead::default();
    while let Some(line) = reader.current() {
        if marker(line) != Some(Marker::Head) {
            reader.check_outside(line)?;
            lead.add(line, reader.number);
            reader.advance();
            continue;
        }
        let place = reader.place();
        let path = lead.path(place, root)?;
        let block = reader.block()?;
        let first = files.get(&path).copied();
        operations.push(block.operation(path.clone(), first, place)?);
        files.entry(path.clone()).or_insert(place.line);
        lead = Lead::behind(path);
    }
    if operations.is_empty() {
        return Err(ParseError::whole(Problem::Block(BlockProblem::NoBlock)));
    }
    Ok(operations)
}

/// Marker line, which delimits the parts of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Head,
    Divider,
    Tail,
}

/// Returns the marker in a line, ignoring trailing whitespace, or `None` if the line is not a marker.
fn marker(line: &[u8]) -> Option<Marker> {
    match line.trim_ascii_end() {
        line if line == HEAD.as_bytes() => Some(Marker::Head),
        line if line == DIVIDER.as_bytes() => Some(Marker::Divider),
        line if line == TAIL.as_bytes() => Some(Marker::Tail),
        _ => None,
    }
}

fn first_line(text: &[u8]) -> &[u8] {
    text.split(|&b| b == b'\n').next().unwrap_or_default()
}

fn refused(place: Place, problem: BlockProblem) -> ParseError {
    ParseError::at(place, Problem::Block(problem))
}

/// Cursor over the lines of an input.
struct Reader<'a> {
    /// Rest of the input, starting at the current line.
    rest: &'a [u8],
    /// Number of the current line, counted from 1.
    number: u64,
}

impl<'a> Reader<'a> {
    /// Returns the current line without its newline, or `None` at the end of the input.
    fn current(&self) -> Option<&'a [u8]> {
        (!self.rest.is_empty()).then(|| first_line(self.rest))
    }

    fn advance(&mut self) {
        let length = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |end| end + 1);
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.number += 1;
    }

    fn place(&self) -> Place {
        Place { line: self.number, column: 1 }
    }

    /// Parses the block that starts at the current line.
    fn block(&mut self) -> Result<Block<'a>, ParseError> {
        let first = self.number;
        self.pass_marker()?;
        let (search, behind) = self.lines(first)?;
        let divider = self.number;
        match behind {
            Marker::Divider => self.pass_marker()?,
            Marker::Head => return Err(self.refused(BlockProblem::Nested { first })),
            Marker::Tail => return Err(self.refused(BlockProblem::NoDivider { first })),
        }
        let (replace, behind) = self.lines(first)?;
        match behind {
            Marker::Tail => self.pass_marker()?,
            Marker::Head => return Err(self.refused(BlockProblem::Nested { first })),
            Marker::Divider => {
                return Err(self.refused(BlockProblem::TwoDividers { first, divider }));
            }
        }
        Ok(Block { search, replace })
    }

    /// Reads the lines up to the next marker, and returns them with their newlines. The marker becomes the current line. `first`
    /// is the line at which the block starts, for the error if the input ends before the marker.
    fn lines(&mut self, first: u64) -> Result<(&'a [u8], Marker), ParseError> {
        let start = self.rest;
        while let Some(line) = self.current() {
            if let Some(marker) = marker(line) {
                let length = start.len() - self.rest.len();
                return Ok((start.get(..length).unwrap_or_default(), marker));
            }
            self.advance();
        }
        let place = Place { line: first, column: 1 };
        Err(refused(place, BlockProblem::CutOff))
    }

    /// Skips a marker line. Returns an error if the line ends with CRLF, because the line endings of the block were converted.
    fn pass_marker(&mut self) -> Result<(), ParseError> {
        if self.current().is_some_and(|line| line.ends_with(b"\r")) {
            return Err(self.refused(BlockProblem::CarriageReturn));
        }
        self.advance();
        Ok(())
    }

    /// Returns an error if a line outside the blocks is part of a change, because skipping it would lose that change.
    fn check_outside(&self, line: &[u8]) -> Result<(), ParseError> {
        let found = Excerpt::new(line);
        let text = line.trim_ascii();
        let is_arrow = text.starts_with(b"<<<<<") || text.starts_with(b">>>>>");
        if is_arrow || text == DIVIDER.as_bytes() {
            return Err(self.refused(BlockProblem::Outside { found }));
        }
        let next = self.rest.splitn(3, |&b| b == b'\n').nth(1).unwrap_or_default();
        let is_diff = line.starts_with(b"diff --git ")
            || (line.starts_with(b"--- ") && next.starts_with(b"+++ "));
        if is_diff || codex_marker::is_marker(line) || super::is_json_change(line) {
            return Err(self.refused(BlockProblem::Mixed { found }));
        }
        Ok(())
    }

    fn refused(&self, problem: BlockProblem) -> ParseError {
        refused(self.place(), problem)
    }
}

/// Search and replacement lines of a block, with their newlines.
struct Block<'a> {
    search: &'a [u8],
    replace: &'a [u8],
}

impl Block<'_> {
    /// Converts the block to an operation on the file at `path`. `first` is the line of an earlier block that changes this file,
    /// if there is one.
    fn operation(
        self,
        path: RelPath,
        first: Option<u64>,
        place: Place,
    ) -> Result<Operation, ParseError> {
        let Self { search, replace } = self;
        if search.is_empty() {
            if let Some(first) = first {
                return Err(refused(place, BlockProblem::MadeLate { path, first }));
            }
            return Ok(Operation::Create { path, content: replace.to_vec(), mode: None });
        }
        if search.trim_ascii().is_empty() {
            return Err(refused(place, BlockProblem::BlankSearch));
        }
        if search == replace {
            return Err(refused(place, BlockProblem::ChangesNothing));
        }
        if count_lines(search) + count_lines(replace) > LINES_MAX {
            return Err(refused(place, BlockProblem::TooManyLines));
        }
        let lines = chunk_lines(search, Side::Old).chain(chunk_lines(replace, Side::New)).collect();
        let chunk = Chunk { anchors: Vec::new(), lines, at_end: false };
        Ok(Operation::Edit { path, edit: Edit::Chunks(vec![chunk]), expected: None })
    }
}

fn count_lines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Converts lines to chunk lines of the given side.
fn chunk_lines(text: &[u8], side: Side) -> impl Iterator<Item = ChunkLine> {
    let lines = text.split_inclusive(|&b| b == b'\n');
    lines.map(move |line| {
        let bytes = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        ChunkLine { side, bytes }
    })
}

#[cfg(test)]
mod tests;
