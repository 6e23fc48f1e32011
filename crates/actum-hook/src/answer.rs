//! Answers that a hook returns to the client.

use serde_json::json;

use crate::client::Client;
use crate::event::Moment;

/// Answer of a hook to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No objection, so the client applies the user's own permission rules.
    Nothing,
    /// Message for the model about a tool that has run.
    Note(String),
    /// Message for the user.
    Notify(String),
    /// The tool must not run, or its change was undone. The text gives the reason and a remedy.
    Refuse(String),
}

impl Answer {
    /// Returns the text for standard output, which may be empty. All clients recognize a refusal by exit
    /// code 2 and read the reason from standard error. Claude Code also accepts a refusal on standard
    /// output, and then shows the reason without the hook's command line in front of it.
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
            (Self::Notify(words), Client::OpenCode, _) => words.clone(),
            (Self::Notify(words), _, _) => json!({ "systemMessage": words }).to_string(),
            (Self::Nothing | Self::Note(_) | Self::Refuse(_), _, _) => String::new(),
        }
    }

    /// Returns the text for standard error, which is the reason for a refusal, or `None` for other answers.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Refuse(reason) => Some(reason),
            Self::Nothing | Self::Note(_) | Self::Notify(_) => None,
        }
    }
}
