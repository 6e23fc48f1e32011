//! `actum sandbox run`: one command, confined and limited, and its effects.

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
use crate::output::Form;
use crate::root;
use crate::verb::Session;

/// Run a command confined and limited, and report its usage and its changes
///
/// Without a policy the command may read the current workspace or repository, or else the current directory, and the
/// programs of the system. It may write to a scratch directory of its own. It reaches no network, and no option gives
/// it one. The exit code is that of the command. It is 124 if the command exceeded a limit, 125 if the sandbox could
/// not be made, 126 and 127 if the command could not be run or found.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read the policy of the command from this file, which is TOML; paths in it are relative to the current directory
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    /// Let the command change the directory freely, report the changes, and keep none of them
    #[arg(long)]
    pub(super) capture: bool,
    #[command(flatten)]
    pub(super) confinement: Confinement,
    /// Let the command read and write PATH and all below it, if the operator lists that
    #[arg(long, value_name = "PATH")]
    pub(super) write: Vec<PathBuf>,
    /// Deny writes to PATH, though the command may write around it
    #[arg(long, value_name = "PATH")]
    pub(super) deny_write: Vec<PathBuf>,
    /// With --capture: let the command change DIR permanently, without a report, if the operator lists that
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Vec<PathBuf>,
    /// Refuse to run the command in a lower tier
    #[arg(long, value_name = "TIER")]
    pub(super) floor: Option<Floor>,
    /// Write the policy to standard output, and run nothing
    #[arg(long)]
    print_policy: bool,
    /// Report nothing about the run, unless the command was killed
    #[arg(long, short)]
    quiet: bool,
    /// Command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND",
        required_unless_present = "print_policy"
    )]
    command: Vec<OsString>,
}

/// Tier as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Floor {
    /// Landlock and seccomp
    #[value(name = "L", alias = "l")]
    L,
    /// Namespaces in addition
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
    if let Some(told) = crate::policy::set_aside(&in_force) {
        session.screen.note(told);
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
    if !arguments.quiet {
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
            // The command ran. Hidden changes are as bad as forbidden ones.
            session.screen.note(format_args!("cannot tell what the command made: {error}"));
            Some(path.clone())
        });
        outcome.violated.extend(made.map(Violation::Made));
    }
    let changes = outcome.captured.as_ref().map(Layer::changes).transpose();
    let changes = changes.unwrap_or_else(|error| {
        session.screen.note(format_args!("what the command changed cannot be told: {error}"));
        None
    });
    let report = Report::new(&command, &policy, &outcome, changes);
    Ok(report.tell(&session.screen, arguments.quiet))
}

/// Returns true if a command under this policy can change files of the host.
fn lets_changes_stay(policy: &SandboxPolicy) -> bool {
    let has_caches = policy.view.as_ref().is_some_and(|view| !view.caches.is_empty());
    !policy.write.is_empty() || has_caches
}

/// Passes on the output of the command as it is written.
fn shown(child: Child) -> Result<actum_sandbox::Outcome, WaitError> {
    child.wait_with(|output, bytes| {
        let written = match output {
            Output::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Output::Stderr => io::stderr().lock().write_all(bytes),
        };
        // If the output has no reader, the command gets the broken pipe itself.
        written.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    })
}

/// Returns the enforcement of this host, as it was detected since the last boot.
pub(crate) fn known_host(helper: &Helper) -> HostReport {
    match crate::home::cache_directory() {
        Some(directory) => HostReport::kept(helper, &directory.join("sandbox.json")),
        None => HostReport::probe(helper),
    }
}
