//! Table of the trials for all clients: the program, its minimum version, the scripted edits, and the settings that
//! connect the client to the scripted model.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use actum_hook::Client;
use actum_hook::probe::{Call, Wire};
use actum_hook::settings::SettingsError;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::failure::ProtectFailure;
use super::super::file::SettingsFile;
use super::Probe;

/// Prompt that the client gets in a trial.
const PROMPT: &str = "actum tries its hook";
/// Placeholder API key for the scripted model, which does not check keys.
const KEY: &str = "sk-actum-probe";
/// Model name for trials with Codex, which selects its tools by the name. This model has `apply_patch`.
const CODEX_MODEL: &str = "gpt-5.5";

/// Function that adds the arguments and environment variables of a trial to a command. It may return a temporary
/// directory, which must exist as long as the client runs.
type Prepare = fn(&mut Command, &Setting<'_>) -> Result<Option<TempDir>, Unprepared>;

/// Parameters of a trial that are the same for all clients.
pub(super) struct Setting<'a> {
    /// URL of the scripted model.
    pub(super) url: &'a str,
    /// Root of the workspace.
    pub(super) root: &'a Path,
    /// Home directory of the user.
    pub(super) user: &'a Path,
    /// Whether the client's own permissions allow shell commands, so that only the hook can refuse them.
    pub(super) allows_shell: bool,
}

/// Field names of the edit tools: path, old text and new text.
const FIELDS: [&str; 3] = ["file_path", "old_string", "new_string"];
/// Field names of the edit tools of OpenCode, in the order of [`FIELDS`].
const OPENCODE_FIELDS: [&str; 3] = ["filePath", "oldString", "newString"];

/// Description of the trial for one client.
pub(super) struct Trial {
    /// Name of the client's executable.
    pub(super) program: &'static str,
    /// First version of the client that is known to pass the trial.
    pub(super) version_min: [u64; 3],
    /// Model API that the client uses.
    pub(super) wire: Wire,
    /// Whether the client passes the model's ID of a tool call to the hook.
    pub(super) keeps_call_id: bool,
    /// Returns the scripted tool calls, which write a protected file, create a normal file and then edit it.
    pub(super) script: fn(&Probe, &Path) -> Vec<Call>,
    /// Returns the tool call that runs a shell command.
    pub(super) shell: fn(&str) -> Call,
    /// Connects the client to the scripted model, and sets its own permissions so that they allow edits.
    pub(super) prepare: Prepare,
}

/// Reason for which a client cannot be connected to the scripted model.
pub(super) enum Unprepared {
    /// The client would use the account of the user instead of the scripted model.
    Account(String),
    Failed(ProtectFailure),
}

