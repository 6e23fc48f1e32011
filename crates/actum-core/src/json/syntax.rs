//! JSON syntax. One parser validates the text, and another one provides the location of each value.
//!
//! `serde_json` validates the text because it strictly follows RFC 8259; its error messages are reworded here. Then
//! `jsonc-parser` determines the byte range of each value. It also supports comments and other extensions, all of which
//! are disabled here.

use std::ops::Range;

use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::de::IgnoredAny;

use super::{Content, DEPTH_MAX, Member, VALUES_MAX, Value};
use crate::place::Excerpt;

/// Error for a text that is not valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SyntaxError {
    /// Byte offset at which the problem was found.
    pub offset: usize,
    /// Description of the problem.
    #[source]
    pub problem: SyntaxProblem,
}

/// Reason why a text is not valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// The text contains a byte that is not valid UTF-8.
    #[error("this byte is not valid UTF-8")]
    NotUtf8,
    /// The text starts with a byte order mark.
    #[error("the text starts with a byte order mark")]
    ByteOrderMark,
    /// The text is empty or consists of whitespace only.
    #[error("the text contains no JSON value")]
    Blank,
    /// The text ends inside a value.
    #[error("unexpected end of the text")]
    EndsEarly,
    /// Something other than a value was found where a value is required.
    #[error("expected a value, found `{found}`")]
    NoValue {
        /// Text found instead of a value.
        found: Excerpt,
    },
    /// Something other than a string was found where the name of a member is required.
    #[error("expected a name in double quotes, found `{found}`")]
    NoName {
        /// Text found instead of a name.
        found: Excerpt,
    },
    /// The name of a member is not followed by a colon.
    #[error("expected `:` after the name, found `{found}`")]
    NoColon {
        /// Text found instead of a colon.
        found: Excerpt,
    },
    /// An array element is followed by neither a comma nor the closing bracket.
    #[error("expected `,` or `]` after the value, found `{found}`")]
    NoCommaInArray {
        /// Text found after the array element.
        found: Excerpt,
    },
    /// An object member is followed by neither a comma nor the closing brace.
    #[error("expected `,` or `}}` after the value, found `{found}`")]
    NoCommaInObject {
        /// Text found after the object member.
        found: Excerpt,
    },
    /// A comma is directly followed by a closing bracket or brace.
    #[error("trailing comma before this bracket")]
    TrailingComma,
    /// The value is followed by other text.
    #[error("unexpected `{found}` after the end of the JSON value")]
    TextAfter {
        /// Text found after the value.
        found: Excerpt,
    },
    /// A number is not spelled according to the JSON grammar.
    #[error("invalid number")]
    Number,
    /// A backslash in a string does not start a valid escape.
    #[error(
        "invalid escape: a backslash must be followed by one of `\"\\/bfnrt`, or by `u` and four \
         hexadecimal digits"
    )]
    Escape,
    /// A `\u` escape does not encode a character, such as half of a surrogate pair.
    #[error("invalid `\\u` escape: it does not encode a character")]
    Unicode,
    /// A string contains an unescaped control character.
    #[error("control characters in a string, such as newlines and tabs, must be escaped")]
    ControlCharacter,
    /// Arrays and objects are nested too deeply.
    #[error("arrays and objects are nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// The text contains more values than [`VALUES_MAX`].
    #[error("the text has more than {VALUES_MAX} values")]
    TooManyValues,
    /// The text is invalid for a reason that the other variants do not cover.
    #[error("this is not valid JSON (RFC 8259)")]
    Other,
}

/// Options of `jsonc-parser` that disable all extensions of JSON.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns `bytes` as a string.
///
/// # Errors
/// [`SyntaxError`] at the first byte that is not valid UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, SyntaxError> {
    std::str::from_utf8(bytes).map_err(|error| SyntaxError {
        offset: error.valid_up_to(),
        problem: SyntaxProblem::NotUtf8,
    })
}

/// Splits `text` into consecutive JSON documents, which must be objects or arrays, after their outermost closing
/// brackets. Any other text after a document becomes part of that document, so that parsing it reports the error.
pub fn documents(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = start + outermost(text.as_bytes().get(start..).unwrap_or_default());
        let rest = text.as_bytes().get(end..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        next = matches!(rest.get(blanks), Some(b'{' | b'[')).then_some(end + blanks);
        Some(start..if next.is_some() { end } else { text.len() })
    })
}

