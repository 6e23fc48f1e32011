//! `actum protect`: puts the hook into the settings of a client, and proves with the client itself that its edits go through
//! actum.

mod failure;
mod file;
mod proof;

use std::borrow::Borrow;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actum::NewAlert;
use actum::reason::Reason;
use actum_api::protect::{Protection, ProtectionCheck};
use actum_core::path::{Harmless, Quoted};
use actum_core::{Digest, FileMode, RelPath};
use actum_hook::Client;
use actum_hook::settings::{Entries, Level, installed, settings_file, with_hook, without_hook};
use actum_workspace::path_change::{Content, PathChange, State};

use super::Session;
use crate::diff_text::{self, Audience};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{actor, home, records, root, shown_path};

pub(crate) use failure::ProtectFailure;
pub(crate) use file::SettingsFile;

/// Make each edit of an agent's client a run, and prove that it is
///
/// Puts `actum hook` into the settings of the client, after showing what changes in them, and keeps every other byte. Then
/// it starts the client with a model that is made of a script, on this machine and without a network, and lets it
/// edit: a protected file must be refused, and an edit must become a run, which is undone again. Only where all of that
/// holds the answer is "armed".
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The client: claude, codex, gemini or qwen
    client: Client,
    /// Use the settings of the workspace that the team shares
    #[arg(long, group = "level")]
    team: bool,
    /// Use the settings of this user, which hold in each workspace
    #[arg(long, group = "level")]
    user: bool,
    /// Take the hook out of the settings again, and nothing else
    #[arg(long)]
    off: bool,
    /// Change nothing, and try the client once more
    #[arg(long, conflicts_with_all = ["off", "print"])]
    check: bool,
    /// Print the settings with the hook, and change nothing
    #[arg(long, conflicts_with = "off")]
    print: bool,
    /// Change the settings without asking
    #[arg(long)]
    yes: bool,
    /// Do not try the client
    #[arg(long, conflicts_with = "check")]
    no_proof: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let client = arguments.client;
    let root = session.root();
    if !root::is_made(root) {
        return Err(actum_workspace::Error::from(actum_workspace::ErrorKind::NotAWorkspace).into());
    }
    let user = home::user_home().ok_or(ProtectFailure::NoHome)?;
    let path = settings_file(client, arguments.level(), (root, &user))
        .map_err(|source| ProtectFailure::Settings { path: PathBuf::new(), source })?;
    let program = program()?;
    let unusable = |source| ProtectFailure::Settings { path: path.clone(), source };
    let settings = SettingsFile::read(&path)?;
    let before = settings.content();
    let after = match arguments.off {
        false => Some(with_hook(client, before, &program).map_err(unusable)?),
        true => match before {
            Some(before) => without_hook(client, before, &program).map_err(unusable)?,
            None => None,
        },
    };
    if arguments.print {
        session.screen.hand_over(after.as_deref().unwrap_or_default())?;
        return Ok(Exit::Success);
    }
    let changed = !arguments.check && after.as_deref() != before;
    let configured_now = if changed {
        confirm(arguments, session, (&path, before, after.as_deref()))?;
        settings.replace(after.as_deref())?;
        if arguments.off {
            note_removal(session, root, &path, client)?;
        }
        after.as_deref()
    } else {
        before
    };
    let configured = installed(client, configured_now, &program).map_err(unusable)? == Entries::All;
    let wants_proof = configured && !arguments.off && !arguments.no_proof;
    let checks = match wants_proof {
        true => proof::prove(client, session, root)?,
        false => Vec::new(),
    };
    let armed = !checks.is_empty() && checks.iter().all(|check| check.passed);
    let settings = shown_path::text(path.as_os_str().as_bytes());
    let client = client.name().to_owned();
    let document = Protection { client, settings, changed, configured, armed, checks };
    session.screen.show(&Shown { document: &document, off: arguments.off })?;
    Ok(match armed || arguments.off || arguments.no_proof {
        true => Exit::Success,
        false => Exit::NeedsAttention,
    })
}

impl Arguments {
    fn level(&self) -> Level {
        match (self.team, self.user) {
            (true, _) => Level::Team,
            (false, true) => Level::User,
            (false, false) => Level::Local,
        }
    }
}

/// The path of this program, as the settings name it.
pub(crate) fn program() -> Result<PathBuf, ProtectFailure> {
    std::env::current_exe().map_err(|source| ProtectFailure::Program { source })
}

/// Shows what would change, and asks whether it may.
fn confirm(
    arguments: &Arguments,
    session: &Session,
    (path, before, after): (&Path, Option<&[u8]>, Option<&[u8]>),
) -> Result<(), Failure> {
    let state = |content: Option<&[u8]>| match content {
        None => State::Absent,
        Some(content) => State::File {
            mode: FileMode::REGULAR,
            size: content.len() as u64,
            digest: Digest::of(content),
            content: Content::Known(Arc::new(content.to_vec())),
        },
    };
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = RelPath::new(name.as_bytes()).map_err(|_| ProtectFailure::NoHome)?;
    let (before, after) = (state(before), state(after));
    let change = PathChange { path: name, renamed_from: None, before, after, excerpts: Vec::new() };
    let shown = Quoted(path.as_os_str().as_bytes());
    session.screen.tell_lines(|out| {
        writeln!(out, "{shown}:")?;
        let changes = [change];
        for section in diff_text::sections(&changes) {
            section.write(Audience::Terminal, out)?;
        }
        Ok(())
    })?;
    if arguments.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(ProtectFailure::NotAsked.into());
    }
    session.screen.tell_lines(|out| write!(out, "Change these settings? [y/N] "))?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    match (read, line.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => Err(ProtectFailure::Declined.into()),
    }
}

/// Records that a client is not protected any more: who turns a protection off leaves a trace.
fn note_removal(
    session: &Session,
    root: &Path,
    path: &Path,
    client: Client,
) -> Result<(), Failure> {
    let shown = Quoted(path.as_os_str().as_bytes());
    let message = format!("the hook of `{}` was taken out of `{shown}`", client.name());
    let id = actum_workspace::View::open(root)?.workspace_id()?;
    let root = shown_path::text(root.as_os_str().as_bytes());
    records::open(&session.tenant)?.alert(NewAlert {
        name: Reason::ClientHookRemoved.name(),
        message,
        actor: Some(actor::of(None)),
        workspace: id.map(|id| (id, root)),
    })?;
    Ok(())
}

/// A result for the screen.
struct Shown<'a> {
    document: &'a Protection,
    off: bool,
}

impl Document for Shown<'_> {
    type Api = Protection;

    fn document(&self) -> impl Borrow<Protection> {
        self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Protection { client, settings, changed, configured, armed, checks } = self.document;
        let state = match (configured, changed) {
            (true, true) => "written",
            (true, false) => "in place",
            (false, true) => "taken out",
            (false, false) => "not there",
        };
        writeln!(out, "hook       {state}: {}", Quoted(settings.as_bytes()))?;
        for ProtectionCheck { what, passed, detail } in checks {
            let verdict = if *passed { "ok    " } else { "failed" };
            writeln!(out, "{verdict}     {what}: {}", Harmless(detail.as_bytes()))?;
        }
        match (armed, self.off, checks.is_empty()) {
            (true, _, _) => {
                writeln!(out, "armed      each edit of {client} here goes through actum")
            }
            (false, true, _) => Ok(()),
            (false, false, true) => {
                writeln!(
                    out,
                    "not proven: nothing was tried; `actum protect {client} --check` does"
                )
            }
            (false, false, false) => writeln!(out, "not armed: what failed above lets edits pass"),
        }
    }
}