impl From<ProtectFailure> for Unprepared {
    fn from(failure: ProtectFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Trial {
    /// Returns the trial for a client.
    pub(super) fn new(client: Client) -> Self {
        match client {
            Client::Claude => Self {
                program: "claude",
                // First version with `onFailure`, which prevents a tool from running if its hook cannot be started.
                version_min: [2, 1, 295],
                wire: Wire::Messages,
                keeps_call_id: true,
                script: |probe, root| {
                    write_and_replace(("Write", "Edit"), FIELDS, &json!({}), (probe, root))
                },
                shell: |text| shell("Bash", json!({ "command": text, "description": PROMPT })),
                prepare: |command, setting| {
                    prepare_claude(command, setting.url);
                    Ok(None)
                },
            },
            Client::Codex => Self {
                program: "codex",
                version_min: [0, 169, 0],
                wire: Wire::Responses,
                keeps_call_id: true,
                script: |probe, _| patches(probe),
                shell: |text| shell("exec_command", json!({ "cmd": text })),
                prepare: |command, setting| {
                    prepare_codex(command, setting.url);
                    Ok(None)
                },
            },
            Client::Gemini => Self {
                program: "gemini",
                version_min: [0, 61, 0],
                wire: Wire::Gemini,
                keeps_call_id: false,
                script: |probe, root| {
                    let more = json!({ "instruction": PROMPT });
                    write_and_replace(("write_file", "replace"), FIELDS, &more, (probe, root))
                },
                shell: |text| shell("run_shell_command", json!({ "command": text })),
                prepare: |command, setting| prepare_gemini(command, setting).map(Some),
            },
            Client::Qwen => Self {
                program: "qwen",
                version_min: [0, 24, 0],
                wire: Wire::Chat,
                keeps_call_id: false,
                script: |probe, root| {
                    write_and_replace(("write_file", "edit"), FIELDS, &json!({}), (probe, root))
                },
                shell: |text| {
                    let input = json!({ "command": text, "is_background": false });
                    shell("run_shell_command", input)
                },
                prepare: |command, setting| {
                    prepare_qwen(command, setting);
                    Ok(None)
                },
            },
            Client::OpenCode => Self {
                program: "opencode",
                version_min: [1, 18, 0],
                wire: Wire::Chat,
                keeps_call_id: true,
                script: |probe, root| {
                    let tools = ("write", "edit");
                    write_and_replace(tools, OPENCODE_FIELDS, &json!({}), (probe, root))
                },
                shell: |text| shell("bash", json!({ "command": text, "description": PROMPT })),
                prepare: |command, setting| {
                    prepare_opencode(command, setting.url);
                    Ok(None)
                },
            },
        }
    }
}

fn shell(tool: &'static str, input: Value) -> Call {
    Call { tool, input }
}

/// Returns the scripted edits for clients with one tool that writes a file and another that replaces text in it.
fn write_and_replace(
    (write, replace): (&'static str, &'static str),
    [path, old, new]: [&str; 3],
    more: &Value,
    (probe, root): (&Probe, &Path),
) -> Vec<Call> {
    let written = |name: &str, content: &str| {
        let input = json!({ path: root.join(name), "content": content });
        Call { tool: write, input }
    };
    let mut input = more.as_object().cloned().unwrap_or_default();
    input.insert(path.to_owned(), json!(root.join(&probe.file)));
    input.insert(old.to_owned(), json!("one"));
    input.insert(new.to_owned(), json!("two"));
    vec![
        written(&probe.protected, "PROBE=1\n"),
        written(&probe.file, "one\n"),
        Call { tool: replace, input: Value::Object(input) },
    ]
}

/// Returns the edits of [`write_and_replace`] as `apply_patch` calls.
fn patches(probe: &Probe) -> Vec<Call> {
    let Probe { protected, file, .. } = probe;
    let patch = |body: String| Call {
        tool: "apply_patch",
        input: Value::String(format!("*** Begin Patch\n{body}*** End Patch\n")),
    };
    vec![
        patch(format!("*** Add File: {protected}\n+PROBE=1\n")),
        patch(format!("*** Add File: {file}\n+one\n")),
        patch(format!("*** Update File: {file}\n@@\n-one\n+two\n")),
    ]
}

fn prepare_claude(command: &mut Command, url: &str) {
    let settings = json!({ "env": { "ANTHROPIC_BASE_URL": url } }).to_string();
    command
        .args(["-p", PROMPT, "--no-session-persistence"])
        .args(["--permission-mode", "acceptEdits", "--settings", &settings])
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
}

fn prepare_codex(command: &mut Command, url: &str) {
    let provider = format!(
        "model_providers.actum_probe={{name=\"actum_probe\",base_url=\"{url}/v1\",wire_api=\"responses\",\
         env_key=\"ACTUM_PROBE_KEY\",request_max_retries=0,stream_max_retries=0,supports_websockets=false}}"
    );
    let model = format!("model=\"{CODEX_MODEL}\"");
    command.args(["exec", "--ephemeral", "--skip-git-repo-check", "-s", "workspace-write"]);
    for setting in [
        "model_provider=\"actum_probe\"",
        &provider,
        &model,
        "approval_policy=\"never\"",
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
        "notify=[]",
    ] {
        command.args(["-c", setting]);
    }
    command.arg(PROMPT).env("ACTUM_PROBE_KEY", KEY);
}

fn prepare_qwen(command: &mut Command, &Setting { url, allows_shell, .. }: &Setting<'_>) {
    let url = format!("{url}/v1");
    let mode = if allows_shell { "yolo" } else { "auto-edit" };
    command
        .args(["-p", PROMPT, "--approval-mode", mode, "--chat-recording=false"])
        .args(["--auth-type", "openai", "-m", "actum-probe"])
        .args(["--openai-base-url", &url, "--openai-api-key", KEY])
        .env("OPENAI_BASE_URL", &url)
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_MODEL", "actum-probe");
}

fn prepare_opencode(command: &mut Command, url: &str) {
    let limit = json!({ "context": 200_000, "output": 8_000 });
    let model = json!({ "name": "actum-probe", "tool_call": true, "limit": limit });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "actum_probe", "models": { "actum-probe": model },
        "options": { "baseURL": format!("{url}/v1"), "apiKey": KEY },
    });
    let config = json!({
        "model": "actum_probe/actum-probe", "small_model": "actum_probe/actum-probe",
        "provider": { "actum_probe": provider }, "permission": { "edit": "allow" },
        "autoupdate": false, "share": "disabled",
    });
    command
        .args(["run", "-m", "actum_probe/actum-probe", "--agent", "build", PROMPT])
        .env("OPENCODE_CONFIG_CONTENT", config.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
}

/// Prepares Gemini CLI with the settings of the user, except the authentication method. No argument or variable can change
/// that method, so the client gets a temporary home with changed settings and symbolic links to the user's other files.
fn prepare_gemini(
    command: &mut Command,
    &Setting { url, root, user, allows_shell }: &Setting<'_>,
) -> Result<TempDir, Unprepared> {
    const NEEDED: &str = "gemini-api-key";
    let fails = |source: io::Error| {
        let what = format!("cannot create a temporary directory: {source}");
        ProtectFailure::Client { client: "gemini", what }
    };
    let team = read_settings(&root.join(".gemini/settings.json"))?;
    let chosen = team.pointer("/security/auth/selectedType").filter(|found| **found != NEEDED);
    if let Some(chosen) = chosen {
        return Err(Unprepared::Account(format!(
            "the workspace settings authenticate with {chosen}, so the test would use your account"
        )));
    }
    let own = user.join(".gemini");
    let home = tempfile::Builder::new().prefix("actum-probe-").tempdir().map_err(fails)?;
    let mut settings = read_settings(&own.join("settings.json"))?;
    let changes = json!({
        "security": { "auth": { "selectedType": NEEDED } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false },
    });
    merge(&mut settings, &changes);
    fill_home(&own, &home.path().join(".gemini"), &settings).map_err(fails)?;
    let mode = if allows_shell { "yolo" } else { "auto_edit" };
    command
        .args(["-p", PROMPT, "-m", "gemini-2.5-pro", "--approval-mode", mode])
        .env("GEMINI_CLI_HOME", home.path())
        .env("GEMINI_API_KEY", KEY)
        .env("GOOGLE_GEMINI_BASE_URL", url)
        .env("GEMINI_TELEMETRY_ENABLED", "false")
        .env("GEMINI_CLI_NO_RELAUNCH", "1");
    Ok(home)
}

/// Reads a settings file as JSON. Returns an empty object if the file is missing or blank.
fn read_settings(path: &Path) -> Result<Value, ProtectFailure> {
    let file = SettingsFile::read(path)?;
    let content = file.content().filter(|content| !content.trim_ascii().is_empty());
    let read = content.map_or_else(|| Ok(json!({})), serde_json::from_slice);
    read.map_err(|error| {
        let (path, problem) = (path.to_owned(), error.to_string());
        ProtectFailure::Settings { path, source: SettingsError::NotJson { problem } }
    })
}

/// Creates the directory `copy` with these settings and with symbolic links to the other files in `own`. Leaves out the
/// files that sessions of the client create.
#[expect(clippy::disallowed_methods, reason = "the directory was created for this trial")]
fn fill_home(own: &Path, copy: &Path, settings: &Value) -> io::Result<()> {
    fs::create_dir(copy)?;
    fs::write(copy.join("settings.json"), settings.to_string())?;
    let entries = match own.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if !["settings.json", "tmp", "history"].iter().any(|made| name == *made) {
            symlink(entry.path(), copy.join(name))?;
        }
    }
    Ok(())
}