/// Returns the length of `json` up to the bracket that closes the first one, or the length of all of `json` if that
/// bracket is missing.
fn outermost(json: &[u8]) -> usize {
    let (mut depth, mut offset) = (0usize, 0usize);
    while let Some(&byte) = json.get(offset) {
        match byte {
            b'"' => offset += string(json.get(offset..).unwrap_or_default()) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth <= 1 => return offset + 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        offset += 1;
    }
    json.len()
}

/// Checks that `text` is valid JSON and within the limits.
///
/// # Errors
/// [`SyntaxError`] at the first invalid byte. A `\u` escape that does not encode a character is not detected here.
pub fn judge(text: &str) -> Result<(), SyntaxError> {
    let refused = |offset, problem| SyntaxError { offset, problem };
    if text.starts_with('\u{feff}') {
        return Err(refused(0, SyntaxProblem::ByteOrderMark));
    }
    if text.bytes().all(is_blank) {
        return Err(refused(0, SyntaxProblem::Blank));
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| reworded(&error, text))?;
    within_limits(text.as_bytes())
}

pub(super) fn read(text: &str) -> Result<Value<'_>, SyntaxError> {
    judge(text)?;
    let refused = |offset, problem| SyntaxError { offset, problem };
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(result) => result.value.map(taken).ok_or_else(|| refused(0, SyntaxProblem::Blank)),
        Err(error) => {
            // `serde_json` did not decode the strings, so it did not notice unpaired surrogates.
            let is_escape = matches!(error.kind(), ParseErrorKind::String(_));
            let problem = if is_escape { SyntaxProblem::Unicode } else { SyntaxProblem::Other };
            Err(refused(error.range().start, problem))
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Converts an error of `serde_json` into a [`SyntaxError`] with a byte offset.
fn reworded(error: &serde_json::Error, text: &str) -> SyntaxError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let position = format!(" at line {line} column {column}");
    let message = message.strip_suffix(&position).unwrap_or(&message);
    let offset = offset_of(text, line, column);
    let found = || word_at(text, offset);
    let problem = match message {
        "expected value" | "key must be a string" if closes_after_comma(text, offset) => {
            SyntaxProblem::TrailingComma
        }
        "expected value" | "expected ident" => SyntaxProblem::NoValue { found: found() },
        "key must be a string" | "expected `\"`" => SyntaxProblem::NoName { found: found() },
        "expected `:`" => SyntaxProblem::NoColon { found: found() },
        "expected `,` or `]`" => SyntaxProblem::NoCommaInArray { found: found() },
        "expected `,` or `}`" => SyntaxProblem::NoCommaInObject { found: found() },
        "trailing characters" => SyntaxProblem::TextAfter { found: found() },
        "invalid number" => SyntaxProblem::Number,
        "invalid escape" => SyntaxProblem::Escape,
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            // The reported position is one byte before the control character.
            let rest = text.as_bytes().get(offset..).unwrap_or_default();
            let further = rest.iter().position(|byte| *byte < b' ').unwrap_or(0);
            let problem = SyntaxProblem::ControlCharacter;
            return SyntaxError { offset: offset + further, problem };
        }
        _ if error.is_eof() => {
            let end = text.trim_end_matches(|c: char| c.is_ascii_whitespace()).len();
            return SyntaxError { offset: end, problem: SyntaxProblem::EndsEarly };
        }
        _ => SyntaxProblem::Other,
    };
    SyntaxError { offset, problem }
}

/// Returns the byte offset of a line and column, which both start at 1. Column 0 is the end of the previous line.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before =
        line.checked_sub(2).and_then(|nth| memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth));
    let start = before.map_or(0, |newline| newline + 1);
    (start + column).saturating_sub(1).min(text.len())
}

/// Returns whether the byte at `offset` is a closing bracket or brace that follows a comma.
fn closes_after_comma(text: &str, offset: usize) -> bool {
    let closes = matches!(text.as_bytes().get(offset), Some(b']' | b'}'));
    closes && text.get(..offset).is_some_and(|before| before.trim_ascii_end().ends_with(','))
}

/// Literals of other languages that often occur in malformed JSON. Error messages quote them completely.
const FOREIGN_VALUES: [&str; 12] = [
    "False",
    "Infinity",
    "NaN",
    "None",
    "True",
    "inf",
    "nan",
    "nil",
    "no",
    "off",
    "undefined",
    "yes",
];

