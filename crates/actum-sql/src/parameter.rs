//! Values of the named parameters of a query.

use actum_core::json::{Content, Kind, Value};
use serde::{Deserialize, Serialize};

/// Digits of an exact decimal, at most.
const DECIMAL_DIGITS_MAX: usize = 38;

/// Value of a named parameter. Numbers keep their spelling, so that none is rounded on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Parameter {
    /// `NULL`
    Null,
    /// Truth value.
    Flag(bool),
    /// Number, as JSON spells it (RFC 8259, section 6).
    Number(String),
    /// Text.
    Text(String),
}

/// A value that no parameter can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Arrays and objects are no values of SQL.
    #[error("is {found}, and a parameter is null, a truth value, a number or a text")]
    Structure {
        /// Kind of the given value.
        found: Kind,
    },
    /// No number of DuckDB is as large.
    #[error("is the number {spelling}, which is too large for DuckDB")]
    TooLarge {
        /// The number.
        spelling: String,
    },
}

/// A number as it is bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// `BIGINT`
    Small(i64),
    /// `HUGEINT`
    Large(i128),
    /// `DECIMAL(width, scale)` with this value times ten to the power of the scale.
    Decimal { width: u8, scale: u8, value: i128 },
    /// `DOUBLE`
    Double(f64),
}

impl Parameter {
    /// Takes a value of JSON.
    ///
    /// # Errors
    /// [`ParameterError`]
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
    /// Reads a number as JSON spells it: exactly if DuckDB can, and else as a double.
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

    /// EX-11: no number is rounded that DuckDB can hold exactly.
    #[test]
    fn numbers_are_bound_as_they_are_spelled() {
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

    /// EX-11: a parameter that is no value of SQL is refused.
    #[test]
    fn arrays_and_objects_are_no_parameters() {
        for text in ["[1]", "{\"a\": 1}"] {
            let value = Value::read(text.as_bytes()).unwrap();
            assert!(matches!(Parameter::from_json(&value), Err(ParameterError::Structure { .. })));
        }
    }
}
