//! Converts a JSON document to the value on which a JSONPath query is evaluated.

use actum_core::json::{Content, SyntaxError, Value};
use actum_core::place::{Excerpt, Place};

use super::error::JsonValueError;
use crate::edit::json_path::{PathProblem, comparable};

/// Parses the strict text of a document for a query. Duplicate names are rejected. If the query `compares` values, numbers that
/// cannot be compared exactly are rejected as well.
pub(super) fn document(
    strict: &str,
    compares: bool,
    place: impl Fn(usize) -> Place,
) -> Result<serde_json::Value, JsonValueError> {
    let refused =
        |SyntaxError { offset, problem }| JsonValueError::NotJson { place: place(offset), problem };
    let value = Value::read(strict.as_bytes()).map_err(refused)?;
    Ok(taken(value, compares, &place)?)
}

fn taken(
    value: Value<'_>,
    compares: bool,
    place: &impl Fn(usize) -> Place,
) -> Result<serde_json::Value, PathProblem> {
    Ok(match value.content {
        Content::Null => serde_json::Value::Null,
        Content::Boolean(boolean) => boolean.into(),
        Content::String(string) => string.into_owned().into(),
        Content::Number(spelled) => match comparable(spelled) {
            Some(number) => serde_json::Value::Number(number),
            None if compares => {
                let number = Excerpt::new(spelled.as_bytes());
                return Err(PathProblem::Number { number, place: place(value.span.start) });
            }
            // The query does not compare values, so the number is irrelevant.
            None => 0.into(),
        },
        Content::Array(elements) => {
            let taken = elements.into_iter().map(|element| taken(element, compares, place));
            serde_json::Value::Array(taken.collect::<Result<_, _>>()?)
        }
        Content::Object(members) => {
            let mut object = serde_json::Map::new();
            for member in members {
                let name = member.name.into_owned();
                if object.contains_key(&name) {
                    let name = Excerpt::new(name.as_bytes());
                    let place = place(member.name_span.start);
                    return Err(PathProblem::Doubled { name, place });
                }
                object.insert(name, taken(member.value, compares, place)?);
            }
            serde_json::Value::Object(object)
        }
    })
}
