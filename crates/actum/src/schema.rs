//! JSON Schemas declared by actions and packages. A schema must be valid, limited in cost, and free of references to
//! other documents.

use std::collections::BTreeMap;

use actum_core::path::Harmless;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

/// Compiled JSON Schema that values can be checked against.
#[derive(Debug, Clone)]
pub struct Schema {
    validator: Validator,
    /// Source of the schema, used to improve error messages.
    written: Value,
}

/// Reason why a value does not match its JSON Schema, or why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", placed(.pointer), Harmless(.message.as_bytes()))]
pub struct SchemaProblem {
    /// Position of the problem as a JSON Pointer (RFC 6901). Empty if the problem concerns the entire value.
    pub pointer: String,
    /// Description of the problem, without the position.
    pub message: String,
}

fn placed(pointer: &str) -> String {
    match pointer {
        "" => "at the top level".to_owned(),
        pointer => format!("at `{}`", Harmless(pointer.as_bytes())),
    }
}

/// URI of the only supported JSON Schema draft.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Maximum number of JSON values in a schema after every `$ref` is expanded.
const PLACES_MAX: usize = 10_000;
/// Maximum nesting depth of a schema after every `$ref` is expanded.
const DEPTH_MAX: usize = 200;
/// Maximum size of a compiled regular expression in a schema, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Maximum length of an error message about a schema or value, in characters.
const MESSAGE_CHARS_MAX: usize = 500;

impl Schema {
    /// Compiles a JSON Schema (draft 2020-12). Regular expressions run in linear time, so look-around and backreferences
    /// are not supported. No files are read and no network access happens.
    ///
    /// # Errors
    /// Returns [`SchemaProblem`] if the schema is invalid, too large, recursive, or refers to another document.
    pub fn read(schema: &Map<String, Value>) -> Result<Self, SchemaProblem> {
        let schema = Value::Object(schema.clone());
        Weighing { schema: &schema, known: BTreeMap::new() }.weigh(&schema, "", 0)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(patterns);
        let validator = options.build(&schema).map_err(|error| problem_from_error(&error))?;
        Ok(Self { validator, written: schema })
    }

    /// Checks whether a JSON value matches the schema.
    ///
    /// # Errors
    /// Returns [`SchemaProblem`] for the first mismatch.
    pub fn check(&self, value: &Value) -> Result<(), SchemaProblem> {
        self.validator.validate(value).map_err(|error| {
            let place = error.schema_path().to_string();
            let better = ways(&self.written, &place).or_else(|| known(&self.written, &place));
            let mut problem = problem_from_error(&error);
            problem.message = match better {
                Some(Better::Instead(message)) => message,
                Some(Better::Besides(more)) => format!("{}; {more}", problem.message),
                None => problem.message,
            };
            problem
        })
    }
}

/// Text that replaces or extends a message of the validator.
enum Better {
    Instead(String),
    Besides(String),
}

/// Lists the known and the required properties if the validator found an unknown or a missing one.
fn known(schema: &Value, place: &str) -> Option<Better> {
    let (object, keyword) = place.rsplit_once('/')?;
    if !["additionalProperties", "required"].contains(&keyword) {
        return None;
    }
    let schema = schema.pointer(object)?;
    let names = schema.get("properties")?.as_object()?.keys();
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<String> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|name| format!("`{name}`"))
        .collect();
    let needed = match required.is_empty() {
        true => String::new(),
        false => format!("; required properties: {}", required.join(", ")),
    };
    Some(Better::Besides(format!("known properties: {}{needed}", names.join(", "))))
}

/// Lists the properties of which exactly one is required, because the validator's "one of the schemas" does not help
/// users.
fn ways(schema: &Value, place: &str) -> Option<Better> {
    let ways = place.ends_with("/oneOf").then(|| schema.pointer(place))??;
    let names = ways.as_array()?.iter().map(|way| {
        let required = way.get("required")?.as_array()?;
        let names = required.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        Some(names.collect::<Vec<_>>().join(" with "))
    });
    let names: Vec<String> = names.collect::<Option<_>>()?;
    let names = names.join(", ");
    Some(Better::Instead(format!("exactly one of these is required: {names}")))
}

pub(crate) fn problem_from_error(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    // The message refers to the value without quoting it, because the value may be long.
    let message = error.masked_with("the value").to_string();
    let message = match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message,
    };
    SchemaProblem { pointer: error.instance_path().to_string(), message }
}

/// Counts the JSON values in a schema with every `$ref` expanded, because a chain of references can double the count at
/// each step.
struct Weighing<'s> {
    schema: &'s Value,
    /// Finished counts by JSON Pointer. `None` marks a value that is still being counted, which detects cycles.
    known: BTreeMap<String, Option<usize>>,
}

