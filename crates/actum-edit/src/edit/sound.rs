//! Soundness of a whole text in its language, by the readers that edits of values rest on.

use std::borrow::Cow;

use actum_core::count;
use actum_core::json::{self, SyntaxError, SyntaxProblem};
use actum_core::place::Place;
use serde_json::Value;

use super::json_patch::{BYTE_ORDER_MARK, JSON_BYTES_MAX};
use super::json_value::strict::{self, Unread};
use super::yaml::loaded::Loaded;
use super::yaml::{YAML_BYTES_MAX, YamlProblem};

/// A language in which files hold values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// JSON (RFC 8259), and nothing else.
    Json,
    /// JSON with comments, and with a comma behind the last value.
    JsonWithComments,
    /// A JSON value in each line that is not blank.
    JsonLines,
    /// YAML 1.2, any number of documents.
    Yaml,
}

/// Reason why a text is not sound in its language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// The text is too large to be read.
    #[error("it has more than {bytes_max} bytes")]
    TooLarge {
        /// The most that are read.
        bytes_max: u64,
    },
    /// The text is wrong from a place on.
    #[error("line {line}, column {column}: {problem}")]
    At {
        /// The line, counted from 1; 0 where it is not known.
        line: u64,
        /// The byte in that line, in YAML the character, counted from 1.
        column: u64,
        /// Problem at the place.
        #[source]
        problem: UnsoundProblem,
    },
}

/// Problem at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProblem {
    /// No JSON.
    #[error(transparent)]
    Json(SyntaxProblem),
    /// A comment that has no end.
    #[error("the comment has no end")]
    OpenComment,
    /// A comment whose end is not clear.
    #[error("a carriage return without a line feed ends the comment for some readers only")]
    UnclearComment,
    /// A byte that belongs to no character.
    #[error("YAML is read as UTF-8, and the byte here is not")]
    NotUtf8,
    /// No YAML.
    #[error(transparent)]
    Yaml(YamlProblem),
}

impl Language {
    /// Returns the word for a text in it, for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonWithComments => "JSON, with or without comments",
            Self::JsonLines => "JSON in each line",
            Self::Yaml => "YAML",
        }
    }

    /// The largest text in it that is read, in bytes.
    pub fn bytes_max(self) -> u64 {
        match self {
            Self::Json | Self::JsonWithComments | Self::JsonLines => JSON_BYTES_MAX,
            Self::Yaml => YAML_BYTES_MAX,
        }
    }

    /// Checks that `content` is sound; a byte order mark before it is ignored. A JSON text holds one value at least, a
    /// YAML text may be empty.
    ///
    /// # Errors
    /// [`Unsound`] at the first place where it is not; also where it is too large, or nested deeper or with more
    /// values than the readers take.
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

    /// The text without its byte order mark, where it is not too large.
    fn body(self, content: &[u8]) -> Result<&[u8], Unsound> {
        let bytes_max = self.bytes_max();
        if count(content.len()) > bytes_max {
            return Err(Unsound::TooLarge { bytes_max });
        }
        Ok(content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content))
    }
}

/// The value of a JSON text, which may have comments. Of a name that stands twice in an object the last value counts.
///
/// # Errors
/// As [`Language::judge`].
pub fn json_value(content: &[u8]) -> Result<Value, Unsound> {
    let body = Language::JsonWithComments.body(content)?;
    // What is read here has been judged; only a `\u` can still stand for no character.
    serde_json::from_str(&plain(content, body)?).map_err(|error| Unsound::At {
        line: count(error.line()),
        column: count(error.column()),
        problem: UnsoundProblem::Json(SyntaxProblem::Unicode),
    })
}

/// The documents of a YAML text as JSON, aliases as what they stand for; `None` for one that JSON cannot say: a name
/// is no string, or a number not finite.
///
/// # Errors
/// As [`Language::judge`].
pub fn yaml_values(content: &[u8]) -> Result<Vec<Option<Value>>, Unsound> {
    let body = Language::Yaml.body(content)?;
    Ok(documents(content, body)?.iter().map(Loaded::to_json).collect())
}

/// Blanks for comments.
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

    fn told(language: Language, content: &[u8]) -> String {
        match language.judge(content) {
            Ok(()) => "sound".to_owned(),
            Err(unsound) => unsound.to_string(),
        }
    }

    /// EX-20
    #[test]
    fn each_language_is_held_to_what_it_allows() {
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
            assert_eq!(told(language, text.as_bytes()), "sound", "{language:?} {text:?}");
        }
        for (language, text, expected) in [
            (Json, "[1,]", "line 1, column 4: the comma before this bracket is one too many"),
            (Json, "", "line 1, column 1: there is nothing in it"),
            (JsonWithComments, "[1] /* x", "line 1, column 5: the comment has no end"),
            (JsonLines, "{}\n\n[1\n", "line 3, column 3: it ends too early"),
            (JsonLines, "{}\n}\n", "line 2, column 1: expected a value here, but found `}`"),
        ] {
            assert_eq!(told(language, text.as_bytes()), expected, "{language:?} {text:?}");
        }
        for (text, expected) in [
            ("a: [1", "a `[` or `{` is not closed"),
            ("a: 1\n b: 2\n", "no entry of a mapping or sequence can begin here"),
            ("a: *k\n", "an alias refers to no anchor before it"),
            ("a:\n\tb: 1\n", "a tab stands where only blanks may indent"),
            ("a: {{ .x }}: 1\n", ""),
            ("a: 1\na: 2\n", "a key stands a second time in its mapping"),
            ("a: &k [*k]\n", "an alias refers to a value that it is part of"),
            ("a: \"x\n", "a quoted string is not closed"),
        ] {
            let said = told(Yaml, text.as_bytes());
            let is_told = said.starts_with("line ") && said.contains(expected);
            assert!(is_told, "{text:?}: {said}");
        }
        assert!(
            told(Yaml, b"a: 1\nb: \xff").starts_with("line 2, column 4: YAML is read as UTF-8")
        );
    }

    /// EX-20
    #[test]
    fn what_is_too_large_or_too_deep_is_not_read() {
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
            assert_eq!(told(language, nested(100).as_bytes()), "sound");
            assert!(told(language, nested(200).as_bytes()).starts_with("line "), "{language:?}");
            assert!(told(language, nested(100_000).as_bytes()).starts_with("line "));
        }
    }

    /// EX-20
    #[test]
    fn values_are_what_the_text_says() {
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
