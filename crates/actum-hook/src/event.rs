//! Events that a client writes to the standard input of a hook.

use std::path::PathBuf;

use actum_core::{Digest, RunId};
use actum_record::ledger::RequestKey;
use actum_workspace::SnapshotId;
use serde_json::Value;

use crate::client::Client;
use crate::edit::Edit;
use crate::error::{EventError, INPUT_BYTES_MAX};

/// Event that a client sends to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Moment at which the client sends the event.
    pub moment: Moment,
    /// Working directory of the client.
    pub directory: PathBuf,
    /// Id of the client's session.
    pub session: String,
    /// Id of the user's prompt, if the client sends one.
    pub prompt: Option<String>,
    /// Name of the tool, or an empty string if the event is not about a tool.
    pub tool: String,
    /// Edit that the event is about, or `None` if the event is not about an edit.
    pub edit: Option<Edit>,
    /// Text of the shell command that the client is about to run.
    pub command: Option<String>,
    call: String,
}

/// Moment at which a client sends an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs.
    Before,
    /// After a tool has run or failed.
    After,
    /// After the client's settings have changed, and before the client uses them.
    Settings,
    /// After the user has submitted a prompt.
    TurnStart,
    /// After the agent has finished its turn.
    TurnEnd,
    /// At any other time, at which the hook does nothing.
    Other,
}

impl Moment {
    /// Returns true for the start and end of a turn, when the client does nothing that depends on the answer.
    pub fn is_about_turn(self) -> bool {
        matches!(self, Self::TurnStart | Self::TurnEnd)
    }
}

/// Returns the digest that identifies a client's session in the records of its turns.
pub fn session_digest(client: Client, session: &str) -> Digest {
    Digest::tagged("actum/session/v1", &[client.name().as_bytes(), session.as_bytes()])
}

