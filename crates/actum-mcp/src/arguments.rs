//! Arguments of the tools, as clients send them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments of `apply`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// The change.
    pub change: Change,
    /// True to show the change and make nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// True to let a file that the change creates replace one.
    #[serde(default)]
    pub overwrite: bool,
    /// Line for the log.
    #[serde(default)]
    pub message: Option<String>,
}

/// A change in any format that `actum apply` reads.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Change {
    /// A diff, a patch, or JSON as text.
    Text(String),
    /// JSON.
    Object(Map<String, Value>),
}

impl Change {
    /// The text of the change.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Object(object) => Value::Object(object).to_string(),
        }
    }
}

/// Arguments of `exec`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// The command.
    pub command: Command,
    /// True to show what it changes and keep nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Seconds after which it is ended.
    #[serde(default)]
    pub timeout_s: Option<u64>,
}

/// A command.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Command {
    /// The program and its arguments.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Line(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Self::Words(words) => words.clone(),
        }
    }
}

/// Arguments of `undo`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The run, or the beginning of its id; without it the newest of this client.
    #[serde(default)]
    pub run: Option<String>,
    /// True to keep later edits of the same files.
    #[serde(default)]
    pub keep_edits: bool,
    /// True to show the change and make nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Arguments of `log`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Runs at most.
    #[serde(default = "Log::limit")]
    pub limit: usize,
}

impl Log {
    /// Default limit of the runs.
    fn limit() -> usize {
        10
    }
}

/// Arguments of `show`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The run, or the beginning of its id; without it the newest.
    #[serde(default)]
    pub run: Option<String>,
    /// True to show its diff.
    #[serde(default)]
    pub diff: bool,
}

/// Arguments of `status`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// A plan whose state is requested.
    #[serde(default)]
    pub plan: Option<String>,
}

/// Arguments of `read`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The file.
    pub path: String,
    /// First line, counted from 1.
    #[serde(default = "Read::offset")]
    pub offset: usize,
    /// Lines at most.
    #[serde(default = "Read::limit")]
    pub limit: usize,
}

impl Read {
    fn offset() -> usize {
        1
    }

    fn limit() -> usize {
        2000
    }
}

/// Reads the arguments of a tool.
///
/// # Errors
/// Message about the mistake.
pub(crate) fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    /// Issue 27
    #[test]
    fn a_change_is_text_or_an_object() {
        let text = read::<Apply>(object(r#"{"change": "*** Begin Patch"}"#)).unwrap();
        assert_eq!(text.change.into_text(), "*** Begin Patch");
        let edit = read::<Apply>(object(r#"{"change": {"path": "a", "content": ""}}"#)).unwrap();
        let text: Value = serde_json::from_str(&edit.change.into_text()).unwrap();
        assert_eq!(text, serde_json::json!({"path": "a", "content": ""}));
    }

    /// Issue 27
    #[test]
    fn wrong_arguments_are_named() {
        let error = |text| read::<Undo>(object(text)).unwrap_err();
        assert!(error(r#"{"run": 1}"#).contains("expected a string"), "{}", error(r#"{"run": 1}"#));
        assert!(error(r#"{"dry": true}"#).contains("unknown field `dry`"));
        assert!(read::<Apply>(Map::new()).unwrap_err().contains("missing field `change`"));
    }

    /// Issue 27
    #[test]
    fn a_line_is_run_by_a_shell_and_words_are_not() {
        let line: Command = serde_json::from_str("\"a && b\"").unwrap();
        assert_eq!(line.words(), ["sh", "-c", "a && b"]);
        let words: Command = serde_json::from_str(r#"["a", "b c"]"#).unwrap();
        assert_eq!(words.words(), ["a", "b c"]);
    }
}
