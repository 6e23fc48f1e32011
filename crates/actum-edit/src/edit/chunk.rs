//! Chunks: lines that find their place by being there, as in Codex patches.
//!
//! A chunk applies where its context and removed lines are, one after the other, byte for byte;
//! there must be exactly one such place. Lines before it (anchors) can choose between several.

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

/// Lines of a file, and what they become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// Lines before the chunk, each after the one before it, compared without the blanks around
    /// them. Of what follows them the first place counts.
    #[serde(with = "crate::byte_text::list")]
    pub anchors: Vec<Vec<u8>>,
    /// The lines of the chunk, without newline.
    pub lines: Vec<ChunkLine>,
    /// True if the file must end behind the chunk.
    pub at_end: bool,
}

/// One line of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkLine {
    /// Side that the line belongs to.
    pub side: Side,
    /// Its bytes, without newline.
    pub bytes: Vec<u8>,
}

/// Lines that are in more places than this are not distinguished, whatever the anchors say.
const PLACES_MAX: usize = 10_000;
/// Bytes of a line that an error shows at most.
const SHOWN_BYTES_MAX: usize = 80;

/// Chunk of an edit, in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkName {
    /// The edit has no other.
    Only,
    /// This one of several, counted from 1.
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

/// Reason why chunks do not apply. They are counted from 1, lines of the file too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// Its lines are nowhere.
    #[error(
        "the lines of {chunk} are not in the file, one after the other, from `{}` on{}{}",
        CutContent(first, SHOWN_BYTES_MAX),
        Marker(marker.as_deref()),
        Clause(near.as_ref())
    )]
    Missing {
        /// Name of the chunk.
        chunk: ChunkName,
        /// Its first line.
        first: Vec<u8>,
        /// A context line that would be a marker without the blank before it.
        marker: Option<Vec<u8>>,
        /// Nearest match.
        near: Option<NearestMatch>,
    },
    /// Its lines are in the file, but not where they should be.
    #[error("the lines of {chunk} are in the file at {places} {lines}, but not {wanted}")]
    Elsewhere {
        /// Name of the chunk.
        chunk: ChunkName,
        /// `line` or `lines`.
        places: &'static str,
        /// Places of its lines.
        lines: Lines,
        /// Required place.
        wanted: &'static str,
    },
    /// Its lines are in several places.
    #[error(
        "the lines of {chunk} are in the file at lines {lines}, so it is not clear which are \
         meant"
    )]
    Ambiguous {
        /// Name of the chunk.
        chunk: ChunkName,
        /// Places of its lines.
        lines: Lines,
    },
    /// An anchor is missing.
    #[error(
        "{chunk} is to follow the line `{}`, which is not there",
        CutContent(anchor, SHOWN_BYTES_MAX)
    )]
    NoAnchor {
        /// Name of the chunk.
        chunk: ChunkName,
        /// The line.
        anchor: Vec<u8>,
    },
    /// The chunk only adds lines.
    #[error(
        "{chunk} only adds lines, and no line around them says where; tools differ in where \
         they put them"
    )]
    NoContext {
        /// Name of the chunk.
        chunk: ChunkName,
    },
}

/// The splices that make `chunks` in `content`: each chunk lies behind the one before it.
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

    /// The lines of one side, each with its newline.
    fn text(&self, side: Side) -> Vec<u8> {
        self.side(side).flat_map(|line| line.iter().chain(b"\n").copied()).collect()
    }
}

/// A content and where its lines start.
struct Text<'a> {
    content: &'a [u8],
    /// The offset of each line; behind the last one that of the end.
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(content: &'a [u8]) -> Self {
        let behind = memchr::memchr_iter(b'\n', content).map(|newline| newline + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(behind).collect();
        if starts.last() != Some(&content.len()) {
            starts.push(content.len()); // behind a last line without newline
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

    /// The lines, counted from 0, from which on `old` stands.
    fn places(&self, old: &[u8]) -> Vec<usize> {
        // The last line of the file may lack the newline that all lines of a chunk have.
        let bare = old.strip_suffix(b"\n").unwrap_or(old);
        let is_whole = |at: &usize| match self.content.get(at + bare.len()) {
            Some(b'\n') => self.starts.binary_search(at).is_ok(),
            // At the end of the file there is no empty line.
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

    /// Returns the smallest splice that replaces whole lines by `new`. A missing newline at the end
    /// of the file stays missing, and one that exists is kept.
    fn splice(&self, lines: std::ops::Range<usize>, new: &[u8]) -> Option<Splice> {
        let (start, end) = (self.start(lines.start), self.start(lines.end));
        let old = self.content.get(start..end).unwrap_or_default();
        let ends_bare = lines.end == self.len() && !self.content.is_empty();
        let mut new = new.to_vec();
        if ends_bare && !self.content.ends_with(b"\n") {
            if old.is_empty() {
                new.insert(0, b'\n'); // lines added behind a last one without newline
            }
            if new.ends_with(b"\n") {
                new.pop();
            }
        }
        let splice = Splice::between(old, &new).pop()?;
        Some(Splice { offset: splice.offset.saturating_add(count(start)), ..splice })
    }
}

/// The search for the place of one chunk.
struct Search<'a> {
    text: &'a Text<'a>,
    chunk: &'a Chunk,
    name: ChunkName,
    /// The first line that the chunks before it leave.
    from: usize,
}

impl Search<'_> {
    /// The line, counted from 0, at which the chunk starts.
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
            // Its whole lines are nowhere.
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
                    (true, _) => "at its end",
                    (false, true) => "behind the chunk before it",
                    (false, false) => "behind its `@@` lines",
                };
                let places = if everywhere.len() == 1 { "line" } else { "lines" };
                let lines = numbers(&everywhere);
                Err(ChunkError::Elsewhere { chunk: name, places, lines, wanted })
            }
            [_, _, ..] => Err(ChunkError::Ambiguous { chunk: name, lines: numbers(&anchored) }),
        }
    }

    /// A chunk without old lines has a place only where there is but one.
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

    /// Of `places`, those that come first behind some way through the anchors.
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

/// Clause on a context line that was perhaps meant as a marker.
struct Marker<'a>(Option<&'a [u8]>);

impl fmt::Display for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| {
            let line = CutContent(line, SHOWN_BYTES_MAX);
            write!(f, "; the blank before `{line}` makes it a line of the chunk, not a marker")
        })
    }
}

/// Lines as people count them.
fn numbers(lines: &[usize]) -> Lines {
    Lines(lines.iter().map(|line| count(*line) + 1).collect())
}

#[cfg(test)]
mod tests;
