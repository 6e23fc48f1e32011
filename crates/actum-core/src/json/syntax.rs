//! Syntax of JSON: one parser judges, another gives the places.
//!
//! `serde_json` is the judge, since it keeps to RFC 8259 without options; its errors are reworded
//! here. `jsonc-parser` then gives each value its range. It also could read comments, which is why
//! it was chosen; all of that is switched off.

use std::ops::Range;

use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::de::IgnoredAny;

use super::{Content, DEPTH_MAX, Member, VALUES_MAX, Value};
use crate::place::Excerpt;

/// A text that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SyntaxError {
    /// The byte where that shows.
    pub offset: usize,
    /// Problem.
    #[source]
    pub problem: SyntaxProblem,
}

/// Reason why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// A byte that belongs to no character.
    #[error("JSON is UTF-8, and the byte here is not")]
    NotUtf8,
    /// The text starts with a byte order mark.
    #[error("it starts with a byte order mark")]
    ByteOrderMark,
    /// There is nothing in it.
    #[error("there is nothing in it")]
    Blank,
    /// Something is still open at the end.
    #[error("it ends too early")]
    EndsEarly,
    /// No value is where one belongs.
    #[error("expected a value here, but found `{found}`")]
    NoValue {
        /// Text at the place.
        found: Excerpt,
    },
    /// No name of a field is where one belongs.
    #[error("expected a name in double quotes here, but found `{found}`")]
    NoName {
        /// Text at the place.
        found: Excerpt,
    },
    /// No colon is where one belongs.
    #[error("expected `:` after the name, but found `{found}`")]
    NoColon {
        /// Text at the place.
        found: Excerpt,
    },
    /// Neither a comma nor the end of an array.
    #[error("expected `,` or `]` after the value, but found `{found}`")]
    NoCommaInArray {
        /// Text at the place.
        found: Excerpt,
    },
    /// Neither a comma nor the end of an object.
    #[error("expected `,` or `}}` after the value, but found `{found}`")]
    NoCommaInObject {
        /// Text at the place.
        found: Excerpt,
    },
    /// A comma with nothing behind it.
    #[error("the comma before this bracket is one too many")]
    TrailingComma,
    /// Something follows the value.
    #[error("the JSON has ended, but `{found}` follows")]
    TextAfter {
        /// Text behind the value.
        found: Excerpt,
    },
    /// A number that is not spelled as JSON asks for.
    #[error("this is no number as JSON spells them")]
    Number,
    /// A backslash with something behind it that has no meaning.
    #[error(
        "a backslash in a string may stand only before one of `\"\\/bfnrt`, or before `u` and four \
         hexadecimal digits"
    )]
    Escape,
    /// A `\u` that stands for no character.
    #[error("the `\\u` escapes here stand for no character")]
    Unicode,
    /// A control character in a string.
    #[error("a string may hold control characters, such as line ends and tabs, only as escapes")]
    ControlCharacter,
    /// Nested too deeply.
    #[error("arrays and objects are nested more than {DEPTH_MAX} deep here")]
    TooDeep,
    /// More values than are read.
    #[error("it has more than {VALUES_MAX} values")]
    TooManyValues,
    /// None of the above.
    #[error("this is not JSON as RFC 8259 defines it")]
    Other,
}

/// Nothing but JSON.
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

/// The text of `bytes`.
///
/// # Errors
/// [`SyntaxError`] at the first byte that is not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, SyntaxError> {
    std::str::from_utf8(bytes).map_err(|error| SyntaxError {
        offset: error.valid_up_to(),
        problem: SyntaxProblem::NotUtf8,
    })
}

/// Cuts `text` into JSON documents that follow each other: objects and arrays, by their outermost brackets. What is
/// behind the last one belongs to it, so that reading it reports that.
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

/// The length of `json` up to the bracket that closes the first one; all of it where none does.
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

/// Checks that `text` is JSON, and within the limits.
///
/// # Errors
/// [`SyntaxError`] at the first byte that is not sound, except for a `\u` that stands for no
/// character.
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
            // The judge reads over escapes without joining their halves.
            let is_escape = matches!(error.kind(), ParseErrorKind::String(_));
            let problem = if is_escape { SyntaxProblem::Unicode } else { SyntaxProblem::Other };
            Err(refused(error.range().start, problem))
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Translates an error of the parser into our words, with a byte offset.
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
            // The place that is given is the one before it.
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

/// The byte at a line and column, both counted from 1; column 0 is the end of the line before.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before =
        line.checked_sub(2).and_then(|nth| memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth));
    let start = before.map_or(0, |newline| newline + 1);
    (start + column).saturating_sub(1).min(text.len())
}

/// Returns true if the byte is a closing bracket behind a comma.
fn closes_after_comma(text: &str, offset: usize) -> bool {
    let closes = matches!(text.as_bytes().get(offset), Some(b']' | b'}'));
    closes && text.get(..offset).is_some_and(|before| before.trim_ascii_end().ends_with(','))
}

