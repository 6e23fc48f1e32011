//! Values of the named parameters of a query.

use actum_core::json::{Content, Kind, Value};
use serde::{Deserialize, Serialize};

/// Maximum number of digits of an exact decimal in DuckDB.
const DECIMAL_DIGITS_MAX: usize = 38;

/// Value of a named parameter. A number keeps its spelling, so that it is not rounded before DuckDB gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Parameter {
    /// `NULL`
    Null,
    /// Boolean.
    Flag(bool),
    /// Number in the syntax of JSON (RFC 8259, section 6).
    Number(String),
    /// String.
    Text(String),
}

/// Reason why a JSON value cannot be the value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The value is an array or an object, which cannot be bound to a parameter.
    #[error("is {found}, but must be null, a Boolean, a number or a string")]
    Structure {
        /// Kind of the value.
        found: Kind,
    },
    /// The number exceeds the range of DuckDB's numeric types.
    #[error("is {spelling}, which is too large for DuckDB")]
    TooLarge {
        /// Number as it is written.
        spelling: String,
    },
}

/// Number in the DuckDB type to which it is bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// `BIGINT`
    Small(i64),
    /// `HUGEINT`
    Large(i128),
    /// `DECIMAL(width, scale)`. The number is `value` divided by ten to the power of `scale`.
    Decimal { width: u8, scale: u8, value: i128 },
    /// `DOUBLE`
    Double(f64),
}

impl Parameter {
    /// Converts a JSON value to a parameter.
    ///
    /// # Errors
    /// Returns [`ParameterError`] if the value is an array, an object or too large a number.
    pub fn from_json(value: &Value<'_>) -> Result<Self, ParameterError> {
        match &value.content {
            Content::Null => Ok(Self::Null),
            Content::Boolean(flag) => Ok(Self::Flag(*flag)),
            Content::Number(spelling) => match Number::new(spelling) {
                Some(_) => Ok(Self::Number((*spelling).to_owned())),
                None => Err(ParameterError::TooLarge { spelling: (*spelling).to_owned() }),
            },
            Content::String(text) => Ok(Self::Text(text.clone().into_owned())),
            Content::Array(_) | Content::Object(_) => {
                Err(ParameterError::Structure { found: value.kind() })
            }
        }
    }
}

impl Number {
    /// Parses a number in the syntax of JSON. The result is exact if DuckDB has an exact type for the number, otherwise
    /// it is a double. Returns `None` if the number is too large for a double.
    pub(crate) fn new(spelling: &str) -> Option<Self> {
        if let Ok(whole) = spelling.parse::<i128>() {
            return Some(i64::try_from(whole).map_or(Self::Large(whole), Self::Small));
        }
        if let Some((whole, fraction)) = spelling.split_once('.')
            && !fraction.contains(['e', 'E'])
        {
            let digits = whole.trim_start_matches('-').trim_start_matches('0').len();
            let width = (digits + fraction.len()).max(1);
            if width <= DECIMAL_DIGITS_MAX
                && let Ok(value) = format!("{whole}{fraction}").parse()
                && let (Ok(width), Ok(scale)) = (u8::try_from(width), u8::try_from(fraction.len()))
            {
                return Some(Self::Decimal { width, scale, value });
            }
        }
        let double: f64 = spelling.parse().ok()?;
        double.is_finite().then_some(Self::Double(double))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    /// EX-11: a number that DuckDB can represent exactly is not rounded.
    #[test]
    fn numbers_are_bound_without_rounding() {
        let decimal = |width, scale, value| Some(Number::Decimal { width, scale, value });
        for (spelling, number) in [
            ("0", Some(Number::Small(0))),
            ("-9223372036854775808", Some(Number::Small(i64::MIN))),
            ("9223372036854775808", Some(Number::Large(1 << 63))),
            ("1.10", decimal(3, 2, 110)),
            ("-0.05", decimal(2, 2, -5)),
            ("0.0", decimal(1, 1, 0)),
            (
                "12345678901234567890.123456789012345678",
                decimal(38, 18, 12_345_678_901_234_567_890_123_456_789_012_345_678),
            ),
            ("1e3", Some(Number::Double(1000.0))),
            ("1.5E-2", Some(Number::Double(0.015))),
            ("1e999", None),
        ] {
            assert_eq!(Number::new(spelling), number, "{spelling}");
        }
    }

    /// EX-11: a parameter that is not an SQL value is refused.
    #[test]
    fn arrays_and_objects_are_rejected_as_parameters() {
        for text in ["[1]", "{\"a\": 1}"] {
            let value = Value::read(text.as_bytes()).unwrap();
            assert!(matches!(Parameter::from_json(&value), Err(ParameterError::Structure { .. })));
        }
    }
}
