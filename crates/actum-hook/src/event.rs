//! Events of a client, read from the standard input of a hook.

use std::path::PathBuf;

use actum_core::{Digest, RunId};
use actum_record::ledger::RequestKey;
use actum_workspace::SnapshotId;
use serde_json::Value;

use crate::client::Client;
use crate::edit::Edit;
use crate::error::{EventError, INPUT_BYTES_MAX};

/// Event of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time at which it is sent.
    pub moment: Moment,
    /// Directory that the client works in.
    pub directory: PathBuf,
    /// Session of the client.
    pub session: String,
    /// Prompt of the user, as the client names it, if it does.
    pub prompt: Option<String>,
    /// Tool, as the client names it; empty for an event without one.
    pub tool: String,
    /// The edit that it is about; `None` for other tools and other events.
    pub edit: Option<Edit>,
    /// Text of the command that a shell of the client is about to run.
    pub command: Option<String>,
    call: String,
}

/// Time at which an event is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs.
    Before,
    /// After a tool ran or failed.
    After,
    /// After the settings of the client changed, and before they count.
    Settings,
    /// After a user has sent a prompt.
    TurnStart,
    /// After the agent has ended its turn.
    TurnEnd,
    /// At any other time.
    Other,
}

impl Moment {
    /// Returns true if nothing that the client is about to do depends on the answer.
    pub fn is_about_turn(self) -> bool {
        matches!(self, Self::TurnStart | Self::TurnEnd)
    }
}

/// Name of a session of a client, as turns have it.
pub fn session_digest(client: Client, session: &str) -> Digest {
    Digest::tagged("actum/session/v1", &[client.name().as_bytes(), session.as_bytes()])
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// [`EventError`], after which a hook must refuse: it does not know what the client is about to do.
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
            // Both events of a call have the same input.
            Some(_) | None => {
                let input = input.to_string();
                Digest::tagged("actum/hook-call/v1", &[tool.as_bytes(), input.as_bytes()])
                    .to_string()
            }
        };
        Ok(Self { moment, directory, session, prompt, tool, edit, command, call })
    }

    /// The snapshot of the call, which all events about it share.
    pub fn snapshot(&self, client: Client) -> SnapshotId {
        SnapshotId::new(&[client.name(), &self.session, &self.call])
    }

    /// The key of the run that adopts the edit. A name that cannot be in a key is known by its digest.
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

    /// Issue 27: input that is no event of the client is refused by name.
    #[test]
    fn what_is_no_event_of_the_client_is_refused() {
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

    /// Issue 27: an edit without the id of its call, or with a field of another type, is refused.
    #[test]
    fn an_edit_that_cannot_be_read_is_refused_and_other_tools_are_not() {
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
