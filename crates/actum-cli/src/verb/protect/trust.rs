//! Trust settings of Codex, which skips a hook until its configuration contains the hash of that hook.

use std::path::Path;
use std::time::Duration;

use actum_api::protect::ProtectionCheck;
use actum_hook::Client;
use actum_hook::settings::{Level, commands, settings_file};
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

use super::failure::ProtectFailure;
use super::file::SettingsFile;
use super::{Arguments, confirm, hooks_of, own_program, proof};
use crate::session::Session;

/// Maximum time that Codex may take to list its hooks.
const LIST_TIME: Duration = Duration::from_secs(20);

/// Hook entry of actum, as Codex lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hook {
    key: String,
    hash: String,
    is_trusted: bool,
    is_enabled: bool,
}

/// Checks that Codex lists, trusts and enables every hook entry of actum.
pub(super) fn check(
    program: &Path,
    places: (&Path, &Path),
) -> Result<ProtectionCheck, ProtectFailure> {
    let what = "Codex trusts the hook".to_owned();
    let [hook, _] = hooks_of(own_program()?); // a strict hook has the same number of entries
    let wanted = commands(Client::Codex, &hook).map_or(0, |commands| commands.len());
    let Some(hooks) = list(program, places)? else {
        let detail = "`codex app-server` did not list the hooks".to_owned();
        return Ok(ProtectionCheck { what, passed: false, detail });
    };
    let listed = hooks.len();
    let runs = hooks.iter().filter(|hook| hook.is_trusted && hook.is_enabled).count();
    let detail = match (listed >= wanted, hooks.iter().any(|hook| !hook.is_trusted)) {
        (false, _) => format!(
            "Codex lists {listed} of {wanted} entries; hooks are disabled, or `CODEX_HOME` is a different directory"
        ),
        (true, true) => format!(
            "Codex skips {} of {listed} entries; start `codex` once and confirm them, or run `actum protect codex`",
            listed - runs
        ),
        (true, false) if runs < listed => {
            format!("{} of {listed} entries are disabled in Codex", listed - runs)
        }
        (true, false) => format!("{runs} of {listed} entries are trusted"),
    };
    Ok(ProtectionCheck { what, passed: listed >= wanted && runs == listed, detail })
}

/// Adds the hashes of the untrusted hooks to the configuration of Codex, after the user has confirmed it.
///
/// # Errors
/// Returns `NotAsked` or `Declined` without a confirmation, and other variants if the hooks cannot be listed or the
/// configuration cannot be read or written. Nothing is written before the confirmation.
pub(super) fn grant(
    arguments: &Arguments,
    session: &Session,
    (root, user): (&Path, &Path),
) -> Result<(), crate::failure::Failure> {
    let Some(program) = proof::find("codex") else { return Ok(()) };
    let hooks = list(&program, (root, user))?.unwrap_or_default();
    let hooks: Vec<_> = hooks.into_iter().filter(|hook| !hook.is_trusted).collect();
    if hooks.is_empty() {
        return Ok(());
    }
    let path = user.join(".codex/config.toml");
    let file = SettingsFile::read(&path)?;
    let before = read_text(&path, &file)?;
    let what = "its hook tables are not in the form that Codex writes";
    let after = with_trust(&before, &hooks)
        .ok_or_else(|| ProtectFailure::File { path: path.clone(), what })?;
    confirm(arguments, session, (&path, file.content(), Some(after.as_bytes())))?;
    file.replace(Some(after.as_bytes()))?;
    Ok(())
}

/// Removes the trust in the hooks with these keys from the configuration of Codex, after the user has confirmed it.
///
/// # Errors
/// Returns the same errors as [`grant`], except those of listing the hooks.
pub(super) fn revoke(
    arguments: &Arguments,
    session: &Session,
    user: &Path,
    keys: &[String],
) -> Result<(), crate::failure::Failure> {
    let path = user.join(".codex/config.toml");
    let file = SettingsFile::read(&path)?;
    let before = read_text(&path, &file)?;
    let what = "its hook tables are not in the form that Codex writes";
    let after = without_trust(&before, keys)
        .ok_or_else(|| ProtectFailure::File { path: path.clone(), what })?;
    if after == before {
        return Ok(());
    }
    let after = Some(after.as_bytes()).filter(|after| !after.trim_ascii().is_empty());
    confirm(arguments, session, (&path, file.content(), after))?;
    file.replace(after)?;
    Ok(())
}

