//! Diagnostics for mistakes in a user's TOML file, in the terms of the documentation.
//!
//! No message repeats a value under `credentials`, so that a secret pasted there by mistake does not appear in
//! a log.

use actum_core::path::{Cut, Harmless};
use toml::de::DeValue;

/// Maximum number of bytes of a key or value that a message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Mistake in a TOML file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {problem}", behind_line(*.column))]
pub struct Diagnostic {
    /// Line number, starting at 1.
    pub line: u64,
    /// Column number in characters, starting at 1. `None` if the line number is sufficient to find the mistake.
    pub column: Option<u64>,
    /// Description of the mistake.
    pub problem: MistakeProblem,
}

/// Kind of mistake in a TOML file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MistakeProblem {
    /// The file is not valid TOML.
    #[error("{words}")]
    NoToml {
        /// Description of the syntax error.
        words: String,
    },
    /// A value has the wrong type or is not allowed.
    #[error("{key} must be {expected}, but is {found}")]
    Other {
        /// Key of the value, formatted for a message.
        key: String,
        /// Description of the expected value.
        expected: String,
        /// Description of the value that was found.
        found: String,
    },
    /// A value has the right type but cannot be used.
    #[error("{key} cannot be used: {why}")]
    Unusable {
        /// Key of the value, formatted for a message.
        key: String,
        /// Reason why the value cannot be used.
        why: String,
    },
    /// A key is not known.
    #[error("unknown key {}{}; {}", unknown(table, key.as_deref()), suggest_key(key.as_deref(), known), these(known))]
    Unknown {
        /// Table that contains the key, or an empty string for the top level of the file.
        table: String,
        /// Name of the key, or `None` if it must not be shown.
        key: Option<String>,
        /// Keys that are known in this table.
        known: &'static [&'static str],
    },
    /// A required key is missing.
    #[error("`{table}` has no `{key}`")]
    Missing {
        /// Table that lacks the key.
        table: String,
        /// Name of the missing key.
        key: &'static str,
    },
}

fn behind_line(column: Option<u64>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn unknown(table: &str, key: Option<&str>) -> String {
    let Some(key) = key else {
        return format!("under `{table}` (not shown because it could be a secret)");
    };
    let dot = if table.is_empty() { "" } else { "." };
    format!("`{table}{dot}{}`", shown(key))
}

fn these(known: &[&str]) -> String {
    match known {
        [one] => format!("the only valid key is `{one}`"),
        many => format!("valid keys are {}", listed(many.iter().copied(), "and")),
    }
}

/// Suggests a known key whose spelling is similar.
fn suggest_key(key: Option<&str>, known: &[&str]) -> String {
    let key = key.unwrap_or_default().to_lowercase().replace('-', "_");
    let distance = |it: &&&str| strsim::damerau_levenshtein(&key, it);
    let nearest =
        known.iter().min_by_key(distance).filter(|it| distance(it) <= it.len().min(6) / 3);
    nearest.map_or(String::new(), |nearest| format!(" (did you mean `{nearest}`?)"))
}

/// Formats words as a list, such as "`a`, `b` or `c`".
pub(super) fn listed<'w>(words: impl Iterator<Item = &'w str>, last: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    let end = words.pop().unwrap_or_default();
    if words.is_empty() { end } else { format!("{} {last} {end}", words.join(", ")) }
}

/// Formats text from the file for a message.
pub(super) fn shown(text: &str) -> String {
    Cut(text.as_bytes(), SHOWN_BYTES_MAX).to_string()
}

/// Describes the type of a value.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a floating-point number",
        DeValue::Boolean(true) => "`true`",
        DeValue::Boolean(false) => "`false`",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Translates a syntax error of the parser. `place` is the text that the error refers to, and is never repeated
/// in the message.
pub(super) fn no_toml(message: &str, place: &str) -> MistakeProblem {
    let found = message.split(", expected ").next().unwrap_or_default();
    let of_unicode = message.ends_with("unicode hexadecimal value");
    let words = match found {
        _ if of_unicode => NO_ESCAPE,
        "missing escaped value" => NO_ESCAPE,
        "duplicate key" => "this key is already defined in its table",
        "invalid basic string" | "invalid literal string" if place.trim().is_empty() => {
            "unterminated string; the closing quote is missing"
        }
        "invalid multi-line literal string" | "invalid multi-line basic string" => {
            "unterminated string; the three closing quotes are missing"
        }
        "string values must be quoted" if place.is_empty() => "a value is missing",
        "string values must be quoted" => "a string must be quoted, as in 'src/'",
        "unexpected key or value" => "unexpected text; each key must be on its own line",
        "key with no value" => "a key must be followed by `=` and a value",
        "unclosed array" => "unterminated list; a `]` or a quote is missing",
        "unclosed table" => "unterminated table header; `]` is missing",
        "unclosed array table" => "unterminated table header; `]]` is missing",
        "unclosed inline table" => "unterminated inline table; `}` is missing",
        "missing comma between array elements" => "`,` is missing between two list items",
        "invalid boolean" => "write `true` or `false`",
        _ if found.starts_with("cannot extend value") => {
            "this key is already defined in its table as a different kind of value"
        }
        other => {
            let words = format!("invalid TOML: {}", Harmless(other.as_bytes()));
            return MistakeProblem::NoToml { words };
        }
    };
    MistakeProblem::NoToml { words: words.to_owned() }
}

const NO_ESCAPE: &str =
    "invalid escape after `\\`; use single quotes ('…'), in which a backslash is literal";
