//! `actum rollback`: a task that was carried out is taken back.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::task::{self, RolledBack};
use actum_core::RunId;
use actum_core::path::Harmless;
use serde::Serialize;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::run_arguments::label;
use crate::{actor, policy, records, recovery_note, signals};

/// Take back what a task did
///
/// Every file that the task changed becomes what it was, all of them or none; what was edited since is in the way. The
/// reports say so afterwards: `ROLLED_BACK`, and the manifest `EXECUTED`. A task can be taken back as long as its
/// rollback manifest is `ACTIVE`; and once more after `actum undo` or `actum redo` brought it back.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The task: the newest of that name that can be taken back; or the name of the directory of its reports
    task: String,
    /// The agent that asks, for the record
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
}

/// What came of it.
#[derive(Serialize)]
struct Shown {
    task: String,
    report_directory: String,
    /// The run that took it back; none where that was done before.
    run: Option<RunId>,
    /// The commit that reverts the one of the task, where there is one.
    commit: Option<String>,
    rollback_performed: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let files = policy::files()?;
    files.read(root)?;
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let mut engine = checked.existing_engine(records)?.under_files(files, root);
    let held = signals::hold();
    let actor = actor::of(arguments.agent.clone());
    let taken_back = task::rollback(&mut engine, root, (&arguments.task, actor));
    recovery_note::tell(&session.screen, engine.recovery());
    records::tell(&session.screen, &engine);
    let taken_back = taken_back?;
    let RolledBack { task, directory, receipt, commit, notes, unwritten, finished, .. } =
        taken_back;
    for note in &notes {
        session.screen.note(Harmless(note.as_bytes()));
    }
    super::run::tell_finished(&session.screen, &finished);
    session.screen.show(&Shown {
        task,
        report_directory: directory.directory(),
        run: receipt.map(|receipt| receipt.statement.predicate.run),
        commit,
        rollback_performed: true,
    })?;
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("what was done is recorded, but {warning}"));
    }
    drop(held);
    match unwritten {
        None => Ok(Exit::Success),
        Some(error) => {
            session.screen.note(format_args!("its reports do not say so: {error}"));
            Ok(Exit::NeedsAttention)
        }
    }
}

impl actum_api::Document for Shown {
    const FORMAT: &'static str = "actum.rollback/1";
}

impl Document for Shown {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let task = Harmless(self.task.as_bytes());
        match self.run {
            Some(run) => writeln!(out, "task {task} is taken back by the run {run}")?,
            None => writeln!(out, "task {task} had been taken back; now its reports say so")?,
        }
        if let Some(commit) = &self.commit {
            writeln!(out, "reverted by the commit {commit}")?;
        }
        writeln!(out, "reports: {}", self.report_directory)
    }
}
