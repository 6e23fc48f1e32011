//! Fast path that parses ordinary JSON in a single pass.
//!
//! INVARIANT: every value returned here is equal to the value that the strict parser returns. All other input, whether
//! valid or not, is left to the strict parser, which also reports the errors. For this reason, the error messages of
//! this module are never shown.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::COUNT_MAX;
use crate::json;

/// Parses JSON whose numbers are integers within the limits and whose objects have no duplicate names. Returns `None`
/// for all other input.
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

/// Visitor that rejects numbers with a fraction or an exponent, because only their text shows whether they are exact.
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