/// Returns the text to quote in an error message: a literal of another language, or a single character.
///
/// Longer text is not quoted, because error messages end up in logs, and the text may be a file of credentials instead
/// of JSON.
fn word_at(text: &str, offset: usize) -> Excerpt {
    let start = (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let rest = text.get(start..).unwrap_or_default();
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let word = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
    let word = rest.get(..word).unwrap_or_default();
    if FOREIGN_VALUES.contains(&word) {
        return Excerpt::new(word.as_bytes());
    }
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let more = if word.len() > first { "…" } else { "" };
    Excerpt::new(format!("{}{more}", rest.get(..first).unwrap_or_default()).as_bytes())
}

/// Rejects valid JSON that is nested too deeply or has too many values, before any memory is allocated for it. While it
/// only validates a text, `serde_json` does not enforce such limits itself.
///
/// # Errors
/// `TooDeep` and `TooManyValues`, located at the byte that exceeds the limit.
pub fn within_limits(json: &[u8]) -> Result<(), SyntaxError> {
    let (mut values, mut depth, mut offset) = (1usize, 0usize, 0usize);
    while let Some(&byte) = json.get(offset) {
        // Each value except the outermost one follows one of these bytes. An empty array or object is counted twice.
        match byte {
            b'"' => offset += string(json.get(offset..).unwrap_or_default()) - 1,
            b'[' | b'{' => {
                values += 1;
                depth += 1;
            }
            b',' => values += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(SyntaxError { offset, problem: SyntaxProblem::TooDeep });
        }
        if values > VALUES_MAX {
            return Err(SyntaxError { offset, problem: SyntaxProblem::TooManyValues });
        }
        offset += 1;
    }
    Ok(())
}

/// Returns the length of the string literal at the start of `rest`, including its quotes. A literal without a closing
/// quote extends to the end of `rest`.
pub fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    // A plain loop is faster than `memchr` here, because most strings are short.
    while let Some(found) =
        rest.get(at..).and_then(|rest| rest.iter().position(|byte| matches!(byte, b'"' | b'\\')))
    {
        at += found;
        match rest.get(at) {
            Some(b'\\') => at += 2,
            Some(_) | None => return at + 1,
        }
    }
    rest.len()
}