impl Event {
    /// Parses an event that the client wrote to standard input.
    ///
    /// # Errors
    /// Returns [`EventError`] if the input is not a known event. The hook must then refuse the tool, because
    /// it does not know what the client is about to do.
    pub fn read(client: Client, input: &[u8]) -> Result<Self, EventError> {
        if input.len() > INPUT_BYTES_MAX {
            return Err(EventError::TooLarge);
        }
        if input.trim_ascii().is_empty() {
            return Err(EventError::Empty);
        }
        let event: Value = serde_json::from_slice(input).map_err(|error| {
            let problem = error.to_string();
            EventError::NotJson { problem }
        })?;
        let text = |field: &'static str| {
            let found = event.get(field).and_then(Value::as_str);
            found.map(str::to_owned).ok_or(EventError::Field { field })
        };
        let protocol = client.protocol();
        let name = text("hook_event_name")?;
        let moment = if name == protocol.before {
            Moment::Before
        } else if protocol.after.contains(&name.as_str()) {
            Moment::After
        } else if protocol.settings == Some(name.as_str()) {
            Moment::Settings
        } else if name == protocol.turn_start {
            Moment::TurnStart
        } else if name == protocol.turn_end {
            Moment::TurnEnd
        } else if protocol.others.contains(&name.as_str()) {
            Moment::Other
        } else {
            return Err(EventError::Unknown { name });
        };
        let place = || {
            let directory = PathBuf::from(text("cwd")?);
            match directory.is_absolute() {
                true => Ok((directory, text("session_id")?)),
                false => Err(EventError::Field { field: "cwd" }),
            }
        };
        let (directory, session) = place().map_err(|error| match moment.is_about_turn() {
            true => EventError::OfTurn { problem: error.to_string() },
            false => error,
        })?;
        let prompt = protocol.prompt.and_then(|field| event.get(field)?.as_str());
        let prompt = prompt.map(str::to_owned);
        if !matches!(moment, Moment::Before | Moment::After) {
            let (tool, call) = (String::new(), String::new());
            let (edit, command) = (None, None);
            return Ok(Self { moment, directory, session, prompt, tool, edit, command, call });
        }
        let tool = text("tool_name")?;
        let input = event.get("tool_input").unwrap_or(&Value::Null);
        let known = protocol.tools.iter().find(|(known, _)| *known == tool);
        let edit = known.map(|(_, shape)| Edit::read(*shape, input)).transpose()?;
        let is_command = tool == protocol.shell && moment == Moment::Before;
        let command = is_command.then(|| {
            let text = input.get("command").and_then(Value::as_str);
            text.map(str::to_owned).ok_or(EventError::Field { field: "command" })
        });
        let command = command.transpose()?;
        let call = match protocol.call {
            Some(field) if event.get(field).is_some() || edit.is_some() => text(field)?,
            // The events before and after a call have the same input, so its digest identifies the call.
            Some(_) | None => {
                let input = input.to_string();
                Digest::tagged("actum/hook-call/v1", &[tool.as_bytes(), input.as_bytes()])
                    .to_string()
            }
        };
        Ok(Self { moment, directory, session, prompt, tool, edit, command, call })
    }

    /// Returns the id of the snapshot for this tool call, which is the same for all events of the call.
    pub fn snapshot(&self, client: Client) -> SnapshotId {
        SnapshotId::new(&[client.name(), &self.session, &self.call])
    }

    /// Returns the request key of the run that adopts the edit. An id that is not allowed in a key is
    /// replaced with its digest.
    pub(crate) fn key(&self, snapshot: RunId) -> Option<RequestKey> {
        let digest = |part: &str| Digest::of(part.as_bytes()).to_string();
        RequestKey::of_hook(&self.session, &self.call, snapshot)
            .or_else(|| RequestKey::of_hook(&self.session, &digest(&self.call), snapshot))
            .or_else(|| RequestKey::of_hook(&digest(&self.session), &digest(&self.call), snapshot))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(client: Client, event: &Value) -> Result<Event, EventError> {
        Event::read(client, event.to_string().as_bytes())
    }

    /// Issue 27: input that is not an event of the client is rejected with a specific error.
    #[test]
    fn input_that_is_not_a_client_event_is_rejected() {
        assert_eq!(
            Event::read(Client::Claude, &vec![b' '; INPUT_BYTES_MAX + 1]),
            Err(EventError::TooLarge)
        );
        assert_eq!(Event::read(Client::Claude, b" \n"), Err(EventError::Empty));
        for broken in ["{", "[1,", "\u{0}", "{\"hook_event_name\":\"PreToolUse\""] {
            let found = Event::read(Client::Claude, broken.as_bytes());
            assert!(matches!(found, Err(EventError::NotJson { .. })), "{broken}");
        }
        for (event, field) in [
            (json!([]), "hook_event_name"),
            (json!({ "hook_event_name": 7 }), "hook_event_name"),
            (json!({ "hook_event_name": "PreToolUse" }), "cwd"),
            (json!({ "hook_event_name": "PreToolUse", "cwd": "/" }), "session_id"),
            (
                json!({ "hook_event_name": "PreToolUse", "cwd": "/", "session_id": "s" }),
                "tool_name",
            ),
        ] {
            assert_eq!(read(Client::Claude, &event), Err(EventError::Field { field }));
        }
        let unknown = json!({ "hook_event_name": "BeforeTool", "cwd": "/", "session_id": "s" });
        assert!(matches!(read(Client::Claude, &unknown), Err(EventError::Unknown { .. })));
        assert!(read(Client::Gemini, &unknown).is_err());
    }

    /// Issue 27: an edit without a call id, or with a field of the wrong type, is rejected.
    #[test]
    fn malformed_edit_events_are_rejected_but_other_tools_are_not() {
        let event = |tool: &str, input: Value| {
            json!({
                "hook_event_name": "PreToolUse", "cwd": "/w", "session_id": "s", "tool_name": tool,
                "tool_input": input, "tool_use_id": "t1",
            })
        };
        let write = event("Write", json!({ "file_path": "/w/a", "content": "x" }));
        let read_write = read(Client::Claude, &write).unwrap();
        assert_eq!(read_write.call, "t1");
        assert!(read_write.edit.is_some());
        for input in
            [json!(null), json!({ "file_path": "/w/a" }), json!({ "file_path": 1, "content": "x" })]
        {
            assert!(read(Client::Claude, &event("Write", input)).is_err());
        }
        let mut without_id = write.clone();
        without_id["tool_use_id"] = json!(null);
        assert!(read(Client::Claude, &without_id).is_err());
        let bash = read(Client::Claude, &event("Bash", json!({ "command": "ls" }))).unwrap();
        assert_eq!((bash.edit, bash.command.as_deref()), (None, Some("ls")));
        assert!(read(Client::Claude, &event("Bash", json!({ "command": ["ls"] }))).is_err());
        assert_eq!(read(Client::Claude, &event("Read", json!({}))).unwrap().command, None);
    }
}
