//! Tools of the MCP server, with their descriptions, input schemas and annotations.

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::{Value, json};

/// Tool that the MCP server offers to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Applies a change to files.
    Apply,
    /// Runs a command and keeps its changes as a run.
    Exec,
    /// Undoes a run.
    Undo,
    /// Lists past runs.
    Log,
    /// Shows the details of a run.
    Show,
    /// Reports unfinished runs and pending plans.
    Status,
    /// Reads lines of a file.
    Read,
}

impl Tool {
    /// All tools, in the order in which `tools/list` returns them.
    pub const ALL: [Self; 7] =
        [Self::Apply, Self::Exec, Self::Undo, Self::Log, Self::Show, Self::Status, Self::Read];

    /// Returns the name of the tool in the MCP protocol.
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

    /// Returns the tool with this name, or `None` if the name is unknown.
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
                "Run a command. Its changes in the workspace become one undoable run, or are dropped if it fails"
            }
            Self::Undo => {
                "Undo a run, byte for byte. Without `run`, undoes your newest. An undo is itself a run"
            }
            Self::Log => "List past runs, newest first",
            Self::Show => "Show a run and its paths. Without `run`, shows the newest",
            Self::Status => {
                "Show unfinished runs, changes made outside of runs and pending approvals, or the state of `plan`"
            }
            Self::Read => {
                "Read lines of a file and its SHA-256. A later edit is refused if the file has changed since"
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
                    "overwrite": {"type": "boolean", "description": "Let created files replace existing ones"},
                    "message": {"type": "string", "description": "Label for the log"}
                }),
                &["change"][..],
            ),
            Self::Exec => (
                json!({
                    "command": {
                        "type": ["string", "array"],
                        "items": {"type": "string"},
                        "description": "Shell command line, or program and arguments"
                    },
                    "dry_run": boolean(),
                    "timeout_s": integer()
                }),
                &["command"][..],
            ),
            Self::Undo => (
                json!({
                    "run": string(),
                    "keep_edits": {"type": "boolean", "description": "Keep later edits to the run's files"},
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

    /// Returns the MCP annotations of the tool. All tools claim to be non-destructive and closed-world, because Codex asks the
    /// user before each call of any other tool.
    fn annotations(self) -> ToolAnnotations {
        let (is_read_only, is_idempotent) = match self {
            // A call that is repeated with the same id has no second effect. Neither does a change
            // that was already applied.
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

    /// Returns the tool in the form that `tools/list` sends to the client.
    pub(crate) fn listed(self) -> rmcp::model::Tool {
        let schema: JsonObject = self.input_schema().as_object().cloned().unwrap_or_default();
        rmcp::model::Tool::new(self.name(), self.description(), Arc::new(schema))
            .annotate(self.annotations())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum size of the serialized tool list in bytes, which is about 700 tokens.
    const LIST_BYTES_MAX: usize = 2800;

    /// Issue 27: the list of tools takes up little space in the context of an agent.
    #[test]
    fn tool_list_stays_small() {
        let listed: Vec<_> = Tool::ALL.into_iter().map(Tool::listed).collect();
        let bytes = serde_json::to_string(&listed).unwrap().len();
        assert!((LIST_BYTES_MAX / 2..=LIST_BYTES_MAX).contains(&bytes), "{bytes}");
    }

    /// Issue 27: every tool has all four annotations, and no tool can approve a plan.
    #[test]
    fn every_tool_sets_all_annotations() {
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
