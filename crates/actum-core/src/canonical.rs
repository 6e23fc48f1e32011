//! Canonical JSON (RFC 8785), in which every value has exactly one encoding, so that it can be hashed.
//!
//! Input that two parsers could interpret differently is rejected: duplicate names in an object, numbers that a double
//! cannot represent exactly, and unpaired surrogates.

mod quick;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::json::{Content, SyntaxError};
use crate::path::Cut;

/// Largest absolute value of a number, 2^53 − 1. Beyond it, a double can no longer represent every integer.
pub const NUMBER_MAX: f64 = 9_007_199_254_740_991.0;
/// Largest value of an unsigned count, such as a length or a version.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

/// Maximum number of bytes of a number or a name that an error message quotes.
const SHOWN_BYTES_MAX: usize = 40;
/// Maximum length in bytes of a description returned by [`describe`].
const MESSAGE_BYTES_MAX: usize = 200;

/// Reason why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The text is not valid JSON.
    #[error("at byte {}: {source}", source.offset)]
    Syntax {
        /// Syntax error, with the offset at which it was found.
        source: SyntaxError,
    },
    /// A number is outside ±[`NUMBER_MAX`], so different parsers may round it differently.
    #[error(
        "the number `{}` is outside ±(2^53 − 1), so parsers may round it; write it as a string",
        Cut(number.as_bytes(), SHOWN_BYTES_MAX)
    )]
    Number {
        /// Number as spelled in the input.
        number: String,
    },
    /// A name occurs twice in an object. Parsers differ in which of the two values they use.
    #[error("duplicate name `{}` in an object", Cut(name.as_bytes(), SHOWN_BYTES_MAX))]
    Duplicate {
        /// Name that occurs twice.
        name: String,
    },
    /// A Rust value cannot be represented as JSON.
    #[error("it cannot be written as JSON: {message}")]
    Unwritable {
        /// Explanation of why the value cannot be written.
        message: String,
    },
}

/// Returns the canonical encoding of a value.
///
/// # Errors
/// `Number` and `Unwritable`.
pub fn to_vec(value: &impl Serialize) -> Result<Vec<u8>, CanonicalError> {
    let bytes = serde_json_canonicalizer::to_vec(value).map_err(unwritable)?;
    if written_numbers(&bytes).all(|number| check_number(number.parse().ok(), number).is_ok()) {
        return Ok(bytes);
    }
    // `serde_json_canonicalizer` has already rounded the number, so find it in its original form for the error message.
    check_numbers(&serde_json::to_value(value).map_err(unwritable)?)?;
    Err(CanonicalError::Unwritable {
        message: "it contains a number without an exact representation".to_owned(),
    })
}

/// Returns the canonical encoding of a value that contains no fractions.
///
/// Produces the same bytes as [`to_vec`], but takes only a tenth of the time if the fields of every object are
/// serialized in the order of their names. Note that a number without a value, such as `f64::NAN`, is written as
/// `null`.
///
/// # Errors
/// Same as [`to_vec`].
pub fn ordered_to_vec(value: &impl Serialize) -> Result<Vec<u8>, CanonicalError> {
    let bytes = serde_json::to_vec(value).map_err(unwritable)?;
    if is_ordered(&bytes) { Ok(bytes) } else { to_vec(value) }
}

/// Returns whether the output of `serde_json` is already canonical.
///
/// All names must be ASCII, need no escapes and be in ascending order. All numbers must be integers of at most
/// [`COUNT_MAX`]. `serde_json` already escapes strings in the canonical way and writes no whitespace.
fn is_ordered(text: &[u8]) -> bool {
    // Most recent name in each open object, from the outermost to the innermost.
    let mut names: Vec<&[u8]> = Vec::new();
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'{' => names.push(b""),
            b'}' => drop(names.pop()),
            b'"' => {
                rest = behind_string(behind);
                let is_name = rest.first() == Some(&b':');
                let text = behind.get(..behind.len() - rest.len() - 1).unwrap_or_default();
                match names.last_mut() {
                    Some(last) if is_name => {
                        let is_plain = text.is_ascii() && !text.contains(&b'\\');
                        if !is_plain || *last >= text {
                            return false;
                        }
                        *last = text;
                    }
                    Some(_) | None => {}
                }
            }
            b'0'..=b'9' => {
                let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, behind) = rest.split_at(length);
                rest = behind;
                let number = digits.iter().fold(u64::from(first - b'0'), |number, digit| {
                    number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
                });
                // Numbers with a fraction or an exponent have a different canonical spelling.
                if number > COUNT_MAX || matches!(rest.first(), Some(b'.' | b'e')) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Iterates over the numbers in a canonical JSON text, as they are spelled there.
fn written_numbers(mut text: &[u8]) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        loop {
            let (&first, rest) = text.split_first()?;
            text = match first {
                b'"' => behind_string(rest),
                b'-' | b'0'..=b'9' => {
                    let is_of_it =
                        |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
                    let length = text.iter().position(|byte| !is_of_it(byte)).unwrap_or(text.len());
                    let (number, rest) = text.split_at(length);
                    text = rest;
                    return std::str::from_utf8(number).ok();
                }
                _ => rest,
            };
        }
    })
}

