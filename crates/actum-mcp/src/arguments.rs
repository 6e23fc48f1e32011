//! Arguments of the tools, in the form in which clients send them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments of the tool `apply`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// Change to apply.
    pub change: Change,
    /// Whether to only show the change instead of applying it.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether a file that the change creates may replace an existing one.
    #[serde(default)]
    pub overwrite: bool,
    /// Label of the run, which is shown in the log.
    #[serde(default)]
    pub message: Option<String>,
}

/// Change in any format that `actum apply` supports.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Change {
    /// Diff, patch or JSON document as text.
    Text(String),
    /// JSON document as an object.
    Object(Map<String, Value>),
}

impl Change {
    /// Returns the change as text, which is JSON if the client sent an object.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Object(object) => Value::Object(object).to_string(),
        }
    }
}

/// Arguments of the tool `exec`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// Command to run.
    pub command: Command,
    /// Whether to only show the changes of the command instead of keeping them.
    #[serde(default)]
    pub dry_run: bool,
    /// Time in seconds after which the command is killed.
    #[serde(default)]
    pub timeout_s: Option<u64>,
}

/// Command that the tool `exec` runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// Command line that is executed with `sh -c`.
    Line(String),
    /// Program and its arguments.
    Words(Vec<String>),
}

impl Command {
    /// Returns the program and its arguments. A command line is executed by `sh`.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Line(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Self::Words(words) => words.clone(),
        }
    }
}

/// Arguments of the tool `undo`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// Id of the run to undo, or a prefix of it. Defaults to the newest run of this client.
    #[serde(default)]
    pub run: Option<String>,
    /// Whether to keep later edits to the same files.
    #[serde(default)]
    pub keep_edits: bool,
    /// Whether to only show the change instead of applying it.
    #[serde(default)]
    pub dry_run: bool,
}

/// Arguments of the tool `log`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Maximum number of runs to list.
    #[serde(default = "Log::limit")]
    pub limit: usize,
}

impl Log {
    fn limit() -> usize {
        10
    }
}

/// Arguments of the tool `show`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Id of the run to show, or a prefix of it. Defaults to the newest run.
    #[serde(default)]
    pub run: Option<String>,
    /// Whether to include the diff of the run.
    #[serde(default)]
    pub diff: bool,
}

/// Arguments of the tool `status`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Id of a plan whose state is reported, instead of the state of the workspace.
    #[serde(default)]
    pub plan: Option<String>,
}

/// Arguments of the tool `read`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Path of the file to read.
    pub path: String,
    /// Number of the first line to read, counted from 1.
    #[serde(default = "Read::offset")]
    pub offset: usize,
    /// Maximum number of lines to read.
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

/// Parses the arguments of a tool.
///
/// # Errors
/// Returns a message that describes the invalid argument.
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
    fn command_line_runs_in_a_shell_but_words_do_not() {
        let line: Command = serde_json::from_str("\"a && b\"").unwrap();
        assert_eq!(line.words(), ["sh", "-c", "a && b"]);
        let words: Command = serde_json::from_str(r#"["a", "b c"]"#).unwrap();
        assert_eq!(words.words(), ["a", "b c"]);
    }
}
