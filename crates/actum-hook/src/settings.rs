//! Adds the hook to a client's settings and removes it again, while leaving every other byte unchanged.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use actum_edit::Splice;
use actum_edit::edit::JsonPatch;
use serde_json::{Map, Value, json};

use crate::client::Client;

/// Level of a client's settings, which determines where the hook applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The user's personal settings for this workspace.
    Local,
    /// The workspace's settings, which are shared with the team.
    Team,
    /// The user's settings for all workspaces.
    User,
}

/// Extent to which a settings file registers the hook for its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// The hook is not registered for any event.
    None,
    /// The hook is registered for some of its events.
    Some,
    /// The hook is registered for all of its events.
    All,
}

/// Command line with which a client calls the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Path of the actum binary, or only its name if it is found through `PATH`.
    pub program: PathBuf,
    /// Whether the hook refuses commands of the client's shell tool (`actum hook --strict`).
    pub is_strict: bool,
}

/// Command-line option that makes a hook strict.
const STRICT: &str = "--strict";

impl Hook {
    fn program(&self) -> Result<&str, SettingsError> {
        self.program.to_str().ok_or(SettingsError::Program)
    }

    /// Returns the command-line arguments for actum.
    fn arguments(&self, client: Client) -> Vec<&'static str> {
        let strict = self.is_strict.then_some(STRICT);
        ["hook", client.name()].into_iter().chain(strict).collect()
    }
}

/// Reason why a client's settings cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The client has no settings at this level that can run a command as a hook.
    #[error("{} cannot call a hook from settings of this kind", client.name())]
    NoSettings {
        /// Client without such settings.
        client: Client,
    },
    /// The settings are not plain JSON. actum rejects comments because it could not preserve them.
    #[error("the settings are not plain JSON: {problem}")]
    NotJson {
        /// Error of the JSON parser, with its position.
        problem: String,
    },
    /// A value in the settings does not have the type that the client requires.
    #[error("the settings must have {wanted} at {place}")]
    Type {
        /// Location of the value, such as `hooks.Stop`.
        place: String,
        /// Required type, with its article.
        wanted: &'static str,
    },
    /// The plugin file exists but was not written by actum.
    #[error("the file is a different plugin, not the one of actum")]
    OtherPlugin,
    /// The path of the actum binary cannot be represented in settings.
    #[error("the path of the actum binary is not valid UTF-8")]
    Program,
}

/// Returns the path of a client's settings file at the given level.
///
/// # Errors
/// Returns `NoSettings` if the client cannot call a hook from settings of this level.
pub fn settings_file(
    client: Client,
    level: Level,
    (root, home): (&Path, &Path),
) -> Result<PathBuf, SettingsError> {
    let (workspace, user) = match client {
        Client::Claude => {
            let file = match level {
                Level::Local => "settings.local.json",
                Level::Team | Level::User => "settings.json",
            };
            (Some(root.join(".claude").join(file)), home.join(".claude/settings.json"))
        }
        // User hooks work even in a workspace that Codex does not trust, and its sandbox cannot modify them.
        Client::Codex => (None, home.join(".codex/hooks.json")),
        Client::Gemini => {
            (Some(root.join(".gemini/settings.json")), home.join(".gemini/settings.json"))
        }
        Client::Qwen => (Some(root.join(".qwen/settings.json")), home.join(".qwen/settings.json")),
        Client::OpenCode => (
            Some(root.join(".opencode/plugin/actum.js")),
            home.join(".config/opencode/plugin/actum.js"),
        ),
    };
    match level {
        Level::User => Ok(user),
        Level::Local if client == Client::Codex => Ok(user),
        Level::Local | Level::Team => workspace.ok_or(SettingsError::NoSettings { client }),
    }
}

/// Shell suffix that turns every failure of the hook into exit code 2, for clients that run the tool after any other code.
const OR_REFUSE: &str = "|| { [ $? = 2 ] || echo 'actum: the hook failed' >&2; exit 2; }";

