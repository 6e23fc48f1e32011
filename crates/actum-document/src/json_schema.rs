//! Generates JSON Schema files (draft 2020-12) from the document schemas.
//!
//! A JSON Schema cannot limit the size or nesting depth of a document, reject duplicate names, or require that commands are
//! permitted. The descriptions in the generated schema state these rules instead.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::object_schema::{Characters, Form, Member, Need, ObjectSchema, Others, Tagged, Text};

/// A published JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// Name of the schema file in the `schemas/` directory.
    pub name: &'static str,
    /// Content of the schema file.
    pub text: String,
}

/// Smallest integer that JSON parsers can represent exactly as a double, `1 - 2^53`. The largest one is its negation.
const NUMBER_MIN: i64 = 1 - (1 << 53);

/// Regular expression for paths in a workspace. It rejects absolute paths, NUL, and the components `.`, `..`, `.git` and
/// `.actum` as well as empty ones. It cannot check the length of a component in bytes.
const PATH_PATTERN: &str =
    "^(?!([\\s\\S]*/)?(\\.{0,2}|\\.[gG][iI][tT]|\\.[aA][cC][tT][uU][mM])(/|$))[^\\u0000]+$";

/// Generates the JSON Schema file for documents that are described by `shape`.
pub fn file(name: &'static str, id: &str, title: &str, shape: &'static ObjectSchema) -> SchemaFile {
    let mut entries = vec![
        ("$schema", Node::from("https://json-schema.org/draft/2020-12/schema")),
        ("$id", Node::from(id)),
        ("title", Node::from(title)),
    ];
    entries.extend(object(shape));
    let mut used = Definitions::default();
    used.of_shape(shape);
    let mut definitions: Vec<_> =
        used.tagged.iter().map(|kind| (kind.id, Node::Map(tagged(kind)))).collect();
    if used.value {
        // Any value in which every number can be represented exactly.
        let value = vec![
            ("minimum", Node::Leaf(json!(NUMBER_MIN))),
            ("maximum", Node::Leaf(json!(-NUMBER_MIN))),
            ("items", any()),
            ("additionalProperties", any()),
        ];
        definitions.push(("value", Node::Map(value)));
    }
    if !definitions.is_empty() {
        entries.push(("$defs", Node::Map(definitions)));
    }
    // Serialization cannot fail because every object key is a string.
    let text = serde_json::to_string_pretty(&Node::Map(entries)).unwrap_or_default();
    SchemaFile { name, text: format!("{text}\n") }
}

/// JSON value whose object members keep their insertion order.
enum Node {
    Leaf(Value),
    List(Vec<Node>),
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
            Self::List(nodes) => serializer.collect_seq(nodes),
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

/// Definitions that a schema needs in its `$defs` section.
#[derive(Default)]
struct Definitions {
    /// Tagged objects, each listed after the ones that contain it.
    tagged: Vec<&'static Tagged>,
    /// Whether any member accepts arbitrary values, so that the `value` definition is needed.
    value: bool,
}

impl Definitions {
    fn of_shape(&mut self, shape: &'static ObjectSchema) {
        self.value |= shape.others == Others::PassedOver;
        shape.members.iter().for_each(|member| self.of_form(&member.form));
    }

