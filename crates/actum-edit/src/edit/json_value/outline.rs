//! Locates a place in a JSON text, with the containers on the path to it and the byte ranges of their children. All other values
//! are skipped without being parsed.
//!
//! The text has already been validated. If it turns out to be invalid anyway, the search fails with [`Missed::Odd`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use actum_core::json::string;
use actum_core::place::Excerpt;

use crate::edit::json_patch::tree::Brackets;
use crate::edit::json_path::{NodePath, Step, Stop};

/// Byte ranges of a place in a JSON text and of the containers on the path to it.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Containers around the place, starting with the outermost one. If the place is an object whose members are read, it is the
    /// last level.
    pub(super) levels: Vec<Level>,
    /// Byte range of the value at the place.
    pub(super) place: Range<usize>,
    /// Kind of the value, including the article.
    pub(super) found: &'static str,
    /// Byte range of the root value.
    pub(super) root: Range<usize>,
}

/// Container on the path.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) brackets: Brackets,
    pub(super) span: Range<usize>,
    pub(super) children: Vec<Child>,
    /// Index of the child on the path, or `None` if the path ends at this container.
    pub(super) chosen: Option<usize>,
}

/// Object member or array element.
#[derive(Debug, Clone)]
pub(super) struct Child {
    /// Byte range of the name, including its quotes. For an array element, an empty range at the start of the value.
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Part of the value at the end of the path that is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// Only the byte range of the value.
    Whole,
    /// The byte range of the value, and its members if it is an object.
    Members,
}

/// Reason why the end of a path was not reached.
#[derive(Debug)]
pub(super) enum Missed {
    /// The step after the first `depth` steps does not match.
    Stop { depth: usize, stop: Stop },
    /// An object on the path has a duplicate name.
    Doubled { name: Excerpt, offset: usize },
    /// A name has an escape sequence that does not encode a character.
    Name { offset: usize },
    /// The text is not valid JSON, although it was validated before.
    Odd,
}

impl Outline {
    pub(super) fn new(strict: &str, way: &NodePath, last: Last) -> Result<Self, Missed> {
        let mut walk = Walk { text: strict, last, outline: Self::default() };
        let start = blanks(strict.as_bytes(), 0);
        let end = walk.value(start, &way.0)?;
        Ok(Self { root: start..end, ..walk.outline })
    }

    /// Returns the object at the place, if its members were read.
    pub(super) fn object(&self) -> Option<&Level> {
        self.levels.last().filter(|level| level.chosen.is_none() && level.span == self.place)
    }
}

impl Level {
    /// Returns the member with the given name.
    pub(super) fn member(&self, strict: &str, name: &str) -> Option<&Child> {
        self.index(strict, name).and_then(|index| self.children.get(index))
    }

    pub(super) fn index(&self, strict: &str, name: &str) -> Option<usize> {
        let is_target = |child: &Child| decoded(strict, &child.name).is_some_and(|n| n == name);
        self.children.iter().position(is_target)
    }
}

struct Walk<'t> {
    text: &'t str,
    last: Last,
    outline: Outline,
}