fn read_text(path: &Path, file: &SettingsFile) -> Result<String, ProtectFailure> {
    let text = std::str::from_utf8(file.content().unwrap_or_default());
    text.map(str::to_owned)
        .map_err(|_| ProtectFailure::File { path: path.to_owned(), what: "it is not valid UTF-8" })
}

/// Lists the hooks of actum in the user's settings with `hooks/list` of the Codex app server. Ignores hooks in the
/// settings of a workspace, even if they call the same command, because a repository could contain them.
fn list(program: &Path, (root, user): (&Path, &Path)) -> Result<Option<Vec<Hook>>, ProtectFailure> {
    let no_settings = |source| ProtectFailure::NoSettings { source };
    let source = settings_file(Client::Codex, Level::User, (root, user)).map_err(no_settings)?;
    let source = actum::real_path(&source);
    let commands = hooks_of(own_program()?).map(|hook| commands(Client::Codex, &hook));
    let commands =
        commands.into_iter().collect::<Result<Vec<_>, _>>().map_err(no_settings)?.concat();
    let client = json!({ "name": "actum", "title": "actum", "version": env!("CARGO_PKG_VERSION") });
    let initialize = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
    let lines = [
        json!({ "id": 0, "method": "initialize", "params": initialize }),
        json!({ "method": "initialized" }),
        json!({ "id": 1, "method": "hooks/list", "params": { "cwds": [root] } }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let pick = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message.get("id").and_then(Value::as_u64) == Some(1)).then_some(message)
    };
    let mut command = proof::new_command(program);
    let command = command.arg("app-server").current_dir(root);
    let answer = proof::ask(command, &lines, LIST_TIME, pick).map_err(|source| {
        let what = format!("cannot start it: {source}");
        ProtectFailure::Client { client: "codex", what }
    })?;
    let answer = answer.as_ref();
    let Some(data) = answer.and_then(|answer| answer.pointer("/result/data")?.as_array()) else {
        return Ok(None);
    };
    let hooks = data.iter().filter_map(|entry| entry.get("hooks")?.as_array()).flatten();
    let is_ours = |hook: &&Value| {
        let text = |field: &str| hook.get(field).and_then(Value::as_str).unwrap_or_default();
        actum::real_path(Path::new(text("sourcePath"))) == source
            && commands.iter().any(|command| command == text("command"))
    };
    Ok(Some(hooks.filter(is_ours).filter_map(read_hook).collect()))
}

fn read_hook(hook: &Value) -> Option<Hook> {
    let text = |field: &str| hook.get(field).and_then(Value::as_str);
    Some(Hook {
        key: text("key")?.to_owned(),
        hash: text("currentHash")?.to_owned(),
        is_trusted: matches!(text("trustStatus"), Some("trusted" | "managed")),
        is_enabled: hook.get("enabled").and_then(Value::as_bool) != Some(false),
    })
}

/// Returns the configuration with the hashes of these hooks added, or `None` if the form of their tables is not supported.
fn with_trust(text: &str, hooks: &[Hook]) -> Option<String> {
    let mut wanted: Table = text.parse().ok()?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for Hook { key, hash, .. } in hooks {
        let state = table(table(table(&mut wanted, "hooks")?, "state")?, key)?;
        let hash = Toml::String(hash.clone());
        let entry = format!("trusted_hash = {hash}\n");
        state.insert("trusted_hash".to_owned(), hash);
        if let Some((header, end)) = section(&lines, key) {
            let body = lines.get(header + 1..end)?;
            match body.iter().position(|line| line.trim_start().starts_with("trusted_hash")) {
                Some(at) => *lines.get_mut(header + 1 + at)? = entry,
                None => lines.insert(header + 1, entry),
            }
            continue;
        }
        if let Some(last) = lines.last_mut() {
            if !last.ends_with('\n') {
                last.push('\n');
            }
            lines.push("\n".to_owned());
        }
        lines.push(format!("[hooks.state.{}]\n", Toml::String(key.clone())));
        lines.push(entry);
    }
    let edited = lines.concat();
    (edited.parse::<Table>().ok()? == wanted).then_some(edited)
}

