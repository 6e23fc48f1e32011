//! Canonical JSON.

use actum_core::canonical::{self, CanonicalError};
use serde_json::{Map, json};

use super::{Vectors, accepted, refused};

pub(super) fn canonical_json() -> Vectors {
    let text = |text: &str| json!({ "text": text });
    let sound = [
        ("a literal", "null"),
        ("spaces", " { \"b\" : [ 1 , 2 ] ,\n\t\"a\" : { } } "),
        ("numbers", "[1,-1,0,-0,1.0,1e3,1E-7,0.000001,1e-27,4.50,123456789.125,5e-324]"),
        ("the largest number", "9007199254740991"),
        ("the smallest number", "-9007199254740991"),
        ("escapes", r#""\u0000\u001f\u007f\b\f\n\r\t\"\\\/\u00e9\ud83d\ude00""#),
        ("names in the order of UTF-16", r#"{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"a":4,"B":5}"#),
        ("names that a reader could normalise", r#"{"\u00e9":1,"e\u0301":2}"#),
        ("an empty name", r#"{"":0}"#),
    ];
    let unsound = [
        ("nothing", "NOT_JSON", ""),
        ("two values", "NOT_JSON", "1 2"),
        ("a comma too many", "NOT_JSON", "[1,]"),
        ("a comment", "NOT_JSON", "// a\n1"),
        ("a number with a plus", "NOT_JSON", "+1"),
        ("a number with a zero before it", "NOT_JSON", "01"),
        ("not a number", "NOT_JSON", "NaN"),
        ("half a character", "NOT_JSON", r#""\ud800""#),
        ("a line feed in a string", "NOT_JSON", "\"\n\""),
        ("a byte order mark", "NOT_JSON", "\u{feff}1"),
        ("a number that a double cannot hold", "NUMBER_NOT_EXACT", "[9007199254740993]"),
        ("2^53", "NUMBER_NOT_EXACT", "9007199254740992"),
        ("a large exponent", "NUMBER_NOT_EXACT", "1e300"),
        ("a larger exponent", "NUMBER_NOT_EXACT", "-1e400"),
        ("a name twice", "NAME_TWICE", r#"{"a":1,"a":1}"#),
        ("a name twice, spelled in two ways", "NAME_TWICE", r#"[{"a":1,"\u0061":2}]"#),
    ];
    let sound = sound.map(|(name, given)| accepted(name, text(given)));
    let unsound = unsound.map(|(name, reason, given)| refused(name, reason, text(given)));
    let bytes = refused("bytes that are no text", "NOT_JSON", json!({ "hex": "22ff22" }));
    Vectors {
        name: "canonical",
        about: "Canonical JSON (RFC 8785), of which every reader has the same idea. `text` or the \
                bytes in `hex` become `canonical`.",
        keyrings: Map::new(),
        cases: sound.into_iter().chain(unsound).chain([bytes]).collect(),
        judge: |input, _| {
            let bytes = match input["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => b"\"\xff\"".to_vec(),
            };
            let written = canonical::read(&bytes).and_then(|value| canonical::to_vec(&value));
            match written {
                Ok(written) => Ok(json!({ "canonical": String::from_utf8(written).unwrap() })),
                Err(CanonicalError::Number { .. }) => Err("NUMBER_NOT_EXACT"),
                Err(CanonicalError::Duplicate { .. }) => Err("NAME_TWICE"),
                Err(CanonicalError::Syntax { .. }) => Err("NOT_JSON"),
                Err(error @ CanonicalError::Unwritable { .. }) => panic!("{error}"),
            }
        },
    }
}
