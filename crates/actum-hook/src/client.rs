//! Supported clients, and the names of the events, tools and fields that each of them sends to a hook.
//!
//! The names were determined in experiments with Claude Code 2.1, Codex 0.169, opencode 1.18,
//! Gemini CLI 0.61 and Qwen Code 0.24.

use std::str::FromStr;

/// Program that runs an agent and calls hooks around the agent's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code by Anthropic.
    Claude,
    /// Codex CLI by OpenAI.
    Codex,
    /// opencode, which calls the hook through a plugin.
    OpenCode,
    /// Gemini CLI by Google.
    Gemini,
    /// Qwen Code, a fork of Gemini CLI.
    Qwen,
}

/// Hook protocol of a client: the names of its events, tools and fields.
pub(crate) struct Protocol {
    /// Event that is sent before a tool runs.
    pub(crate) before: &'static str,
    /// Events that are sent after a tool has run or failed.
    pub(crate) after: &'static [&'static str],
    /// Event that is sent when the client's settings file has changed, before the client uses the new settings.
    pub(crate) settings: Option<&'static str>,
    /// Event that is sent when the user has submitted a prompt, before the agent processes it.
    pub(crate) turn_start: &'static str,
    /// Field that contains the id of the prompt. The id identifies repeated events, because Qwen Code sends
    /// `turn_start` again after each tool call.
    pub(crate) prompt: Option<&'static str>,
    /// Event that is sent when the agent has finished its turn.
    pub(crate) turn_end: &'static str,
    /// Other known events, for which the hook does nothing.
    pub(crate) others: &'static [&'static str],
    /// Field that contains the id of a tool call, or `None` if calls are identified by their input.
    pub(crate) call: Option<&'static str>,
    /// Whether the client expands `~` to the user's home directory.
    pub(crate) expands_home: bool,
    /// Whether the client searches other directories for a file of the same name if a relative path does
    /// not exist.
    pub(crate) corrects_paths: bool,
    /// Tool that runs a shell command, whose text is in the field `command` of the input.
    pub(crate) shell: &'static str,
    /// Tools that edit files, with the form of their input.
    pub(crate) tools: &'static [(&'static str, Tool)],
}

/// Kind of edit that a tool makes, with the names of the input fields that describe the edit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tool {
    /// The tool writes the complete content of a file.
    Write { path: &'static str, content: &'static str },
    /// The tool replaces a text in a file with another text.
    Replace {
        path: &'static str,
        old: &'static str,
        new: &'static str,
        /// Boolean field that requests replacing every occurrence.
        all: &'static str,
    },
    /// The tool applies a patch in the Codex format.
    Patch { text: &'static str },
    /// The tool edits one file in a way that actum cannot compute in advance.
    Opaque { path: &'static str },
}

const CLAUDE: Protocol = Protocol {
    before: "PreToolUse",
    after: &["PostToolUse", "PostToolUseFailure"],
    settings: Some("ConfigChange"),
    turn_start: "UserPromptSubmit",
    prompt: Some("prompt_id"),
    turn_end: "Stop",
    others: &[
        "SessionStart",
        "SessionEnd",
        "SubagentStart",
        "SubagentStop",
        "Notification",
        "PreCompact",
        "PostCompact",
        "PermissionRequest",
    ],
    call: Some("tool_use_id"),
    expands_home: true,
    corrects_paths: false,
    shell: "Bash",
    tools: &[
        ("Write", Tool::Write { path: "file_path", content: "content" }),
        (
            "Edit",
            Tool::Replace {
                path: "file_path",
                old: "old_string",
                new: "new_string",
                all: "replace_all",
            },
        ),
        ("NotebookEdit", Tool::Opaque { path: "notebook_path" }),
    ],
};

const CODEX: Protocol = Protocol {
    tools: &[("apply_patch", Tool::Patch { text: "command" })],
    after: &["PostToolUse"],
    settings: None,
    prompt: Some("turn_id"),
    expands_home: false,
    ..CLAUDE
};

const OPENCODE: Protocol = Protocol {
    before: "before",
    after: &["after"],
    settings: None,
    turn_start: "prompt",
    prompt: None,
    turn_end: "idle",
    others: &[],
    call: Some("call_id"),
    expands_home: false,
    corrects_paths: false,
    shell: "bash",
    tools: &[
        ("write", Tool::Write { path: "filePath", content: "content" }),
        (
            "edit",
            Tool::Replace {
                path: "filePath",
                old: "oldString",
                new: "newString",
                all: "replaceAll",
            },
        ),
        ("multiedit", Tool::Opaque { path: "filePath" }),
        ("patch", Tool::Patch { text: "patchText" }),
        ("apply_patch", Tool::Patch { text: "patchText" }),
    ],
};

const GEMINI: Protocol = Protocol {
    before: "BeforeTool",
    after: &["AfterTool"],
    settings: None,
    turn_start: "BeforeAgent",
    prompt: None,
    turn_end: "AfterAgent",
    others: &[
        "SessionStart",
        "SessionEnd",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "Notification",
        "PreCompress",
    ],
    call: None,
    expands_home: false,
    corrects_paths: true,
    shell: "run_shell_command",
    tools: &[
        ("write_file", Tool::Write { path: "file_path", content: "content" }),
        (
            "replace",
            Tool::Replace {
                path: "file_path",
                old: "old_string",
                new: "new_string",
                all: "allow_multiple",
            },
        ),
    ],
};

const QWEN: Protocol = Protocol {
    shell: "run_shell_command",
    tools: &[
        ("write_file", Tool::Write { path: "file_path", content: "content" }),
        (
            "edit",
            Tool::Replace {
                path: "file_path",
                old: "old_string",
                new: "new_string",
                all: "replace_all",
            },
        ),
        ("notebook_edit", Tool::Opaque { path: "notebook_path" }),
    ],
    settings: None,
    expands_home: false,
    ..CLAUDE
};

impl Client {
    /// All supported clients.
    pub const ALL: [Self; 5] =
        [Self::Claude, Self::Codex, Self::OpenCode, Self::Gemini, Self::Qwen];

    /// Returns the client's name on the command line, which is also the name of the agent in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
        }
    }

    pub(crate) fn protocol(self) -> &'static Protocol {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::OpenCode => &OPENCODE,
            Self::Gemini => &GEMINI,
            Self::Qwen => &QWEN,
        }
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|client| client.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(|client| format!("`{}`", client.name()));
            format!("unknown client; expected one of {}", names.join(", "))
        })
    }
}
