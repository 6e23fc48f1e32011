//! `actum protect`: adds the hook to the settings of a client, then starts that client to prove that its edits go through
//! actum.

mod failure;
mod file;
mod proof;
mod trust;

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
use actum_hook::settings::{
    Entries, Hook, Level, disables_hooks, installed, settings_file, state_keys, with_hook,
    without_hook,
};
use actum_workspace::path_change::{Content, PathChange, State};

use super::Session;
use crate::approval_key::{self, ApprovalState};
use crate::diff_text::{self, Audience};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{actor, home, records, root, shown_path};

use failure::ProtectFailure;
use file::SettingsFile;

/// Make every edit of an agent's client a run, and prove that it works
///
/// Adds `actum hook` to the settings of the client after showing you the change, and leaves every other byte unchanged.
/// For Codex, it also adds the hash of each hook to the configuration. Then it tests the hook: it starts the client with
/// a scripted model on this machine, without a network, and lets it edit files. An edit of a protected file must be
/// refused, and any other edit must become a run, which is undone afterwards. actum reports "armed" only if all of that
/// succeeds.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Client to protect: claude, codex, gemini, qwen or opencode
    client: Client,
    /// Use the workspace settings that the team shares
    #[arg(long, group = "level")]
    team: bool,
    /// Use the settings of this user, which apply in every workspace
    #[arg(long, group = "level")]
    user: bool,
    /// Also refuse the client's shell commands, except commands of actum such as `actum exec`
    #[arg(long, conflicts_with_all = ["off", "check"])]
    strict: bool,
    /// Remove the hook from the settings, leaving the rest unchanged
    #[arg(long)]
    off: bool,
    /// Test the client again without changing its settings
    #[arg(long, conflicts_with_all = ["off", "print"])]
    check: bool,
    /// Print the settings with the hook, or a paragraph about actum for a project's `AGENTS.md`, without changing anything
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "settings", conflicts_with = "off")]
    print: Option<Printed>,
    /// Change the settings without asking for confirmation
    #[arg(long)]
    yes: bool,
    /// Do not test the client
    #[arg(long, conflicts_with = "check")]
    no_proof: bool,
}

/// Text that `--print` writes instead of changing the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Printed {
    /// Settings of the client, including the hook
    Settings,
    /// Paragraph about actum for a project's `AGENTS.md`
    Agents,
}

