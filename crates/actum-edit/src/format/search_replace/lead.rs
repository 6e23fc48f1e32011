//! The lines before a block, which name its file.

use std::collections::VecDeque;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::{BlockProblem, refused};
use crate::format::{ParseError, Problem, RootPrefix};

/// Number of lines before a block that can name its file: a path, a fence, and a path behind that.
const KEPT: usize = 3;

/// Lines before a block, from the block before it on.
#[derive(Default)]
pub(super) struct Lead<'a> {
    /// The file of the block before.
    before: Option<RelPath>,
    /// True if there are lines besides blank ones and fences.
    has_text: bool,
    /// The last lines that are not blank.
    lines: VecDeque<Line<'a>>,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: u64,
    bytes: &'a [u8],
}

/// A line as the path of a file.
enum Reading<'a> {
    /// Its bytes are one.
    Path(&'a [u8]),
    /// The line could be prose, or a path within other signs.
    Unclear,
}

impl<'a> Lead<'a> {
    /// Starts behind a block of the file at `path`, without lines so far.
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

    /// Returns the path of the file of the block at `block`: the line before it or before its fence. Where only
    /// fences are between two blocks, it is the path of the block before.
    ///
    /// # Errors
    /// The path is missing, it is not clear whether there is one, or there are two.
    pub(super) fn path(&self, block: Place, root: &RootPrefix) -> Result<RelPath, ParseError> {
        let mut lines = self.lines.iter().rev().copied();
        let last = lines.next();
        let info = last.and_then(Line::fence);
        let named = if info.is_some() { lines.next() } else { last };
        // Another path, behind or before the fence.
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
    /// Returns the text behind the signs of a fence of Markdown, where the line is one.
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

    /// The line, where it looks like a path and not like a word.
    fn like_path(self) -> Option<&'a [u8]> {
        match read(self.bytes) {
            Reading::Path(path) if is_like_path(path) => Some(path),
            Reading::Path(_) | Reading::Unclear => None,
        }
    }
}

/// Reads a line as a path: bare without blanks and the signs of Markdown around it, or between two backticks.
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

/// Returns true if a text without blanks looks like a path: it has a `/`, or a `.` before its end.
fn is_like_path(text: &[u8]) -> bool {
    let inner = text.split_last().map_or(text, |(_, inner)| inner);
    !text.iter().any(u8::is_ascii_whitespace) && (text.contains(&b'/') || inner.contains(&b'.'))
}
