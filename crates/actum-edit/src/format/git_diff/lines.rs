//! Cursor over the lines of an input, which does not copy them.

use actum_core::place::{Excerpt, Place};

use super::problem::{DiffProblem, Found};
use crate::format::{HunkCounts, ParseError, Reading, RootPrefix};

/// Cursor at the start of a line of the input.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    /// Rest of the input, starting at the current line.
    rest: &'a [u8],
    /// Length of the current line in bytes including its newline, or 0 at the end of the input.
    length: usize,
    /// Number of the current line, counted from 1.
    number: u64,
    /// Source of the line counts of hunks.
    pub(super) counts: HunkCounts,
    /// Root directory that absolute names must be below.
    pub(super) root: &'a RootPrefix,
}

/// Part of a line, with its position.
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

    /// Returns the current line including its newline, or `None` at the end of the input.
    #[inline]
    pub(super) fn current(&self) -> Option<&'a [u8]> {
        if self.length == 0 { None } else { self.rest.get(..self.length) }
    }

    /// Returns the line after the current one.
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

    /// Returns the lines from the position of `start` up to the current line, which is not included.
    pub(super) fn since(&self, start: &Self) -> &'a [u8] {
        start.rest.get(..start.rest.len() - self.rest.len()).unwrap_or_default()
    }

    pub(super) fn place(&self) -> Place {
        Place { line: self.number, column: 1 }
    }

    /// Describes the current line for an error message.
    pub(super) fn found(&self) -> Found {
        self.current().map_or(Found::End, |line| Found::Line(excerpt(line)))
    }

    /// Returns the text after `keyword` if the current line starts with it.
    ///
    /// # Errors
    /// Returns an error if a line with this keyword ends with CRLF or without a newline.
    pub(super) fn after(&self, keyword: &str) -> Result<Option<Text<'a>>, ParseError> {
        let text = self.after_in_last(keyword)?;
        if text.is_some() {
            self.check_end()?;
        }
        Ok(text)
    }

    /// Returns the text after `keyword` like [`Self::after`], but also accepts a last line without a newline.
    ///
    /// # Errors
    /// Returns an error if a line with this keyword ends with CRLF.
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

    /// Returns an error if the input ends within the current line.
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

/// Returns an excerpt of a line for an error message.
pub(super) fn excerpt(line: &[u8]) -> Excerpt {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    Excerpt::new(line)
}

#[inline]
fn line_length(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1)
}
