//! `actum hook`: the program that an agent's client calls before and after its own edits.
//!
//! Each failure ends with exit code 2 and a message on standard error, since clients let a tool run after any other
//! code.

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

/// Time limit of a hook. Clients wait longer, and some let the tool run once they stop waiting.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Answer the hook of an agent's client, which makes runs of its own edits
///
/// The client calls it with the event on standard input: before and after each edit, before each shell command, and at
/// the beginning and the end of each turn. Before the edit the gates judge it, and the content of its files is saved.
/// After the edit the change becomes a run with a receipt, which `actum undo` can undo. If the gates refuse the edit,
/// the exit code is 2, the reason is on standard error, and the client does not make it. Outside of a workspace the
/// hook does nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the client: claude, codex, opencode, gemini or qwen
    client: Client,
    /// Refuse each command of the client's shell that is not one of actum, such as `actum exec`
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
                "actum: cannot compare the files of this turn: it took more than {seconds} seconds"
            );
            let output = Answer::Tell(words).output(client, Moment::TurnEnd);
            drop(write_all(output.as_bytes())); // there is nothing else to be done
            std::process::exit(0);
        }
        let seconds = TIME_LIMIT.as_secs();
        let reason = format!(
            "actum: the hook took more than {seconds} seconds, so an edit must not be made, and one that was made may be no run; try again"
        );
        drop(writeln!(io::stderr(), "{reason}"));
        std::process::exit(2);
    };
    let answered = match thread::Builder::new().spawn(end_in_time) {
        Ok(_) => catch_unwind(AssertUnwindSafe(|| answer(arguments, session, &is_about_turn))),
        Err(error) => {
            let reason = format!("actum: cannot start a thread of the hook: {error}; try again");
            Ok((Moment::Other, Answer::Refuse(reason)))
        }
    };
    let (moment, answer) = answered.unwrap_or_else(|_| {
        let reason = "actum: the hook failed by a defect of actum; please report what is above";
        match is_about_turn.load(Ordering::Relaxed) {
            true => (Moment::TurnEnd, Answer::Tell(reason.to_owned())),
            false => (Moment::Other, Answer::Refuse(reason.to_owned())),
        }
    });
    let output = answer.output(arguments.client, moment);
    let written = write_all(output.as_bytes());
    if let Some(reason) = answer.reason() {
        drop(writeln!(io::stderr(), "{reason}")); // the code says it as well
        return Ok(Exit::Usage);
    }
    match written {
        Ok(()) => Ok(Exit::Success),
        Err(_) if is_about_turn.load(Ordering::Relaxed) => Ok(Exit::Success), // nothing depends on it
        Err(source) => Err(Failure::Unwritten { source }),
    }
}

fn write_all(output: &[u8]) -> io::Result<()> {
    let mut to = io::stdout().lock();
    to.write_all(output)?;
    to.flush()
}

