//! `actum undo`: takes a run back, in a run of its own.

use actum_core::RunId;
use actum_workspace::{Error, RunOptions, View, Workspace};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run_arguments::{KeepEdits, RunArguments, tell};
use crate::run_end::{Intention, RunEnd, Title};
use crate::run_prefix::RunPrefix;

/// Take a run back, to the byte
///
/// The undo is a run of its own. Later runs on other files do not matter; a path that changed since
/// is a conflict: all of them are named, and nothing is changed. `--keep-edits` takes only the lines
/// of the run out of files that were edited since.
///
/// Without RUN the newest change that is in effect is taken back, so that one `undo` after the
/// other goes further back. `actum redo` takes an undo back.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run, or at least 4 characters of the beginning of its id
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
        Some(prefix) => View::open(root)
            .map_err(Failure::from)
            .and_then(|view| prefix.resolve(&view))
            .and_then(|run| Ok(undo(&mut workspace, run, options, intention)?)),
        None => undo_newest(&mut workspace, options, intention).map_err(Failure::from),
    };
    tell(session, &workspace, end)
}

pub(super) fn undo(
    workspace: &mut Workspace,
    run: RunId,
    options: RunOptions,
    intention: Intention,
) -> Result<RunEnd, Error> {
    let options = RunOptions { label: format!("undo {run}"), ..options };
    let transaction = workspace.begin_undo(run, options)?;
    RunEnd::of(transaction, intention, Title::Undo(run))
}

fn undo_newest(
    workspace: &mut Workspace,
    options: RunOptions,
    intention: Intention,
) -> Result<RunEnd, Error> {
    let (run, transaction) = workspace.begin_undo_newest(options)?;
    RunEnd::of(transaction, intention, Title::Undo(run))
}
