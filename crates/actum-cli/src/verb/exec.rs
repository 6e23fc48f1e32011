//! `actum exec`: runs a command on a view of the workspace, and passes its changes through the gates.

mod missing;
mod report;
mod runner;
mod status;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::{
    Attempt, Ending, Engine, Exec, OwnRoot, PolicyInForce, Records, Request, RequestLease, Root,
    Runner, Trial, Tried,
};
use actum_core::path::Harmless;
use actum_core::{Budget, PathRule, Scope};
use actum_gate::CommandLine;
use actum_record::lease::Quotas;
use actum_sandbox::{Enforcement, Output, Resource, SandboxPolicy, Stdin};
use actum_workspace::{Capture, Limits, LinuxDisk, Workspace};

use super::Session;
use super::apply::rule;
use super::sandbox::Confinement;
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::lease::LeaseArgument;
use crate::output::{Form, Screen};
use crate::progress::Working;
use crate::run_arguments::{self, label};
use crate::run_end::RunEnd;
use crate::{actor, clock, notify, policy, records, recovery_note, root, signals};

use report::{Executed, Outcome};
pub(crate) use runner::new as runner;

/// Run a command, and keep either all of its changes as one run or none of them
///
/// The command sees the workspace and may change any of its files, because all changes are captured. If the command
/// succeeds, its changes are judged and applied like any other change: all or nothing, with a receipt, and undoable. If
/// it fails, nothing is kept. The command can read the programs of the system, has no network access, and has a scratch
/// directory of its own. Its output is passed on, and messages of actum are printed to standard error.
///
/// If the command fails, its exit code is returned. The exit code is 0 if the command succeeds and its changes are
/// kept, or dropped on request. Other outcomes add 110 to the usual exit code: 111 means that the change was refused,
/// and 116 that it waits for an approval. The codes 124 to 127 are the same as for `actum sandbox run`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep the change if the gates allow it: only if the command succeeds (default), or always, even if it exits with
    /// another code
    #[arg(long, value_name = "WHEN", group = "end", num_args = 0..=1, require_equals = true, default_missing_value = "success")]
    keep: Option<Keep>,
    /// Keep only the paths that RULE matches, and omit the rest of the change
    #[arg(long, value_name = "RULE", value_parser = rule())]
    keep_only: Vec<PathRule>,
    /// Omit new pipes, sockets and devices instead of keeping nothing
    #[arg(long)]
    drop_special: bool,
    /// Queue the changes as a plan, for a review
    #[arg(long, group = "end")]
    review: bool,
    /// Show the changes and the decisions of the gates, and keep nothing
    #[arg(long, group = "end")]
    drop: bool,
    /// Run this command on the changed workspace before the change is kept; if it fails, nothing is kept. It is not
    /// parsed by a shell
    #[arg(long, value_name = "COMMAND", value_parser = CommandLine::parse)]
    verify: Vec<CommandLine>,
    /// Treat this exit code as success, in addition to 0
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u8).range(1..))]
    accept: Vec<u8>,
    /// Keep changes only if RULE matches all of their paths
    #[arg(long, value_name = "RULE", value_parser = rule())]
    scope: Vec<PathRule>,
    /// Refuse changes of paths that RULE matches, even if they are in the scope
    #[arg(long, value_name = "RULE", value_parser = rule())]
    deny: Vec<PathRule>,
    /// Refuse a change of more files than this
    #[arg(long, value_name = "N")]
    max_files: Option<u64>,
    /// Refuse a change that adds and removes more lines than this in total
    #[arg(long, value_name = "N")]
    max_loc: Option<u64>,
    /// Also show the change as a diff
    #[arg(long)]
    diff: bool,
    /// Describe the run with LABEL in the log, instead of the command
    #[arg(short, long, value_name = "LABEL", value_parser = label)]
    message: Option<String>,
    /// Keep the changes only once: if a request with this key was carried out before and is still in effect, nothing is
    /// kept
    #[arg(long, value_name = "KEY", conflicts_with = "drop")]
    request_key: Option<String>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    /// Wait if another process is using the workspace
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    lease: LeaseArgument,
    #[command(flatten)]
    confinement: Confinement,
    /// List the commands that are running in the workspace, and the size of their changes so far, instead of running a
    /// command
    #[arg(long, conflicts_with = "command")]
    status: bool,
    /// Command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND",
        required_unless_present = "status"
    )]
    command: Vec<OsString>,
}