/// Returns the settings entry for each event, together with the event's name.
fn wanted(client: Client, hook: &Hook) -> Result<Vec<(&'static str, Value)>, SettingsError> {
    let (path, arguments) = (hook.program()?, hook.arguments(client));
    let protocol = client.protocol();
    let tools: Vec<&str> = protocol.tools.iter().map(|(tool, _)| *tool).collect();
    let quoted = || format!("'{}' {}", path.replace('\'', "'\\''"), arguments.join(" "));
    // At the start and end of a turn, nothing can be refused, so a hook that fails to start must not
    // stop the client.
    let about_turn = match client {
        Client::Claude => json!({
            "type": "command", "command": path, "args": arguments, "timeout": SECONDS,
        }),
        Client::Gemini => json!({
            "name": "actum", "type": "command", "command": quoted(), "timeout": SECONDS * 1000,
        }),
        Client::Codex | Client::Qwen | Client::OpenCode => {
            json!({ "type": "command", "command": quoted(), "timeout": SECONDS })
        }
    };
    let mut about_edit = about_turn.clone();
    let stricter = match client {
        Client::Claude => Some(("onFailure", json!("block"))),
        // Without this suffix, Codex runs the tool even if the hook was killed.
        Client::Codex => Some(("command", json!(format!("{} {OR_REFUSE}", quoted())))),
        Client::Gemini | Client::Qwen | Client::OpenCode => None,
    };
    if let (Some(fields), Some((field, value))) = (about_edit.as_object_mut(), stricter) {
        fields.insert(field.to_owned(), value);
    }
    let about_tools = |tools: &[&str]| match client {
        Client::Codex => json!({ "hooks": [about_edit.clone()] }),
        Client::Claude | Client::Gemini | Client::Qwen | Client::OpenCode => {
            json!({ "matcher": tools.join("|"), "hooks": [about_edit.clone()] })
        }
    };
    let with_shell: Vec<_> = tools.iter().copied().chain([protocol.shell]).collect();
    let mut entries = vec![(protocol.before, about_tools(&with_shell))];
    entries.extend(protocol.after.iter().map(|event| (*event, about_tools(&tools))));
    let settings = protocol.settings.map(|event| (event, json!({ "hooks": [about_edit] })));
    entries.extend(settings);
    let turns = [protocol.turn_start, protocol.turn_end];
    entries.extend(turns.map(|event| (event, json!({ "hooks": [about_turn.clone()] }))));
    Ok(entries)
}

/// Returns the commands of the settings entries, one for each event.
///
/// # Errors
/// Returns `Program` if the path of actum is not valid UTF-8.
pub fn commands(client: Client, hook: &Hook) -> Result<Vec<String>, SettingsError> {
    let command = |(_, entry): (&str, Value)| {
        let command = entry.pointer("/hooks/0/command").and_then(Value::as_str);
        command.unwrap_or_default().to_owned()
    };
    Ok(wanted(client, hook)?.into_iter().map(command).collect())
}

/// Returns the keys under which Codex stores state about the hook, made of file, event and position. Other clients have none.
///
/// # Errors
/// Returns `NotJson` or `Type` if the settings are malformed.
pub fn state_keys(
    client: Client,
    settings: &[u8],
    path: &Path,
) -> Result<Vec<String>, SettingsError> {
    let mut keys = Vec::new();
    if client != Client::Codex {
        return Ok(keys);
    }
    for (event, entries) in hooks_in(Some(settings))? {
        let mut name = String::new();
        for letter in event.chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        let entries = entries.as_array().map_or(&[][..], Vec::as_slice);
        for (at, entry) in entries.iter().enumerate().filter(|(_, it)| is_ours(client, it)) {
            let handlers = entry.get("hooks").and_then(Value::as_array).map_or(0, Vec::len);
            let key = |handler| format!("{}:{name}:{at}:{handler}", path.display());
            keys.extend((0..handlers).map(key));
        }
    }
    Ok(keys)
}

/// Source of the opencode plugin. [`PLUGIN_CALL`] is the part of it that calls the hook.
const PLUGIN: &str = include_str!("../../../packaging/opencode/actum.js");
const PLUGIN_CALL: &str = "spawnSync(\"actum\", [\"hook\", \"opencode\"],";

