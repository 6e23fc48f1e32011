//! Strict YAML parser that returns JSON values together with their positions.
//!
//! It rejects duplicate names, merge keys, unknown tags, and booleans that only some parsers recognize. Aliases are followed within
//! narrow limits.

use std::borrow::Cow;
use std::fmt;

use actum_core::json::{Content, Member, Value};
use actum_core::path::Cut;
use actum_core::place::Place;
use actum_document::{Diagnostic, JsonPath, Problem, Step};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Error, Location, Spanned};

/// Value in a YAML text, with its byte offset.
#[derive(Debug)]
pub(super) struct Node {
    start: usize,
    kind: NodeKind,
}

#[derive(Debug)]
enum NodeKind {
    Null,
    Boolean(bool),
    /// Number in JSON notation.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(Node, Node)>),
}

/// Maximum length of a message of the YAML parser that is reported, in bytes.
const MESSAGE_BYTES_MAX: usize = 300;

impl Node {
    /// Parses `text` as a single YAML document.
    pub(super) fn read(text: &[u8]) -> Result<Self, Diagnostic> {
        let text = std::str::from_utf8(text).map_err(|error| {
            let message = "the byte at this position is not valid UTF-8".to_owned();
            mistake(Some(Place::new(text, error.valid_up_to())), message)
        })?;
        let options = serde_saphyr::options! {
            duplicate_keys: DuplicateKeyPolicy::Error,
            merge_keys: MergeKeyPolicy::Error,
            alias_limits: alias_limits(),
            strict_booleans: true,
            strict_indentation: true,
            reject_unsupported_tags: true,
            with_snippet: false,
        };
        let read: Result<Spanned<NodeKind>, _> = serde_saphyr::from_str_with_options(text, options);
        read.map(Self::new).map_err(|error| refused(&error))
    }

    fn new(spanned: Spanned<NodeKind>) -> Self {
        Self { start: start(&spanned.referenced), kind: spanned.value }
    }

    /// Converts the YAML value to a JSON value.
    pub(super) fn value(&self) -> Value<'_> {
        let content = match &self.kind {
            NodeKind::Null => Content::Null,
            NodeKind::Boolean(flag) => Content::Boolean(*flag),
            NodeKind::Number(number) => Content::Number(number),
            NodeKind::String(text) => Content::String(Cow::Borrowed(text)),
            NodeKind::Array(elements) => Content::Array(elements.iter().map(Self::value).collect()),
            NodeKind::Object(members) => {
                let members = members.iter().map(|(name, value)| Member {
                    name_span: name.start..name.start,
                    name: Cow::Owned(name.name()),
                    value: value.value(),
                });
                Content::Object(members.collect())
            }
        };
        Value { span: self.start..self.start, content }
    }

    /// Returns the name of a mapping member as text, because YAML allows a value of any type as a name.
    fn name(&self) -> String {
        match &self.kind {
            NodeKind::Null => "null".to_owned(),
            NodeKind::Boolean(flag) => flag.to_string(),
            NodeKind::Number(text) | NodeKind::String(text) => text.clone(),
            NodeKind::Array(_) => "[…]".to_owned(),
            NodeKind::Object(_) => "{…}".to_owned(),
        }
    }
}

fn alias_limits() -> AliasLimits {
    let mut limits = AliasLimits::default();
    limits.max_total_replayed_events = 10_000;
    limits.max_replay_stack_depth = 16;
    limits.max_alias_expansions_per_anchor = 1_000;
    limits
}

/// Converts an error of the YAML parser to a diagnostic that describes the document instead of the parser.
fn refused(error: &Error) -> Diagnostic {
    let location = error.location().filter(|location| location.line() > 0);
    let place = location.map(|it| Place { line: it.line(), column: it.column() });
    let error = error.without_snippet();
    if let Error::DuplicateMappingKey { key, .. } = error {
        let path = JsonPath(key.iter().cloned().map(Step::Member).collect());
        return Diagnostic { place, path, problem: Problem::Doubled };
    }
    let message = if let Error::MultipleDocuments { .. } = error {
        "a second document starts here, but only one is allowed".to_owned()
    } else if let Error::MergeKeyNotAllowed { .. } = error {
        "merge keys (`<<`) are not supported; write the fields out".to_owned()
    } else {
        let text = error.to_string();
        let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
        Cut(text.as_bytes(), MESSAGE_BYTES_MAX).to_string()
    };
    mistake(place, message)
}

fn mistake(place: Option<Place>, message: String) -> Diagnostic {
    Diagnostic { place, path: JsonPath::default(), problem: Problem::Yaml { message } }
}

fn start(location: &Location) -> usize {
    let offset = location.span().byte_offset().and_then(|offset| usize::try_from(offset).ok());
    offset.unwrap_or_default()
}

impl<'de> Deserialize<'de> for NodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = NodeKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Null)
    }

    fn visit_none<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<NodeKind, E> {
        Ok(NodeKind::Boolean(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<NodeKind, E> {
        Ok(NodeKind::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<NodeKind, E> {
        Ok(NodeKind::Number(number.to_string()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<NodeKind, E> {
        Ok(NodeKind::Number(number.to_string()))
    }

    fn visit_u128<E>(self, number: u128) -> Result<NodeKind, E> {
        Ok(NodeKind::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<NodeKind, E> {
        Ok(NodeKind::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<NodeKind, E> {
        Ok(NodeKind::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<NodeKind, E> {
        Ok(NodeKind::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NodeKind, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element::<Spanned<NodeKind>>()? {
            elements.push(Node::new(element));
        }
        Ok(NodeKind::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeKind, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<Spanned<NodeKind>>()? {
            let value = map.next_value::<Spanned<NodeKind>>()?;
            members.push((Node::new(name), Node::new(value)));
        }
        Ok(NodeKind::Object(members))
    }
}