/// Condition under which the change of a command is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Keep {
    /// If the command succeeds
    Success,
    /// Even if the command exits with another code
    Always,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.status {
        return status::run(session);
    }
    // Exit codes from 1 are reserved for the command.
    let ended = executed(arguments, session).and_then(|executed| executed.show(&session.screen));
    Ok(ended.unwrap_or_else(|failure| {
        session.screen.failure(&failure);
        failure.exit_beside_a_command()
    }))
}

/// Workspace that the ledger in use may change, before it is opened.
enum Checked {
    /// The workspace will be opened only for reading.
    Looked(OwnRoot),
    Opened(Root, Box<Records>),
}

/// Workspace that is open while the command runs. It does not lock out other processes. Opening it recovers an
/// interrupted run before the command starts.
enum Place {
    Looked(Box<Workspace>),
    Opened(Box<Engine>),
}

/// Runs the command, and decides what happens to its changes.
fn executed(arguments: &Arguments, session: &Session) -> Result<Executed, Failure> {
    arguments.check_program()?;
    let key = run_arguments::request_key(arguments.request_key.as_deref())?;
    let lease = arguments.lease.look(session)?;
    let exec = arguments.exec(lease.as_ref());
    let root = root::existing_or_new(&session.start);
    let is_made = root::is_made(root);
    // Check the workspace before the command starts, to avoid running it for nothing.
    let checked = is_made.then(|| Checked::new(exec.ending, root, &session.tenant)).transpose()?;
    let files = policy::files()?;
    let in_force: PolicyInForce = files.read(root)?;
    if let Some(notice) = policy::set_aside(&in_force) {
        session.screen.note(notice);
    }
    let runner = runner(&arguments.confinement, &in_force, root, &session.start, &session.screen)?;
    let quotas = lease.as_ref().map(RequestLease::quotas).unwrap_or_default();
    let runner = runner.limited_by(quotas);
    let judged_by = (&in_force.policy, in_force.place());
    exec.check_lease(lease.as_ref(), judged_by, &session.tenant.id()?, clock::now())?;
    if !is_made {
        records::own_root(root, &session.tenant)?; // first report that no workspace may be created here
    }
    exec.find_checks(&runner)?;
    let place = checked.map(Checked::open).transpose()?;
    // The capture has to exist until the change is applied.
    let capture = place
        .as_ref()
        .and_then(|place| place.capture(&arguments.command).transpose())
        .transpose()?;
    let context = Context { runner: &runner, in_force: &in_force, capture: capture.as_ref() };
    let tried = tried(arguments, &exec, session, context, quotas)?;
    let end = match exec.attempt(&tried, &runner) {
        Ok(Attempt::Failed { dropped }) => {
            let outcome = Outcome::Dropped { dropped_changes: dropped };
            return Ok(Executed::new(&tried, &runner, (outcome, true)));
        }
        Ok(Attempt::LeftOut(paths)) => {
            note_left_out(paths, &session.screen);
            let has_failed = !tried.succeeded(&exec.accepted);
            return Ok(Executed::new(&tried, &runner, (Outcome::LeftOut, has_failed)));
        }
        Ok(Attempt::Unchanged) => Ok(None),
        Ok(Attempt::Changed { request, left_out }) => {
            note_left_out(left_out, &session.screen);
            let request = Request { lease, key, ..*request };
            let place = place.map_or_else(|| made(exec.ending, root, session), Ok);
            let diff = arguments.diff.then(|| session.screen.audience());
            let end = place.and_then(|place| match place {
                Place::Looked(workspace) => look(*workspace, &request, &in_force, diff, session),
                Place::Opened(engine) => {
                    let engine = engine.under_files(files, root).running(runner.clone());
                    make(engine, request, diff, session)
                }
            });
            end.map(Some)
        }
        Err(error) => Err(error.into()),
    };
    if let (Some(command), Err(failure)) = (&in_force.notify, &end) {
        notify::run(&session.screen, command, failure);
    }
    let outcome = match end {
        Ok(None) => Outcome::Nothing,
        Ok(Some(change)) => Outcome::Changed { change: Box::new(change) },
        Err(error) if error.exit() == Exit::Queued => Outcome::Queued { error: Box::new(error) },
        Err(error) => Outcome::Refused { error: Box::new(error) },
    };
    let has_failed = !tried.succeeded(&exec.accepted);
    Ok(Executed::new(&tried, &runner, (outcome, has_failed)))
}

