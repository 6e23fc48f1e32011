//! Clients, and the input that each sends to a hook: names of events, of tools, and of their
//! fields.
//!
//! The facts are from experiments with Claude Code 2.1, Codex 0.169, opencode 1.18, Gemini CLI 0.61
//! and Qwen Code 0.24.

use std::str::FromStr;

/// Program that runs an agent and calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// opencode, whose plugin calls the hook.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
}

/// Protocol of a client.
pub(crate) struct Protocol {
    /// Event before a tool runs.
    pub(crate) before: &'static str,
    /// Events after it ran or failed.
    pub(crate) after: &'static [&'static str],
    /// Event after its settings changed on the disk, and before they count.
    pub(crate) settings: Option<&'static str>,
    /// Event when a user has sent a prompt, before the agent works on it.
    pub(crate) turn_start: &'static str,
    /// Field with the id of the prompt. Qwen Code sends the event once more after each call of a tool.
    pub(crate) prompt: Option<&'static str>,
    /// Event when the agent has ended its turn.
    pub(crate) turn_end: &'static str,
    /// Other events that it may be registered for. Nothing is done at them.
    pub(crate) others: &'static [&'static str],
    /// Field with the id of the call. Without it the call is known by its input.
    pub(crate) call: Option<&'static str>,
    /// True if the client takes `~` for the home of the user.
    pub(crate) expands_home: bool,
    /// True if the client looks for a file of that name elsewhere, when a relative path leads to
    /// none.
    pub(crate) corrects_paths: bool,
    /// Tool that runs a command of a shell; its input has the text in the field `command`.
    pub(crate) shell: &'static str,
    /// Tools that edit files.
    pub(crate) tools: &'static [(&'static str, Tool)],
}

/// Form of a tool's input, by the names of the fields that say what it edits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tool {
    /// The whole content of a file.
    Write { path: &'static str, content: &'static str },
    /// A text that is replaced by another.
    Replace {
        path: &'static str,
        old: &'static str,
        new: &'static str,
        /// Field that says that each occurrence is replaced.
        all: &'static str,
    },
    /// A patch in the format of Codex.
    Patch { text: &'static str },
    /// One file; its change has no form that can be computed.
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
    /// Every client.
    pub const ALL: [Self; 5] =
        [Self::Claude, Self::Codex, Self::OpenCode, Self::Gemini, Self::Qwen];

    /// Name on the command line, and of the agent in records.
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
            format!("there is no such client; there are {}", names.join(", "))
        })
    }
}
