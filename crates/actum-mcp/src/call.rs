//! Tool calls, and the interface of the host that executes them.

use std::sync::Arc;

use actum_core::Digest;
use actum_record::ledger::RequestKey;
use rmcp::model::RequestMetaObject;

use crate::answer::Answer;
use crate::arguments::{Apply, Exec, Log, Read, Show, Status, Undo};
use crate::seen::Seen;

/// Implementation of the tools for a workspace. Each method is called on a thread that it may block.
pub trait Host: Send + Sync + 'static {
    /// Applies a change to files.
    fn apply(&self, arguments: Apply, call: &Call) -> Answer;
    /// Runs a command, and keeps its changes as a run if it succeeds.
    fn exec(&self, arguments: Exec, call: &Call) -> Answer;
    /// Undoes a run.
    fn undo(&self, arguments: Undo, call: &Call) -> Answer;
    /// Lists past runs.
    fn log(&self, arguments: Log) -> Answer;
    /// Shows the details of a run.
    fn show(&self, arguments: Show) -> Answer;
    /// Reports unfinished runs and pending plans, or the state of a single plan.
    fn status(&self, arguments: Status) -> Answer;
    /// Reads lines of a file.
    fn read(&self, arguments: Read, call: &Call) -> Answer;
}

/// Context of a tool call.
pub struct Call {
    /// Name of the client, from the server settings or from the client itself.
    pub agent: Option<String>,
    /// Key of the call, if the client assigns ids to its calls. It ensures that a repeated call has no second effect.
    pub key: Option<RequestKey>,
    /// Digests of the files that the client has read or changed.
    pub seen: Arc<Seen>,
    pub(crate) is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Call {
    /// Returns whether the client has cancelled the call or disconnected.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }
}

/// Fields of `_meta` in which Claude Code and Codex send the id of a call.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "callId"];

/// Derives the key of a call from the session, the tool and the id of the call. Returns `None` if the client sent no id.
pub(crate) fn key(session: &str, tool: &str, meta: &RequestMetaObject) -> Option<RequestKey> {
    let named =
        |field: &&str| meta.get(*field).and_then(|id| id.as_str()).filter(|id| !id.is_empty());
    let id = CALL_IDS.iter().find_map(named)?;
    let parts = [session, tool, id].map(str::as_bytes);
    let digest = Digest::tagged("actum.mcp.call", &parts);
    RequestKey::from_caller(&format!("mcp:{digest}")).ok()
}

/// Maximum number of characters of a client's name that are recorded.
const AGENT_CHARS_MAX: usize = 64;

/// Shortens the name of a client for records and removes control characters. Returns `None` if no character is left.
pub(crate) fn agent(name: &str) -> Option<String> {
    let shown = name.chars().filter(|c| !c.is_control()).take(AGENT_CHARS_MAX);
    Some(shown.collect::<String>()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(value: serde_json::Value) -> RequestMetaObject {
        serde_json::from_value(value).unwrap()
    }

    /// Issue 27
    #[test]
    fn call_key_is_stable_and_unique_within_a_session() {
        let claude = meta(json!({"claudecode/toolUseId": "toolu_1"}));
        let first = key("s1", "apply", &claude).unwrap();
        assert_eq!(key("s1", "apply", &claude), Some(first.clone()));
        assert_ne!(key("s2", "apply", &claude), Some(first.clone()));
        assert_ne!(key("s1", "undo", &claude), Some(first.clone()));
        assert_ne!(key("s1", "apply", &meta(json!({"callId": "call_2"}))), Some(first));
        assert!(key("s1", "apply", &meta(json!({"callId": "call_2"}))).is_some());
        for unnamed in [json!({}), json!({"callId": ""}), json!({"callId": 1})] {
            assert_eq!(key("s1", "apply", &meta(unnamed)), None);
        }
    }

    /// Issue 27
    #[test]
    fn client_name_is_reduced_to_one_short_line() {
        assert_eq!(agent("claude-code").as_deref(), Some("claude-code"));
        assert_eq!(agent("a\nb\u{1b}").as_deref(), Some("ab"));
        assert_eq!(agent("\n"), None);
        assert_eq!(agent(&"x".repeat(100)).map(|name| name.len()), Some(AGENT_CHARS_MAX));
    }
}