/// Paragraph that explains actum to agents.
const AGENTS: &str = include_str!("../../../../packaging/AGENTS.md");

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.print == Some(Printed::Agents) {
        session.screen.hand_over(AGENTS.as_bytes())?;
        return Ok(Exit::Success);
    }
    let client = arguments.client;
    let root = session.root();
    let tries = !(arguments.print.is_some() || arguments.off || arguments.no_proof);
    let is_of_workspace = !arguments.user && client != Client::Codex;
    if !root::is_made(root) && (tries || is_of_workspace && arguments.print.is_none()) {
        return Err(actum_workspace::Error::from(actum_workspace::ErrorKind::NotAWorkspace).into());
    }
    let user = home::user_home().ok_or(ProtectFailure::NoHome)?;
    let places = (root, user.as_path());
    let no_settings = |source| ProtectFailure::NoSettings { source };
    let path = settings_file(client, arguments.level(), places).map_err(no_settings)?;
    let hook = Hook { program: program_of(arguments.level())?, is_strict: arguments.strict };
    let unusable = |source| ProtectFailure::Settings { path: path.clone(), source };
    let bare = with_hook(client, None, &hook).map_err(unusable)?;
    let read = SettingsFile::read(&path);
    if arguments.print.is_some() {
        // If the settings cannot be read, print only the hook, so that the user can add it by hand.
        let whole = read.ok().and_then(|file| with_hook(client, file.content(), &hook).ok());
        session.screen.hand_over(&whole.unwrap_or(bare))?;
        return Ok(Exit::Success);
    }
    let settings = read?;
    let before = settings.content();
    let after = match (arguments.off, before) {
        (false, before) => Some(with_hook(client, before, &hook).map_err(unusable)?),
        (true, Some(before)) => without_hook(client, before).map_err(unusable)?,
        (true, None) => None,
    };
    let changed = !arguments.check && after.as_deref() != before;
    if changed && tries && proof::find(proof::program(client)).is_none() {
        return Err(ProtectFailure::NotFound { program: proof::program(client) }.into());
    }
    if changed {
        confirm(arguments, session, (&path, before, after.as_deref()))?;
        let was_strict = state_of(client, places)?.is_strict;
        if root::is_made(root) && (arguments.off || was_strict && !arguments.strict) {
            note_removal(session, root, (&path, client, arguments.off))?; // a removal must be recorded first
        }
        let keys = match (arguments.off, before) {
            (true, Some(before)) => state_keys(client, before, &path).map_err(unusable)?,
            (true, None) | (false, _) => Vec::new(),
        };
        settings.replace(after.as_deref())?;
        if !keys.is_empty()
            && let Err(failure) = trust::revoke(arguments, session, &user, &keys)
        {
            session.screen.note(format_args!(
                "the hashes of the hook are still in the Codex configuration: {}",
                failure.message()
            ));
        }
    }
    let configured = state_of(client, places)?;
    if client == Client::Codex
        && configured.is_somewhere
        && tries
        && !arguments.check
        && let Err(failure) = trust::grant(arguments, session, places)
    {
        session
            .screen
            .note(format_args!("Codex does not trust the hook yet: {}", failure.message()));
    }
    let checks = match tries && configured.is_somewhere {
        true => proof::prove(client, session, places, &configured)?,
        false => Vec::new(),
    };
    let armed = !checks.is_empty() && checks.iter().all(|check| check.passed);
    let document = Protection {
        client: client.name().to_owned(),
        settings: shown_path::text(path.as_os_str().as_bytes()),
        changed,
        configured: configured.is_somewhere,
        strict: configured.is_strict,
        armed,
        checks,
    };
    let team = arguments.team && !arguments.off;
    session.screen.show(&Shown { document: &document, off: arguments.off })?;
    if team {
        session.screen.note(
            "every user of this project's client needs `actum` in PATH; without it, the client's edits are refused",
        );
    }
    if armed && matches!(approval_key::approval_key(), Ok(ApprovalState::Missing)) {
        session.screen.note(
            "there is no approval key yet, so queued plans cannot be approved; run `actum key make approval` to create it",
        );
    }
    if client == Client::Codex && configured.is_somewhere && arguments.no_proof {
        session
            .screen
            .note("Codex skips the hook until you trust it; start `codex` once and confirm");
    }
    Ok(match armed || !tries {
        true => Exit::Success,
        false => Exit::NeedsAttention,
    })
}

/// State of the hook across all settings files of a client that apply in a workspace.
pub(crate) struct Configured {
    /// Whether at least one settings file calls the hook for every event.
    pub(crate) is_somewhere: bool,
    /// Whether at least one settings file calls a strict hook, which refuses shell commands.
    pub(crate) is_strict: bool,
    /// Whether a settings file calls the hook only for some events, because an older version of actum wrote it.
    pub(crate) is_in_part: bool,
    /// Settings file that disables all hooks, if there is one.
    pub(crate) off_in: Option<PathBuf>,
}