/// Returns the answer to the event on standard input.
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
            let words = format!("actum: cannot compare the files of this turn: {problem}");
            return (Moment::TurnEnd, Answer::Tell(words));
        }
        Err(error) => {
            let name = client.name();
            let reason = format!(
                "actum: cannot read the event of `{name}`: {error}; nothing was changed. The tool must not run, since actum does not know \
                 what it would do. Tell the person, and do not try again: `actum protect {name} --check` looks for the cause"
            );
            return (Moment::Other, Answer::Refuse(reason));
        }
    };
    let moment = event.moment;
    if moment.is_about_turn() {
        is_about_turn.store(true, Ordering::Relaxed);
        let answer = turn::answer(client, session, &event);
        // Nothing is refused here, so a failure is reported and the client continues.
        let failed = |failure: Failure| {
            let message = failure.message();
            Answer::Tell(format!("actum: cannot compare the files of this turn: {message}"))
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
                Moment::After => format!("actum: the edit was made, and it is no run: {why}"),
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
        actor: actor::of(Some(client.name().to_owned())),
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

/// Variables in which clients name the project directory, whatever directory their shell is in.
const PROJECT_VARIABLES: [&str; 3] =
    ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR"];

/// Returns the workspace of a session: that of the project, else the one around the directory of the client.
fn workspace_of_session(directory: &Path) -> Option<PathBuf> {
    let projects = PROJECT_VARIABLES.into_iter().filter_map(home::inherited_file);
    let mut directories = projects.chain(std::iter::once(directory.to_owned()));
    directories.find_map(|directory| root::around(&actum::real_path(&directory)))
}

/// Returns the settings of clients in a home directory, without links.
fn client_settings(home: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    let files =
        Client::ALL.into_iter().map(move |client| settings_file(client, Level::User, (home, home)));
    // The last one decides whether Codex runs a hook.
    let files = files.flatten().chain(std::iter::once(home.join(".codex/config.toml")));
    files.map(|file| actum::real_path(&file))
}

/// Returns true if a file outside of the workspace holds keys, credentials, a policy, or settings of a client.
fn is_closed(path: &Path, home: Option<&Path>) -> bool {
    let is_settings = |home: &Path| client_settings(home).any(|file| path == file);
    home::operators_own_real().iter().any(|own| path.starts_with(own))
        || private_place::holding(path).is_some()
        || private_place::is_private(path)
        || home.is_some_and(is_settings)
}

/// Refuses settings that remove the hook, turn all hooks off, or replace a strict one: an agent could write them.
fn answer_settings(client: Client, strict: bool, event: &Event) -> Result<Answer, Failure> {
    let root = workspace_of_session(&event.directory);
    let (Some(root), Some(home)) = (root, home::user_home()) else { return Ok(Answer::Nothing) };
    let root = root.as_path();
    let configured = protect::state_of(client, (root, &home))?;
    let stands = configured.is_somewhere && configured.off_in.is_none();
    Ok(match stands && (configured.is_strict || !strict) {
        true => Answer::Nothing,
        false => Answer::Refuse(format!(
            "actum: these settings turn the hook of actum off, or open the shell that it closes, so they do not count in this session; \
             a person does that with `actum protect {}`",
            client.name()
        )),
    })
}

/// Returns the workspace that the files of an edit are in, else the one that the client works in; `None` if there is
/// neither.
///
/// # Errors
/// The edit must not be made: its files are in several workspaces, or unknown.
fn workspace_of(
    client: Client,
    event: &Event,
    home: Option<&Path>,
) -> Result<Option<PathBuf>, String> {
    let own = root::around(&actum::real_path(&event.directory));
    let files = match files(client, event, home) {
        Ok(files) => files,
        // Outside of a workspace nothing is judged.
        Err(_) if own.is_none() => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut roots: Vec<_> = files.iter().filter_map(|file| root::around(file.parent()?)).collect();
    roots.sort();
    roots.dedup();
    match roots.len() {
        0 => Ok(own),
        1 => Ok(roots.pop()),
        _ => Err("the edit has files in several workspaces; make one edit for each".to_owned()),
    }
}

fn answer_before(caller: &Caller<'_>, session: &Session, event: &Event) -> Result<Answer, Failure> {
    let mut engine = engine(session, caller.root)?;
    let refuse = |reason: String| Ok(Answer::Refuse(format!("actum: {reason}")));
    let answer = match before(&mut engine, caller, event)? {
        Before::Free => Ok(Answer::Nothing),
        Before::Made(run) => refuse(format!(
            "a person approved this change, and actum made it as run {run}; read the file and go on, do not edit it again"
        )),
        Before::Unreadable(error) => refuse(format!("{error}; nothing was changed")),
        Before::Closed(path) => refuse(format!(
            "`{}` is in a place of keys, credentials, a policy or settings of clients, where no agent may edit; nothing was changed. Leave \
             it as it is, or ask the person",
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
                "actum has no snapshot of {} for this edit. If the edit is no run already, `actum undo` cannot take it back",
                paths.join(", ")
            ))
        }
        After::TakenBack { refused, run } => {
            let refused = words(&Failure::from(*refused), Moment::Before);
            Answer::Refuse(format!(
                "{refused}\nThe edit was made before the gates could judge it, and run {run} took it back."
            ))
        }
        After::Stands { refused, error } => {
            let refused = words(&Failure::from(*refused), Moment::Before);
            let error = Failure::from(*error).message();
            Answer::Refuse(format!(
                "{refused}\nThe edit was made before the gates could judge it, and it stands, since it could not be taken back: \
                 {error}. A person has to look at it."
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

/// Leaves the engine open: the process ends now, and the kernel closes its files.
fn finish(engine: actum::Engine) {
    drop(engine.finish()); // a checkpoint that could not be signed is made by the next run
    std::mem::forget(engine);
}

/// Returns the reason for which an edit is refused, or is no run, and the next steps of an agent.
fn words(failure: &Failure, moment: Moment) -> String {
    let message = failure.message();
    let hints = agent_hints::after(failure);
    let message = match moment {
        Moment::Before | Moment::Settings | Moment::TurnStart | Moment::TurnEnd | Moment::Other => {
            format!("actum: {message}")
        }
        Moment::After => format!(
            "actum: the edit was made, and it could not be recorded as a run, so `actum undo` cannot take it back: {message}"
        ),
    };
    std::iter::once(message).chain(hints).collect::<Vec<_>>().join("\n")
}