/// Returns the source of the opencode plugin, modified to call this hook.
fn plugin(hook: &Hook) -> Result<Vec<u8>, SettingsError> {
    let arguments: Vec<_> = hook.arguments(Client::OpenCode).iter().map(|it| json!(it)).collect();
    let arguments: Vec<_> = arguments.iter().map(Value::to_string).collect();
    let call = format!("spawnSync({}, [{}],", json!(hook.program()?), arguments.join(", "));
    Ok(PLUGIN.replace(PLUGIN_CALL, &call).into_bytes())
}

/// Returns true if a file is any version of actum's opencode plugin.
fn is_plugin(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    let begins_as_ours =
        text.starts_with("// A plugin for opencode: each edit goes through `actum");
    begins_as_ours
        && ["export const Actum = ", "[\"hook\", \"opencode\""]
            .iter()
            .all(|part| text.contains(part))
}

/// Time after which a client kills the hook, in seconds. The hook exits earlier on its own.
const SECONDS: u64 = 20;

/// Returns for how many events the settings register the hook. `None` as `settings` stands for a missing file.
///
/// # Errors
/// Returns `NotJson` or `Type` if the settings are malformed, and `Program` if the path of actum is not valid UTF-8.
pub fn installed(
    client: Client,
    settings: Option<&[u8]>,
    hook: &Hook,
) -> Result<Entries, SettingsError> {
    if client == Client::OpenCode {
        let is_whole = settings == Some(&plugin(hook)?);
        return Ok(if is_whole { Entries::All } else { Entries::None });
    }
    let hooks = hooks_in(settings)?;
    let wanted = wanted(client, hook)?;
    let there = wanted.iter().filter(|(event, entry)| {
        hooks.get(*event).and_then(Value::as_array).is_some_and(|list| list.contains(entry))
    });
    Ok(match there.count() {
        0 => Entries::None,
        count if count == wanted.len() => Entries::All,
        _ => Entries::Some,
    })
}

/// Returns true if the settings disable all hooks, which is never the case for an opencode plugin.
///
/// # Errors
/// Returns `NotJson` or `Type` if the settings are malformed.
pub fn disables_hooks(client: Client, settings: Option<&[u8]>) -> Result<bool, SettingsError> {
    if client == Client::OpenCode {
        return Ok(false);
    }
    Ok(read(settings)?.get("disableAllHooks") == Some(&Value::Bool(true)))
}

/// Returns true if an entry only calls the hook of actum, regardless of the path of the binary.
fn is_ours(client: Client, entry: &Value) -> bool {
    let calls_hook = |handler: &Value| {
        let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
        let arguments = handler.get("args").and_then(Value::as_array);
        let is_program = |path: &str| Path::new(path).file_name() == Some(OsStr::new("actum"));
        let name = client.name();
        // The command is either a shell command line, or only the program with its arguments in `args`.
        let in_shell = command
            .strip_prefix('\'')
            .map_or_else(|| command.split_once(" hook "), |quoted| quoted.split_once("' hook "));
        match in_shell {
            Some((program, rest)) => {
                let rest = rest.strip_prefix(name).map(|rest| rest.trim_start());
                let rest = rest.map(|rest| rest.strip_prefix(STRICT).unwrap_or(rest).trim_start());
                is_program(program) && rest.is_some_and(|it| it.is_empty() || it == OR_REFUSE)
            }
            None => {
                let strict = |rest: &[Value]| rest.is_empty() || rest == [json!(STRICT)];
                is_program(command)
                    && arguments
                        .and_then(|all| all.strip_prefix(&[json!("hook"), json!(name)]))
                        .is_some_and(strict)
            }
        }
    };
    let handlers = entry.get("hooks").and_then(Value::as_array);
    handlers.is_some_and(|handlers| !handlers.is_empty() && handlers.iter().all(calls_hook))
}