/// Merges `patch` into a document like JSON Merge Patch (RFC 7396), except that `null` does not remove a field.
fn merge(into: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    let mut merged = into.as_object().cloned().unwrap_or_default();
    for (field, value) in fields {
        merge(merged.entry(field.as_str()).or_insert(Value::Null), value);
    }
    *into = Value::Object(merged);
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test creates its own files")]
mod tests {
    use super::*;

    /// Issue 27
    #[test]
    fn trial_directory_has_all_settings_except_the_authentication() {
        let directory = tempfile::tempdir().unwrap();
        let (root, user) = (directory.path().join("ws"), directory.path().join("user"));
        fs::create_dir_all(user.join(".gemini/tmp")).unwrap();
        fs::create_dir_all(root.join(".gemini")).unwrap();
        let settings =
            r#"{"security":{"auth":{"selectedType":"oauth-personal"},"x":1},"hooks":{}}"#;
        fs::write(user.join(".gemini/settings.json"), settings).unwrap();
        fs::write(user.join(".gemini/trustedFolders.json"), "{}").unwrap();
        let mut command = Command::new("gemini");
        let setting = Setting { url: "http://x", root: &root, user: &user, allows_shell: false };
        let Ok(home) = prepare_gemini(&mut command, &setting) else { panic!() };
        let made = read_settings(&home.path().join(".gemini/settings.json")).unwrap();
        assert_eq!(
            made["security"],
            json!({ "auth": { "selectedType": "gemini-api-key" }, "x": 1 })
        );
        assert_eq!(made["hooks"], json!({}));
        let own = user.join(".gemini/trustedFolders.json");
        assert_eq!(fs::read_link(home.path().join(".gemini/trustedFolders.json")).unwrap(), own);
        assert!(!home.path().join(".gemini/tmp").exists());
        fs::write(root.join(".gemini/settings.json"), settings).unwrap();
        let refused = prepare_gemini(&mut command, &setting);
        assert!(matches!(refused, Err(Unprepared::Account(_))));
    }
}