impl Place {
    /// Creates a capture for the command if its change may be kept, after removing stale captures of earlier commands.
    fn capture(&self, command: &[OsString]) -> Result<Option<Capture<LinuxDisk>>, Failure> {
        let Self::Opened(engine) = self else { return Ok(None) };
        engine.sweep_captures()?;
        match engine.workspace().make_capture(&status::Note::new(command).to_bytes()) {
            // The command may free disk space, so it runs without a capture, and its change is held in memory.
            Err(error) if error.is_disk_full() => Ok(None),
            made => Ok(Some(made?)),
        }
    }
}

impl Checked {
    /// Checks that the ledger in use may change the workspace at `root`.
    fn new(ending: Ending, root: &Path, tenant: &Tenant) -> Result<Self, Failure> {
        Ok(match ending {
            Ending::Drop => Self::Looked(records::own_root(root, tenant)?),
            Ending::Keep | Ending::Review => {
                let (checked, records) = records::open_for(root, tenant)?;
                checked.check_own(&records)?;
                Self::Opened(checked, Box::new(records))
            }
        })
    }

    fn open(self) -> Result<Place, Failure> {
        Ok(match self {
            Self::Looked(root) => Place::Looked(Box::new(root.open_existing()?)),
            Self::Opened(root, records) => Place::Opened(Box::new(root.existing_engine(*records)?)),
        })
    }

    fn open_or_make(self) -> Result<Place, Failure> {
        Ok(match self {
            Self::Looked(root) => Place::Looked(Box::new(root.open()?)),
            Self::Opened(root, records) => Place::Opened(Box::new(root.engine(*records)?)),
        })
    }
}

fn note_left_out(paths: usize, screen: &Screen) {
    if paths > 0 {
        let paths = count(number(paths), "changed path");
        screen.note(format_args!("{paths} omitted, as requested"));
    }
}

/// Creates the workspace, which does not exist yet.
fn made(ending: Ending, root: &Path, session: &Session) -> Result<Place, Failure> {
    let place = Checked::new(ending, root, &session.tenant)?.open_or_make()?;
    session.note_made(root);
    Ok(place)
}

/// Runner, policy and capture with which a command runs.
#[derive(Clone, Copy)]
struct Context<'c> {
    runner: &'c Runner,
    in_force: &'c PolicyInForce,
    capture: Option<&'c Capture<LinuxDisk>>,
}

/// Runs the command until it exits.
fn tried(
    arguments: &Arguments,
    exec: &Exec,
    session: &Session,
    Context { runner, in_force, capture }: Context<'_>,
    quotas: Quotas,
) -> Result<Tried, Failure> {
    let stdin = stdin(&session.screen);
    // A signal that ends this process while the command runs restores the terminal first.
    let _kept = match stdin {
        Stdin::Terminal => signals::keep_terminal().ok(),
        Stdin::Empty | Stdin::Bytes(_) | Stdin::Inherited => None,
    };
    let runner = match stdin {
        // An interactive command runs without the default time limit, because the user decides when it ends.
        Stdin::Terminal => &arguments.patient(runner).limited_by(quotas),
        Stdin::Empty | Stdin::Bytes(_) | Stdin::Inherited => runner,
    };
    let trial: Trial<'_> = exec.start(runner, &in_force.policy, stdin, capture)?;
    Ok(match session.screen.form {
        Form::Json(_) => {
            let _working = Working::begin(&session.screen, "running the command");
            trial.wait(|_, _| ControlFlow::Continue(()))?
        }
        Form::Text => trial.wait(pass_on)?,
    })
}

