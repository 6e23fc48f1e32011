//! Checks whether a whole text is valid JSON or YAML, using the parsers that edits of single values rely on.

use std::borrow::Cow;

use actum_core::count;
use actum_core::json::{self, SyntaxError, SyntaxProblem};
use actum_core::place::Place;
use serde_json::Value;

use super::json_patch::{BYTE_ORDER_MARK, JSON_BYTES_MAX};
use super::json_value::strict::{self, Unread};
use super::yaml::loaded::Loaded;
use super::yaml::{YAML_BYTES_MAX, YamlProblem};

/// Data format of a file whose values can be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Strict JSON (RFC 8259), without any extensions.
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    /// JSON Lines, which has a JSON value on every line that is not blank.
    JsonLines,
    /// YAML 1.2 with any number of documents.
    Yaml,
}

/// Reason why a text is not valid in its [`Language`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// The text is larger than the parser accepts.
    #[error("the content is larger than {bytes_max} bytes")]
    TooLarge {
        /// Maximum size of a text in this language, in bytes.
        bytes_max: u64,
    },
    /// The text has a syntax error at this position.
    #[error("line {line}, column {column}: {problem}")]
    At {
        /// Line number, counted from 1. It is 0 if the parser does not report a position.
        line: u64,
        /// Column, counted from 1: in bytes for JSON, and in characters for YAML.
        column: u64,
        /// Syntax error at this position.
        #[source]
        problem: UnsoundProblem,
    },
}

/// Syntax error in a JSON or YAML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProblem {
    /// The text is not valid JSON.
    #[error(transparent)]
    Json(SyntaxProblem),
    /// A block comment is not closed.
    #[error("the comment is not closed")]
    OpenComment,
    /// A line comment contains a carriage return without a line feed, so parsers disagree about where it ends.
    #[error("a carriage return without a line feed ends this comment in some parsers only")]
    UnclearComment,
    /// A YAML text is not valid UTF-8.
    #[error("YAML must be UTF-8, but this byte is invalid")]
    NotUtf8,
    /// The text is not valid YAML.
    #[error(transparent)]
    Yaml(YamlProblem),
}

impl Language {
    /// Returns the name of the language for use in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonWithComments => "JSON with comments",
            Self::JsonLines => "JSON Lines",
            Self::Yaml => "YAML",
        }
    }

    /// Returns the maximum size of a text in this language, in bytes.
    pub fn bytes_max(self) -> u64 {
        match self {
            Self::Json | Self::JsonWithComments | Self::JsonLines => JSON_BYTES_MAX,
            Self::Yaml => YAML_BYTES_MAX,
        }
    }

    /// Checks that `content` is valid in this language, ignoring a leading byte order mark. A JSON text needs a value,
    /// but JSON Lines and YAML texts may be empty.
    ///
    /// # Errors
    /// Returns [`Unsound`] for the first syntax error. Content that is too large, nested too deeply or has too many
    /// values is rejected as well.
    pub fn judge(self, content: &[u8]) -> Result<(), Unsound> {
        let body = self.body(content)?;
        let refused = |error| unsound(content, body, Unread::Syntax(error));
        match self {
            Self::Json => json::text(body).and_then(json::judge).map_err(refused),
            Self::JsonWithComments => plain(content, body).map(|_| ()),
            Self::JsonLines => {
                let mut offset = 0;
                for line in body.split_inclusive(|byte| *byte == b'\n') {
                    if !line.trim_ascii().is_empty() {
                        json::text(line).and_then(json::judge).map_err(|error| {
                            refused(SyntaxError { offset: offset + error.offset, ..error })
                        })?;
                    }
                    offset += line.len();
                }
                Ok(())
            }
            Self::Yaml => documents(content, body).map(|_| ()),
        }
    }

    /// Strips a leading byte order mark. Returns an error if the content is too large.
    fn body(self, content: &[u8]) -> Result<&[u8], Unsound> {
        let bytes_max = self.bytes_max();
        if count(content.len()) > bytes_max {
            return Err(Unsound::TooLarge { bytes_max });
        }
        Ok(content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content))
    }
}

/// Parses a JSON text that may contain comments. If an object has duplicate names, the last value wins.
///
/// # Errors
/// Returns the same errors as [`Language::judge`].
pub fn json_value(content: &[u8]) -> Result<Value, Unsound> {
    let body = Language::JsonWithComments.body(content)?;
    // The syntax has been checked, so this can fail only for a `\u` escape that is not a character.
    serde_json::from_str(&plain(content, body)?).map_err(|error| Unsound::At {
        line: count(error.line()),
        column: count(error.column()),
        problem: UnsoundProblem::Json(SyntaxProblem::Unicode),
    })
}

/// Parses the documents of a YAML text as JSON values, replacing aliases with their targets. A document is `None` if
/// JSON cannot represent it because a key is not a string or a number is not finite.
///
/// # Errors
/// Returns the same errors as [`Language::judge`].
pub fn yaml_values(content: &[u8]) -> Result<Vec<Option<Value>>, Unsound> {
    let body = Language::Yaml.body(content)?;
    Ok(documents(content, body)?.iter().map(Loaded::to_json).collect())
}

/// Returns a JSON text with its comments replaced by spaces.
fn plain<'t>(content: &[u8], body: &'t [u8]) -> Result<Cow<'t, str>, Unsound> {
    let text = json::text(body).map_err(Unread::Syntax);
    text.and_then(strict::strict).map_err(|unread| unsound(content, body, unread))
}