/// Returns the text after the end of a string. `text` starts just after the opening quote.
fn behind_string(mut text: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', text) {
        let is_end = text.get(at) == Some(&b'"');
        text = text.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
        if is_end {
            return text;
        }
    }
    &[]
}

/// Parses JSON that every parser interprets in the same way. The text need not be in canonical form.
///
/// # Errors
/// `Syntax`, `Number`, `Duplicate`.
pub fn read(text: &[u8]) -> Result<Value, CanonicalError> {
    quick::read(text).map_or_else(|| read_slowly(text), Ok)
}

/// Parses JSON with the strict parser, which can report the kind and the offset of an error.
fn read_slowly(text: &[u8]) -> Result<Value, CanonicalError> {
    check(&json::Value::read(text).map_err(|source| CanonicalError::Syntax { source })?)?;
    serde_json::from_slice(text).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> CanonicalError {
    CanonicalError::Unwritable { message: error.to_string() }
}

/// Returns whether `text` is the canonical encoding of a JSON value.
pub fn is_canonical(text: &[u8]) -> bool {
    read(text).and_then(|value| to_vec(&value)).is_ok_and(|bytes| bytes == text)
}

/// Describes why a parsed JSON value does not fit the expected type, without mentioning the names of Rust types.
///
/// The description is truncated to [`MESSAGE_BYTES_MAX`] bytes, because it can quote the input.
pub fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("data did not match any variant") {
        return "the value does not match any of the permitted forms".to_owned();
    }
    let mut plain: Vec<&str> = Vec::new();
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word == "struct" {
            words.next();
            plain.push("an object");
        } else {
            plain.push(word);
        }
    }
    Cut(plain.join(" ").as_bytes(), MESSAGE_BYTES_MAX).to_string()
}

fn check(value: &json::Value<'_>) -> Result<(), CanonicalError> {
    match &value.content {
        Content::Null | Content::Boolean(_) | Content::String(_) => Ok(()),
        Content::Number(number) => check_number(number.parse().ok(), number),
        Content::Array(elements) => elements.iter().try_for_each(check),
        Content::Object(members) => {
            let mut names = BTreeSet::new();
            members.iter().try_for_each(|member| {
                if !names.insert(member.name.as_ref()) {
                    let name = member.name.clone().into_owned();
                    return Err(CanonicalError::Duplicate { name });
                }
                check(&member.value)
            })
        }
    }
}

fn check_numbers(value: &Value) -> Result<(), CanonicalError> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) => check_number(number.as_f64(), &number.to_string()),
        Value::Array(elements) => elements.iter().try_for_each(check_numbers),
        Value::Object(members) => members.values().try_for_each(check_numbers),
    }
}

