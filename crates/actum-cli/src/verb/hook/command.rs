//! Commands of a client's shell: effects that are certain from their text are judged before they run.

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

/// Limit of the paths of one text that are judged.
const PATHS_MAX: usize = 1_000;
/// Limit of the entries of a directory that are judged.
const CHILDREN_MAX: usize = 200;

/// Verbs of actum that a client's shell may run under a strict hook. They make runs, or only show data.
const STRICT_VERBS: [&str; 11] =
    ["apply", "diff", "exec", "explain", "help", "log", "queue", "redo", "show", "status", "undo"];
/// Verbs by which an operator decides about an agent, or turns the hook off.
const PERSONS_VERBS: [&str; 3] = ["approve", "hook", "protect"];

/// Refuses a command that would certainly make a change that the gates refuse, or that a rule of the operator refuses.
/// A strict hook refuses each command that is not one of actum. Outside of a workspace nothing is judged.
pub(super) fn answer(
    session: &Session,
    event: &Event,
    (client, text, strict): (Client, &str, bool),
) -> Result<Answer, Failure> {
    let Some(root) = workspace_of_session(&event.directory) else { return Ok(Answer::Nothing) };
    if strict && !is_own_command(text) {
        return Ok(Answer::Refuse(format!(
            "actum: the hook is strict here, so a command of the shell runs only as a run of actum; nothing was run. Call it as \
             `actum exec --agent {} -- sh -c 'COMMAND'` in quotes, with nothing before or after, or with the tool `exec` of `actum mcp`",
            client.name()
        )));
    }
    let directory = actum::real_path(&event.directory);
    let in_force = policy::in_force(&root)?;
    let found = commands(text);
    let confined: Vec<_> = found.iter().flat_map(ShellCommand::commands_of_exec).collect();
    for command in found.iter().chain(&confined) {
        if let Some(verb) = verb_of_person(command) {
            return Ok(Answer::Refuse(format!(
                "actum: the command would run `actum {verb}`, which is for the person; nothing was run. Ask the person"
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

/// Returns true if a text is one command of actum that makes runs of this workspace or shows data, and nothing else.
fn is_own_command(text: &str) -> bool {
    let words = plain_words(text).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else { return false };
    if !leads_to_this_program(program) {
        return false;
    }
    let options = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    // With these options it is about another workspace or ledger.
    let leads_elsewhere = |word: &str| word.starts_with("-C") || word.starts_with("--tenant");
    match arguments.first().map(String::as_str) {
        Some("--help" | "--version") => arguments.len() == 1,
        Some(verb) => STRICT_VERBS.contains(&verb) && !options.into_iter().any(leads_elsewhere),
        None => false,
    }
}

/// Returns true if a program that is called in this way is this one. A directory of `PATH` in the workspace could hold
/// another `actum`.
#[expect(clippy::disallowed_methods, reason = "the search path says which program a shell starts")]
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

/// Returns the verb of a command of actum that is reserved for the operator.
fn verb_of_person(command: &ShellCommand) -> Option<&str> {
    let (program, arguments) = command.program_and_arguments().split_first()?;
    let is_actum = Path::new(program.as_deref()?).file_name()? == "actum";
    let mut words = arguments.iter().flatten().map(String::as_str);
    let mut verb = words.next().filter(|_| is_actum)?;
    while verb.starts_with('-') {
        match verb {
            "--help" | "-h" | "--version" => return None,
            "--tenant" | "--color" | "-C" => drop(words.next()),
            _ => {}
        }
        verb = words.next()?;
    }
    let has = |option: &dyn Fn(&str) -> bool| words.clone().any(option);
    let is_for_person = match verb {
        "queue" => has(&|word| word.starts_with("--seen")),
        _ => PERSONS_VERBS.contains(&verb),
    };
    let only_shows =
        |word: &str| matches!(word, "--check" | "--help" | "-h") || word.starts_with("--print");
    Some(verb).filter(|_| is_for_person && !has(&only_shows))
}

/// Returns true if a file outside of the workspace holds keys, credentials, a policy, or settings of a client. A
/// removed directory counts if it holds such a file.
fn is_closed_to_commands(changed: &ChangedPath, real: &Path, home: Option<&Path>) -> bool {
    let settings = home.into_iter().flat_map(client_settings);
    let mut closed = private_place::closed_to_changes().into_iter().chain(settings);
    closed.any(|place| real.starts_with(&place) || changed.is_removed && place.starts_with(real))
}

/// Returns the reason for which a rule about commands refuses this one.
fn judge_line(in_force: &PolicyInForce, line: &CommandLine) -> Option<String> {
    let judgement = in_force.policy.restrain_command(line)?;
    let verdict = judgement.verdict;
    let ground = Ground::of_command(line, &judgement).into();
    let gate = GateDecision { gate: GateName::Commands, verdict, ground };
    match verdict {
        Verdict::Allow => None,
        Verdict::NeedsApproval => Some(format!(
            "actum: the command needs a person: {}; nothing was run. `actum exec -- COMMAND` lets it wait for one",
            gate.ground
        )),
        Verdict::Deny => Some(refusal(vec![gate])),
    }
}

/// Returns the reason for which a command must not change a path.
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
    // A link that leads in a circle is no file.
    let Some(real) = real else { return Ok(None) };
    let shown = Quoted(real.as_os_str().as_bytes());
    if changed.is_removed && root.starts_with(&real) {
        return Ok(Some(format!(
            "actum: the command would remove `{shown}` with the workspace in it, and with all that undo needs; nothing was run"
        )));
    }
    let Ok(below) = real.strip_prefix(root) else {
        return Ok(is_closed_to_commands(changed, &real, home).then(|| {
            format!(
                "actum: the command would change `{shown}`, in a place of keys, credentials, a policy or settings of clients; nothing was \
                 run. Leave it as it is, or ask the person"
            )
        }));
    };
    if below.starts_with(STATE_DIRECTORY) {
        return Ok(Some(
            "actum: the command would change `.actum`, where all is kept that undo needs; nothing was run"
                .to_owned(),
        ));
    }
    if below.as_os_str().is_empty() {
        return Ok(None); // what is put into the root has a name of its own there
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
        // Lock files that git left are removed by hand.
        Err(_) if below.extension().is_some_and(|name| name == "lock") => return Ok(None),
        Err(error) => {
            return Ok(Some(format!(
                "actum: the command would change what no run may: {error}; nothing was run"
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
            // The gate of approval would add what this sentence states.
            let why = against.iter().filter(|gate| gate.gate != GateName::Approval);
            let why: Vec<_> = why.map(|gate| gate.ground.to_string()).collect();
            let path = InBackticks(path.as_bytes());
            Some(format!(
                "actum: the command would change `{path}`, and that needs a person ({}); nothing was run. Make the change with the edit tool, \
                 and it waits for the person",
                why.join("; ")
            ))
        }
    })
}

/// Returns the entries of a directory, as far as they can be listed.
fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).take(CHILDREN_MAX).collect()
}

/// Returns the message of a refusal by these gates.
fn refusal(gates: Vec<GateDecision>) -> String {
    words(&Failure::from(actum::Error::Denied { gates }), Moment::Before)
}