fn documents(content: &[u8], body: &[u8]) -> Result<Vec<Loaded>, Unsound> {
    let text = std::str::from_utf8(body)
        .map_err(|error| at(content, body, error.valid_up_to(), UnsoundProblem::NotUtf8))?;
    Loaded::read(text).map_err(|unread| Unsound::At {
        line: unread.line,
        column: unread.column,
        problem: UnsoundProblem::Yaml(unread.problem),
    })
}

fn unsound(content: &[u8], body: &[u8], unread: Unread) -> Unsound {
    let (offset, problem) = match unread {
        Unread::Syntax(SyntaxError { offset, problem }) => (offset, UnsoundProblem::Json(problem)),
        Unread::OpenComment(offset) => (offset, UnsoundProblem::OpenComment),
        Unread::UnclearComment(offset) => (offset, UnsoundProblem::UnclearComment),
    };
    at(content, body, offset, problem)
}

fn at(content: &[u8], body: &[u8], offset: usize, problem: UnsoundProblem) -> Unsound {
    let mark = content.len() - body.len();
    let Place { line, column } = Place::new(content, mark + offset);
    Unsound::At { line, column, problem }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(language: Language, content: &[u8]) -> String {
        match language.judge(content) {
            Ok(()) => "sound".to_owned(),
            Err(unsound) => unsound.to_string(),
        }
    }

    /// EX-20
    #[test]
    fn each_language_is_checked_against_its_own_syntax() {
        use Language::{Json, JsonLines, JsonWithComments, Yaml};
        for (language, text) in [
            (Json, "{\"a\": [1]}\n"),
            (Json, "\u{feff}1"),
            (JsonWithComments, "// x\n[1,]"),
            (JsonLines, "{\"a\": 1}\n\n[2]\r\n3"),
            (JsonLines, ""),
            (Yaml, ""),
            (Yaml, "a: 1\n---\nb: [*k, {}]\n".replace("*k", "x").leak()),
            (Yaml, "a: &k 1\nb: *k\n"),
            (
                Yaml,
                "a: !!binary gIGC/w==\nb: !!timestamp 2001-01-01\nc: !!int 1_000\nd: !!bool no\n",
            ),
            (Yaml, "Role: !Ref Name\nAll: !Join [a, b]\nData: !!binary aGk=\nSub: !Sub\n  x: 1\n"),
        ] {
            assert_eq!(judged(language, text.as_bytes()), "sound", "{language:?} {text:?}");
        }
        for (language, text, expected) in [
            (Json, "[1,]", "line 1, column 4: trailing comma before this bracket"),
            (Json, "", "line 1, column 1: the text contains no JSON value"),
            (JsonWithComments, "[1] /* x", "line 1, column 5: the comment is not closed"),
            (JsonLines, "{}\n\n[1\n", "line 3, column 3: unexpected end of the text"),
            (JsonLines, "{}\n}\n", "line 2, column 1: expected a value, found `}`"),
        ] {
            assert_eq!(judged(language, text.as_bytes()), expected, "{language:?} {text:?}");
        }
        for (text, expected) in [
            ("a: [1", "a `[` or `{` is not closed"),
            ("a: 1\n b: 2\n", "a mapping or sequence entry cannot begin here"),
            ("a: *k\n", "an alias refers to an anchor that is not defined before it"),
            ("a:\n\tb: 1\n", "a tab is used for indentation, where only spaces are allowed"),
            ("a: {{ .x }}: 1\n", ""),
            ("a: 1\na: 2\n", "this key is already in the mapping"),
            ("a: &k [*k]\n", "an alias refers to a value that contains it"),
            ("a: \"x\n", "a quoted string is not closed"),
        ] {
            let message = judged(Yaml, text.as_bytes());
            let is_reported = message.starts_with("line ") && message.contains(expected);
            assert!(is_reported, "{text:?}: {message}");
        }
        assert!(judged(Yaml, b"a: 1\nb: \xff").starts_with("line 2, column 4: YAML must be UTF-8"));
    }

    /// EX-20
    #[test]
    fn oversized_or_too_deeply_nested_text_is_refused() {
        for language in [Language::Json, Language::JsonLines, Language::Yaml] {
            let max = usize::try_from(language.bytes_max()).unwrap();
            let mut text = vec![b' '; max];
            text[0] = b'1';
            assert_eq!(language.judge(&text), Ok(()), "{language:?}");
            text.push(b' ');
            let bytes_max = language.bytes_max();
            assert_eq!(language.judge(&text), Err(Unsound::TooLarge { bytes_max }));
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        for language in [Language::Json, Language::JsonWithComments, Language::Yaml] {
            assert_eq!(judged(language, nested(100).as_bytes()), "sound");
            assert!(judged(language, nested(200).as_bytes()).starts_with("line "), "{language:?}");
            assert!(judged(language, nested(100_000).as_bytes()).starts_with("line "));
        }
    }

    /// EX-20
    #[test]
    fn parsed_values_match_the_text() {
        assert_eq!(json_value(b"// x\n{\"a\": [1, null,]}").unwrap(), json!({ "a": [1, null] }));
        assert!(json_value(b"\"\\ud800\"").is_err());
        let text = b"a: &k {x: 1.5, y: 'z'}\nb: *k\n---\n1: no\n---\n.inf\n";
        let inner = json!({ "x": 1.5, "y": "z" });
        assert_eq!(
            yaml_values(text).unwrap(),
            [Some(json!({ "a": inner, "b": inner })), None, None]
        );
    }
}
