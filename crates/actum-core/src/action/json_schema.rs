//! Writes the shapes of the contract as JSON Schema (draft 2020-12).
//!
//! What a schema cannot say stands in its descriptions: the size of a document, its depth, names
//! that stand twice, and that commands have to be permitted.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::manifest::MANIFEST;
use super::plan::PLAN;
use super::result::RESULT;
use super::shape::{Characters, Form, Need, Others, Shape, Text};

/// A published JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// The name of its file below `schemas/`.
    pub name: &'static str,
    /// The whole file.
    pub text: String,
}

/// The least number that readers do not round; the largest is its negative.
const NUMBER_MIN: i64 = 1 - (1 << 53);

/// The JSON Schemas of plan envelope, result envelope and `action.json`, in this order.
pub fn schemas() -> [SchemaFile; 3] {
    [
        file("action-plan.schema.json", "urn:actum:action-plan:v4", "Action plan envelope", &PLAN),
        file(
            "action-result.schema.json",
            "urn:actum:action-result:v4",
            "Action result envelope",
            &RESULT,
        ),
        file(
            "action-package.schema.json",
            "urn:actum:action-package:v4",
            "Manifest of a plugin action package",
            &MANIFEST,
        ),
    ]
}

/// The schema file of a shape.
pub(crate) fn file(name: &'static str, id: &str, title: &str, shape: &Shape) -> SchemaFile {
    let mut entries = vec![
        ("$schema", Node::from("https://json-schema.org/draft/2020-12/schema")),
        ("$id", Node::from(id)),
        ("title", Node::from(title)),
    ];
    entries.extend(object(shape));
    // Any value, if every number in it is one that readers do not round.
    let value = vec![
        ("minimum", Node::Leaf(json!(NUMBER_MIN))),
        ("maximum", Node::Leaf(json!(-NUMBER_MIN))),
        ("items", any()),
        ("additionalProperties", any()),
    ];
    entries.push(("$defs", Node::Map(vec![("value", Node::Map(value))])));
    // The tree has texts for names and no other numbers, so it can always be written.
    let text = serde_json::to_string_pretty(&Node::Map(entries)).unwrap_or_default();
    SchemaFile { name, text: format!("{text}\n") }
}

/// JSON whose names stay in the order in which they were put.
enum Node {
    Leaf(Value),
    Map(Vec<(&'static str, Node)>),
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Leaf(Value::from(text))
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Leaf(value) => value.serialize(serializer),
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (name, node) in entries {
                    map.serialize_entry(name, node)?;
                }
                map.end()
            }
        }
    }
}

fn any() -> Node {
    Node::Map(vec![("$ref", Node::from("#/$defs/value"))])
}

fn object(shape: &Shape) -> Vec<(&'static str, Node)> {
    let required = shape.members.iter().filter(|member| member.need == Need::Required);
    let required: Vec<&str> = required.map(|member| member.name).collect();
    let properties = shape.members.iter().map(|member| {
        let about = ("description", Node::from(member.about));
        // What an object is stands where it is used.
        let entries = form(&member.form).into_iter().filter(|(name, _)| *name != "description");
        (member.name, Node::Map(std::iter::once(about).chain(entries).collect()))
    });
    vec![
        ("description", Node::from(shape.about)),
        ("type", Node::from("object")),
        ("required", Node::Leaf(json!(required))),
        ("properties", Node::Map(properties.collect())),
        (
            "additionalProperties",
            match shape.others {
                Others::Refused => Node::Leaf(Value::Bool(false)),
                Others::PassedOver => any(),
            },
        ),
    ]
}

fn form(form: &Form) -> Vec<(&'static str, Node)> {
    let kind = |kind: &str| ("type", Node::from(kind));
    let number = |name, number: i64| (name, Node::Leaf(json!(number)));
    let list = |items, count_max: usize| {
        vec![kind("array"), ("items", items), ("maxItems", Node::Leaf(json!(count_max)))]
    };
    let of_any = || ("$ref", Node::from("#/$defs/value"));
    match form {
        Form::Text(text) => of_text(kind("string"), text),
        Form::Word(words) => vec![kind("string"), ("enum", Node::Leaf(json!(words)))],
        Form::Flag => vec![kind("boolean")],
        Form::Share => vec![kind("number"), number("minimum", 0), number("maximum", 1)],
        Form::Whole { min, max } => {
            vec![kind("integer"), number("minimum", *min), number("maximum", *max)]
        }
        Form::Texts { of, count_max } => list(Node::Map(of_text(kind("string"), of)), *count_max),
        Form::Object(shape) => object(shape),
        Form::Objects { of, count_max } => list(Node::Map(object(of)), *count_max),
        Form::AnyObject => vec![kind("object"), of_any()],
        Form::NullTextOrObject(text) => {
            let kinds = ("type", Node::Leaf(json!(["null", "string", "object"])));
            let mut entries = of_text(kinds, text);
            entries.push(of_any());
            entries
        }
        Form::Any => vec![of_any()],
        Form::NullOr(other) => self::form(other).into_iter().map(or_null).collect(),
    }
}

/// The same entry of what may also be `null`.
fn or_null((name, node): (&'static str, Node)) -> (&'static str, Node) {
    match (name, node) {
        ("type", Node::Leaf(Value::String(kind))) => (name, Node::Leaf(json!([kind, "null"]))),
        ("enum", Node::Leaf(Value::Array(mut words))) => {
            words.push(Value::Null);
            (name, Node::Leaf(Value::Array(words)))
        }
        // Of what is no text a pattern says nothing, so that `null` would have it.
        ("not", Node::Map(entries)) => {
            let text = ("type", Node::from("string"));
            (name, Node::Map(std::iter::once(text).chain(entries).collect()))
        }
        (_, node) => (name, node),
    }
}

/// Lengths and patterns say nothing of what is no text.
fn of_text(kind: (&'static str, Node), text: &Text) -> Vec<(&'static str, Node)> {
    let mut entries = vec![kind];
    if text.chars_min > 0 {
        entries.push(("minLength", Node::Leaf(json!(text.chars_min))));
    }
    entries.push(("maxLength", Node::Leaf(json!(text.chars_max))));
    let pattern = |pattern: &str| ("pattern", Node::from(pattern));
    let no = |node| ("not", Node::Map(vec![node]));
    entries.extend(match text.characters {
        Characters::Any => None,
        Characters::NoNul => Some(no(pattern("\\u0000"))),
        Characters::OneLine => Some(no(pattern("[\\u0000-\\u001F\\u007F-\\u009F]"))),
        Characters::Name => Some(pattern("^[a-z][a-z0-9_]*$")),
        Characters::Version => {
            Some(pattern("^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$"))
        }
        Characters::Id => Some(pattern("^[A-Za-z0-9._-]*$")),
        Characters::Sha256 => Some(pattern("^[0-9a-f]{64}$")),
        Characters::Time => {
            Some(pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$"))
        }
        Characters::Mode => Some(pattern("^[0-7]{4}$")),
        Characters::Capitals => Some(pattern("^[A-Z][A-Z0-9_]*$")),
    });
    if !text.taken.is_empty() {
        entries.push(no(("enum", Node::Leaf(json!(text.taken)))));
    }
    entries
}
