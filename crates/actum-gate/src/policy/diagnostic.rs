//! Diagnostics of a user's TOML file, in the terms of the documentation.
//!
//! No message repeats a value under `credentials`, so that a secret put there by mistake does not appear in a log.

use actum_core::path::{Cut, Harmless};
use toml::de::DeValue;

/// Maximum length of a key or a value in a message, in bytes.
const SHOWN_BYTES_MAX: usize = 80;

/// Problem of a file with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {problem}", behind_line(*.column))]
pub struct Diagnostic {
    /// Line, counted from 1.
    pub line: u64,
    /// Column, counted from 1 in characters, if the line alone does not identify the position.
    pub column: Option<u64>,
    /// Problem.
    pub problem: MistakeProblem,
}

/// Problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MistakeProblem {
    /// Not TOML.
    #[error("{words}")]
    NoToml {
        /// Description of the syntax error.
        words: String,
    },
    /// Value of the wrong kind.
    #[error("{key} must be {expected}, and is {found}")]
    Other {
        /// Key, as shown in a message.
        key: String,
        /// Expected value.
        expected: String,
        /// Value found.
        found: String,
    },
    /// Text that cannot be used.
    #[error("{key} cannot be used: {why}")]
    Unusable {
        /// Key, as shown in a message.
        key: String,
        /// Reason.
        why: String,
    },
    /// Unknown key.
    #[error("{} is not known{}; there {}", unknown(table, key.as_deref()), meant(key.as_deref(), known), these(known))]
    Unknown {
        /// Table of the key; empty for the file itself.
        table: String,
        /// Key, if it may be shown.
        key: Option<String>,
        /// Known keys.
        known: &'static [&'static str],
    },
    /// Missing key.
    #[error("`{table}` has no `{key}`")]
    Missing {
        /// Table.
        table: String,
        /// Key.
        key: &'static str,
    },
}

fn behind_line(column: Option<u64>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn unknown(table: &str, key: Option<&str>) -> String {
    let Some(key) = key else {
        return format!("a key under `{table}`, which is not shown as it could be a secret,");
    };
    let dot = if table.is_empty() { "" } else { "." };
    format!("`{table}{dot}{}`", shown(key))
}

fn these(known: &[&str]) -> String {
    match known {
        [one] => format!("is `{one}`"),
        many => format!("are {}", listed(many.iter().copied(), "and")),
    }
}

/// Suggests a known key with a similar spelling.
fn meant(key: Option<&str>, known: &[&str]) -> String {
    let key = key.unwrap_or_default().to_lowercase().replace('-', "_");
    let distance = |it: &&&str| strsim::damerau_levenshtein(&key, it);
    let nearest =
        known.iter().min_by_key(distance).filter(|it| distance(it) <= it.len().min(6) / 3);
    nearest.map_or(String::new(), |nearest| format!(", perhaps `{nearest}` is meant"))
}

/// Formats a list as "`a`, `b` or `c`".
pub(super) fn listed<'w>(words: impl Iterator<Item = &'w str>, last: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    let end = words.pop().unwrap_or_default();
    if words.is_empty() { end } else { format!("{} {last} {end}", words.join(", ")) }
}

/// Formats a text of the file for a message.
pub(super) fn shown(text: &str) -> String {
    Cut(text.as_bytes(), SHOWN_BYTES_MAX).to_string()
}

/// Describes the kind of a value.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "`true`",
        DeValue::Boolean(false) => "`false`",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reports the parser's error; `place` is the text that it refers to, which is not repeated.
pub(super) fn no_toml(message: &str, place: &str) -> MistakeProblem {
    let found = message.split(", expected ").next().unwrap_or_default();
    let of_unicode = message.ends_with("unicode hexadecimal value");
    let words = match found {
        _ if of_unicode => NO_ESCAPE,
        "missing escaped value" => NO_ESCAPE,
        "duplicate key" => "this key stands in its table already",
        "invalid basic string" | "invalid literal string" if place.trim().is_empty() => {
            "a text does not end; a quote is missing"
        }
        "invalid multi-line literal string" | "invalid multi-line basic string" => {
            "a text does not end; three quotes are missing"
        }
        "string values must be quoted" if place.is_empty() => "a value is missing",
        "string values must be quoted" => "a text stands in quotes, as 'src/' does",
        "unexpected key or value" => "what follows belongs on a line of its own",
        "key with no value" => "a key has `=` and a value behind it",
        "unclosed array" => "a list does not end; `]` is missing, or a quote",
        "unclosed table" => "the head of a table does not end; `]` is missing",
        "unclosed array table" => "the head of a table does not end; `]]` is missing",
        "unclosed inline table" => "a table does not end; `}` is missing",
        "missing comma between array elements" => "`,` is missing between two items of a list",
        "invalid boolean" => "write `true` or `false`",
        _ if found.starts_with("cannot extend value") => {
            "this key stands in its table already, as something else"
        }
        other => {
            let words = format!("it is no TOML: {}", Harmless(other.as_bytes()));
            return MistakeProblem::NoToml { words };
        }
    };
    MistakeProblem::NoToml { words: words.to_owned() }
}

const NO_ESCAPE: &str = "`\\` begins an escape in double quotes, and this is none; in single quotes ('…') \
                         nothing is an escape";
