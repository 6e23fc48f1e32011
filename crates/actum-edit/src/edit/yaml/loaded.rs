//! Reads the values of a YAML text with a strict parser, which replaces each alias with its target.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use actum_core::json::{Content, DEPTH_MAX, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::granit_parser::{self, Event, Parser};
use serde_saphyr::{Location, MergeKeyPolicy, NonFiniteFloatPolicy, budget, options};

use super::YamlProblem;
use super::error::YamlError;
use crate::edit::json_path::{NodePath, Step};

/// Maximum number of nodes in a YAML file.
const NODES_MAX: usize = 1_000_000;

/// YAML value as the strict parser returns it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::edit) enum Loaded {
    Null,
    Boolean(bool),
    Integer(i128),
    /// Bits of the floating-point number, so that NaN is equal to itself.
    Float(u64),
    String(String),
    Sequence(Vec<Self>),
    Mapping(Vec<(Self, Self)>),
}

/// Position and reason of a YAML syntax error.
pub(in crate::edit) struct Unread {
    pub(in crate::edit) line: u64,
    pub(in crate::edit) column: u64,
    pub(in crate::edit) problem: YamlProblem,
}

/// Tags that the strict parser respects, which turn any scalar into a string. All other tags are ignored.
const STRING_TAGS: [&str; 2] = ["!", "!!str"];

impl Loaded {
    /// Reads all documents of a YAML text. All tags except [`STRING_TAGS`] are treated like unknown tags, so a value
    /// does not have to match its tag.
    pub(in crate::edit) fn read(text: &str) -> Result<Vec<Self>, Unread> {
        let options = options! {
            budget: budget! {
                max_depth: DEPTH_MAX,
                max_nodes: NODES_MAX,
                max_events: 4 * NODES_MAX,
                enforce_alias_anchor_ratio: false,
            },
            merge_keys: MergeKeyPolicy::AsOrdinary,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            strict_booleans: true,
            with_snippet: false,
            emit_comments: false,
        };
        let neutral = without_meaning_of_tags(text);
        serde_saphyr::from_multiple_with_options(&neutral, options).map_err(|error| {
            let at = error.location();
            Unread {
                line: at.as_ref().map_or(0, Location::line),
                column: at.as_ref().map_or(0, Location::column),
                problem: tags(text).err().unwrap_or_else(|| YamlProblem::from_reader(&error)),
            }
        })
    }

    /// Compares this value with a JSON value. Numbers are compared by value, as an `i128` or an `f64`.
    pub(super) fn is(&self, value: &Value<'_>) -> bool {
        match (self, &value.content) {
            (Self::Null, Content::Null) => true,
            (Self::Boolean(a), Content::Boolean(b)) => a == b,
            (Self::String(a), Content::String(b)) => a == b,
            (Self::Integer(a), Content::Number(b)) => b.parse::<i128>().is_ok_and(|b| *a == b),
            (Self::Float(a), Content::Number(b)) => {
                b.parse::<f64>().is_ok_and(|b| f64::from_bits(*a).total_cmp(&b).is_eq())
            }
            (Self::Sequence(a), Content::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
            }
            (Self::Mapping(a), Content::Object(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|((name, value), member)| {
                        *name == Self::String(member.name.clone().into_owned())
                            && value.is(&member.value)
                    })
            }
            (
                Self::Null
                | Self::Boolean(_)
                | Self::Integer(_)
                | Self::Float(_)
                | Self::String(_)
                | Self::Sequence(_)
                | Self::Mapping(_),
                _,
            ) => false,
        }
    }

    /// Converts the value to JSON. Returns `None` if a key is not a string or a number is not finite.
    pub(in crate::edit) fn to_json(&self) -> Option<serde_json::Value> {
        use serde_json::{Number, Value};
        Some(match self {
            Self::Null => Value::Null,
            Self::Boolean(boolean) => Value::Bool(*boolean),
            Self::Integer(integer) => Value::Number(Number::from_i128(*integer)?),
            Self::Float(bits) => Value::Number(Number::from_f64(f64::from_bits(*bits))?),
            Self::String(text) => Value::String(text.clone()),
            Self::Sequence(items) => {
                Value::Array(items.iter().map(Self::to_json).collect::<Option<_>>()?)
            }
            Self::Mapping(entries) => {
                let entry = |(name, value): &(Self, Self)| match name {
                    Self::String(name) => Some((name.clone(), value.to_json()?)),
                    Self::Null
                    | Self::Boolean(_)
                    | Self::Integer(_)
                    | Self::Float(_)
                    | Self::Sequence(_)
                    | Self::Mapping(_) => None,
                };
                Value::Object(entries.iter().map(entry).collect::<Option<_>>()?)
            }
        })
    }

    /// Returns a copy of the document without the member at the node path `way`, and the removed member.
    pub(super) fn without(&self, way: &[Step]) -> Option<(Self, Self)> {
        let (step, rest) = way.split_first()?;
        match (self, step) {
            (Self::Sequence(items), Step::Index(index)) => {
                let (item, member) = items.get(*index)?.without(rest)?;
                let mut items = items.clone();
                *items.get_mut(*index)? = item;
                Some((Self::Sequence(items), member))
            }
            (Self::Mapping(entries), Step::Name(name)) => {
                let named = Self::String(name.clone());
                let at = entries.iter().position(|(key, _)| *key == named)?;
                let mut entries = entries.clone();
                if rest.is_empty() {
                    let (_, member) = entries.remove(at);
                    return Some((Self::Mapping(entries), member));
                }
                let (_, value) = entries.get_mut(at)?;
                let (without, member) = value.without(rest)?;
                *value = without;
                Some((Self::Mapping(entries), member))
            }
            (
                Self::Null
                | Self::Boolean(_)
                | Self::Integer(_)
                | Self::Float(_)
                | Self::String(_)
                | Self::Sequence(_)
                | Self::Mapping(_),
                Step::Index(_) | Step::Name(_),
            ) => None,
        }
    }

