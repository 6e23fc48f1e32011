//! `actum undo`: takes a run back, in a run of its own.

use actum::{Which, Work};
use actum_workspace::View;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::manifests;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{KeepEdits, RunArguments};
use crate::run_prefix::RunPrefix;

/// Take a run back, to the byte
///
/// The undo is a run of its own. Later runs on other files do not matter; a path that changed since
/// is a conflict: all of them are named, and nothing is changed. `--keep-edits` takes only the lines
/// of the run out of files that were edited since.
///
/// Without RUN your newest change that is in effect is taken back, so that one `undo` after the
/// other goes further back. Changes of your agents are yours; with `--agent` only those of that
/// agent are meant. The change of another needs RUN. `actum redo` takes an undo back. A task whose run was undone is
/// `ROLLED_BACK` in its reports.
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
    let work = || {
        Ok(Work::Undo(match &arguments.run {
            Some(prefix) => Which::Run(prefix.resolve(&View::open(root)?)?),
            None => Which::Newest,
        }))
    };
    let limits = arguments.later_edits.limits();
    let asked = Asked { limits, label: None, if_missing: IfMissing::Refuse };
    let exit = arguments.run_arguments.carry_out(session, root, work, asked)?;
    if !arguments.run_arguments.is_dry_run() {
        manifests::update_or_note(session);
    }
    Ok(exit)
}
