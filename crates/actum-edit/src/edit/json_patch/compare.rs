//! Equality of JSON values (RFC 6902, section 4.6). The order of members is ignored, and strings and numbers are compared by value
//! instead of their spelling.

use std::borrow::Cow;
use std::collections::HashMap;

use actum_core::json::Kind;

use super::tree::{Brackets, Container, Node};

/// Checks whether two values are equal. An object with a duplicate name is not equal to any value.
pub(in crate::edit) fn equal(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (a, b) {
        (Node::Scalar(kind_a, a), Node::Scalar(kind_b, b)) if kind_a == kind_b => match kind_a {
            Kind::Number => Decimal::new(&a.text) == Decimal::new(&b.text),
            Kind::String => decoded(&a.text) == decoded(&b.text),
            Kind::Null | Kind::Boolean | Kind::Array | Kind::Object => a.text == b.text,
        },
        (Node::Container(a), Node::Container(b)) if a.brackets == b.brackets => {
            a.items.len() == b.items.len()
                && match a.brackets {
                    Brackets::Array => {
                        a.items.iter().zip(&b.items).all(|(a, b)| equal(&a.value, &b.value))
                    }
                    Brackets::Object => {
                        let (a, b) = (by_name(a), by_name(b));
                        a.iter().all(|(name, value)| {
                            b.get(name).is_some_and(|other| match (value, other) {
                                (Some(a), Some(b)) => equal(a, b),
                                (None, _) | (_, None) => false,
                            })
                        })
                    }
                }
        }
        (Node::Scalar(..) | Node::Container(_), Node::Scalar(..) | Node::Container(_)) => false,
    }
}

/// Returns the values of an object by their names. A duplicate name has the value `None`.
fn by_name<'a>(object: &'a Container<'_>) -> HashMap<&'a str, Option<&'a Node<'a>>> {
    let mut values = HashMap::with_capacity(object.items.len());
    for item in &object.items {
        let Some(name) = &item.name else { continue };
        values.entry(&*name.decoded).and_modify(|value| *value = None).or_insert(Some(&item.value));
    }
    values
}

fn decoded(spelled: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(spelled).ok().map(Cow::Owned)
}

/// Decimal number of any size: digits without leading or trailing zeros, multiplied by a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal<'n> {
    is_negative: bool,
    digits: String,
    exponent: i128,
    /// Text of the number if its exponent is too large to compute with. Such numbers are compared by their text.
    spelled: Option<&'n str>,
}

impl<'n> Decimal<'n> {
    fn new(spelled: &'n str) -> Self {
        let (is_negative, rest) = match spelled.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, spelled),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { is_negative: false, digits, exponent: 0, spelled: None };
        }
        let length = |text: &str| i128::try_from(text.len()).unwrap_or(i128::MAX);
        match exponent.parse::<i64>() {
            Ok(exponent) => {
                let exponent =
                    i128::from(exponent) + length(&all) - length(kept) - length(fraction);
                Self { is_negative, digits, exponent, spelled: None }
            }
            Err(_) => Self { is_negative, digits, exponent: 0, spelled: Some(spelled) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::json_patch::tree::Origin;
    use actum_core::json::Value;

    fn are_equal(a: &str, b: &str) -> bool {
        let read = |text: &'static str| {
            Node::from_value(&Value::read(text.as_bytes()).unwrap(), text, Origin::Patch)
        };
        let (a, b) = (a.to_owned().leak(), b.to_owned().leak());
        let (a, b) = (read(a), read(b));
        assert_eq!(equal(&a, &b), equal(&b, &a));
        equal(&a, &b)
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("100", "1E+2"),
            ("-0", "0.000e99999999999999999999999"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
            ("0.10", "1e-1"),
            ("1e9223372036854775807", "10e9223372036854775806"),
        ] {
            assert!(are_equal(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "-1"),
            ("1", "\"1\""),
            ("12345678901234567890123", "12345678901234567890124"),
            ("1e400", "1e401"),
            ("0", "null"),
            ("false", "true"),
        ] {
            assert!(!are_equal(a, b), "{a} {b}");
        }
    }

    #[test]
    fn member_order_is_ignored_but_element_order_is_not() {
        assert!(are_equal(r#"{"a":1,"b":["\u0061"]}"#, r#"{ "b" : [ "a" ], "\u0061" : 1 }"#));
        assert!(!are_equal("[1,2]", "[2,1]"));
        assert!(!are_equal("[1]", "[1,1]"));
        assert!(!are_equal("{}", "[]"));
        assert!(!are_equal(r#"{"a":1}"#, r#"{"b":1}"#));
        assert!(!are_equal(r#"{"a":1,"a":1}"#, r#"{"a":1,"a":1}"#));
        assert!(!are_equal(r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1}"#));
    }
}
