//! Reads ordinary JSON in one pass.
//!
//! INVARIANT: a value that is read here is the value that the slow reader returns. Anything else, sound or not, is left to
//! that reader, which reports errors. So nothing here needs a message.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::COUNT_MAX;
use crate::json;

/// Reads JSON whose numbers are integers within the limits and whose objects name each member once. `None` for anything else.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(text).ok()?;
    json::within_limits(text.as_bytes()).ok()?;
    serde_json::from_str(text).ok().map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

/// Has no method for fractions, so these are rejected: whether they are exact is read from their text.
struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ordinary JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        is_exact(number, Value::from(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        is_exact(number.unsigned_abs(), Value::from(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = members.next_entry::<String, _>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate name"));
            }
        }
        Ok(Value::Object(object))
    }
}

fn is_exact<E: Error>(magnitude: u64, number: Value) -> Result<Value, E> {
    if magnitude <= COUNT_MAX { Ok(number) } else { Err(E::custom("number beyond the limit")) }
}