fn taken(value: ast::Value<'_>) -> Value<'_> {
    let span = span(value.range());
    let content = match value {
        ast::Value::NullKeyword(_) => Content::Null,
        ast::Value::BooleanLit(literal) => Content::Boolean(literal.value),
        ast::Value::NumberLit(literal) => Content::Number(literal.value),
        ast::Value::StringLit(literal) => Content::String(literal.value),
        ast::Value::Array(array) => Content::Array(array.elements.into_iter().map(taken).collect()),
        ast::Value::Object(object) => Content::Object(
            object
                .properties
                .into_iter()
                .map(|property| Member {
                    name_span: self::span(property.name.range()),
                    name: match property.name {
                        ast::ObjectPropName::String(literal) => literal.value,
                        ast::ObjectPropName::Word(word) => word.value.into(),
                    },
                    value: taken(property.value),
                })
                .collect(),
        ),
    };
    Value { span, content }
}

fn span(range: jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: impl AsRef<[u8]>) -> (usize, String) {
        let error = Value::read(text.as_ref()).unwrap_err();
        (error.offset, error.to_string())
    }

    #[test]
    fn each_value_has_its_source_span() {
        let text = " {\"a\\u0062\" : [1e400, \"x\\n\"], \"\": null}\n";
        let at = |text: &'static str, start: usize, content| Value {
            span: start..start + text.len(),
            content,
        };
        let array = vec![
            at("1e400", 15, Content::Number("1e400")),
            at("\"x\\n\"", 22, Content::String("x\n".into())),
        ];
        let members = vec![
            Member {
                name_span: 2..11,
                name: "ab".into(),
                value: at("[1e400, \"x\\n\"]", 14, Content::Array(array)),
            },
            Member { name_span: 30..32, name: "".into(), value: at("null", 34, Content::Null) },
        ];
        let whole = Value { span: 1..39, content: Content::Object(members) };
        assert_eq!(Value::read(text.as_bytes()), Ok(whole));
    }

    /// D-4
    #[test]
    fn invalid_json_reports_the_problem_and_byte_offset() {
        for (text, offset, message) in [
            ("", 0, "the text contains no JSON value"),
            (" \n", 0, "the text contains no JSON value"),
            ("{\"a\": [1,\n", 9, "unexpected end of the text"),
            ("{\"a\"", 4, "unexpected end of the text"),
            ("\"abc", 4, "unexpected end of the text"),
            ("{\"a\": ]}", 6, "expected a value, found `]`"),
            ("[yes]", 1, "expected a value, found `yes`"),
            ("[hunter2]", 1, "expected a value, found `h…`"),
            ("[1,,2]", 3, "expected a value, found `,`"),
            ("{a: 1}", 1, "expected a name in double quotes, found `a`"),
            ("{'a': 1}", 1, "expected a name in double quotes, found `'`"),
            ("{\"a\" 1}", 5, "expected `:` after the name, found `1`"),
            ("[1 2]", 3, "expected `,` or `]` after the value, found `2`"),
            ("{\"a\":1\n\"b\":2}", 7, "expected `,` or `}` after the value, found `\"`"),
            ("[1,]", 3, "trailing comma before this bracket"),
            ("{\"a\":1,}", 7, "trailing comma before this bracket"),
            ("{}\n{}", 3, "unexpected `{` after the end of the JSON value"),
            ("[01]", 2, "invalid number"),
            ("[1.]", 3, "invalid number"),
            ("[1] // one", 4, "unexpected `/` after the end of the JSON value"),
            (
                "[\"\\q\"]",
                3,
                "invalid escape: a backslash must be followed by one of `\"\\/bfnrt`, or by `u` \
                 and four hexadecimal digits",
            ),
            ("[\"\\ud800\"]", 2, "invalid `\\u` escape: it does not encode a character"),
            (
                "[\"a\tb\"]",
                3,
                "control characters in a string, such as newlines and tabs, must be escaped",
            ),
            (
                "[\"a\nb\"]",
                3,
                "control characters in a string, such as newlines and tabs, must be escaped",
            ),
            ("\u{feff}{}", 0, "the text starts with a byte order mark"),
            ("[\u{a0}1]", 1, "expected a value, found `\\302\\240`"),
        ] {
            assert_eq!(error(text), (offset, message.to_owned()), "{text:?}");
        }
        assert_eq!(error(b"[\n\"\xff\"]"), (3, "this byte is not valid UTF-8".to_owned()));
    }

    /// Issue 27
    #[test]
    fn documents_are_cut_at_their_outermost_brackets() {
        for (text, cut) in [
            ("{}", &["{}"][..]),
            (" {} \n", &[" {} \n"]),
            ("{}\n{}\n", &["{}", "{}\n"]),
            ("{\"a}\\\"\":[{}]}[]\t{", &["{\"a}\\\"\":[{}]}", "[]", "{"]),
            ("{} // one\n{}", &["{} // one\n{}"]),
            ("{},{}", &["{},{}"]),
            ("{}{} x", &["{}", "{} x"]),
            ("1 [] []", &["1 []", "[]"]),
            ("]{}", &["]", "{}"]),
            ("{\"{}{}", &["{\"{}{}"]),
            ("", &[""]),
        ] {
            let found: Vec<_> = documents(text).filter_map(|span| text.get(span)).collect();
            assert_eq!(found, cut, "{text}");
        }
    }

    #[test]
    fn quoted_text_in_errors_is_escaped_and_short() {
        let (_, message) = error(format!("[\u{1b}{}]", "x".repeat(500)));
        assert_eq!(message, "expected a value, found `\\033`");
        let (_, message) = error(format!("[{}]", "x".repeat(500)));
        assert_eq!(message, "expected a value, found `x…`");
    }

    #[test]
    fn nesting_is_limited_on_both_sides() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Value::read(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(
            error(nested(DEPTH_MAX + 1)),
            (DEPTH_MAX, "arrays and objects are nested more than 127 levels deep".to_owned())
        );
    }

    #[test]
    fn the_number_of_values_is_limited_on_both_sides() {
        let zeros = |count| format!("[\"[,\\\"\"{}]", ",0".repeat(count));
        assert_eq!(within_limits(zeros(VALUES_MAX - 2).as_bytes()), Ok(()));
        let over = zeros(VALUES_MAX - 1);
        assert_eq!(
            error(&over),
            (over.len() - 3, "the text has more than 2000000 values".to_owned())
        );
    }

    proptest! {
        /// Issue 27
        #[test]
        fn concatenated_documents_are_split_correctly(
            values in prop::collection::vec(("[a{}\\[\\]\"\\\\,: \n]{0,6}", any::<bool>()), 1..6),
            between in "[ \t\r\n]{0,2}",
        ) {
            let written: Vec<String> = values.into_iter().map(|(text, is_object)| {
                if is_object { serde_json::json!({ text: [null] }) } else { serde_json::json!([text]) }.to_string()
            }).collect();
            let text = written.join(&between);
            let found: Vec<_> = documents(&text).filter_map(|span| text.get(span)).collect();
            prop_assert_eq!(found, written);
        }

        /// D-4
        #[test]
        fn parser_agrees_with_serde_json(text in "[\\[\\]{}\":,a0-9.eE+ \n\tu\\\\/*-]{0,14}") {
            let judged = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            match Value::read(text.as_bytes()) {
                Ok(value) => {
                    prop_assert!(judged);
                    prop_assert_eq!(value.text(&text), text.trim());
                }
                Err(error) => {
                    prop_assert!(!judged || error.problem == SyntaxProblem::Unicode, "{error}");
                    prop_assert!(error.problem != SyntaxProblem::Other, "{text}");
                    prop_assert!(error.offset <= text.len());
                }
            }
        }
    }
}
