//! JSON Schemas of actions and packages: sound, of limited cost, and without references to other documents.

use std::collections::BTreeMap;

use actum_core::path::Harmless;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

/// Compiled schema.
#[derive(Debug, Clone)]
pub struct Schema {
    validator: Validator,
    /// Source of the schema.
    written: Value,
}

/// Problem of a value that does not match its schema, or of an unusable schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", placed(.pointer), Harmless(.message.as_bytes()))]
pub struct SchemaProblem {
    /// Position as a JSON pointer (RFC 6901), which is empty for the value as a whole.
    pub pointer: String,
    /// Description of the problem.
    pub message: String,
}

fn placed(pointer: &str) -> String {
    match pointer {
        "" => "at the top".to_owned(),
        pointer => format!("at `{}`", Harmless(pointer.as_bytes())),
    }
}

/// Supported version of JSON Schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Largest number of places in a schema, where each `$ref` counts for all that it leads to.
const PLACES_MAX: usize = 10_000;
/// Largest depth of nested places.
const DEPTH_MAX: usize = 200;
/// Largest regular expression, compiled, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Longest message, in characters.
const MESSAGE_CHARS_MAX: usize = 500;

impl Schema {
    /// Reads a schema (draft 2020-12). Its regular expressions run in linear time, without look-around and
    /// backreferences. The schema reads neither files nor the network.
    ///
    /// # Errors
    /// [`SchemaProblem`] if it is not a sound JSON Schema, leads elsewhere or in a circle, or is too large.
    pub fn read(schema: &Map<String, Value>) -> Result<Self, SchemaProblem> {
        let schema = Value::Object(schema.clone());
        Weighing { schema: &schema, known: BTreeMap::new() }.weigh(&schema, "", 0)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(patterns);
        let validator = options.build(&schema).map_err(|error| told(&error))?;
        Ok(Self { validator, written: schema })
    }

    /// Checks a value against the schema.
    ///
    /// # Errors
    /// [`SchemaProblem`] with the first mismatch.
    pub fn check(&self, value: &Value) -> Result<(), SchemaProblem> {
        self.validator.validate(value).map_err(|error| {
            let place = error.schema_path().to_string();
            let better = ways(&self.written, &place).or_else(|| known(&self.written, &place));
            let mut problem = told(&error);
            problem.message = match better {
                // Best description of the problem, or an addition to it.
                Some(Better::Instead(message)) => message,
                Some(Better::Besides(more)) => format!("{}; {more}", problem.message),
                None => problem.message,
            };
            problem
        })
    }
}

/// Improvement of a message of the validator.
enum Better {
    Instead(String),
    Besides(String),
}

/// Lists the known members if one is unknown or missing.
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
        false => format!(", and needed {}", required.join(", ")),
    };
    Some(Better::Besides(format!("known are {}{needed}", names.join(", "))))
}

/// Lists the members of which exactly one is required: "one of the schemas" does not help a user.
fn ways(schema: &Value, place: &str) -> Option<Better> {
    let ways = place.ends_with("/oneOf").then(|| schema.pointer(place))??;
    let names = ways.as_array()?.iter().map(|way| {
        let required = way.get("required")?.as_array()?;
        let names = required.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        Some(names.collect::<Vec<_>>().join(" with "))
    });
    let names: Vec<String> = names.collect::<Option<_>>()?;
    let names = names.join(", ");
    Some(Better::Instead(format!("one of these has to be there, and no other of them: {names}")))
}

pub(crate) fn told(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    // The value itself may be long, so the message omits it.
    let message = error.masked_with("the value").to_string();
    let message = match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message,
    };
    SchemaProblem { pointer: error.instance_path().to_string(), message }
}

/// Counts the places of a schema with every `$ref` followed, since each step of a few of them can double the number.
struct Weighing<'s> {
    schema: &'s Value,
    /// Counts by pointer; `None` while the count is running.
    known: BTreeMap<String, Option<usize>>,
}

impl Weighing<'_> {
    fn weigh(&mut self, at: &Value, pointer: &str, depth: usize) -> Result<usize, SchemaProblem> {
        let wrong = |message: &str| SchemaProblem {
            pointer: pointer.to_owned(),
            message: message.to_owned(),
        };
        if depth > DEPTH_MAX {
            return Err(wrong("the schema lies too deep in itself; take levels or `$ref`s away"));
        }
        match self.known.get(pointer) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err(wrong("a `$ref` leads in a circle; say how deep a value may be"));
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
            return Err(wrong("the schema is too large, with all that its `$ref`s lead to"));
        }
        self.known.insert(pointer.to_owned(), Some(places));
        Ok(places)
    }

    /// Counts the places of another schema to which a member refers. A member whose value is not a text is the name of
    /// a property.
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
                // Pointers with percent signs would have to be decoded, and have no use here.
                let target = target.filter(|target| !target.contains('%'));
                let found = target.and_then(|target| {
                    Some((target.to_owned(), self.schema.pointer(target)?.clone()))
                });
                let (target, found) = found.ok_or_else(|| {
                    wrong(
                        "a `$ref` leads to a place in the same schema, as `#/$defs/NAME`"
                            .to_owned(),
                    )
                })?;
                self.weigh(&found, &target, depth + 1)
            }
            "$dynamicRef" | "$recursiveRef" => {
                Err(wrong("references of this kind are not followed; use `$ref`".to_owned()))
            }
            "$id" if !pointer.is_empty() => {
                Err(wrong("only the schema as a whole may have an `$id`".to_owned()))
            }
            "$schema" if !pointer.is_empty() || text.trim_end_matches('#') != DIALECT => {
                Err(wrong(format!("a schema is one of `{DIALECT}`")))
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
    fn a_value_that_is_not_as_its_schema_says_is_told_with_its_place() {
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
                "at the top: \"a/b\" is a required property; known are `a/b`, and needed `a/b`",
            ),
            (json!({ "a/b": ["x", 1] }), "at `/a~1b/1`: the value is not of type \"string\""),
            (json!({ "a/b": ["X"] }), "at `/a~1b/0`: the value does not match \"^[a-z]+$\""),
        ];
        for (value, told) in cases {
            assert_eq!(schema.check(&value).unwrap_err().to_string(), told);
        }
        let unknown = schema.check(&json!({ "a/b": [], "c": 1 })).unwrap_err();
        assert!(unknown.message.contains("'c'"), "{unknown}");
    }

    /// AA-8
    #[test]
    fn a_schema_that_is_none_or_reaches_elsewhere_is_refused() {
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
            (json!({ "$ref": "#" }), "circle"),
            (json!({ "properties": { "a": { "items": { "$ref": "#" } } } }), "circle"),
            (json!({ "$dynamicRef": "#a" }), "/$dynamicRef"),
            (json!({ "properties": { "a": { "$id": "b" } } }), "/properties/a/$id"),
            (json!({ "$schema": "http://json-schema.org/draft-07/schema#" }), "2020-12"),
            (doubling(40), "too large"),
            (doubling(5000), "too deep"),
        ];
        for (schema, told) in cases {
            let shown: String = schema.to_string().chars().take(100).collect();
            let problem = read(schema).err().unwrap_or_else(|| panic!("{shown} was taken"));
            assert!(problem.to_string().contains(told), "{shown}: {problem}");
        }
        // Property names are not references.
        assert!(read(json!({ "properties": { "$ref": { "type": "string" }, "$id": {} } })).is_ok());
    }
}