/// Returns the configuration without the states of the hooks with these keys, or `None` if the form of their tables is
/// not supported.
fn without_trust(text: &str, keys: &[String]) -> Option<String> {
    let mut wanted: Table = text.parse().ok()?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for key in keys {
        let Some(Toml::Table(hooks)) = wanted.get_mut("hooks") else { continue };
        let Some(Toml::Table(states)) = hooks.get_mut("state") else { continue };
        if states.remove(key).is_none() {
            continue;
        }
        if states.is_empty() {
            hooks.remove("state");
        }
        if hooks.is_empty() {
            wanted.remove("hooks");
        }
        let (header, end) = section(&lines, key)?;
        // Also remove the blank line that separates the table from the previous one.
        let is_blank = |at: usize| lines.get(at).is_some_and(|line| line.trim().is_empty());
        let start = header.checked_sub(1).filter(|before| is_blank(*before)).unwrap_or(header);
        lines.drain(start..end);
    }
    let edited = lines.concat();
    (edited.parse::<Table>().ok()? == wanted).then_some(edited)
}

/// Finds the table with the state of a hook. Returns the index of its header line and the index after its last field.
fn section(lines: &[String], key: &str) -> Option<(usize, usize)> {
    let is_header = |line: &String| {
        let table = line.trim_start().starts_with('[').then(|| line.parse::<Table>().ok());
        let table = table.flatten().unwrap_or_default();
        let state = table.get("hooks").and_then(|hooks| hooks.get("state"));
        state.is_some_and(|state| state.get(key).is_some())
    };
    let header = lines.iter().position(is_header)?;
    let is_end = |line: &String| line.trim().is_empty() || line.trim_start().starts_with('[');
    let fields = lines.iter().skip(header + 1).position(is_end);
    Some((header, fields.map_or(lines.len(), |count| header + 1 + count)))
}

/// Returns the table in this field, which is created if it is missing, or `None` if the field is not a table.
fn table<'a>(parent: &'a mut Table, field: &str) -> Option<&'a mut Table> {
    parent.entry(field).or_insert_with(|| Toml::Table(Table::new())).as_table_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(event: &str, hash: &str) -> Hook {
        let key = format!("/home/ada/.codex/hooks.json:{event}:0:0");
        Hook { key, hash: hash.to_owned(), is_trusted: false, is_enabled: true }
    }

    /// Issue 27
    #[test]
    fn trust_is_added_and_removed_without_changing_other_bytes() {
        let hooks = [hook("pre_tool_use", "sha256:1"), hook("stop", "sha256:2")];
        let keys: Vec<_> = hooks.iter().map(|hook| hook.key.clone()).collect();
        for before in
            ["", "# mine\nmodel = 'x' # y\n", "[hooks.state.\"other\"]\ntrusted_hash = 'z'\n"]
        {
            let after = with_trust(before, &hooks).unwrap();
            assert!(after.starts_with(before) && after.contains("\"sha256:2\""), "{after}");
            assert_eq!(with_trust(&after, &hooks).as_deref(), Some(&*after));
            assert_eq!(without_trust(&after, &keys).as_deref(), Some(before));
            assert_eq!(without_trust(before, &keys).as_deref(), Some(before));
        }
        let open = with_trust("model = 'x'", &hooks).unwrap();
        assert!(open.starts_with("model = 'x'\n\n[hooks.state."), "{open}");
    }

    /// Issue 27
    #[test]
    fn the_hash_of_a_changed_hook_is_replaced() {
        let old = with_trust("a = 1\n", &[hook("stop", "sha256:1")]).unwrap();
        let old = format!("{old}enabled = true\n\n[b]\nc = 2\n");
        let new = with_trust(&old, &[hook("stop", "sha256:2")]).unwrap();
        assert_eq!(new, old.replace("sha256:1", "sha256:2"));
        let gone = without_trust(&new, &[hook("stop", "").key]).unwrap();
        assert_eq!(gone, "a = 1\n\n[b]\nc = 2\n");
    }

    /// Issue 27
    #[test]
    fn hook_states_in_an_unknown_form_are_not_edited() {
        let hook = hook("stop", "sha256:2");
        let key = &hook.key;
        let inline = format!("[hooks.state]\n\"{key}\" = {{ trusted_hash = \"sha256:1\" }}\n");
        for text in [inline.as_str(), "hooks = 7\n", "no toml"] {
            assert_eq!(with_trust(text, std::slice::from_ref(&hook)), None, "{text}");
        }
        assert_eq!(without_trust(&inline, std::slice::from_ref(key)), None);
    }
}