/// Rejects a number outside ±[`NUMBER_MAX`].
///
/// The limit excludes 2^53 itself, because larger integers are rounded to it when they are parsed as doubles.
fn check_number(value: Option<f64>, text: &str) -> Result<(), CanonicalError> {
    match value {
        Some(value) if value.abs() <= NUMBER_MAX => Ok(()),
        Some(_) | None => Err(CanonicalError::Number { number: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn canonical(text: &str) -> String {
        String::from_utf8(to_vec(&read(text.as_bytes()).unwrap()).unwrap()).unwrap()
    }

    /// Example of RFC 8785, section 3.2.2, without the numbers that exceed the limits of actum.
    #[test]
    fn rfc_8785_example_is_reproduced() {
        let text = r#"{
            "numbers": [4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical(text),
            "{\"literals\":[null,true,false],\"numbers\":[4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
    }

    /// Checks that names are sorted by their UTF-16 code units (RFC 8785, section 3.2.3).
    #[test]
    fn names_are_sorted_by_utf_16_code_units() {
        let text = "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}";
        let order: Vec<u32> = canonical(text)
            .chars()
            .filter(char::is_ascii_digit)
            .filter_map(|c| c.to_digit(10))
            .collect();
        // The name in `"1":4` adds another digit to the output.
        assert_eq!(order, [2, 1, 4, 6, 7, 1, 5, 3]);
    }

    #[test]
    fn number_limits_are_exact_on_both_sides() {
        for kept in ["9007199254740991", "-9007199254740991", "0.5", "1e15", "5e-324"] {
            assert!(read(kept.as_bytes()).is_ok(), "{kept}");
        }
        for refused in
            ["9007199254740992", "-9007199254740993", "1e300", "1e400", "9007199254740993.0"]
        {
            let error = read(refused.as_bytes()).unwrap_err();
            assert_eq!(error, CanonicalError::Number { number: refused.to_owned() });
        }
        assert!(to_vec(&json!({ "a": [u64::MAX] })).is_err());
        assert!(to_vec(&i64::MIN).is_err());
        assert!(matches!(to_vec(&f64::NAN), Err(CanonicalError::Unwritable { .. })));
    }

    /// D-4, FE-14
    #[test]
    fn fast_reader_agrees_with_the_slow_reader() {
        let deep = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let ordinary = [
            r#" {"b":[1,-2,0,"\u00e9\n\u0000"],"a":{"\ud83d\ude00":null},"":[true,false,{},[]]}"#,
            "9007199254740991",
            "-9007199254740991",
            "\"\u{7f}\u{e9}\"",
        ];
        for text in ordinary.map(str::to_owned).into_iter().chain([deep(json::DEPTH_MAX)]) {
            let read = quick::read(text.as_bytes());
            assert!(read.is_some(), "{text}");
            assert_eq!(read, read_slowly(text.as_bytes()).ok(), "{text}");
        }
        let left = [
            "",
            " ",
            "{",
            "[1,]",
            "[1]x",
            "\u{feff}1",
            "nul",
            "01",
            "1.0",
            "1e0",
            "-0",
            "0.5",
            "9007199254740992",
            "-9007199254740992",
            "18446744073709551616",
            "-9223372036854775808",
            r#"{"a":1,"\u0061":1}"#,
            r#""\ud800""#,
            r#"{"\udc00":1}"#,
            "\"\t\"",
            r#""\q""#,
        ];
        for text in left.map(str::to_owned).into_iter().chain([deep(json::DEPTH_MAX + 1)]) {
            assert_eq!(quick::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(quick::read(b"\"\xff\""), None);
    }

    proptest! {
        /// D-4, FE-14
        #[test]
        fn fast_reader_never_misreads_mutated_text(
            edits in prop::collection::vec((0_usize..120, 0_usize..3, any::<prop::sample::Index>()), 0..4),
        ) {
            let mut text = br#"{"b":[1,-2,0,"\u00e9\\\n",12],"a":{"\ud83d\ude00":null,"x":[]},"c":[true,false,{}]}"#
                .to_vec();
            let bytes = b"[]{}:,-+.eE019ntrfu \n\t\"\\/d8abcx\x00\x7f\xc3\xa9";
            for (at, length, byte) in edits {
                let at = at.min(text.len());
                let end = (at + length).min(text.len());
                text.splice(at..end, [bytes[byte.index(bytes.len())]]);
            }
            if let Some(value) = quick::read(&text) {
                prop_assert_eq!(read_slowly(&text), Ok(value));
            }
        }

        /// D-4, FE-14
        #[test]
        fn fast_reader_accepts_every_integer_within_the_limits(number in any::<i64>()) {
            let text = number.to_string();
            let value = quick::read(text.as_bytes());
            prop_assert_eq!(value, read_slowly(text.as_bytes()).ok());
        }
    }

    #[test]
    fn duplicate_names_and_lone_surrogates_are_refused() {
        assert_eq!(
            read(br#"{"a":{"b":1,"\u0062":2}}"#).unwrap_err().to_string(),
            "duplicate name `b` in an object"
        );
        for text in [r#""\ud800""#, r#"{"\udc00":1}"#, r#"["\ud83d\u0041"]"#] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn shape_errors_are_short_and_plain() {
        #[derive(Debug, serde::Deserialize)]
        struct Inner {
            #[expect(dead_code, reason = "only its absence matters")]
            name: String,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(untagged)]
        enum Either {
            #[expect(dead_code, reason = "only its absence matters")]
            Inner(Inner),
        }
        let message = |value| describe(&serde_json::from_value::<Inner>(value).unwrap_err());
        assert_eq!(message(json!({})), "missing field `name`");
        assert_eq!(message(json!(1)), "invalid type: integer `1`, expected an object");
        assert_eq!(message(json!({ "name": 1 })), "invalid type: integer `1`, expected a string");
        let long = message(json!("a".repeat(1000)));
        assert!(long.len() < 210 && long.ends_with("aaa…"), "{long}");
        let error = serde_json::from_value::<Either>(json!(1)).unwrap_err();
        assert_eq!(describe(&error), "the value does not match any of the permitted forms");
    }

    #[test]
    fn only_one_spelling_is_canonical() {
        for text in ["{\"a\":1,\"b\":[]}", "null", "\"é\""] {
            assert!(is_canonical(text.as_bytes()), "{text}");
        }
        for text in ["{\"b\":1,\"a\":2}", "{ }", "1.0", "-0", "\"\\u00e9\"", "\"\\/\"", "nul"] {
            assert!(!is_canonical(text.as_bytes()), "{text}");
        }
    }

    /// FE-14: values whose fields are not in canonical order fall back to [`to_vec`], with the same errors.
    #[test]
    fn ordered_fast_path_writes_the_same_bytes() {
        let values = [
            json!({ "a": [1, { "b": "\u{1}\u{7f}\"\\/\u{e9}\n" }, { "a": null, "b": -3 }], "b": { "a": 1 }, "c": true }),
            json!({ "": 1, "a": 0.5, "b": 1e300 / 1e299 }),
            json!({ "\u{e9}": 1, "\n": 2, "a\"": [{}, [], ""] }),
            json!([]),
            json!("a\":{"),
        ];
        for value in &values {
            assert_eq!(ordered_to_vec(value), to_vec(value), "{value}");
        }
        #[derive(Serialize)]
        struct Turned {
            b: u64,
            a: u64,
        }
        let turned = |b| [Turned { b, a: 2 }, Turned { b: 1, a: 1 }];
        assert!(!is_ordered(&serde_json::to_vec(&turned(1)).unwrap()));
        assert_eq!(ordered_to_vec(&turned(1)), to_vec(&turned(1)));
        assert_eq!(ordered_to_vec(&turned(1 << 53)), to_vec(&turned(1 << 53)));
        assert!(ordered_to_vec(&json!([u64::MAX])).is_err());
        for twice in [r#"{"a":1,"a":1}"#, r#"{"b":{"c":1},"a":1}"#, r#"[{"a":1},{"b":1,"a":1}]"#] {
            assert!(!is_ordered(twice.as_bytes()), "{twice}");
        }
        assert!(is_ordered(br#"[{"a":{"z":1}},{"a":1,"b":[{"a":1}]}]"#));
    }

    /// FE-14: a Rust value and its `serde_json::Value` tree are encoded identically.
    #[test]
    fn rust_value_and_json_tree_encode_to_the_same_bytes() {
        #[derive(Serialize)]
        struct Outer<'a> {
            z: Vec<Inner<'a>>,
            #[serde(flatten)]
            more: std::collections::BTreeMap<&'a str, Option<f64>>,
            unit: (),
        }
        #[derive(Serialize)]
        #[serde(rename_all = "lowercase")]
        enum Inner<'a> {
            One,
            Two(i64, &'a str),
            Three { b: u64, a: char },
        }
        let three = |b| Inner::Three { b, a: '\u{1f600}' };
        let value = |b| Outer {
            z: vec![Inner::One, Inner::Two(-7, "1e99 \"99999999999999999999\\"), three(b)],
            more: [("\u{20ac}\"", Some(1e-7)), ("a", None), ("\\", Some(-0.5))].into(),
            unit: (),
        };
        let tree = serde_json::to_value(value(1 << 52)).unwrap();
        assert_eq!(to_vec(&value(1 << 52)).unwrap(), to_vec(&tree).unwrap());
        assert!(is_canonical(&to_vec(&tree).unwrap()));
        let refused = CanonicalError::Number { number: "9007199254740993".to_owned() };
        assert_eq!(to_vec(&value((1 << 53) + 1)), Err(refused));
    }
}
