//! Settings of clients: the entries that call the hook, put in and taken out without touching any other byte.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use actum_edit::Splice;
use actum_edit::edit::JsonPatch;
use serde_json::{Map, Value, json};

use crate::client::Client;

/// Level of the settings that the entries are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The person's own settings of this workspace.
    Local,
    /// The settings of the workspace, which the team shares.
    Team,
    /// The settings of the user, for each workspace.
    User,
}

/// Coverage of the hook's events by some settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// None of it.
    None,
    /// Entries for some events only.
    Some,
    /// An entry for each event.
    All,
}

/// The hook, as an entry of settings calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Path of actum, or its name alone if `PATH` leads to it.
    pub program: PathBuf,
    /// True if commands of the client's shell are refused (`actum hook --strict`).
    pub is_strict: bool,
}

/// Option of a strict hook.
const STRICT: &str = "--strict";

impl Hook {
    fn program(&self) -> Result<&str, SettingsError> {
        self.program.to_str().ok_or(SettingsError::Program)
    }

    /// Arguments of the program.
    fn arguments(&self, client: Client) -> Vec<&'static str> {
        let strict = self.is_strict.then_some(STRICT);
        ["hook", client.name()].into_iter().chain(strict).collect()
    }
}

/// Settings that cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The client has no settings of this level, or no hooks that are commands.
    #[error("{} has no settings of this kind that can call a hook", client.name())]
    NoSettings {
        /// The client.
        client: Client,
    },
    /// The settings are no JSON, or have comments, which actum would not keep in place.
    #[error("the settings are no plain JSON: {problem}")]
    NotJson {
        /// Problem, and its position.
        problem: String,
    },
    /// A value is of another type than the client takes.
    #[error("`{place}` in the settings is no {wanted}")]
    Type {
        /// Position in the settings.
        place: String,
        /// Required type.
        wanted: &'static str,
    },
    /// A file with the name of the plugin is not the one of actum.
    #[error("it is another plugin than the one of actum")]
    OtherPlugin,
    /// The program has a name that settings cannot hold.
    #[error("the path of actum is no text in UTF-8")]
    Program,
}

/// File of the settings of a client.
///
/// # Errors
/// `NoSettings`.
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
        // Hooks of the user need no workspace that Codex trusts, and its sandbox cannot write them.
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

/// Suffix of the call of the hook for a shell, if the client takes another code than 2 for consent.
const OR_REFUSE: &str = "|| { [ $? = 2 ] || echo 'actum: the hook failed' >&2; exit 2; }";

