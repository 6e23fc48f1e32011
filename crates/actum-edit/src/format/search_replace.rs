//! Reads SEARCH/REPLACE blocks, as aider has models write them: the path of a file, then the lines between
//! `<<<<<<< SEARCH` and `=======`, which those up to `>>>>>>> REPLACE` take the place of.
//!
//! Prose around the blocks is skipped, and so are the fences of Markdown. Unlike the original, a block applies only where
//! its lines occur exactly once, byte for byte. Nothing decides between two readings: a line that could be a marker or a
//! line of the file, and a line that could be a path or prose, are refused.

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

/// The most lines of a block that searches for some, those that it searches for and those that take their place together.
pub const LINES_MAX: usize = 1_000_000;

/// Line that begins a block.
pub(super) const HEAD: &str = "<<<<<<< SEARCH";
const DIVIDER: &str = "=======";
const TAIL: &str = ">>>>>>> REPLACE";

/// Recogniser and reader of this format.
pub(super) const SYNTAX: TextSyntax = TextSyntax {
    read: |input, reading| parse_with(input, &reading.root),
    is_in: Some(begins),
    sign: "have a line `<<<<<<< SEARCH`",
    absence: "no line is `<<<<<<< SEARCH`",
};

/// Returns true if `input` holds a line that begins a block.
pub fn begins(input: &[u8]) -> bool {
    memchr::memmem::find_iter(input, HEAD).any(|at| {
        let is_start = at.checked_sub(1).is_none_or(|before| input.get(before) == Some(&b'\n'));
        let rest = input.get(at..).unwrap_or_default();
        is_start && marker(first_line(rest)) == Some(Marker::Head)
    })
}

/// The operations that `input` describes, one for each block, in its order.
///
/// # Errors
/// [`ParseError`] at the first line that is not sound.
pub fn parse(input: &[u8]) -> Result<Vec<Operation>, ParseError> {
    parse_with(input, RootPrefix::NONE)
}

/// Reads blocks like [`parse`], with absolute paths below a root.
///
/// # Errors
/// As [`parse`].
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

/// A line that has a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Head,
    Divider,
    Tail,
}

/// The marker that a line is, also with blanks or a carriage return behind it.
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

/// A walk over the lines of an input.
struct Reader<'a> {
    /// The input from the current line on.
    rest: &'a [u8],
    /// The number of the current line, counted from 1.
    number: u64,
}

impl<'a> Reader<'a> {
    /// The current line without its newline; `None` at the end of the input.
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

    /// Reads the block that begins in the current line.
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

    /// The lines up to the next marker with their newlines, and that marker, at which it stops.
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

    /// Goes behind a marker, which ends as the one who wrote the block ended it.
    fn pass_marker(&mut self) -> Result<(), ParseError> {
        if self.current().is_some_and(|line| line.ends_with(b"\r")) {
            return Err(self.refused(BlockProblem::CarriageReturn));
        }
        self.advance();
        Ok(())
    }

    /// Refuses a line outside of blocks that only a change can have put there.
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

/// The lines of a block, each with its newline.
struct Block<'a> {
    search: &'a [u8],
    replace: &'a [u8],
}

impl Block<'_> {
    /// Effect of the block on the file at `path`, which the block at line `first` changes before, if there is one.
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

/// The lines of a chunk on one side.
fn chunk_lines(text: &[u8], side: Side) -> impl Iterator<Item = ChunkLine> {
    let lines = text.split_inclusive(|&b| b == b'\n');
    lines.map(move |line| {
        let bytes = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        ChunkLine { side, bytes }
    })
}

#[cfg(test)]
mod tests;
