//! `actum redo`: applies an undone change again, in a separate run.

use actum::{Which, Work};
use actum_workspace::View;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{KeepEdits, RunArguments};
use crate::run_prefix::RunPrefix;

/// Redo a change that was undone
///
/// Without RUN, `redo` reverses your newest undo that is still in effect, so repeating it redoes one change after another.
/// Undos by your agents are included; `--agent` selects only those of one agent. To reverse another user's undo, pass RUN.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run that was undone, or its undo, or a prefix of the id with at least 4 characters
    run: Option<RunPrefix>,
    #[command(flatten)]
    later_edits: KeepEdits,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let work = || {
        Ok(Work::Redo(match &arguments.run {
            Some(prefix) => Which::Run(prefix.resolve(&View::open(root)?)?),
            None => Which::Newest,
        }))
    };
    let limits = arguments.later_edits.limits();
    let asked = Asked { limits, label: None, if_missing: IfMissing::Refuse };
    arguments.run_arguments.carry_out(session, root, work, asked)
}