/// The entry for each event, by the name of the event.
fn wanted(client: Client, hook: &Hook) -> Result<Vec<(&'static str, Value)>, SettingsError> {
    let (path, arguments) = (hook.program()?, hook.arguments(client));
    let protocol = client.protocol();
    let tools: Vec<&str> = protocol.tools.iter().map(|(tool, _)| *tool).collect();
    let quoted = || format!("'{}' {}", path.replace('\'', "'\\''"), arguments.join(" "));
    // At the beginning and the end of a turn nothing is refused, so a hook that cannot be started
    // must not stop the client.
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
        // Without these words the tool runs after a hook that was killed.
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

/// Command lines of the entries, one for each event.
///
/// # Errors
/// `Program`.
pub fn commands(client: Client, hook: &Hook) -> Result<Vec<String>, SettingsError> {
    let command = |(_, entry): (&str, Value)| {
        let command = entry.pointer("/hooks/0/command").and_then(Value::as_str);
        command.unwrap_or_default().to_owned()
    };
    Ok(wanted(client, hook)?.into_iter().map(command).collect())
}

/// Keys by which Codex keeps its state of the hook: file, event, and place in it. Other clients keep none.
///
/// # Errors
/// `NotJson`, `Type`.
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

/// Plugin of opencode. It calls the hook in this way.
const PLUGIN: &str = include_str!("../../../packaging/opencode/actum.js");
const PLUGIN_CALL: &str = "spawnSync(\"actum\", [\"hook\", \"opencode\"],";

/// The plugin that calls this hook.
fn plugin(hook: &Hook) -> Result<Vec<u8>, SettingsError> {
    let arguments: Vec<_> = hook.arguments(Client::OpenCode).iter().map(|it| json!(it)).collect();
    let arguments: Vec<_> = arguments.iter().map(Value::to_string).collect();
    let call = format!("spawnSync({}, [{}],", json!(hook.program()?), arguments.join(", "));
    Ok(PLUGIN.replace(PLUGIN_CALL, &call).into_bytes())
}

/// Returns true if a file is the plugin of actum, of whatever version.
fn is_plugin(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    let begins_as_ours =
        text.starts_with("// A plugin for opencode: each edit goes through `actum");
    begins_as_ours
        && ["export const Actum = ", "[\"hook\", \"opencode\""]
            .iter()
            .all(|part| text.contains(part))
}

/// Time limit of the hook in the client, in seconds. The hook ends itself before that.
const SECONDS: u64 = 20;

/// Returns the coverage of the hook by settings; `None` is a missing file.
///
/// # Errors
/// `NotJson`, `Type`, `Program`.
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

/// Returns true if settings turn every hook off. A plugin turns off none.
///
/// # Errors
/// `NotJson`, `Type`.
pub fn disables_hooks(client: Client, settings: Option<&[u8]>) -> Result<bool, SettingsError> {
    if client == Client::OpenCode {
        return Ok(false);
    }
    Ok(read(settings)?.get("disableAllHooks") == Some(&Value::Bool(true)))
}

/// Returns true if an entry calls the hook of actum and nothing else, at whatever path the program
/// is.
fn is_ours(client: Client, entry: &Value) -> bool {
    let calls_hook = |handler: &Value| {
        let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
        let arguments = handler.get("args").and_then(Value::as_array);
        let is_program = |path: &str| Path::new(path).file_name() == Some(OsStr::new("actum"));
        let name = client.name();
        // As a word of the shell, or as the program itself with arguments beside it.
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

/// The settings with an entry for each event, in place of those that call an actum at another path.
///
/// # Errors
/// As [`installed`].
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
                    place: format!("hooks.{event}"),
                    wanted: "list",
                });
            }
        }
    }
    patched(settings, operations)
}

/// Returns the settings without the entries of the hook, and without everything that was only there
/// for them; `None` if nothing is left.
///
/// # Errors
/// As [`installed`].
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
        // A name in a JSON Pointer (RFC 6901, section 3).
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
            Err(SettingsError::Type { place: "the whole".to_owned(), wanted: "object" })
        }
    }
}

fn hooks_in(settings: Option<&[u8]>) -> Result<Map<String, Value>, SettingsError> {
    match read(settings)?.remove("hooks") {
        None => Ok(Map::new()),
        Some(Value::Object(hooks)) => Ok(hooks),
        Some(_) => Err(SettingsError::Type { place: "hooks".to_owned(), wanted: "object" }),
    }
}

/// Applies operations of a JSON Patch; all else keeps its bytes.
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

    /// Issue 27
    #[test]
    fn the_plugin_of_opencode_is_written_replaced_and_removed_as_a_whole() {
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

    /// Issue 27
    #[test]
    fn codex_keeps_its_state_by_file_event_and_place() {
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

    /// Issue 27: removing the entries removes exactly what was added, and every other byte stays.
    #[test]
    fn the_entries_come_and_go_and_leave_every_other_byte() {
        for client in CLIENTS {
            for before in settings() {
                let with = with_hook(client, Some(before.as_bytes()), &program()).unwrap();
                assert_eq!(installed(client, Some(&with), &program()), Ok(Entries::All));
                assert_eq!(
                    with_hook(client, Some(&with), &program()).unwrap(),
                    with,
                    "twice is once"
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

    /// Issue 27: an actum at another path is replaced and taken out like this one; hooks of other programs stay.
    #[test]
    fn a_hook_of_another_actum_is_replaced_and_hooks_of_others_stay() {
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

    /// Issue 27: a strict hook and one that is not replace each other, and both are taken out.
    #[test]
    fn a_strict_hook_replaces_the_other_one() {
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

    /// Issue 27: settings that are broken, have comments or values of another type are refused by name.
    #[test]
    fn settings_that_cannot_be_read_are_refused() {
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