/// Reads all settings files of a client that apply in the workspace.
pub(crate) fn state_of(
    client: Client,
    (root, user): (&Path, &Path),
) -> Result<Configured, ProtectFailure> {
    let mut configured =
        Configured { is_somewhere: false, is_strict: false, is_in_part: false, off_in: None };
    for level in [Level::Local, Level::Team, Level::User] {
        let Ok(path) = settings_file(client, level, (root, user)) else { continue };
        let settings = SettingsFile::read(&path)?;
        let unusable = |source| ProtectFailure::Settings { path: path.clone(), source };
        for hook in hooks_of(program_of(level)?).into_iter().chain(hooks_of(own_program()?)) {
            let there = installed(client, settings.content(), &hook).map_err(unusable)?;
            configured.is_somewhere |= there == Entries::All;
            configured.is_strict |= there == Entries::All && hook.is_strict;
            configured.is_in_part |= there == Entries::Some;
        }
        if disables_hooks(client, settings.content()).map_err(unusable)? {
            configured.off_in = Some(path);
        }
    }
    Ok(configured)
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

/// Returns the path that settings of this level use for actum. Team settings use only its name, which is resolved in
/// `PATH`.
fn program_of(level: Level) -> Result<PathBuf, ProtectFailure> {
    match level {
        Level::Team => Ok(PathBuf::from("actum")),
        Level::Local | Level::User => own_program(),
    }
}

/// Returns both variants of the hook, normal and strict, that settings may call with this program.
fn hooks_of(program: PathBuf) -> [Hook; 2] {
    [false, true].map(|is_strict| Hook { program: program.clone(), is_strict })
}

/// Returns the path of the running actum executable.
fn own_program() -> Result<PathBuf, ProtectFailure> {
    std::env::current_exe().map_err(|source| ProtectFailure::Program { source })
}

/// Shows the change of the settings, and asks the user to confirm it unless `--yes` was passed.
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
    let parts: Vec<_> = path.iter().rev().take(2).collect();
    let name = parts.into_iter().rev().collect::<PathBuf>();
    let name = RelPath::new(name.as_os_str().as_bytes()).map_err(|_| ProtectFailure::NoHome)?;
    let (before, after) = (state(before), state(after));
    let change = PathChange { path: name, renamed_from: None, before, after, excerpts: Vec::new() };
    let shown = Quoted(path.as_os_str().as_bytes());
    session.screen.print_lines(|out| {
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
    session.screen.print_lines(|out| write!(out, "Change these settings? [y/N] "))?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    match (read, line.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => Err(ProtectFailure::Declined.into()),
    }
}

/// Raises an alert when the hook of a client is removed or is no longer strict, so that the operator notices it.
fn note_removal(
    session: &Session,
    root: &Path,
    (path, client, off): (&Path, Client, bool),
) -> Result<(), Failure> {
    let (shown, name) = (Quoted(path.as_os_str().as_bytes()), client.name());
    let message = match off {
        true => format!("the hook of `{name}` was removed from `{shown}`"),
        false => format!("the hook of `{name}` in `{shown}` is no longer strict"),
    };
    let id = actum_workspace::View::open(root)?.workspace_id()?;
    let root = shown_path::text(root.as_os_str().as_bytes());
    records::open(&session.tenant)?.alert(NewAlert {
        name: Reason::ClientHookRemoved.name(),
        message,
        actor: Some(actor::from_agent(None)),
        workspace: id.map(|id| (id, root)),
    })?;
    Ok(())
}

/// Result of `actum protect`, together with whether the hook was to be removed.
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
        let Protection { client, settings, changed, configured, strict, armed, checks } =
            self.document;
        let state = match (*changed, self.off) {
            (true, false) => "written",
            (true, true) => "removed",
            (false, _) if *configured => "already installed",
            (false, _) => "not installed",
        };
        let kind = if *strict { ", strict" } else { "" };
        writeln!(out, "hook       {state}{kind}: {}", Quoted(settings.as_bytes()))?;
        for ProtectionCheck { what, passed, detail } in checks {
            let verdict = if *passed { "ok    " } else { "failed" };
            writeln!(out, "{verdict}     {what}: {}", Harmless(detail.as_bytes()))?;
        }
        match (*armed, self.off, *configured) {
            (true, _, _) => {
                let commands = match strict {
                    true => "its shell runs only commands of actum, such as `actum exec`",
                    false => "changes by its commands are reported at the end of a turn",
                };
                writeln!(out, "armed      edits by the tools of {client} become runs; {commands}")
            }
            (false, true, false) => Ok(()),
            (false, true, true) => {
                writeln!(out, "remaining  other settings of {client} still call the hook")
            }
            (false, false, false) => {
                writeln!(
                    out,
                    "not armed  no settings call the hook; run `actum protect {client}` to add it"
                )
            }
            (false, false, true) if checks.is_empty() => {
                writeln!(
                    out,
                    "not proven {client} was not tested; make an edit with it, then check `actum log`"
                )
            }
            (false, false, true) => {
                writeln!(out, "not armed  fix the failed checks above, then try again")
            }
        }
    }
}
