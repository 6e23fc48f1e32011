//! The containers on the way to a place, and the places of their children; all else is skipped.
//!
//! The text has been judged before, so what is found is sound; what is not is passed back as odd.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use actum_core::json::string;
use actum_core::place::Excerpt;

use crate::edit::json_patch::tree::Brackets;
use crate::edit::json_path::{NodePath, Step, Stop};

/// Containers on the way to a place.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The containers around the place, from the outside in.
    pub(super) levels: Vec<Level>,
    /// Range of the value at the place.
    pub(super) place: Range<usize>,
    /// Kind of the value.
    pub(super) found: &'static str,
    /// The whole document.
    pub(super) root: Range<usize>,
}

/// A container.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) brackets: Brackets,
    pub(super) span: Range<usize>,
    pub(super) children: Vec<Child>,
    /// The child that the way leads through; none in the last container.
    pub(super) chosen: Option<usize>,
}

/// A member or an element.
#[derive(Debug, Clone)]
pub(super) struct Child {
    /// Its name with the quotes; nothing, at the value, in an array.
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Depth to which the end of the way is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Whole,
    /// The members too, if it is an object.
    Members,
}

/// Reason why the way does not lead to a place.
#[derive(Debug)]
pub(super) enum Missed {
    /// The way stops after so many steps.
    Stop { depth: usize, stop: Stop },
    /// A name stands twice.
    Doubled { name: Excerpt, offset: usize },
    /// A name has an escape that stands for nothing.
    Name { offset: usize },
    /// The text is not what it was judged to be.
    Odd,
}

impl Outline {
    pub(super) fn new(strict: &str, way: &NodePath, last: Last) -> Result<Self, Missed> {
        let mut walk = Walk { text: strict, last, outline: Self::default() };
        let start = blanks(strict.as_bytes(), 0);
        let end = walk.value(start, &way.0)?;
        Ok(Self { root: start..end, ..walk.outline })
    }

    /// The object at the place.
    pub(super) fn object(&self) -> Option<&Level> {
        self.levels.last().filter(|level| level.chosen.is_none() && level.span == self.place)
    }
}

impl Level {
    /// The member of this name.
    pub(super) fn member(&self, strict: &str, name: &str) -> Option<&Child> {
        self.index(strict, name).and_then(|index| self.children.get(index))
    }

    pub(super) fn index(&self, strict: &str, name: &str) -> Option<usize> {
        let is_meant = |child: &Child| decoded(strict, &child.name).is_some_and(|n| n == name);
        self.children.iter().position(is_meant)
    }
}

struct Walk<'t> {
    text: &'t str,
    last: Last,
    outline: Outline,
}

impl Walk<'_> {
    /// Follows `steps` into the value at `at`; where it ends.
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
            let mut is_meant = way.is_some_and(|(step, _)| *step == Step::Index(children.len()));
            if is_object {
                name.end = end(self.text, at)?;
                let decoded = decoded(self.text, &name).ok_or(Missed::Name { offset: at })?;
                is_meant = way.is_some_and(|(step, _)| match step {
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
            if is_meant {
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

/// Returns the end of the blanks at `at`.
pub(super) fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len())
}

/// Returns the end of the value at `at`.
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

/// The name that is spelled, with its quotes, in `span`.
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
