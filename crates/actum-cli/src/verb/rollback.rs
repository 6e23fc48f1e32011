//! `actum rollback`: rolls back a task that was carried out earlier.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::task::{self, RolledBack};
use actum_api::task::Rollback;
use actum_core::path::Harmless;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::output::Document;
use crate::run_arguments::label;
use crate::{actor, policy, records, recovery_note, signals};

/// Roll back a task
///
/// Restores either every file that the task changed or none of them; a file that was edited later is a conflict. The
/// reports then have the status `ROLLED_BACK`, and the rollback manifest `EXECUTED`. A task can be rolled back while its
/// manifest is `ACTIVE`, and again if `actum undo` or `actum redo` has restored its changes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// ID of the task, which selects its newest execution that can be rolled back, or the name of its report directory
    task: String,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let files = policy::files()?;
    files.read(root)?;
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let lease = arguments.lease.present(session, &records)?;
    let actor = actor::under(arguments.agent.clone(), lease.as_ref());
    let mut engine = checked.existing_engine(records)?.under_files(files, root);
    if let Some(lease) = lease {
        engine = engine.under_lease(lease);
    }
    let held = signals::hold();
    let rolled_back = task::rollback(&mut engine, root, (&arguments.task, actor));
    recovery_note::print(&session.screen, engine.recovery());
    records::report_late_outcomes(&session.screen, &engine);
    let rolled_back = rolled_back?;
    let RolledBack { task, directory, receipt, commit, notes, unwritten, finished, .. } =
        rolled_back;
    for note in &notes {
        session.screen.note(Harmless(note.as_bytes()));
    }
    super::run::note_finished_tasks(&session.screen, &finished);
    session.screen.show(&Rollback {
        task,
        report_directory: directory.directory(),
        run: receipt.map(|receipt| receipt.statement.predicate.run),
        commit,
        rollback_performed: true,
    })?;
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("the outcome is recorded, but {warning}"));
    }
    drop(held);
    match unwritten {
        None => Ok(Exit::Success),
        Some(error) => {
            session.screen.note(format_args!(
                "the task is rolled back, but its reports could not be updated: {error}"
            ));
            Ok(Exit::NeedsAttention)
        }
    }
}

impl Document for Rollback {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let task = Harmless(self.task.as_bytes());
        match self.run {
            Some(run) => writeln!(out, "task {task} was rolled back by run {run}")?,
            None => writeln!(
                out,
                "task {task} had already been rolled back; its reports now record it"
            )?,
        }
        if let Some(commit) = &self.commit {
            writeln!(out, "reverted by commit {commit}")?;
        }
        writeln!(out, "reports: {}", self.report_directory)
    }
}
