//! Finds the file path in the lines before a block.

use std::collections::VecDeque;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::{BlockProblem, refused};
use crate::format::{ParseError, Problem, RootPrefix};

/// Number of nonblank lines before a block that can be relevant: a path, a code fence, and another path after the fence.
const KEPT: usize = 3;

/// Lines between the previous block and the next one.
#[derive(Default)]
pub(super) struct Lead<'a> {
    /// File of the previous block.
    before: Option<RelPath>,
    /// Whether there are any lines other than blank lines and code fences.
    has_text: bool,
    /// Last nonblank lines, at most [`KEPT`].
    lines: VecDeque<Line<'a>>,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: u64,
    bytes: &'a [u8],
}

/// Result of parsing a line as a file path.
enum Reading<'a> {
    /// The line is a path.
    Path(&'a [u8]),
    /// The line could be prose, or a path with Markdown or punctuation around it.
    Unclear,
}

impl<'a> Lead<'a> {
    /// Creates an empty list of lines after a block that changes the file at `path`.
    pub(super) fn behind(path: RelPath) -> Self {
        Self { before: Some(path), ..Self::default() }
    }

    pub(super) fn add(&mut self, bytes: &'a [u8], number: u64) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let line = Line { number, bytes };
        self.has_text |= line.fence().is_none();
        if self.lines.len() == KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Returns the file path of the block that starts at `block`, which is on the line before the block or before its code
    /// fence. If only code fences separate the block from the previous one, it changes the same file.
    ///
    /// # Errors
    /// Returns an error if the path is missing, if it could be prose, or if there are two different paths.
    pub(super) fn path(&self, block: Place, root: &RootPrefix) -> Result<RelPath, ParseError> {
        let mut lines = self.lines.iter().rev().copied();
        let last = lines.next();
        let info = last.and_then(Line::fence);
        let named = if info.is_some() { lines.next() } else { last };
        // A second path can be in the info string of the fence, or above the fence.
        let fence = if info.is_some() { last } else { lines.next() };
        let info = fence.and_then(Line::fence);
        let above =
            if last.and_then(Line::fence).is_some() { None } else { info.and(lines.next()) };
        let rivals = [info.filter(|info| is_like_path(info)), above.and_then(Line::like_path)];
        let path = match named {
            Some(line) if line.fence().is_none() => line.path(root)?,
            Some(_) | None => match &self.before {
                Some(path) if !self.has_text => path.clone(),
                Some(_) | None => return Err(refused(block, BlockProblem::NoPath)),
            },
        };
        for rival in rivals.into_iter().flatten() {
            if root.relative(rival) != path.as_bytes() {
                let rival = Excerpt::new(rival);
                return Err(refused(block, BlockProblem::TwoPaths { path, rival }));
            }
        }
        Ok(path)
    }
}

impl<'a> Line<'a> {
    /// Returns the info string of a Markdown code fence, or `None` if the line is not a fence.
    fn fence(self) -> Option<&'a [u8]> {
        let text = self.bytes.trim_ascii();
        let sign = text.first().copied().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = text.iter().take_while(|byte| **byte == sign).count();
        let info = text.get(length..)?.trim_ascii();
        (length >= 3 && (sign == b'~' || !info.contains(&b'`'))).then_some(info)
    }

    fn path(self, root: &RootPrefix) -> Result<RelPath, ParseError> {
        let place = Place { line: self.number, column: 1 };
        if self.bytes.ends_with(b"\r") {
            return Err(refused(place, BlockProblem::CarriageReturn));
        }
        match read(self.bytes) {
            Reading::Path(path) => RelPath::new(root.relative(path))
                .map_err(|error| ParseError::at(place, Problem::Path(error))),
            Reading::Unclear => {
                let found = Excerpt::new(self.bytes);
                Err(refused(place, BlockProblem::UnclearPath { found }))
            }
        }
    }

    /// Returns the path in the line, unless it could also be an ordinary word.
    fn like_path(self) -> Option<&'a [u8]> {
        match read(self.bytes) {
            Reading::Path(path) if is_like_path(path) => Some(path),
            Reading::Path(_) | Reading::Unclear => None,
        }
    }
}

/// Parses a line as a path. A path is either enclosed in backticks, or has no spaces and no Markdown around it.
fn read(line: &[u8]) -> Reading<'_> {
    let text = line.trim_ascii();
    let quoted = text.strip_prefix(b"`").and_then(|text| text.strip_suffix(b"`"));
    if let Some(quoted) = quoted.filter(|quoted| !quoted.is_empty() && !quoted.contains(&b'`')) {
        return Reading::Path(quoted);
    }
    let is_sign = |signs: &[u8], byte: Option<&u8>| byte.is_some_and(|byte| signs.contains(byte));
    let is_unclear = is_sign(b"#*`>\"'", text.first())
        || is_sign(b":,;*`\"'!?", text.last())
        || text.iter().any(u8::is_ascii_whitespace);
    if is_unclear { Reading::Unclear } else { Reading::Path(text) }
}

/// Checks whether a text looks like a path: it has no spaces, and has a `/` or a `.` that is not at the end.
fn is_like_path(text: &[u8]) -> bool {
    let inner = text.split_last().map_or(text, |(_, inner)| inner);
    !text.iter().any(u8::is_ascii_whitespace) && (text.contains(&b'/') || inner.contains(&b'.'))
}
