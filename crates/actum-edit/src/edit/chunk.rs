//! Chunks, as in Codex patches: groups of lines that are located by their content instead of their line numbers.
//!
//! A chunk applies where its context lines and removed lines occur in the file, consecutively and byte for byte. There must be
//! exactly one such place. If there are several, anchors can select one: lines that must occur before the chunk.

mod line;

use std::collections::BTreeSet;
use std::fmt;

use crate::nearest_match::{Clause, Lines, NearestMatch};
use actum_core::count;
use actum_core::path::CutContent;
use serde::{Deserialize, Serialize};

use crate::hunk::Side;
use crate::search::find_overlapping;
use crate::{Splice, codex_marker};

/// Group of consecutive lines of a file, with the lines to remove and to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// Lines that must precede the chunk in this order. Leading and trailing blanks are ignored in the comparison. The chunk
    /// applies at the first matching place after them.
    #[serde(with = "crate::byte_text::list")]
    pub anchors: Vec<Vec<u8>>,
    /// Lines of the chunk, without newlines.
    pub lines: Vec<ChunkLine>,
    /// Whether the chunk must be at the end of the file.
    pub at_end: bool,
}

/// Line of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkLine {
    /// Whether the line is removed, added, or only context.
    pub side: Side,
    /// Content of the line, without a newline.
    pub bytes: Vec<u8>,
}

/// Maximum number of places that are searched for a chunk. A chunk with that many places is ambiguous, even if it has anchors.
const PLACES_MAX: usize = 10_000;
/// Maximum number of bytes of a line that an error message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Name of a chunk in error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkName {
    /// The only chunk of an edit, which needs no number.
    Only,
    /// One of several chunks, by its number, counted from 1.
    Nth(usize),
}

impl fmt::Display for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => f.write_str("the chunk"),
            Self::Nth(number) => write!(f, "chunk {number}"),
        }
    }
}

/// Reason why the chunks of an edit do not apply to a file. Chunks and lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The lines of a chunk do not occur in the file consecutively.
    #[error(
        "the lines of {chunk}, starting with `{}`, are not in the file one after another{}{}",
        CutContent(first, SHOWN_BYTES_MAX),
        Marker(marker.as_deref()),
        Clause(near.as_ref())
    )]
    Missing {
        /// Chunk that does not apply.
        chunk: ChunkName,
        /// First context or removed line of the chunk.
        first: Vec<u8>,
        /// Context line that would be a marker of the patch format without its leading space, if there is one.
        marker: Option<Vec<u8>>,
        /// Most similar lines in the file, as a suggestion.
        near: Option<NearestMatch>,
    },
    /// The lines of a chunk occur in the file, but not where the chunk must be.
    #[error("the lines of {chunk} are in the file at {places} {lines}, but not {wanted}")]
    Elsewhere {
        /// Chunk that does not apply.
        chunk: ChunkName,
        /// The word `line` or `lines`, depending on the number of places.
        places: &'static str,
        /// Line numbers at which the lines of the chunk occur.
        lines: Lines,
        /// Required place, such as `at the end of the file`.
        wanted: &'static str,
    },
    /// The lines of a chunk occur in several places.
    #[error("the lines of {chunk} are in the file at lines {lines}, so their place is ambiguous")]
    Ambiguous {
        /// Chunk that does not apply.
        chunk: ChunkName,
        /// Line numbers at which the lines of the chunk occur.
        lines: Lines,
    },
    /// An anchor of a chunk was not found.
    #[error(
        "{chunk} must follow the line `{}`, which was not found",
        CutContent(anchor, SHOWN_BYTES_MAX)
    )]
    NoAnchor {
        /// Chunk that does not apply.
        chunk: ChunkName,
        /// Anchor that was not found.
        anchor: Vec<u8>,
    },
    /// A chunk adds lines without any context, so its place is unknown.
    #[error("{chunk} only adds lines and has no context line to place them by; add a context line")]
    NoContext {
        /// Chunk that does not apply.
        chunk: ChunkName,
    },
}