    /// Returns the value at the node path `way`, if it exists.
    pub(super) fn at(&self, way: &[Step]) -> Option<&Self> {
        let Some((step, rest)) = way.split_first() else { return Some(self) };
        match (self, step) {
            (Self::Sequence(items), Step::Index(index)) => items.get(*index)?.at(rest),
            (Self::Mapping(entries), Step::Name(name)) => {
                let named = Self::String(name.clone());
                entries.iter().find(|(key, _)| *key == named)?.1.at(rest)
            }
            (
                Self::Null
                | Self::Boolean(_)
                | Self::Integer(_)
                | Self::Float(_)
                | Self::String(_)
                | Self::Sequence(_)
                | Self::Mapping(_),
                Step::Name(_) | Step::Index(_),
            ) => None,
        }
    }

    /// Returns the path of the first difference between two values, ignoring the node at `way`.
    pub(super) fn differs(
        &self,
        other: &Self,
        way: Option<&[Step]>,
        at: &mut NodePath,
    ) -> Option<NodePath> {
        if way.is_some_and(<[Step]>::is_empty) {
            return None;
        }
        let inner = |step: &Step| {
            way.and_then(<[Step]>::split_first)
                .and_then(|(first, rest)| (first == step).then_some(rest))
        };
        match (self, other) {
            (Self::Sequence(a), Self::Sequence(b)) if a.len() == b.len() => {
                a.iter().zip(b).enumerate().find_map(|(index, (a, b))| {
                    let step = Step::Index(index);
                    let way = inner(&step);
                    at.0.push(step);
                    let found = a.differs(b, way, at);
                    at.0.pop();
                    found
                })
            }
            (Self::Mapping(a), Self::Mapping(b)) if a.len() == b.len() => {
                a.iter().zip(b).find_map(|((name, a), (other, b))| {
                    let step = match name {
                        Self::String(name) => Step::Name(name.clone()),
                        Self::Null
                        | Self::Boolean(_)
                        | Self::Integer(_)
                        | Self::Float(_)
                        | Self::Sequence(_)
                        | Self::Mapping(_) => Step::Name(String::new()),
                    };
                    // A node path cannot contain a key that is not a string.
                    let way = inner(&step).filter(|_| matches!(name, Self::String(_)));
                    at.0.push(step);
                    let found =
                        if name == other { a.differs(b, way, at) } else { Some(at.clone()) };
                    at.0.pop();
                    found
                })
            }
            (a, b) if a == b => None,
            (_, _) => Some(at.clone()),
        }
    }
}

/// Replaces every tag except [`STRING_TAGS`] with a meaningless local tag of the same length.
///
/// The parser would otherwise check whether a value matches its tag, such as `!!binary`, `!!timestamp` or `!!int`.
fn without_meaning_of_tags(text: &str) -> Cow<'_, str> {
    let tags = if text.contains('!') { tags(text).unwrap_or_default() } else { Vec::new() };
    let has_meaning = |tag: &Range<usize>| {
        let spelled = text.get(tag.clone()).unwrap_or_default();
        spelled.starts_with('!') && !STRING_TAGS.contains(&spelled)
    };
    let mut bytes = text.as_bytes().to_vec();
    for tag in tags.into_iter().filter(has_meaning) {
        bytes.get_mut(tag.start + 1..tag.end).unwrap_or_default().fill(b'-');
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the byte ranges of all tags in a YAML text.
///
/// # Errors
/// Returns an error if the event parser rejects the text or the text is nested too deeply.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only scalars, sequences and mappings can have tags"
)]
fn tags(text: &str) -> Result<Vec<Range<usize>>, YamlProblem> {
    let (mut tags, mut depth) = (Vec::new(), 0usize);
    let options = granit_parser::options! { emit_comments: false };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, at) = event.map_err(|error| YamlProblem::from_kind(error.kind()))?;
        let is_tagged = match event {
            Event::Scalar(_, _, _, tag) => tag.is_some(),
            Event::SequenceStart(_, _, tag) | Event::MappingStart(_, _, tag) => {
                depth += 1;
                tag.is_some()
            }
            Event::SequenceEnd | Event::MappingEnd => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => false,
        };
        if depth > DEPTH_MAX {
            return Err(YamlProblem::TooDeep);
        }
        let tag = at.tag_span().filter(|_| is_tagged);
        let range = tag.and_then(|tag| Some(tag.start.byte_offset()?..tag.end.byte_offset()?));
        tags.extend(range);
    }
    Ok(tags)
}

impl Unread {
    pub(super) fn in_file(self) -> YamlError {
        YamlError::NotYaml { line: self.line, column: self.column, problem: self.problem }
    }
}

impl<'de> Deserialize<'de> for Loaded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Loaded;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Loaded, E> {
        Ok(Loaded::Null)
    }

    fn visit_none<E>(self) -> Result<Loaded, E> {
        Ok(Loaded::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Loaded, D::Error> {
        Loaded::deserialize(deserializer)
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Loaded, E> {
        Ok(Loaded::Boolean(boolean))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Loaded, E> {
        Ok(Loaded::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Loaded, E> {
        Ok(Loaded::Integer(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Loaded, E> {
        Ok(Loaded::Integer(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Loaded, E> {
        Ok(Loaded::Float(number.to_bits()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Loaded, E> {
        Ok(Loaded::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Loaded, E> {
        Ok(Loaded::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Loaded, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Loaded::Sequence(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Loaded, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            all.push(entry);
        }
        Ok(Loaded::Mapping(all))
    }
}
