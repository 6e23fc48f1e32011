//! Walks over the lines of an input without copying them.

use actum_core::place::{Excerpt, Place};

use super::problem::{DiffProblem, Found};
use crate::format::{HunkCounts, ParseError, Reading, RootPrefix};

/// A position at the start of a line.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    /// The input from the current line on.
    rest: &'a [u8],
    /// Length of the current line in bytes, with its newline; 0 at the end of the input.
    length: usize,
    /// The number of the current line, counted from 1.
    number: u64,
    /// Source of the line counts of hunks.
    pub(super) counts: HunkCounts,
    /// Root that absolute names may lie below.
    pub(super) root: &'a RootPrefix,
}

/// A piece of one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) place: Place,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a [u8], reading: &'a Reading) -> Self {
        let Reading { counts, root, .. } = reading;
        Self { rest: input, length: line_length(input), number: 1, counts: *counts, root }
    }

    /// The current line with its newline, if it has one; `None` at the end of the input.
    #[inline]
    pub(super) fn current(&self) -> Option<&'a [u8]> {
        if self.length == 0 { None } else { self.rest.get(..self.length) }
    }

    /// The line after the current one.
    pub(super) fn following(&self) -> Option<&'a [u8]> {
        let mut next = self.clone();
        next.advance();
        next.current()
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.rest = self.rest.get(self.length..).unwrap_or_default();
        self.length = line_length(self.rest);
        self.number += 1;
    }

    /// The lines from where `start` stands up to before the current one.
    pub(super) fn since(&self, start: &Self) -> &'a [u8] {
        start.rest.get(..start.rest.len() - self.rest.len()).unwrap_or_default()
    }

    pub(super) fn place(&self) -> Place {
        Place { line: self.number, column: 1 }
    }

    /// Description of the current line for an error.
    pub(super) fn found(&self) -> Found {
        self.current().map_or(Found::End, |line| Found::Line(excerpt(line)))
    }

    /// Returns the text behind `keyword` in the current line, if that starts with it.
    ///
    /// # Errors
    /// The line starts with `keyword`, but has no newline or ends with CRLF.
    pub(super) fn after(&self, keyword: &str) -> Result<Option<Text<'a>>, ParseError> {
        let text = self.after_in_last(keyword)?;
        if text.is_some() {
            self.check_end()?;
        }
        Ok(text)
    }

    /// Returns the text like `after`, for a line that may be the last of the input without a
    /// newline.
    ///
    /// # Errors
    /// The line starts with `keyword`, but ends with CRLF.
    pub(super) fn after_in_last(&self, keyword: &str) -> Result<Option<Text<'a>>, ParseError> {
        let line = self.current().unwrap_or_default();
        let Some(bytes) = line.strip_prefix(keyword.as_bytes()) else {
            return Ok(None);
        };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.ends_with(b"\r") {
            return Err(ParseError::diff(self.place(), DiffProblem::CarriageReturn));
        }
        Ok(Some(Text { bytes, place: self.place().right(keyword.len()) }))
    }

    /// Refuses a current line that the end of the input cuts off.
    #[inline]
    pub(super) fn check_end(&self) -> Result<(), ParseError> {
        match self.current() {
            Some(line) if !line.ends_with(b"\n") => {
                let problem = DiffProblem::CutOff { found: excerpt(line) };
                Err(ParseError::diff(self.place(), problem))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Excerpt of a line for an error.
pub(super) fn excerpt(line: &[u8]) -> Excerpt {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    Excerpt::new(line)
}

#[inline]
fn line_length(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1)
}
