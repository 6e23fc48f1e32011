//! `actum run`: carries out an approved task plan and writes its reports.

mod documents;
mod report;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use actum::task::{self, FinishedTask, KeptUse, Outcome, ProgressObserver, TaskEnd};
use actum_task::report::{Phase, ReportStatus, StatusUpdate, TaskStatus};

use super::{Session, pipeline_host, sql_host};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::output::{Detail, Form, Screen};
use crate::run_arguments::label;
use crate::{actor, notify, policy, records, recovery_note, root, signals, status_lines};

/// Carry out an approved task plan completely or not at all, and write the reports
///
/// ENVELOPE is the request of the protocol layer. It names the plan and the system config, with the SHA-256 of the approved
/// version of each. `actum plan approve` writes such an envelope. The gates check the changes of the plan, which become
/// visible in a single run. `actum rollback` rolls them back. If actum is not available, the script next to the reports
/// in `agent/agent_outputs/reports` does the same.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File that contains the task envelope
    #[arg(required_unless_present = "plan", conflicts_with_all = ["plan", "config", "approval"])]
    envelope: Option<PathBuf>,
    /// File with the task plan, if there is no envelope; its approval must be signed by an operator
    #[arg(long, value_name = "FILE", requires = "approval")]
    plan: Option<PathBuf>,
    /// File with the system config that was approved together with the plan
    #[arg(long, value_name = "FILE", requires = "plan")]
    config: Option<PathBuf>,
    /// File with the signed approval of the plan
    #[arg(long, value_name = "FILE", requires = "plan")]
    approval: Option<PathBuf>,
    /// Also write the status lines for the protocol layer to TARGET, each as one line of JSON. TARGET is an open file
    /// descriptor such as `fd:3`, or the path of a FIFO
    #[arg(long, value_name = "TARGET")]
    status: Option<OsString>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    // Take over the caller's descriptor before this process opens a file that could get the same number.
    let status = arguments.status.as_deref();
    let status = status.map(|target| status_lines::open(target, &session.start)).transpose()?;
    let root = root::existing_or_new(&session.start);
    let files = policy::files()?;
    // An invalid policy must be rejected before anything is created.
    let in_force = files.read(root)?;
    let input = arguments.read(&session.start)?;
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let lease = arguments.lease.present(session, &records)?;
    let actor = actor::under(arguments.agent.clone(), lease.as_ref());
    let mut engine = checked.engine(records)?.under_files(files, root);
    if let Some(lease) = lease {
        engine = engine.under_lease(lease);
    }
    let held = signals::hold();
    let waiting = signals::waiting().ok();
    if let Some(sql) = sql_host::for_running(waiting.as_ref())? {
        engine = engine.running_sql(sql);
    }
    engine = engine.running_pipelines(pipeline_host::new(
        root,
        session.screen,
        KeptUse::None,
        waiting.as_ref(),
    )?);
    let mut lines =
        Lines { screen: session.screen, status, waiting: waiting.as_ref(), unshown: None };
    let ended = task::run(&mut engine, root, (input, actor), &mut lines);
    recovery_note::print(&session.screen, engine.recovery());
    records::report_late_outcomes(&session.screen, &engine);
    let ended = ended?;
    note_finished_tasks(&session.screen, &ended.finished);
    let exit = exit(&ended);
    let shown = report::show(&session.screen, &ended);
    let shown = lines.unshown.take().map_or(shown, Err);
    if let (Some(command), Some(cause)) = (&in_force.notify, ended.cause) {
        notify::run(&session.screen, command, &Failure::from(cause));
    }
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("the outcome is recorded, but {warning}"));
    }
    // If a signal cancelled the task, it has been handled and must not end the process as well.
    if let (true, Some(waiting)) = (is_cancelled(&ended.outcome), &waiting) {
        waiting.take();
    }
    drop(held);
    std::mem::forget(engine);
    shown.map(|()| exit)
}

/// Prints a note for each interrupted task whose reports have just been completed.
pub(super) fn note_finished_tasks(screen: &Screen, finished: &[FinishedTask]) {
    for FinishedTask { task, status, .. } in finished {
        let status = status.map_or("REJECTED", ReportStatus::as_str);
        screen.note(format_args!(
            "the process of task {task} ended before it reported the outcome: {status}; the reports are written now"
        ));
    }
}

/// Returns the exit code for the outcome of a task, by the statuses that all entry points share (D-1).
fn exit(ended: &TaskEnd) -> Exit {
    match &ended.outcome {
        Outcome::Rejected(_) => ended.cause.as_ref().map_or(Exit::Refused, Exit::from_error),
        Outcome::Executed { .. } if ended.unwritten.is_some() => Exit::NeedsAttention,
        Outcome::Executed { report, .. } => match report.status() {
            ReportStatus::Success => Exit::Success,
            ReportStatus::Partial | ReportStatus::Failed => Exit::NeedsAttention,
            ReportStatus::RolledBack | ReportStatus::Cancelled => Exit::RolledBack,
        },
    }
}

fn is_cancelled(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Executed { report, .. } => report.status() == ReportStatus::Cancelled,
        Outcome::Rejected(_) => false,
    }
}

/// Writes the status lines of a task to the screen and to the target of `--status`.
struct Lines<'w> {
    screen: Screen,
    status: Option<File>,
    waiting: Option<&'w signals::Waiting>,
    /// Failure to write a status line to standard output. After it, no more lines are written there.
    unshown: Option<Failure>,
}

impl ProgressObserver for Lines<'_> {
    fn report(&mut self, status: &TaskStatus) {
        let is_wanted = self.status.is_some() || self.screen.form == Form::Json(Detail::Full);
        let line = is_wanted.then(|| status.write()).transpose().unwrap_or_else(|error| {
            self.screen.note(format_args!("cannot create a status line: {error}"));
            None
        });
        if let (Some(file), Some(line)) = (&mut self.status, &line)
            && let Err(error) = file.write_all(line)
        {
            self.screen.note(format_args!(
                "cannot write status lines to the target of `--status`: {error}"
            ));
            self.status = None;
        }
        if self.unshown.is_some() {
            return;
        }
        let shown = match (self.screen.form, status) {
            (Form::Json(Detail::Brief), _) => Ok(()),
            (Form::Json(Detail::Full), _) => {
                line.map_or(Ok(()), |line| self.screen.hand_over(&line))
            }
            (Form::Text, TaskStatus::Update(update)) => show(&self.screen, update),
            (Form::Text, TaskStatus::Final(_)) => Ok(()),
        };
        self.unshown = shown.err();
    }

    fn is_cancelled(&self) -> bool {
        self.waiting.is_some_and(signals::Waiting::is_any)
    }
}

/// Shows the outcome of an action as a line. Messages of the archiving phase are printed as notes.
fn show(screen: &Screen, update: &StatusUpdate) -> Result<(), Failure> {
    match report::ActionLine::new(update) {
        Some(line) => line.show(screen),
        None => {
            if let (Phase::Archiving, Some(message)) = (update.phase, &update.message) {
                screen.note(message);
            }
            Ok(())
        }
    }
}