impl Walk<'_> {
    /// Follows `steps` into the value at offset `at`, and returns the offset of its end.
    fn value(&mut self, at: usize, steps: &[Step]) -> Result<usize, Missed> {
        let found = self.text.as_bytes().get(at).copied().ok_or(Missed::Odd)?;
        let Some((step, rest)) = steps.split_first() else {
            let looks = found == b'{' && self.last == Last::Members;
            let end = if looks { self.container(at, None)? } else { end(self.text, at)? };
            self.outline.place = at..end;
            self.outline.found = kind(found);
            return Ok(end);
        };
        let stop = match (step, found) {
            (Step::Name(_), b'{') | (Step::Index(_), b'[') => {
                return self.container(at, Some((step, rest)));
            }
            (Step::Name(name), _) => {
                Stop::NoObject { name: Excerpt::new(name.as_bytes()), found: kind(found) }
            }
            (Step::Index(index), _) => Stop::NoArray { index: *index, found: kind(found) },
        };
        Err(Missed::Stop { depth: self.outline.levels.len(), stop })
    }

    fn container(&mut self, start: usize, way: Option<(&Step, &[Step])>) -> Result<usize, Missed> {
        let bytes = self.text.as_bytes();
        let depth = self.outline.levels.len();
        let is_object = bytes.get(start) == Some(&b'{');
        let brackets = if is_object { Brackets::Object } else { Brackets::Array };
        let span = start..start;
        self.outline.levels.push(Level { brackets, span, children: Vec::new(), chosen: None });
        let mut names = HashSet::new();
        let (mut children, mut chosen) = (Vec::new(), None);
        let mut at = blanks(bytes, start + 1);
        while !matches!(bytes.get(at), Some(b'}' | b']')) {
            let mut name = at..at;
            let mut is_target = way.is_some_and(|(step, _)| *step == Step::Index(children.len()));
            if is_object {
                name.end = end(self.text, at)?;
                let decoded = decoded(self.text, &name).ok_or(Missed::Name { offset: at })?;
                is_target = way.is_some_and(|(step, _)| match step {
                    Step::Name(name) => *name == *decoded,
                    Step::Index(_) => false,
                });
                if let Some(twice) = names.replace(decoded) {
                    let name = Excerpt::new(twice.as_bytes());
                    return Err(Missed::Doubled { name, offset: at });
                }
                at = blanks(bytes, name.end);
                at = blanks(bytes, at + 1);
            }
            if !is_object {
                name = at..at;
            }
            let (value, rest) = (at, way.map_or(&[][..], |(_, rest)| rest));
            if is_target {
                chosen = Some(children.len());
                at = self.value(at, rest)?;
            } else {
                at = end(self.text, at)?;
            }
            children.push(Child { name, value: value..at });
            at = blanks(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = blanks(bytes, at + 1),
                Some(b'}' | b']') => {}
                Some(_) | None => return Err(Missed::Odd),
            }
        }
        let length = children.len();
        if let Some(level) = self.outline.levels.get_mut(depth) {
            *level = Level { brackets, span: start..at + 1, children, chosen };
        }
        match (way, chosen) {
            (None, _) | (Some(_), Some(_)) => Ok(at + 1),
            (Some((step, _)), None) => {
                let stop = match step {
                    Step::Name(name) => Stop::NoMember { name: Excerpt::new(name.as_bytes()) },
                    Step::Index(index) => Stop::NoElement { index: *index, length },
                };
                Err(Missed::Stop { depth, stop })
            }
        }
    }
}

/// Returns the offset of the first byte at or after `at` that is not blank.
pub(super) fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len())
}

/// Returns the offset of the end of the value that starts at `at`.
fn end(text: &str, at: usize) -> Result<usize, Missed> {
    let bytes = text.as_bytes();
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first() {
        Some(b'"') => Ok(at + string(rest)),
        Some(b'{' | b'[') => {
            let (mut depth, mut at) = (0usize, at);
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => at += string(bytes.get(at..).unwrap_or_default()) - 1,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth == 1 => return Ok(at + 1),
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
            }
            Err(Missed::Odd)
        }
        Some(_) => {
            let ends =
                |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}');
            match rest.iter().position(ends).unwrap_or(rest.len()) {
                0 => Err(Missed::Odd),
                length => Ok(at + length),
            }
        }
        None => Err(Missed::Odd),
    }
}

/// Decodes the quoted name in `span`. Returns `None` if it contains an invalid escape sequence.
fn decoded<'t>(text: &'t str, span: &Range<usize>) -> Option<Cow<'t, str>> {
    let spelled = text.get(span.clone())?;
    if spelled.contains('\\') {
        return serde_json::from_str::<String>(spelled).ok().map(Cow::Owned);
    }
    spelled.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}

fn kind(first: u8) -> &'static str {
    match first {
        b'{' => "an object",
        b'[' => "an array",
        b'"' => "a string",
        b't' | b'f' => "a boolean",
        b'n' => "`null`",
        _ => "a number",
    }
}
