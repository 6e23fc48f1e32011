//! `actum hook`: called by an agent's client before and after each edit that the client makes itself.
//!
//! On failure, the hook exits with code 2 and prints the reason to standard error. Clients would run the tool after any other
//! exit code.

mod command;
mod turn;

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use actum_core::path::Quoted;
use actum_hook::settings::{Level, settings_file};
use actum_hook::{
    After, Answer, Before, Caller, Client, Event, EventError, INPUT_BYTES_MAX, Moment, after,
    before, files,
};

use super::Session;
use super::protect;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{actor, agent_hints, home, policy, private_place, records, root, signals};

/// Time limit of a hook call. It is shorter than the time limits of all clients, because some of them run the tool when their
/// own limit has passed.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Answer a hook call of an agent's client, so that the client's own edits are recorded as runs
///
/// The client calls this command before and after each edit, before each shell command, and at the start and end of
/// each turn. It passes the event on standard input. Before an edit, the gates judge it and actum saves the content of
/// its files. After the edit, actum records the change as a run with a receipt, which `actum undo` can undo. If the gates
/// refuse the edit, the command prints the reason to standard error and exits with 2, and the client does not make the
/// edit. Outside of a workspace, the hook does nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the client: claude, codex, opencode, gemini or qwen
    client: Client,
    /// Refuse every shell command of the client that is not a command of actum, such as `actum exec`
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    signals::hold_file_size();
    let is_about_turn = Arc::new(AtomicBool::new(false));
    let (ends_quietly, client) = (Arc::clone(&is_about_turn), arguments.client);
    let end_in_time = move || {
        thread::sleep(TIME_LIMIT);
        if ends_quietly.load(Ordering::Relaxed) {
            let seconds = TIME_LIMIT.as_secs();
            let words = format!(
                "actum: cannot check this turn for changes outside of runs: it took more than {seconds} seconds"
            );
            let output = Answer::Notify(words).output(client, Moment::TurnEnd);
            drop(write_all(output.as_bytes())); // if this fails, there is no other way to report it
            std::process::exit(0);
        }
        let seconds = TIME_LIMIT.as_secs();
        let reason = format!(
            "actum: the hook took more than {seconds} seconds; a pending edit must not be made, and an edit that was already \
             made may not be recorded as a run; try again"
        );
        drop(writeln!(io::stderr(), "{reason}"));
        std::process::exit(2);
    };
    let answered = match thread::Builder::new().spawn(end_in_time) {
        Ok(_) => catch_unwind(AssertUnwindSafe(|| answer(arguments, session, &is_about_turn))),
        Err(error) => {
            let reason = format!("actum: the hook failed to start a thread: {error}; try again");
            Ok((Moment::Other, Answer::Refuse(reason)))
        }
    };
    let (moment, answer) = answered.unwrap_or_else(|_| {
        let reason =
            "actum: the hook failed because of a bug in actum; please report the error above";
        match is_about_turn.load(Ordering::Relaxed) {
            true => (Moment::TurnEnd, Answer::Notify(reason.to_owned())),
            false => (Moment::Other, Answer::Refuse(reason.to_owned())),
        }
    });
    let output = answer.output(arguments.client, moment);
    let written = write_all(output.as_bytes());
    if let Some(reason) = answer.reason() {
        drop(writeln!(io::stderr(), "{reason}")); // if this fails, the exit code still refuses the edit
        return Ok(Exit::Usage);
    }
    match written {
        Ok(()) => Ok(Exit::Success),
        // The client's work does not depend on the answer to an event about a turn.
        Err(_) if is_about_turn.load(Ordering::Relaxed) => Ok(Exit::Success),
        Err(source) => Err(Failure::Unwritten { source }),
    }
}

fn write_all(output: &[u8]) -> io::Result<()> {
    let mut to = io::stdout().lock();
    to.write_all(output)?;
    to.flush()
}

