//! Judges the shell commands of a client before they run, as far as their effects are certain from their text.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::PolicyInForce;
use actum_core::RelPath;
use actum_core::path::{InBackticks, Quoted};
use actum_gate::{CommandLine, Decision, GateDecision, GateName, Ground, Verdict};
use actum_hook::shell::{ChangedPath, ShellCommand, changed_paths, commands, plain_words};
use actum_hook::{Answer, Client, Event, Moment, resolve_links};
use actum_record::receipt::EffectKind;
use actum_workspace::STATE_DIRECTORY;

use super::super::Session;
use super::{client_settings, words, workspace_of_session};
use crate::failure::Failure;
use crate::{home, policy, private_place};

/// Maximum number of paths that are judged for one command text.
const PATHS_MAX: usize = 1_000;
/// Maximum number of entries that are judged if a command changes everything in a directory.
const CHILDREN_MAX: usize = 200;

/// Commands of actum that a strict hook allows in the client's shell. They make runs or only show data.
const STRICT_VERBS: [&str; 11] =
    ["apply", "diff", "exec", "explain", "help", "log", "queue", "redo", "show", "status", "undo"];
/// Commands of actum that are reserved for the user, who approves an agent's changes or disables its hook with them.
const USER_ONLY_VERBS: [&str; 3] = ["approve", "hook", "protect"];

/// Refuses a shell command if a command rule refuses it, or if it is certain to make a change that the gates refuse. A strict
/// hook also refuses every command that is not a command of actum. Outside of a workspace, all commands are allowed.
pub(super) fn answer(
    session: &Session,
    event: &Event,
    (client, text, strict): (Client, &str, bool),
) -> Result<Answer, Failure> {
    let Some(root) = workspace_of_session(&event.directory) else { return Ok(Answer::Nothing) };
    if strict && !is_own_command(text) {
        return Ok(Answer::Refuse(format!(
            "actum: the hook is strict here, so shell commands may only run through actum; nothing was run. Use \
             `actum exec --agent {} -- sh -c 'COMMAND'` with quotes and with nothing before or after it, or the `exec` tool of \
             `actum mcp`",
            client.name()
        )));
    }
    let directory = actum::real_path(&event.directory);
    let in_force = policy::in_force(&root)?;
    let found = commands(text);
    let confined: Vec<_> = found.iter().flat_map(ShellCommand::commands_of_exec).collect();
    for command in found.iter().chain(&confined) {
        if let Some(verb) = user_only_verb(command) {
            return Ok(Answer::Refuse(format!(
                "actum: the command would run `actum {verb}`, which only the user may run; nothing was run. Ask the user to run it"
            )));
        }
        let Some(line) = command.known_words().and_then(|words| CommandLine::new(words).ok())
        else {
            continue;
        };
        if let Some(refused) = judge_line(&in_force, &line) {
            return Ok(Answer::Refuse(refused));
        }
    }
    let home = home::user_home();
    for changed in changed_paths(&found, &directory, home.as_deref()).into_iter().take(PATHS_MAX) {
        let place = (root.as_path(), home.as_deref());
        if let Some(refused) = judge_path(&in_force, &changed, place, session)? {
            return Ok(Answer::Refuse(refused));
        }
    }
    Ok(Answer::Nothing)
}

/// Returns the text after `-C` in a word of short options, which may be combined as in `-qCDIR`; `None` without `-C`. The
/// text is empty if the directory is the next word.
fn after_directory_option(word: &str) -> Option<&str> {
    let options = word.strip_prefix('-').filter(|options| !options.starts_with('-'))?;
    options.split_once('C').map(|(_, after)| after)
}

/// Whether the text consists of a single actum command that makes runs in this workspace or shows data.
fn is_own_command(text: &str) -> bool {
    let words = plain_words(text).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else { return false };
    if !leads_to_this_program(program) {
        return false;
    }
    let options = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    // These options select a different workspace or ledger.
    let leads_elsewhere =
        |word: &str| after_directory_option(word).is_some() || word.starts_with("--tenant");
    match arguments.first().map(String::as_str) {
        Some("--help" | "--version") => arguments.len() == 1,
        Some(verb) => STRICT_VERBS.contains(&verb) && !options.into_iter().any(leads_elsewhere),
        None => false,
    }
}

/// Whether a shell that is given this program name would start this executable. A `PATH` directory inside the workspace might
/// contain a different program named `actum`.
#[expect(
    clippy::disallowed_methods,
    reason = "the search path decides which program a shell starts"
)]
fn leads_to_this_program(program: &str) -> bool {
    let found = match program.starts_with('/') {
        true => Some(PathBuf::from(program)),
        false if program == "actum" => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut places = std::env::split_paths(&path).map(|place| place.join(program));
            places.find(|file| file.is_relative() || file.symlink_metadata().is_ok())
        }
        false => None,
    };
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    found.is_some_and(|found| {
        found.is_absolute()
            && found.canonicalize().ok().is_some_and(|it| own.is_ok_and(|own| own == it))
    })
}

