//! `actum redo`: brings a change back that was undone, in a run of its own.

use actum_core::RunId;
use actum_workspace::{Error, RunKind, RunOptions, View, Workspace};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run_arguments::{KeepEdits, RunArguments, tell};
use crate::run_end::{Intention, RunEnd, Title};
use crate::run_prefix::RunPrefix;

/// Bring back a change that was undone
///
/// Without RUN the newest undo that is in effect is taken back, so that one `redo` after the other
/// goes further forward again.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run that was undone, or its undo: at least 4 characters of the beginning of the id
    run: Option<RunPrefix>,
    #[command(flatten)]
    later_edits: KeepEdits,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let mut workspace = Workspace::open_existing(root)?;
    let intention = arguments.run_arguments.intention(session);
    let options = RunOptions {
        limits: arguments.later_edits.limits(),
        wait: arguments.run_arguments.wait,
        ..RunOptions::default()
    };
    let end = match &arguments.run {
        Some(prefix) => {
            let undo = undo_of(&View::open(root)?, prefix)?;
            let options = RunOptions { label: format!("redo {}", undo.undone), ..options };
            redo(&mut workspace, &undo, options, intention).map_err(Failure::from)
        }
        None => redo_newest(&mut workspace, options, intention).map_err(Failure::from),
    };
    tell(session, &workspace, end)
}

/// A run and the one that undid it.
struct Undone {
    undone: RunId,
    by: RunId,
}

/// What is to be taken back so that the run that is meant is in effect again.
fn undo_of(view: &View, prefix: &RunPrefix) -> Result<Undone, Failure> {
    let run = prefix.resolve(view)?;
    let report = view.show(run)?;
    match (report.undone_by, report.kind) {
        (Some(by), _) => Ok(Undone { undone: run, by }),
        (None, RunKind::Undo(undone)) => Ok(Undone { undone, by: run }),
        (None, RunKind::Apply) => Err(Failure::InEffect { run }),
    }
}

fn redo(
    workspace: &mut Workspace,
    &Undone { undone, by }: &Undone,
    options: RunOptions,
    intention: Intention,
) -> Result<RunEnd, Error> {
    let transaction = workspace.begin_redo(undone, by, options)?;
    RunEnd::of(transaction, intention, Title::Redo(by))
}

fn redo_newest(
    workspace: &mut Workspace,
    options: RunOptions,
    intention: Intention,
) -> Result<RunEnd, Error> {
    let (undo, transaction) = workspace.begin_redo_newest(options)?;
    RunEnd::of(transaction, intention, Title::Redo(undo))
}