/// Reads an event from standard input, and returns its moment with the answer to it. Sets `is_about_turn` once the event is
/// known to mark the start or end of a turn.
fn answer(
    &Arguments { client, strict }: &Arguments,
    session: &Session,
    is_about_turn: &AtomicBool,
) -> (Moment, Answer) {
    let limit = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut input = Vec::new();
    let event = match io::stdin().lock().take(limit).read_to_end(&mut input) {
        Ok(_) => Event::read(client, &input),
        Err(error) => Err(EventError::NotJson { problem: error.to_string() }),
    };
    let event = match event {
        Ok(event) => event,
        Err(EventError::OfTurn { problem }) => {
            is_about_turn.store(true, Ordering::Relaxed);
            let words =
                format!("actum: cannot check this turn for changes outside of runs: {problem}");
            return (Moment::TurnEnd, Answer::Notify(words));
        }
        Err(error) => {
            let name = client.name();
            let reason = format!(
                "actum: cannot read the event from `{name}`: {error}; nothing was changed. The tool must not run, because actum \
                 does not know what it would do. Do not try again, but report this to the user: `actum protect {name} --check` \
                 can find the cause"
            );
            return (Moment::Other, Answer::Refuse(reason));
        }
    };
    let moment = event.moment;
    if moment.is_about_turn() {
        is_about_turn.store(true, Ordering::Relaxed);
        let answer = turn::answer(client, session, &event);
        // At the start or end of a turn there is nothing to refuse, so a failure is only reported.
        let failed = |failure: Failure| {
            let message = failure.message();
            Answer::Notify(format!(
                "actum: cannot check this turn for changes outside of runs: {message}"
            ))
        };
        return (moment, answer.unwrap_or_else(failed));
    }
    if moment == Moment::Settings {
        let answer = answer_settings(client, strict, &event);
        return (moment, answer.unwrap_or_else(|failure| Answer::Refuse(words(&failure, moment))));
    }
    if let Some(text) = &event.command {
        let answer = command::answer(session, &event, (client, text, strict));
        return (moment, answer.unwrap_or_else(|failure| Answer::Refuse(words(&failure, moment))));
    }
    if event.edit.is_none() {
        return (moment, Answer::Nothing);
    }
    let home = home::user_home();
    let root = match workspace_of(client, &event, home.as_deref()) {
        Ok(Some(root)) => root,
        Ok(None) => return (moment, Answer::Nothing),
        Err(why) => {
            let reason = match moment {
                Moment::After => {
                    format!("actum: the edit was made, but it was not recorded as a run: {why}")
                }
                Moment::Before
                | Moment::Settings
                | Moment::TurnStart
                | Moment::TurnEnd
                | Moment::Other => format!("actum: {why}; nothing was changed"),
            };
            return (moment, Answer::Refuse(reason));
        }
    };
    let caller = Caller {
        client,
        root: &root,
        actor: actor::from_agent(Some(client.name().to_owned())),
        home: home.as_deref(),
        is_closed: &|path| is_closed(path, home.as_deref()),
    };
    let answer = match moment {
        Moment::Before => answer_before(&caller, session, &event),
        Moment::After => answer_after(&caller, session, &event),
        Moment::Settings | Moment::TurnStart | Moment::TurnEnd | Moment::Other => {
            Ok(Answer::Nothing)
        }
    };
    let answer = answer.unwrap_or_else(|failure| Answer::Refuse(words(&failure, moment)));
    (moment, answer)
}

/// Environment variables in which clients pass the project directory. It does not depend on the current directory of the
/// client's shell.
const PROJECT_VARIABLES: [&str; 3] =
    ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR"];

/// Returns the workspace of a client's session. This is the workspace that contains the project directory. If the project is not
/// in a workspace, it is the one that contains the client's working directory.
fn workspace_of_session(directory: &Path) -> Option<PathBuf> {
    let projects = PROJECT_VARIABLES.into_iter().filter_map(home::inherited_file);
    let mut directories = projects.chain(std::iter::once(directory.to_owned()));
    directories.find_map(|directory| root::around(&actum::real_path(&directory)))
}

/// Returns the paths of the settings files of all clients in a home directory, with symbolic links resolved.
fn client_settings(home: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    let files =
        Client::ALL.into_iter().map(move |client| settings_file(client, Level::User, (home, home)));
    // `config.toml` decides whether Codex runs its hooks.
    let files = files.flatten().chain(std::iter::once(home.join(".codex/config.toml")));
    files.map(|file| actum::real_path(&file))
}

/// Whether agents are forbidden to edit a file outside of the workspace because it contains keys, credentials, a policy or
/// settings of a client.
fn is_closed(path: &Path, home: Option<&Path>) -> bool {
    let is_settings = |home: &Path| client_settings(home).any(|file| path == file);
    home::operators_own_real().iter().any(|own| path.starts_with(own))
        || private_place::holding(path).is_some()
        || private_place::is_private(path)
        || home.is_some_and(is_settings)
}

/// Refuses client settings that remove the hook, disable all hooks or replace a strict hook by a lenient one, because an agent
/// could have written them.
fn answer_settings(client: Client, strict: bool, event: &Event) -> Result<Answer, Failure> {
    let root = workspace_of_session(&event.directory);
    let (Some(root), Some(home)) = (root, home::user_home()) else { return Ok(Answer::Nothing) };
    let root = root.as_path();
    let configured = protect::state_of(client, (root, &home))?;
    let is_active = configured.is_somewhere && configured.off_in.is_none();
    Ok(match is_active && (configured.is_strict || !strict) {
        true => Answer::Nothing,
        false => Answer::Refuse(format!(
            "actum: these settings disable the actum hook or allow shell commands that it refuses, so they are ignored in this \
             session; only the user may change this, with `actum protect {}`",
            client.name()
        )),
    })
}