/// Returns the settings with an entry for each event. The entries replace those that call actum at a different path.
///
/// # Errors
/// Returns the errors of [`installed`], and `OtherPlugin` if the plugin file was not written by actum.
pub fn with_hook(
    client: Client,
    settings: Option<&[u8]>,
    hook: &Hook,
) -> Result<Vec<u8>, SettingsError> {
    if client == Client::OpenCode {
        return match settings.is_none_or(is_plugin) {
            true => plugin(hook),
            false => Err(SettingsError::OtherPlugin),
        };
    }
    if let Some(settings) = settings
        && installed(client, Some(settings), hook)? == Entries::All
        && count_of_ours(client, settings)? == wanted(client, hook)?.len()
    {
        return Ok(settings.to_vec());
    }
    let others = settings.map(|settings| without_hook(client, settings)).transpose()?.flatten();
    add_hook(client, others.as_deref(), hook)
}

fn count_of_ours(client: Client, settings: &[u8]) -> Result<usize, SettingsError> {
    let hooks = hooks_in(Some(settings))?;
    let entries = hooks.values().filter_map(Value::as_array).flatten();
    Ok(entries.filter(|entry| is_ours(client, entry)).count())
}

fn add_hook(
    client: Client,
    settings: Option<&[u8]>,
    hook: &Hook,
) -> Result<Vec<u8>, SettingsError> {
    let hooks = hooks_in(settings)?;
    let wanted = wanted(client, hook)?;
    let Some(settings) = settings.filter(|text| !text.trim_ascii().is_empty()) else {
        let mut events = Map::new();
        wanted
            .into_iter()
            .for_each(|(event, entry)| drop(events.insert(event.to_owned(), json!([entry]))));
        let mut text = serde_json::to_vec_pretty(&json!({ "hooks": events })).unwrap_or_default();
        text.push(b'\n');
        return Ok(text);
    };
    let mut operations = Vec::new();
    if read(Some(settings))?.get("hooks").is_none() {
        operations.push(json!({ "add": { "path": "/hooks", "value": "{}" } }));
    }
    for (event, entry) in wanted {
        match hooks.get(event) {
            None => {
                let value = json!([entry]).to_string();
                operations
                    .push(json!({ "add": { "path": format!("/hooks/{event}"), "value": value } }));
            }
            Some(Value::Array(list)) if list.contains(&entry) => {}
            Some(Value::Array(_)) => {
                let path = format!("/hooks/{event}/-");
                operations.push(json!({ "add": { "path": path, "value": entry.to_string() } }));
            }
            Some(_) => {
                return Err(SettingsError::Type {
                    place: format!("`hooks.{event}`"),
                    wanted: "a list",
                });
            }
        }
    }
    patched(settings, operations)
}

/// Returns the settings without the hook's entries, and without lists and objects that become empty. Returns `None` if
/// nothing is left.
///
/// # Errors
/// Returns the errors of [`installed`].
pub fn without_hook(client: Client, settings: &[u8]) -> Result<Option<Vec<u8>>, SettingsError> {
    if client == Client::OpenCode {
        return Ok(Some(settings.to_vec()).filter(|settings| !is_plugin(settings)));
    }
    let hooks = hooks_in(Some(settings))?;
    let (mut operations, mut left) = (Vec::new(), hooks.len());
    let remove = |path: String| json!({ "remove": { "path": path } });
    for (event, entries) in &hooks {
        let Value::Array(list) = entries else { continue };
        let ours = list.iter().enumerate().filter(|(_, entry)| is_ours(client, entry));
        let ours: Vec<usize> = ours.map(|(at, _)| at).collect();
        // Escape the event name for use in a JSON Pointer (RFC 6901, section 3).
        let event = event.replace('~', "~0").replace('/', "~1");
        if !ours.is_empty() && ours.len() == list.len() {
            left -= 1;
            operations.push(remove(format!("/hooks/{event}")));
        } else {
            operations.extend(ours.iter().rev().map(|at| remove(format!("/hooks/{event}/{at}"))));
        }
    }
    if operations.is_empty() {
        return Ok(Some(settings.to_vec()));
    }
    if left == 0 {
        if read(Some(settings))?.len() == 1 {
            return Ok(None);
        }
        operations = vec![remove("/hooks".to_owned())];
    }
    patched(settings, operations).map(Some)
}

fn read(settings: Option<&[u8]>) -> Result<Map<String, Value>, SettingsError> {
    let Some(text) = settings.filter(|text| !text.trim_ascii().is_empty()) else {
        return Ok(Map::new());
    };
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        let problem = error.to_string();
        SettingsError::NotJson { problem }
    })?;
    match value {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(SettingsError::Type { place: "the top level".to_owned(), wanted: "an object" })
        }
    }
}