/// Returns the splices that apply `chunks` to `content`. Each chunk must be located after the previous one.
pub(super) fn splices(chunks: &[Chunk], content: &[u8]) -> Result<Vec<Splice>, ChunkError> {
    let text = Text::new(content);
    let mut from = 0;
    let mut splices = Vec::with_capacity(chunks.len());
    for (index, chunk) in chunks.iter().enumerate() {
        let name = if chunks.len() == 1 { ChunkName::Only } else { ChunkName::Nth(index + 1) };
        let place = Search { text: &text, chunk, name, from }.place()?;
        let end = place + chunk.old().count();
        splices.extend(text.splice(place..end, &chunk.text(Side::New)));
        from = end;
    }
    Ok(splices)
}

impl Chunk {
    fn side(&self, side: Side) -> impl Iterator<Item = &[u8]> {
        let lines = self.lines.iter();
        lines
            .filter(move |line| line.side == side || line.side == Side::Context)
            .map(|line| line.bytes.as_slice())
    }

    fn old(&self) -> impl Iterator<Item = &[u8]> {
        self.side(Side::Old)
    }

    /// Returns the lines of the old or the new side, each with a newline.
    fn text(&self, side: Side) -> Vec<u8> {
        self.side(side).flat_map(|line| line.iter().chain(b"\n").copied()).collect()
    }
}

/// File content with an index of its lines.
struct Text<'a> {
    content: &'a [u8],
    /// Byte offset of each line, followed by the length of the content.
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(content: &'a [u8]) -> Self {
        let behind = memchr::memchr_iter(b'\n', content).map(|newline| newline + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(behind).collect();
        if starts.last() != Some(&content.len()) {
            starts.push(content.len()); // the last line has no newline
        }
        Self { content, starts }
    }

    /// Returns the number of lines.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.content.len())
    }

    fn line(&self, line: usize) -> &'a [u8] {
        let bytes = self.content.get(self.start(line)..self.start(line + 1)).unwrap_or_default();
        bytes.strip_suffix(b"\n").unwrap_or(bytes)
    }

    /// Returns the lines at which `old` occurs, counted from 0. The search stops after [`PLACES_MAX`] lines, unless `old` is a
    /// single empty line.
    fn places(&self, old: &[u8]) -> Vec<usize> {
        // Every line of a chunk has a newline, but the last line of the file may lack it.
        let bare = old.strip_suffix(b"\n").unwrap_or(old);
        let is_whole = |at: &usize| match self.content.get(at + bare.len()) {
            Some(b'\n') => self.starts.binary_search(at).is_ok(),
            // The end of the file is not an empty line.
            None => !bare.ends_with(b"\n") && self.starts.binary_search(at).is_ok(),
            Some(_) => false,
        };
        if bare.is_empty() {
            return (0..self.len()).filter(|line| self.line(*line).is_empty()).collect();
        }
        let whole = find_overlapping(self.content, bare).filter(is_whole);
        let lines = whole.filter_map(|at| self.starts.binary_search(&at).ok());
        lines.take(PLACES_MAX).collect()
    }

    /// Returns the smallest splice that replaces entire lines with `new`. A file that is not empty ends with a newline
    /// afterwards only if it did before.
    fn splice(&self, lines: std::ops::Range<usize>, new: &[u8]) -> Option<Splice> {
        let (start, end) = (self.start(lines.start), self.start(lines.end));
        let old = self.content.get(start..end).unwrap_or_default();
        let ends_bare = lines.end == self.len() && !self.content.is_empty();
        let mut new = new.to_vec();
        if ends_bare && !self.content.ends_with(b"\n") {
            if old.is_empty() {
                new.insert(0, b'\n'); // the last line needs a newline before lines can be appended
            }
            if new.ends_with(b"\n") {
                new.pop();
            }
        }
        let splice = Splice::between(old, &new).pop()?;
        Some(Splice { offset: splice.offset.saturating_add(count(start)), ..splice })
    }
}

/// Search for the place at which a chunk applies.
struct Search<'a> {
    text: &'a Text<'a>,
    chunk: &'a Chunk,
    name: ChunkName,
    /// First line after the previous chunk.
    from: usize,
}

