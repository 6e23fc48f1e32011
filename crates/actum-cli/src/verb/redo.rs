//! `actum redo`: brings a change back that was undone, in a run of its own.

use actum_core::RunId;
use actum_workspace::{Error, LinuxDisk, RunOptions, Transaction, View, Workspace};

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
        Some(prefix) => View::open(root)
            .map_err(Failure::from)
            .and_then(|view| prefix.resolve(&view))
            .and_then(|run| Ok(end(workspace.begin_redo(run, options), intention)?)),
        None => end(workspace.begin_redo_newest(options), intention).map_err(Failure::from),
    };
    tell(session, &workspace, end)
}

fn end(begun: Result<Begun<'_>, Error>, intention: Intention) -> Result<RunEnd, Error> {
    let (undo, transaction) = begun?;
    RunEnd::of(transaction, intention, Title::Redo(undo))
}

/// The undo that is taken back, and the run that does it.
type Begun<'w> = (RunId, Transaction<'w, LinuxDisk>);