impl Weighing<'_> {
    fn weigh(&mut self, at: &Value, pointer: &str, depth: usize) -> Result<usize, SchemaProblem> {
        let wrong = |message: &str| SchemaProblem {
            pointer: pointer.to_owned(),
            message: message.to_owned(),
        };
        if depth > DEPTH_MAX {
            return Err(wrong("the schema is nested too deeply; remove levels or `$ref`s"));
        }
        match self.known.get(pointer) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err(wrong(
                    "circular `$ref`s are not supported; write out each level instead",
                ));
            }
            None => {}
        }
        self.known.insert(pointer.to_owned(), None);
        let mut places: usize = 1;
        match at {
            Value::Object(members) => {
                for (name, value) in members {
                    let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    places = places.saturating_add(self.member(name, value, pointer, depth)?);
                    places = places.saturating_add(self.weigh(value, &below, depth + 1)?);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    let below = format!("{pointer}/{index}");
                    places = places.saturating_add(self.weigh(value, &below, depth + 1)?);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if places > PLACES_MAX {
            return Err(wrong("the schema is too large after its `$ref`s are expanded"));
        }
        self.known.insert(pointer.to_owned(), Some(places));
        Ok(places)
    }

    /// Counts the JSON values in the schema that a `$ref` member points to, and rejects unsupported references. If the
    /// value of a member is not a string, the member is a property name and not a reference.
    fn member(
        &mut self,
        name: &str,
        value: &Value,
        pointer: &str,
        depth: usize,
    ) -> Result<usize, SchemaProblem> {
        let Value::String(text) = value else { return Ok(0) };
        let wrong =
            |message: String| SchemaProblem { pointer: format!("{pointer}/{name}"), message };
        match name {
            "$ref" => {
                let target = match text.as_str() {
                    "#" => Some(""),
                    text => text.strip_prefix('#').filter(|rest| rest.starts_with('/')),
                };
                // A pointer with a percent sign would have to be decoded. Schemas do not need such pointers.
                let target = target.filter(|target| !target.contains('%'));
                let found = target.and_then(|target| {
                    Some((target.to_owned(), self.schema.pointer(target)?.clone()))
                });
                let (target, found) = found.ok_or_else(|| {
                    wrong(
                        "a `$ref` must point into the same schema, such as `#/$defs/NAME`"
                            .to_owned(),
                    )
                })?;
                self.weigh(&found, &target, depth + 1)
            }
            "$dynamicRef" | "$recursiveRef" => {
                Err(wrong("this kind of reference is not supported; use `$ref`".to_owned()))
            }
            "$id" if !pointer.is_empty() => {
                Err(wrong("only the root schema may have an `$id`".to_owned()))
            }
            "$schema" if !pointer.is_empty() || text.trim_end_matches('#') != DIALECT => {
                Err(wrong(format!("`$schema` is allowed only at the root and must be `{DIALECT}`")))
            }
            _ => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value) -> Result<Schema, SchemaProblem> {
        let Value::Object(schema) = schema else { panic!("a schema is an object") };
        Schema::read(&schema)
    }

    /// AA-8
    #[test]
    fn schema_violation_is_reported_with_its_location() {
        let schema = read(json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["a/b"],
            "properties": { "a/b": { "type": "array", "items": { "$ref": "#/$defs/name" } } },
            "$defs": { "name": { "type": "string", "pattern": "^[a-z]+$" } },
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({ "a/b": ["x"] })), Ok(()));
        let cases = [
            (
                json!({}),
                "at the top level: \"a/b\" is a required property; known properties: `a/b`; required properties: `a/b`",
            ),
            (json!({ "a/b": ["x", 1] }), "at `/a~1b/1`: the value is not of type \"string\""),
            (json!({ "a/b": ["X"] }), "at `/a~1b/0`: the value does not match \"^[a-z]+$\""),
        ];
        for (value, expected) in cases {
            assert_eq!(schema.check(&value).unwrap_err().to_string(), expected);
        }
        let unknown = schema.check(&json!({ "a/b": [], "c": 1 })).unwrap_err();
        assert!(unknown.message.contains("'c'"), "{unknown}");
    }

    /// AA-8
    #[test]
    fn invalid_schema_or_external_reference_is_rejected() {
        let doubling = |levels: usize| {
            let mut defs = Map::new();
            for level in 0..levels {
                let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
                defs.insert(level.to_string(), json!({ "allOf": [next, next] }));
            }
            defs.insert(levels.to_string(), json!({ "type": "string" }));
            json!({ "$ref": "#/$defs/0", "$defs": defs })
        };
        assert!(read(doubling(4)).is_ok());
        let cases = [
            (json!({ "type": "text" }), "/type"),
            (json!({ "properties": [] }), "/properties"),
            (json!({ "pattern": "(" }), "pattern"),
            (json!({ "pattern": "(a)\\1" }), "pattern"),
            (json!({ "$ref": "https://example.com/schema.json" }), "/$ref"),
            (json!({ "$ref": "file:///etc/passwd" }), "/$ref"),
            (json!({ "$ref": "other.json#/a" }), "/$ref"),
            (json!({ "$ref": "#/$defs/none" }), "/$ref"),
            (json!({ "$ref": "#" }), "circular"),
            (json!({ "properties": { "a": { "items": { "$ref": "#" } } } }), "circular"),
            (json!({ "$dynamicRef": "#a" }), "/$dynamicRef"),
            (json!({ "properties": { "a": { "$id": "b" } } }), "/properties/a/$id"),
            (json!({ "$schema": "http://json-schema.org/draft-07/schema#" }), "2020-12"),
            (doubling(40), "too large"),
            (doubling(5000), "too deep"),
        ];
        for (schema, expected) in cases {
            let shown: String = schema.to_string().chars().take(100).collect();
            let problem = read(schema).err().unwrap_or_else(|| panic!("{shown} was taken"));
            assert!(problem.to_string().contains(expected), "{shown}: {problem}");
        }
        // Properties may be named `$ref` or `$id` without being treated as references.
        assert!(read(json!({ "properties": { "$ref": { "type": "string" }, "$id": {} } })).is_ok());
    }
}