fn hooks_in(settings: Option<&[u8]>) -> Result<Map<String, Value>, SettingsError> {
    match read(settings)?.remove("hooks") {
        None => Ok(Map::new()),
        Some(Value::Object(hooks)) => Ok(hooks),
        Some(_) => Err(SettingsError::Type { place: "`hooks`".to_owned(), wanted: "an object" }),
    }
}

/// Applies the operations of a JSON Patch to the settings, and leaves all other bytes unchanged.
fn patched(settings: &[u8], operations: Vec<Value>) -> Result<Vec<u8>, SettingsError> {
    let not_json = |problem: String| SettingsError::NotJson { problem };
    let patch: JsonPatch = serde_json::from_value(json!({ "operations": operations }))
        .map_err(|error| not_json(error.to_string()))?;
    let splices = patch.splices(settings).map_err(|error| not_json(error.to_string()))?;
    Splice::apply(&splices, settings).map_err(|error| not_json(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(program: &str) -> Hook {
        Hook { program: program.into(), is_strict: false }
    }

    /// Issue 27: the opencode plugin is written, replaced and removed as one file, and other plugins are left unchanged.
    #[test]
    fn opencode_plugin_is_written_replaced_and_removed_as_one_file() {
        let (client, old, new) = (Client::OpenCode, hook("/a b/actum"), hook("actum"));
        let first = with_hook(client, None, &old).unwrap();
        assert!(String::from_utf8_lossy(&first).contains("spawnSync(\"/a b/actum\", [\"hook\""));
        assert_eq!(installed(client, Some(&first), &old), Ok(Entries::All));
        assert_eq!(installed(client, Some(&first), &new), Ok(Entries::None));
        assert_eq!(with_hook(client, Some(&first), &new).unwrap(), PLUGIN.as_bytes());
        assert_eq!(without_hook(client, &first), Ok(None));
        let other = b"export const Mine = 1";
        assert_eq!(with_hook(client, Some(other), &new), Err(SettingsError::OtherPlugin));
        assert_eq!(without_hook(client, other), Ok(Some(other.to_vec())));
        assert_eq!(disables_hooks(client, Some(other)), Ok(false));
    }

    /// Issue 27: the state keys for Codex are made of file, event and position.
    #[test]
    fn codex_state_keys_contain_file_event_and_position() {
        let (path, program) = (Path::new("/h/.codex/hooks.json"), hook("/bin/actum"));
        let mine = br#"{"hooks": {"PreToolUse": [{"hooks": []}]}}"#;
        let settings = with_hook(Client::Codex, Some(mine), &program).unwrap();
        let mut keys = state_keys(Client::Codex, &settings, path).unwrap();
        keys.sort();
        let places = ["post_tool_use:0", "pre_tool_use:1", "stop:0", "user_prompt_submit:0"];
        assert_eq!(keys, places.map(|place| format!("/h/.codex/hooks.json:{place}:0")));
        assert_eq!(commands(Client::Codex, &program).unwrap().len(), keys.len());
        assert_eq!(state_keys(Client::Qwen, &settings, path).unwrap(), Vec::<String>::new());
    }

    const CLIENTS: [Client; 4] = [Client::Claude, Client::Codex, Client::Gemini, Client::Qwen];

    fn program() -> Hook {
        hook("/opt/it's/actum")
    }

    fn settings() -> Vec<String> {
        let other = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [] }], "BeforeTool": [{ "hooks": [] }] } });
        let nested = json!({ "model": "x", "hooks": { "Stop": [{ "hooks": [] }] }, "n": [1, 2] });
        vec![
            "{}".to_owned(),
            "{\n}\n".to_owned(),
            "{\"permissions\": {\"deny\": [\"Bash\"]}}".to_owned(),
            other.to_string(),
            format!("{other:#}\n"),
            format!("{nested:#}"),
            format!("{nested:#}").replace("  ", "\t"),
        ]
    }

    /// Issue 27: removing the hook removes exactly what adding it added, and leaves every other byte unchanged.
    #[test]
    fn adding_and_removing_the_hook_preserves_every_other_byte() {
        for client in CLIENTS {
            for before in settings() {
                let with = with_hook(client, Some(before.as_bytes()), &program()).unwrap();
                assert_eq!(installed(client, Some(&with), &program()), Ok(Entries::All));
                assert_eq!(
                    with_hook(client, Some(&with), &program()).unwrap(),
                    with,
                    "adding the hook twice must have the same result as adding it once"
                );
                let after = without_hook(client, &with).unwrap();
                let is_empty = before.trim() == "{}" || before == "{\n}\n";
                match after {
                    Some(after) => {
                        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
                        assert_eq!(value(&after), value(before.as_bytes()), "{before}");
                        if before.contains("hooks") {
                            let kept = String::from_utf8(after).unwrap();
                            assert_eq!(
                                kept.lines().count(),
                                before.lines().count(),
                                "{kept}\n{before}"
                            );
                        }
                    }
                    None => assert!(is_empty, "{before}"),
                }
            }
            let new = with_hook(client, None, &program()).unwrap();
            assert_eq!(installed(client, Some(&new), &program()), Ok(Entries::All));
            assert_eq!(without_hook(client, &new), Ok(None));
        }
    }

    /// Issue 27: entries that call actum at a different path are replaced or removed, and hooks of other programs are kept.
    #[test]
    fn replaces_hooks_of_other_actum_paths_and_keeps_foreign_hooks() {
        for client in CLIENTS {
            let moved = with_hook(client, None, &hook("/old/place/actum")).unwrap();
            assert_eq!(installed(client, Some(&moved), &program()), Ok(Entries::None));
            let replaced = with_hook(client, Some(&moved), &program()).unwrap();
            assert_eq!(replaced, with_hook(client, None, &program()).unwrap(), "{client:?}");
            assert_eq!(without_hook(client, &moved), Ok(None));
        }
        let others = json!({ "hooks": { "PreToolUse": [
            { "hooks": [{ "type": "command", "command": "/usr/bin/lint", "args": ["hook", "claude"] }] },
            { "hooks": [{ "type": "command", "command": "echo actum hook claude" }] },
            { "hooks": [] },
        ] } });
        let text = others.to_string();
        let with = with_hook(Client::Claude, Some(text.as_bytes()), &program()).unwrap();
        let left = without_hook(Client::Claude, &with).unwrap().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&left).unwrap(), others);
    }

    /// Issue 27: adding a strict hook replaces a normal one and vice versa, and both kinds can be removed.
    #[test]
    fn strict_and_normal_hooks_replace_each_other() {
        for client in Client::ALL {
            let (open, strict) = (program(), Hook { is_strict: true, ..program() });
            let first = with_hook(client, None, &open).unwrap();
            let second = with_hook(client, Some(&first), &strict).unwrap();
            assert_eq!(installed(client, Some(&second), &strict), Ok(Entries::All));
            assert_eq!(installed(client, Some(&second), &open), Ok(Entries::None), "{client:?}");
            assert_eq!(with_hook(client, Some(&second), &open).unwrap(), first, "{client:?}");
            assert_eq!(without_hook(client, &second), Ok(None), "{client:?}");
        }
    }

    /// Issue 27: settings with syntax errors, comments or values of the wrong type are rejected.
    #[test]
    fn invalid_hook_settings_are_rejected() {
        for broken in
            ["{", "{\"a\": 1,}", "// mine\n{}", "[]", "7", "{\"hooks\": []}", "\u{feff}[]"]
        {
            assert!(
                with_hook(Client::Claude, Some(broken.as_bytes()), &program()).is_err(),
                "{broken}"
            );
        }
        let list = b"{\"hooks\": {\"PreToolUse\": {}}}";
        assert!(matches!(
            with_hook(Client::Claude, Some(list), &program()),
            Err(SettingsError::Type { .. })
        ));
        assert_eq!(disables_hooks(Client::Claude, Some(b"{\"disableAllHooks\": true}")), Ok(true));
        assert_eq!(disables_hooks(Client::Claude, None), Ok(false));
    }
}
