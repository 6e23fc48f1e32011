//! The tools, as they are listed.

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::{Value, json};

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Makes a change.
    Apply,
    /// Runs a command.
    Exec,
    /// Takes a run back.
    Undo,
    /// Lists runs.
    Log,
    /// Shows a run.
    Show,
    /// Reports open runs and plans.
    Status,
    /// Reads a file.
    Read,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 7] =
        [Self::Apply, Self::Exec, Self::Undo, Self::Log, Self::Show, Self::Status, Self::Read];

    /// Name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Exec => "exec",
            Self::Undo => "undo",
            Self::Log => "log",
            Self::Show => "show",
            Self::Status => "status",
            Self::Read => "read",
        }
    }

    /// Finds the tool with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn description(self) -> &'static str {
        match self {
            Self::Apply => {
                "Change files, all or nothing, undoable. `change`: unified diff, `*** Begin Patch`, or JSON: \
                 {path, old_string, new_string}, {path, content}, or a list of either in {edits} or {files}"
            }
            Self::Exec => {
                "Run a command; what it changed here is kept as one undoable run, or nothing if it fails"
            }
            Self::Undo => {
                "Take a run back, to the byte; without `run` your newest. The undo is a run too"
            }
            Self::Log => "Past runs, newest first",
            Self::Show => "A run and its paths; without `run` the newest",
            Self::Status => {
                "What is unfinished, changed outside of runs, or waits for approval; or the state of `plan`"
            }
            Self::Read => {
                "Lines of a file and its SHA-256. An edit of it is refused if it changes meanwhile"
            }
        }
    }

    fn input_schema(self) -> Value {
        let string = || json!({"type": "string"});
        let boolean = || json!({"type": "boolean"});
        let integer = || json!({"type": "integer"});
        let (properties, required) = match self {
            Self::Apply => (
                json!({
                    "change": {"type": ["string", "object"]},
                    "dry_run": boolean(),
                    "overwrite": {"type": "boolean", "description": "Replace files that it creates"},
                    "message": {"type": "string", "description": "For the log"}
                }),
                &["change"][..],
            ),
            Self::Exec => (
                json!({
                    "command": {
                        "type": ["string", "array"],
                        "items": {"type": "string"},
                        "description": "A line for sh, or program and arguments"
                    },
                    "dry_run": boolean(),
                    "timeout_s": integer()
                }),
                &["command"][..],
            ),
            Self::Undo => (
                json!({
                    "run": string(),
                    "keep_edits": {"type": "boolean", "description": "Keep later edits of its files"},
                    "dry_run": boolean()
                }),
                &[][..],
            ),
            Self::Log => (json!({"limit": integer()}), &[][..]),
            Self::Show => (json!({"run": string(), "diff": boolean()}), &[][..]),
            Self::Status => (json!({"plan": string()}), &[][..]),
            Self::Read => {
                (json!({"path": string(), "offset": integer(), "limit": integer()}), &["path"][..])
            }
        };
        match required {
            [] => json!({"type": "object", "properties": properties}),
            _ => json!({"type": "object", "properties": properties, "required": required}),
        }
    }

    /// Returns the annotations. Codex lets a tool run without asking only if it is not destructive
    /// and its world is closed.
    fn annotations(self) -> ToolAnnotations {
        let (is_read_only, is_idempotent) = match self {
            // A call that is repeated under its id has no second effect, and a change that is in
            // place has no effect.
            Self::Apply => (false, true),
            Self::Exec | Self::Undo => (false, false),
            Self::Log | Self::Show | Self::Status | Self::Read => (true, true),
        };
        ToolAnnotations::new()
            .read_only(is_read_only)
            .destructive(false)
            .idempotent(is_idempotent)
            .open_world(false)
    }

    /// The tool as it is listed.
    pub(crate) fn listed(self) -> rmcp::model::Tool {
        let schema: JsonObject = self.input_schema().as_object().cloned().unwrap_or_default();
        rmcp::model::Tool::new(self.name(), self.description(), Arc::new(schema))
            .annotate(self.annotations())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the list may have, about 700 tokens.
    const LIST_BYTES_MAX: usize = 2800;

    /// Issue 27
    #[test]
    fn the_list_of_tools_is_small() {
        let listed: Vec<_> = Tool::ALL.into_iter().map(Tool::listed).collect();
        let bytes = serde_json::to_string(&listed).unwrap().len();
        assert!((LIST_BYTES_MAX / 2..=LIST_BYTES_MAX).contains(&bytes), "{bytes}");
    }

    /// Issue 27
    #[test]
    fn every_tool_says_all_of_its_hints() {
        for tool in Tool::ALL {
            let listed = tool.listed();
            assert_eq!(Tool::from_name(&listed.name), Some(tool));
            let hints = listed.annotations.unwrap();
            assert!(hints.read_only_hint.is_some() && hints.idempotent_hint.is_some(), "{tool:?}");
            assert_eq!((hints.destructive_hint, hints.open_world_hint), (Some(false), Some(false)));
        }
        assert!(Tool::ALL.iter().all(|tool| !tool.name().contains("approve")));
        assert_eq!(Tool::from_name("approve"), None);
    }
}
