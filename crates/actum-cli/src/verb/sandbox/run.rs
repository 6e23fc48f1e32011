//! `actum sandbox run`: runs a command in a sandbox, and reports its resource usage and its changes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use actum_sandbox::{
    Child, Helper, HostReport, Layer, Output, PolicyError, SandboxPolicy, SpawnError, StartError,
    Tier, Violation, WaitError,
};

use super::confinement::Confinement;
use super::failure::SandboxFailure;
use super::program::Program;
use super::report::Report;
use super::{allowed, policy};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Form, Verbosity};
use crate::root;
use crate::verb::Session;

/// Run a command in a sandbox, and report its resource usage and its changes
///
/// Without a policy, the command can read the programs of the system and the current workspace or repository, or the
/// current directory if there is neither. It can write to a private scratch directory. It has no access to the network,
/// and no option allows it.
///
/// The exit code is that of the command. It is 124 if the command exceeded a limit, and 125 if the sandbox could not be
/// created. It is 126 if the command could not be run, and 127 if it was not found.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read the policy of the command from this TOML file; its paths are relative to the current directory
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    /// Let the command change the directory freely, then report the changes and discard them
    #[arg(long)]
    pub(super) capture: bool,
    #[command(flatten)]
    pub(super) confinement: Confinement,
    /// Let the command read and write PATH and everything below it, if the operator's policy lists it
    #[arg(long, value_name = "PATH")]
    pub(super) write: Vec<PathBuf>,
    /// Deny writes to PATH, even if the command may write to its parent directory
    #[arg(long, value_name = "PATH")]
    pub(super) deny_write: Vec<PathBuf>,
    /// With --capture, let the command change DIR permanently without a report, if the operator's policy lists it
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Vec<PathBuf>,
    /// Refuse to run the command if the host supports only a lower tier
    #[arg(long, value_name = "TIER")]
    pub(super) floor: Option<Floor>,
    /// Write the policy to standard output without running the command
    #[arg(long)]
    print_policy: bool,
    /// Command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND",
        required_unless_present = "print_policy"
    )]
    command: Vec<OsString>,
}

/// Minimum tier of isolation, as it is typed on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Floor {
    /// Landlock and seccomp
    #[value(name = "L", alias = "l")]
    L,
    /// Namespaces, in addition to Landlock and seccomp
    #[value(name = "N", alias = "n")]
    N,
}

impl From<Floor> for Tier {
    fn from(floor: Floor) -> Self {
        match floor {
            Floor::L => Self::L,
            Floor::N => Self::N,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    sandboxed(arguments, session).map_err(Failure::from)
}

fn sandboxed(arguments: &Arguments, session: &Session) -> Result<Exit, SandboxFailure> {
    let in_force = crate::policy::in_force(root::existing_or_new(&session.start))
        .map_err(|source| SandboxFailure::Operator { source: Box::new(source) })?;
    if let Some(notice) = crate::policy::set_aside(&in_force) {
        session.screen.note(notice);
    }
    let policy = policy::read(arguments, &in_force.sandbox, &session.start)?;
    let from_file = arguments.policy.is_some();
    let invalid = |error: PolicyError| SandboxFailure::Invalid { error, from_file };
    policy.check().map_err(invalid)?;
    if arguments.print_policy {
        let text = policy::to_text(&policy, &session.start)?;
        io::stdout().write_all(text.as_bytes()).map_err(SandboxFailure::Unwritten)?;
        return Ok(Exit::Success);
    }
    if lets_changes_stay(&policy) {
        actum::permitted_line(&in_force.policy, &arguments.command)
            .map_err(|error| SandboxFailure::Operator { source: Box::new(error.into()) })?;
    }
    let (program, words) = arguments.command.split_first().ok_or(SpawnError::Empty)?;
    let program = Program::find(Path::new(program), &policy)?;
    if session.screen.verbosity == Verbosity::Normal {
        let root = root::existing_or_new(&session.start);
        let hidden = policy::notes_of_look_alikes(&policy, root);
        for note in program.notes().into_iter().chain(policy::notes(&policy)).chain(hidden) {
            session.screen.note(note);
        }
    }
    let command = [&[program.path.into_os_string()], words].concat();
    let helper = Helper::this_program();
    let started = policy.start(&known_host(&helper), &helper, &command);
    let child = started.map_err(|error| match error {
        StartError::Unsatisfiable(error) => SandboxFailure::from(error),
        StartError::Spawn(error) => SandboxFailure::from(error),
    })?;
    let mut outcome = match session.screen.form {
        Form::Json(_) => child.wait()?,
        Form::Text => shown(child)?,
    };
    for path in &policy.write {
        let made = allowed::protected_in(path).unwrap_or_else(|error| {
            // The command has already run, so changes that cannot be checked are treated as forbidden.
            session
                .screen
                .note(format_args!("cannot determine which files the command created: {error}"));
            Some(path.clone())
        });
        outcome.violated.extend(made.map(Violation::Made));
    }
    let changes = outcome.captured.as_ref().map(Layer::changes).transpose();
    let changes = changes.unwrap_or_else(|error| {
        session.screen.note(format_args!("cannot determine the changes of the command: {error}"));
        None
    });
    let report = Report::new(&command, &policy, &outcome, changes);
    Ok(report.show(&session.screen))
}

/// Returns whether a command with this policy can permanently change files of the host.
fn lets_changes_stay(policy: &SandboxPolicy) -> bool {
    let has_caches = policy.view.as_ref().is_some_and(|view| !view.caches.is_empty());
    !policy.write.is_empty() || has_caches
}

/// Waits for the command, and passes on its output as it is written.
fn shown(child: Child) -> Result<actum_sandbox::Outcome, WaitError> {
    child.wait_with(|output, bytes| {
        let written = match output {
            Output::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Output::Stderr => io::stderr().lock().write_all(bytes),
        };
        // If nothing reads the output any longer, close it for the command as well, which then gets the broken pipe itself.
        written.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    })
}

/// Returns the isolation features of this host. They are detected once per boot and cached.
pub(crate) fn known_host(helper: &Helper) -> HostReport {
    match crate::home::cache_directory() {
        Some(directory) => HostReport::kept(helper, &directory.join("sandbox.json")),
        None => HostReport::probe(helper),
    }
}
