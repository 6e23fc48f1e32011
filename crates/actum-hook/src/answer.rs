//! Answers of a hook.

use serde_json::json;

use crate::client::Client;
use crate::event::Moment;

/// Answer of a hook to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: the permission rules of the user decide.
    Nothing,
    /// Words that the model is to know, about a tool that ran.
    Note(String),
    /// Words for the user.
    Tell(String),
    /// The tool must not run, or its change was undone; the reason, and a remedy.
    Refuse(String),
}

impl Answer {
    /// Text for standard output. A refusal is words on standard error and exit code 2, which each
    /// client takes for one. Claude Code also reads the reason from here, without the command line
    /// before it.
    pub fn output(&self, client: Client, moment: Moment) -> String {
        match (self, client, moment) {
            (Self::Refuse(reason), Client::Claude, Moment::Before) => {
                json!({ "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                } })
                .to_string()
            }
            (Self::Note(note), Client::Claude | Client::Codex | Client::Qwen, Moment::After) => {
                json!({ "hookSpecificOutput": {
                    "hookEventName": "PostToolUse",
                    "additionalContext": note,
                } })
                .to_string()
            }
            (Self::Note(note), Client::OpenCode, Moment::After) => note.clone(),
            (Self::Tell(words), Client::OpenCode, _) => words.clone(),
            (Self::Tell(words), _, _) => json!({ "systemMessage": words }).to_string(),
            (Self::Nothing | Self::Note(_) | Self::Refuse(_), _, _) => String::new(),
        }
    }

    /// Text for standard error: the reason of a refusal.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Refuse(reason) => Some(reason),
            Self::Nothing | Self::Note(_) | Self::Tell(_) => None,
        }
    }
}