/// Returns the verb of an actum command that is reserved for the user, or `None` for any other command.
fn user_only_verb(command: &ShellCommand) -> Option<&str> {
    let (program, arguments) = command.program_and_arguments().split_first()?;
    let is_actum = Path::new(program.as_deref()?).file_name()? == "actum";
    let mut words = arguments.iter().flatten().map(String::as_str);
    let mut verb = words.next().filter(|_| is_actum)?;
    while verb.starts_with('-') {
        match verb {
            "--help" | "-h" | "--version" => return None,
            "--tenant" | "--color" => drop(words.next()),
            option if after_directory_option(option) == Some("") => drop(words.next()),
            _ => {}
        }
        verb = words.next()?;
    }
    let has = |option: &dyn Fn(&str) -> bool| words.clone().any(option);
    let is_user_only = match verb {
        "queue" => has(&|word| word.starts_with("--seen")),
        _ => USER_ONLY_VERBS.contains(&verb),
    };
    let only_shows =
        |word: &str| matches!(word, "--check" | "--help" | "-h") || word.starts_with("--print");
    Some(verb).filter(|_| is_user_only && !has(&only_shows))
}

/// Whether a change outside of the workspace affects keys, credentials, a policy or settings of a client. Removing a directory
/// that contains such a file also affects it.
fn is_closed_to_commands(changed: &ChangedPath, real: &Path, home: Option<&Path>) -> bool {
    let settings = home.into_iter().flat_map(client_settings);
    let mut closed = private_place::closed_to_changes().into_iter().chain(settings);
    closed.any(|place| real.starts_with(&place) || changed.is_removed && place.starts_with(real))
}

/// Returns the message if a command rule of the policy denies a command or requires approval for it.
fn judge_line(in_force: &PolicyInForce, line: &CommandLine) -> Option<String> {
    let judgement = in_force.policy.restrain_command(line)?;
    let verdict = judgement.verdict;
    let ground = Ground::of_command(line, &judgement).into();
    let gate = GateDecision { gate: GateName::Commands, verdict, ground };
    match verdict {
        Verdict::Allow => None,
        Verdict::NeedsApproval => Some(format!(
            "actum: the command needs the user's approval: {}; nothing was run. If you use `actum exec -- COMMAND`, its changes \
             are queued for approval",
            gate.ground
        )),
        Verdict::Deny => Some(refusal(vec![gate])),
    }
}

/// Returns the message if a shell command must not change a path, or `None` if it may.
fn judge_path(
    in_force: &PolicyInForce,
    changed: &ChangedPath,
    (root, home): (&Path, Option<&Path>),
    session: &Session,
) -> Result<Option<String>, Failure> {
    let real = match (changed.follows_link, changed.path.parent(), changed.path.file_name()) {
        (false, Some(parent), Some(name)) => resolve_links(parent).map(|parent| parent.join(name)),
        (true, ..) | (false, None, _) | (false, _, None) => resolve_links(&changed.path),
    };
    // A symbolic link that is part of a loop does not lead to any file.
    let Some(real) = real else { return Ok(None) };
    let shown = Quoted(real.as_os_str().as_bytes());
    if changed.is_removed && root.starts_with(&real) {
        return Ok(Some(format!(
            "actum: the command would remove `{shown}`, which contains the workspace and the data that undo needs; nothing was run"
        )));
    }
    let Ok(below) = real.strip_prefix(root) else {
        return Ok(is_closed_to_commands(changed, &real, home).then(|| {
            format!(
                "actum: the command would change `{shown}`, which contains keys, credentials, a policy or client settings; \
                 nothing was run. Leave it unchanged, or ask the user"
            )
        }));
    };
    if below.starts_with(STATE_DIRECTORY) {
        return Ok(Some(
            "actum: the command would change `.actum`, which contains the data that undo needs; nothing was run"
                .to_owned(),
        ));
    }
    if below.as_os_str().is_empty() {
        // The root itself can be changed. Entries that the command creates in it are judged under their own names.
        return Ok(None);
    }
    if changed.with_all_below {
        for child in children(&real) {
            let child = ChangedPath { follows_link: false, ..ChangedPath::written(child) };
            if let Some(refused) = judge_path(in_force, &child, (root, home), session)? {
                return Ok(Some(refused));
            }
        }
    }
    let path = match RelPath::new(below.as_os_str().as_bytes()) {
        Ok(path) => path,
        // A lock file that git left behind in `.git` may be removed.
        Err(_) if below.extension().is_some_and(|name| name == "lock") => return Ok(None),
        Err(error) => {
            return Ok(Some(format!(
                "actum: the command would change a path that no run may change: {error}; nothing was run"
            )));
        }
    };
    let effect = EffectKind::Modified;
    let decision = policy::decide_effect(in_force, path.clone(), effect, &session.tenant)?;
    let Decision { verdict, gates, .. } = decision;
    let against: Vec<_> = gates.into_iter().filter(|gate| gate.verdict == verdict).collect();
    Ok(match verdict {
        Verdict::Allow => None,
        Verdict::Deny => Some(refusal(against)),
        Verdict::NeedsApproval => {
            // The message already states that approval is needed, so leave out the ground of the approval gate.
            let why = against.iter().filter(|gate| gate.gate != GateName::Approval);
            let why: Vec<_> = why.map(|gate| gate.ground.to_string()).collect();
            let path = InBackticks(path.as_bytes());
            Some(format!(
                "actum: the command would change `{path}`, which needs the user's approval ({}); nothing was run. Make the \
                 change with the edit tool, which queues it for approval",
                why.join("; ")
            ))
        }
    })
}

/// Returns up to [`CHILDREN_MAX`] entries of a directory, skipping entries that cannot be read.
fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).take(CHILDREN_MAX).collect()
}

/// Formats the message for a command that was denied by the given gates.
fn refusal(gates: Vec<GateDecision>) -> String {
    words(&Failure::from(actum::Error::Denied { gates }), Moment::Before)
}