/// Returns the workspace that contains the files of an edit or, if they are in none, the workspace that contains the client's
/// working directory. Returns `None` if there is neither.
///
/// # Errors
/// Returns the reason why the edit must not be made: its files are in several workspaces or cannot be determined.
fn workspace_of(
    client: Client,
    event: &Event,
    home: Option<&Path>,
) -> Result<Option<PathBuf>, String> {
    let own = root::around(&actum::real_path(&event.directory));
    let files = match files(client, event, home) {
        Ok(files) => files,
        // Edits outside of a workspace are not judged, so their files need not be known.
        Err(_) if own.is_none() => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut roots: Vec<_> = files.iter().filter_map(|file| root::around(file.parent()?)).collect();
    roots.sort();
    roots.dedup();
    match roots.len() {
        0 => Ok(own),
        1 => Ok(roots.pop()),
        _ => {
            Err("the edit changes files in several workspaces; make one edit per workspace"
                .to_owned())
        }
    }
}

fn answer_before(caller: &Caller<'_>, session: &Session, event: &Event) -> Result<Answer, Failure> {
    let mut engine = engine(session, caller.root)?;
    let refuse = |reason: String| Ok(Answer::Refuse(format!("actum: {reason}")));
    let answer = match before(&mut engine, caller, event)? {
        Before::Free => Ok(Answer::Nothing),
        Before::Made(run) => refuse(format!(
            "the user approved this change, and actum applied it as run {run}; read the file and continue, but do not repeat the \
             edit"
        )),
        Before::Unreadable(error) => refuse(format!("{error}; nothing was changed")),
        Before::Closed(path) => refuse(format!(
            "`{}` contains keys, credentials, a policy or client settings, which agents may not edit; nothing was changed. Leave \
             it unchanged, or ask the user",
            Quoted(path.as_os_str().as_encoded_bytes())
        )),
    };
    finish(engine);
    answer
}

fn answer_after(caller: &Caller<'_>, session: &Session, event: &Event) -> Result<Answer, Failure> {
    let mut engine = engine(session, caller.root)?;
    let answer = match after(&mut engine, caller, event)? {
        After::Unchanged | After::Adopted(_) => Answer::Nothing,
        After::Unknown(paths) => {
            let paths: Vec<_> = paths
                .iter()
                .map(|path| format!("`{}`", Quoted(path.as_os_str().as_encoded_bytes())))
                .collect();
            Answer::Note(format!(
                "actum has no snapshot of {} from before this edit. Unless the edit is already part of a run, `actum undo` \
                 cannot undo it",
                paths.join(", ")
            ))
        }
        After::TakenBack { refused, run } => {
            let refused = words(&Failure::from(*refused), Moment::Before);
            Answer::Refuse(format!(
                "{refused}\nThe edit was made before the gates could judge it, so run {run} undid it."
            ))
        }
        After::UndoFailed { refused, error } => {
            let refused = words(&Failure::from(*refused), Moment::Before);
            let error = Failure::from(*error).message();
            Answer::Refuse(format!(
                "{refused}\nThe edit was made before the gates could judge it, and it could not be undone: {error}. The user has \
                 to review it."
            ))
        }
    };
    finish(engine);
    Ok(answer)
}

fn engine(session: &Session, root: &Path) -> Result<actum::Engine, Failure> {
    let files = policy::files()?;
    let (checked, records) = records::open_for(root, &session.tenant)?;
    Ok(checked.existing_engine(records)?.under_files(files, root))
}

/// Finishes the work of the engine without closing it. The process is about to exit, and the kernel then closes its files.
fn finish(engine: actum::Engine) {
    drop(engine.finish()); // if signing a checkpoint fails, the next run signs it
    std::mem::forget(engine);
}

/// Formats the message for an edit that was refused or could not be recorded as a run, including hints for the agent.
fn words(failure: &Failure, moment: Moment) -> String {
    let message = failure.message();
    let hints = agent_hints::after(failure);
    let message = match moment {
        Moment::Before | Moment::Settings | Moment::TurnStart | Moment::TurnEnd | Moment::Other => {
            format!("actum: {message}")
        }
        Moment::After => format!(
            "actum: the edit was made, but it could not be recorded as a run, so `actum undo` cannot undo it: {message}"
        ),
    };
    std::iter::once(message).chain(hints).collect::<Vec<_>>().join("\n")
}