    fn of_form(&mut self, form: &'static Form) {
        match form {
            Form::Text(_)
            | Form::Word(_)
            | Form::Flag
            | Form::Share
            | Form::Whole { .. }
            | Form::Texts { .. }
            | Form::True
            | Form::Json
            | Form::JsonObject => {}
            Form::AnyObject | Form::NullTextOrObject(_) | Form::Any => self.value = true,
            Form::Object(of) | Form::Objects { of, .. } | Form::SomeObjects { of, .. } => {
                self.of_shape(of);
            }
            Form::NullOr(of) | Form::List { of, .. } | Form::Map { of, .. } => self.of_form(of),
            Form::Tagged(of) | Form::TaggedList { of, .. } => {
                if !self.tagged.iter().any(|known| known.id == of.id) {
                    self.tagged.push(of);
                    of.branches.iter().for_each(|branch| self.of_shape(branch.shape));
                }
            }
        }
    }
}

/// Returns the schema of a tagged object. Each branch is an `if`/`then` pair, so a validator reports only the errors of the
/// branch that the tag selects.
fn tagged(kind: &Tagged) -> Vec<(&'static str, Node)> {
    let branches = kind.branches.iter().map(|branch| {
        let word = Node::Map(vec![("const", Node::from(branch.word))]);
        let condition = vec![
            ("properties", Node::Map(vec![(kind.tag, word)])),
            ("required", Node::Leaf(json!([kind.tag]))),
        ];
        let then = match kind.nested {
            Some(nested) => nesting(branch.shape, kind.tag, nested),
            None => object(branch.shape),
        };
        Node::Map(vec![("if", Node::Map(condition)), ("then", Node::Map(then))])
    });
    let words = Node::Map(vec![("enum", Node::Leaf(json!(kind.words)))]);
    vec![
        ("description", Node::from(kind.about)),
        ("type", Node::from("object")),
        ("required", Node::Leaf(json!([kind.tag]))),
        ("properties", Node::Map(vec![(kind.tag, words)])),
        ("allOf", Node::List(branches.collect())),
    ]
}

/// Returns the schema of an object whose members can also be set in its nested object `nested`, except for the tag.
fn nesting(shape: &ObjectSchema, tag: &str, nested: &'static str) -> Vec<(&'static str, Node)> {
    let others = || shape.members.iter().filter(|member| member.name != tag);
    let closed = ("additionalProperties", Node::Leaf(Value::Bool(false)));
    let inner = vec![
        (
            "description",
            Node::from("Same fields as in the enclosing object. Set each field only once."),
        ),
        ("type", Node::from("object")),
        ("properties", Node::Map(others().map(property).collect())),
        ("additionalProperties", Node::Leaf(Value::Bool(false))),
    ];
    let mut properties: Vec<_> = shape.members.iter().map(property).collect();
    properties.push((nested, Node::Map(inner)));
    let places = others().map(|Member { name, need, .. }| {
        let there = json!({"required": [name]});
        // The keys are in alphabetical order so that the output does not depend on the `preserve_order` feature of
        // `serde_json`.
        let has_it = |required: Value| json!({"properties": {nested: there}, "required": required});
        Node::Leaf(match need {
            Need::Required => json!({"oneOf": [there, has_it(json!([nested]))]}),
            Need::Optional => json!({"not": has_it(json!([name, nested]))}),
        })
    });
    let places: Vec<Node> = places.collect();
    let mut entries = vec![
        ("description", Node::from(shape.about)),
        ("type", Node::from("object")),
        ("required", Node::Leaf(json!([tag]))),
        ("properties", Node::Map(properties)),
        closed,
    ];
    if !places.is_empty() {
        entries.push(("allOf", Node::List(places)));
    }
    entries
}

/// Returns the schema of a member, including its description.
fn property(member: &Member) -> (&'static str, Node) {
    let about = ("description", Node::from(member.about));
    // The description of the member replaces the one of its object type.
    let entries = form(&member.form).into_iter().filter(|(name, _)| *name != "description");
    (member.name, Node::Map(std::iter::once(about).chain(entries).collect()))
}

fn object(shape: &ObjectSchema) -> Vec<(&'static str, Node)> {
    let required = shape.members.iter().filter(|member| member.need == Need::Required);
    let required: Vec<&str> = required.map(|member| member.name).collect();
    let properties = shape.members.iter().map(property);
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
        Form::List { of, count_max } => list(Node::Map(self::form(of)), *count_max),
        Form::Map { names, of, count_max } => vec![
            kind("object"),
            ("propertyNames", Node::Map(of_text(kind("string"), names))),
            ("additionalProperties", Node::Map(self::form(of))),
            ("maxProperties", Node::Leaf(json!(count_max))),
        ],
        Form::AnyObject => vec![kind("object"), of_any()],
        Form::NullTextOrObject(text) => {
            let kinds = ("type", Node::Leaf(json!(["null", "string", "object"])));
            let mut entries = of_text(kinds, text);
            entries.push(of_any());
            entries
        }
        Form::Any => vec![of_any()],
        Form::True => vec![("const", Node::Leaf(Value::Bool(true)))],
        Form::SomeObjects { of, count_max } => {
            let mut entries = list(Node::Map(object(of)), *count_max);
            entries.push(("minItems", Node::Leaf(json!(1))));
            entries
        }
        Form::Tagged(kind) => vec![definition(kind)],
        Form::TaggedList { of, count_min, count_max } => {
            let mut entries = list(Node::Map(vec![definition(of)]), *count_max);
            if *count_min > 0 {
                entries.push(("minItems", Node::Leaf(json!(count_min))));
            }
            entries
        }
        Form::Json => vec![],
        Form::JsonObject => vec![kind("object")],
        Form::NullOr(other) => self::form(other).into_iter().map(or_null).collect(),
    }
}

/// Extends a schema entry so that the value may also be `null`.
fn or_null((name, node): (&'static str, Node)) -> (&'static str, Node) {
    match (name, node) {
        ("type", Node::Leaf(Value::String(kind))) => (name, Node::Leaf(json!([kind, "null"]))),
        ("enum", Node::Leaf(Value::Array(mut words))) => {
            words.push(Value::Null);
            (name, Node::Leaf(Value::Array(words)))
        }
        // A `pattern` accepts every value that is not a string, so a negated pattern would reject `null`.
        ("not", Node::Map(entries)) => {
            let text = ("type", Node::from("string"));
            (name, Node::Map(std::iter::once(text).chain(entries).collect()))
        }
        (_, node) => (name, node),
    }
}

fn definition(kind: &Tagged) -> (&'static str, Node) {
    ("$ref", Node::from(&*format!("#/$defs/{}", kind.id)))
}

/// Returns the schema entries for a string. JSON Schema applies `minLength`, `maxLength` and `pattern` only to strings.
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
        Characters::Lowercase => Some(pattern("^[a-z]*$")),
        Characters::Id => Some(pattern("^[A-Za-z0-9._-]*$")),
        Characters::Path => Some(pattern(PATH_PATTERN)),
        // The description explains the syntax of path rules.
        Characters::Rule => None,
        Characters::Digest => Some(pattern("^[0-9A-Fa-f]*$")),
        Characters::Selector => Some(pattern("^\\$")),
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
