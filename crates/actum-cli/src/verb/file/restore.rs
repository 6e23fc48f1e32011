//! `actum file restore`: restores a file that a file task deleted.

use actum::{Which, Work};
use actum_workspace::Limits;

use super::{find_base_directory, parse_reference};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::RunArguments;
use crate::session::Session;

/// Restore a file that FILE_DELETE removed
///
/// REFERENCE is the value of `undo_metadata.recovery` in the result of the deletion. The file is restored in a new run,
/// which `actum undo` can undo. If a file exists at the path again, the command reports a conflict and changes nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recovery reference from the result of the deletion
    reference: String,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let reference = parse_reference(&arguments.reference)?;
    let root = find_base_directory(&reference, session)?;
    let work = || Ok(Work::Undo(Which::Run(reference.run)));
    let asked = Asked { limits: Limits::default(), label: None, if_missing: IfMissing::Refuse };
    arguments.run_arguments.carry_out(session, &root, work, asked)
}
