//! Calls of tools, and the host that carries them out.

use std::sync::Arc;

use actum_core::Digest;
use actum_record::ledger::RequestKey;
use rmcp::model::RequestMetaObject;

use crate::answer::Answer;
use crate::arguments::{Apply, Exec, Log, Read, Show, Status, Undo};
use crate::seen::Seen;

/// Carries out the tools. Each call comes on a thread that may block.
pub trait Host: Send + Sync + 'static {
    /// Makes a change.
    fn apply(&self, arguments: Apply, call: &Call) -> Answer;
    /// Runs a command, and keeps its changes.
    fn exec(&self, arguments: Exec, call: &Call) -> Answer;
    /// Takes a run back.
    fn undo(&self, arguments: Undo, call: &Call) -> Answer;
    /// Lists past runs.
    fn log(&self, arguments: Log) -> Answer;
    /// Shows a run.
    fn show(&self, arguments: Show) -> Answer;
    /// Reports open runs and plans.
    fn status(&self, arguments: Status) -> Answer;
    /// Reads a file.
    fn read(&self, arguments: Read, call: &Call) -> Answer;
}

/// Context of a call.
pub struct Call {
    /// The client, as it calls itself.
    pub agent: Option<String>,
    /// Key of the call, if the client names its calls: a repeated call has no second effect.
    pub key: Option<RequestKey>,
    /// Files as the client has seen them.
    pub seen: Arc<Seen>,
    pub(crate) is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Call {
    /// Returns true if the client cancelled the call, or is gone.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }
}

/// Fields of `_meta` in which clients name a call of theirs: Claude Code, and Codex.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "callId"];

/// Key of a call that the client names, within a session.
pub(crate) fn key(session: &str, tool: &str, meta: &RequestMetaObject) -> Option<RequestKey> {
    let named =
        |field: &&str| meta.get(*field).and_then(|id| id.as_str()).filter(|id| !id.is_empty());
    let id = CALL_IDS.iter().find_map(named)?;
    let parts = [session, tool, id].map(str::as_bytes);
    let digest = Digest::tagged("actum.mcp.call", &parts);
    RequestKey::from_caller(&format!("mcp:{digest}")).ok()
}

/// Characters of a client's name that are recorded.
const AGENT_CHARS_MAX: usize = 64;

/// Name of a client for records; `None` if it has none.
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
    fn a_call_has_one_key_in_one_session() {
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
    fn the_name_of_a_client_is_one_short_line() {
        assert_eq!(agent("claude-code").as_deref(), Some("claude-code"));
        assert_eq!(agent("a\nb\u{1b}").as_deref(), Some("ab"));
        assert_eq!(agent("\n"), None);
        assert_eq!(agent(&"x".repeat(100)).map(|name| name.len()), Some(AGENT_CHARS_MAX));
    }
}