impl Search<'_> {
    /// Returns the line at which the chunk starts, counted from 0.
    fn place(&self) -> Result<usize, ChunkError> {
        let (chunk, name) = (self.chunk, self.name);
        let old = chunk.text(Side::Old);
        if old.is_empty() {
            return self.place_of_addition();
        }
        let everywhere = self.text.places(&old);
        if everywhere.len() >= PLACES_MAX {
            return Err(ChunkError::Ambiguous { chunk: name, lines: numbers(&everywhere) });
        }
        if everywhere.is_empty() {
            // No complete lines match, so a match of the bytes can only be inside longer lines.
            let near =
                NearestMatch::find(&old, &chunk.text(Side::New), self.text.content).map(|near| {
                    if let NearestMatch::Elsewhere { lines } = near {
                        NearestMatch::Within { lines }
                    } else {
                        near
                    }
                });
            let first = chunk.old().next().unwrap_or_default().to_vec();
            let is_marker = |line: &&ChunkLine| {
                line.side == Side::Context && codex_marker::is_marker(&line.bytes)
            };
            let marker = chunk.lines.iter().find(is_marker).map(|line| line.bytes.clone());
            return Err(ChunkError::Missing { chunk: name, first, marker, near });
        }
        let height = chunk.old().count();
        let is_allowed = |place: &usize| {
            *place >= self.from && (!chunk.at_end || *place + height == self.text.len())
        };
        let places: Vec<_> = everywhere.iter().copied().filter(is_allowed).collect();
        let anchored = self.behind_anchors(&places)?;
        match anchored.as_slice() {
            [place] => Ok(*place),
            [] => {
                let wanted = match (chunk.at_end, chunk.anchors.is_empty()) {
                    (true, _) => "at the end of the file",
                    (false, true) => "after the previous chunk",
                    (false, false) => "after its `@@` lines",
                };
                let places = if everywhere.len() == 1 { "line" } else { "lines" };
                let lines = numbers(&everywhere);
                Err(ChunkError::Elsewhere { chunk: name, places, lines, wanted })
            }
            [_, _, ..] => Err(ChunkError::Ambiguous { chunk: name, lines: numbers(&anchored) }),
        }
    }

    /// Returns the place of a chunk without old lines, which is only known at the end of the file or in an empty file.
    fn place_of_addition(&self) -> Result<usize, ChunkError> {
        if self.chunk.at_end || self.text.content.is_empty() {
            let end = self.text.len();
            return match (self.behind_anchors(&[end])?.as_slice(), self.chunk.anchors.first()) {
                ([], Some(anchor)) => {
                    let anchor = anchor.clone();
                    Err(ChunkError::NoAnchor { chunk: self.name, anchor })
                }
                _ => Ok(end),
            };
        }
        Err(ChunkError::NoContext { chunk: self.name })
    }

    /// Returns the first place after the anchors, for every line that matches the first anchor. Without anchors, returns all of
    /// `places`.
    fn behind_anchors(&self, places: &[usize]) -> Result<Vec<usize>, ChunkError> {
        let Some((first, others)) = self.chunk.anchors.split_first() else {
            return Ok(places.to_vec());
        };
        let lines_like = |anchor: &[u8]| -> Result<Vec<usize>, ChunkError> {
            let wanted = anchor.trim_ascii();
            let is_it = |line: &usize| self.text.line(*line).trim_ascii() == wanted;
            let found: Vec<_> = (self.from..self.text.len()).filter(is_it).collect();
            if found.is_empty() {
                let anchor = anchor.to_vec();
                return Err(ChunkError::NoAnchor { chunk: self.name, anchor });
            }
            Ok(found)
        };
        let first = lines_like(first)?;
        let others =
            others.iter().map(|anchor| lines_like(anchor)).collect::<Result<Vec<_>, _>>()?;
        let next = |lines: &[usize], from: usize| {
            lines.get(lines.partition_point(|line| *line < from)).copied()
        };
        let way = |start: usize| {
            let last = others.iter().try_fold(start, |at, lines| next(lines, at + 1))?;
            // The anchor may be repeated as the first line of the chunk.
            next(places, last)
        };
        let reached: BTreeSet<usize> = first.into_iter().filter_map(way).collect();
        Ok(reached.into_iter().collect())
    }
}

/// Clause of an error message about a context line that may be a mistyped marker.
struct Marker<'a>(Option<&'a [u8]>);

impl fmt::Display for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| {
            let line = CutContent(line, SHOWN_BYTES_MAX);
            write!(f, "; the leading space makes `{line}` a line of the chunk instead of a marker")
        })
    }
}

/// Converts line indices to line numbers, counted from 1.
fn numbers(lines: &[usize]) -> Lines {
    Lines(lines.iter().map(|line| count(*line) + 1).collect())
}

#[cfg(test)]
mod tests;