/// Values of other notations, which are quoted whole where they occur in JSON.
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

/// Quoted text at a byte: a value of another notation, or one character. The text may be no JSON at all but a file of
/// credentials, and messages end up in logs.
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

/// Refuses sound JSON that is too deep or has too many values, before memory is taken for it. The
/// judge does not descend and so sets no limit of its own.
///
/// # Errors
/// `TooDeep` and `TooManyValues`, at the byte where the limit is passed.
pub fn within_limits(json: &[u8]) -> Result<(), SyntaxError> {
    let (mut values, mut depth, mut offset) = (1usize, 0usize, 0usize);
    while let Some(&byte) = json.get(offset) {
        // Each value but the outermost follows one of these; an empty container counts double.
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

/// Returns the length of the string that `rest` starts with, with its quotes. A string without an
/// end reaches to the end of `rest`.
pub fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    // Most strings are short, so that a search that starts slowly does not pay.
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
    fn each_value_knows_where_it_stands() {
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
    fn what_is_not_json_is_refused_in_plain_words_at_the_byte() {
        for (text, offset, message) in [
            ("", 0, "there is nothing in it"),
            (" \n", 0, "there is nothing in it"),
            ("{\"a\": [1,\n", 9, "it ends too early"),
            ("{\"a\"", 4, "it ends too early"),
            ("\"abc", 4, "it ends too early"),
            ("{\"a\": ]}", 6, "expected a value here, but found `]`"),
            ("[yes]", 1, "expected a value here, but found `yes`"),
            ("[hunter2]", 1, "expected a value here, but found `h…`"),
            ("[1,,2]", 3, "expected a value here, but found `,`"),
            ("{a: 1}", 1, "expected a name in double quotes here, but found `a`"),
            ("{'a': 1}", 1, "expected a name in double quotes here, but found `'`"),
            ("{\"a\" 1}", 5, "expected `:` after the name, but found `1`"),
            ("[1 2]", 3, "expected `,` or `]` after the value, but found `2`"),
            ("{\"a\":1\n\"b\":2}", 7, "expected `,` or `}` after the value, but found `\"`"),
            ("[1,]", 3, "the comma before this bracket is one too many"),
            ("{\"a\":1,}", 7, "the comma before this bracket is one too many"),
            ("{}\n{}", 3, "the JSON has ended, but `{` follows"),
            ("[01]", 2, "this is no number as JSON spells them"),
            ("[1.]", 3, "this is no number as JSON spells them"),
            ("[1] // one", 4, "the JSON has ended, but `/` follows"),
            (
                "[\"\\q\"]",
                3,
                "a backslash in a string may stand only before one of `\"\\/bfnrt`, or before `u` \
                 and four hexadecimal digits",
            ),
            ("[\"\\ud800\"]", 2, "the `\\u` escapes here stand for no character"),
            (
                "[\"a\tb\"]",
                3,
                "a string may hold control characters, such as line ends and tabs, only as escapes",
            ),
            (
                "[\"a\nb\"]",
                3,
                "a string may hold control characters, such as line ends and tabs, only as escapes",
            ),
            ("\u{feff}{}", 0, "it starts with a byte order mark"),
            ("[\u{a0}1]", 1, "expected a value here, but found `\\302\\240`"),
        ] {
            assert_eq!(error(text), (offset, message.to_owned()), "{text:?}");
        }
        assert_eq!(
            error(b"[\n\"\xff\"]"),
            (3, "JSON is UTF-8, and the byte here is not".to_owned())
        );
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
    fn what_is_shown_of_the_text_is_escaped_and_short() {
        let (_, message) = error(format!("[\u{1b}{}]", "x".repeat(500)));
        assert_eq!(message, "expected a value here, but found `\\033`");
        let (_, message) = error(format!("[{}]", "x".repeat(500)));
        assert_eq!(message, "expected a value here, but found `x…`");
    }

    #[test]
    fn nesting_is_limited_on_both_sides() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Value::read(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(
            error(nested(DEPTH_MAX + 1)),
            (DEPTH_MAX, "arrays and objects are nested more than 127 deep here".to_owned())
        );
    }

    #[test]
    fn the_number_of_values_is_limited_on_both_sides() {
        let zeros = |count| format!("[\"[,\\\"\"{}]", ",0".repeat(count));
        assert_eq!(within_limits(zeros(VALUES_MAX - 2).as_bytes()), Ok(()));
        let over = zeros(VALUES_MAX - 1);
        assert_eq!(error(&over), (over.len() - 3, "it has more than 2000000 values".to_owned()));
    }

    proptest! {
        /// Issue 27
        #[test]
        fn documents_that_are_written_one_after_the_other_are_found_again(
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
        fn what_one_parser_accepts_the_other_reads(text in "[\\[\\]{}\":,a0-9.eE+ \n\tu\\\\/*-]{0,14}") {
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