/// Computes the change and the decisions of the gates without applying anything.
fn look(
    mut workspace: Workspace,
    request: &Request,
    in_force: &PolicyInForce,
    diff: Option<crate::diff_text::Audience>,
    session: &Session,
) -> Result<RunEnd, Failure> {
    let tenant = session.tenant.id()?;
    Ok(RunEnd::look(&mut workspace, request, (in_force, &tenant), diff.into())?)
}

/// Applies the change, and reports an earlier recovery.
fn make(
    mut engine: Engine,
    request: Request,
    diff: Option<crate::diff_text::Audience>,
    session: &Session,
) -> Result<RunEnd, Failure> {
    let working = Working::begin(&session.screen, "applying the change");
    let end = RunEnd::make(&mut engine, request, diff.into());
    drop(working);
    recovery_note::print(&session.screen, engine.recovery());
    records::report_late_outcomes(&session.screen, &engine);
    let end = end?.after(engine.recovery());
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("the outcome is recorded, but {warning}"));
    }
    Ok(end)
}

impl Arguments {
    /// Rejects a program name that is most likely a mistyped option of `exec`.
    fn check_program(&self) -> Result<(), Failure> {
        match self.command.first() {
            Some(first) if first.as_bytes().starts_with(b"-") => {
                let first = Harmless(first.as_bytes());
                let message = format!(
                    "`{first}` is not an option of `exec`; to run a program whose name begins with `-`, pass its path; \
                     nothing was started"
                );
                Err(Failure::Usage { message })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns a runner with the maximum time limit, unless a time limit was passed.
    fn patient(&self, runner: &Runner) -> Runner {
        let is_given = self.confinement.limit.iter().any(|limit| limit.resource == Resource::Wall);
        let policy = runner.policy().clone();
        let (_, most) = Resource::Wall.sensible();
        let limits = match is_given {
            true => policy.limits,
            false => policy.limits.with(Resource::Wall, most, Enforcement::Polled),
        };
        runner.clone().confined_by(SandboxPolicy { limits, ..policy })
    }

    fn ending(&self) -> Ending {
        match (self.review, self.drop) {
            (true, _) => Ending::Review,
            (false, true) => Ending::Drop,
            // `--keep` selects the default ending.
            (false, false) => Ending::Keep,
        }
    }

    /// Converts the arguments to an [`Exec`].
    fn exec(&self, lease: Option<&RequestLease>) -> Exec {
        let allow = (!self.scope.is_empty()).then(|| self.scope.clone());
        Exec {
            command: self.command.clone(),
            accepted: self.accept.iter().copied().map(i32::from).collect(),
            ending: self.ending(),
            keeps_failed: self.keep == Some(Keep::Always),
            only: self.keep_only.clone(),
            drops_special: self.drop_special,
            checks: self.verify.clone(),
            limits: Limits {
                scope: Scope { allow, deny: self.deny.clone() },
                budget: Budget { max_files: self.max_files, max_loc: self.max_loc },
                ..Limits::default()
            },
            label: self.message.clone(),
            actor: actor::under(self.agent.clone(), lease),
            wait: self.wait,
        }
    }
}

/// Returns a terminal if the command is interactive, and otherwise the standard input of this process.
fn stdin(screen: &Screen) -> Stdin {
    let is_terminal =
        io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    match screen.form == Form::Text && is_terminal {
        true => Stdin::Terminal,
        false => Stdin::Inherited,
    }
}

/// Passes on the output of the command while it is written.
fn pass_on(output: Output, bytes: &[u8]) -> ControlFlow<()> {
    let written = match output {
        Output::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        Output::Stderr => io::stderr().lock().write_all(bytes),
    };
    let Err(error) = written else { return ControlFlow::Continue(()) };
    if error.kind() != io::ErrorKind::BrokenPipe {
        let note = format!(
            "note: failed to write the output of the command: {error}; the rest of the output is lost\n"
        );
        drop(io::stderr().lock().write_all(note.as_bytes()));
    }
    // Stop reading, and the command notices the closed pipe by itself.
    ControlFlow::Break(())
}
