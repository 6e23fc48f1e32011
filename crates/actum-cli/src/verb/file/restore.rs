//! `actum file restore`: brings back a file that a file task deleted.

use actum::{Which, Work};
use actum_file::{RecoveryReference, RestoreError};
use actum_workspace::{Limits, View};

use super::{FileFailure, base_directories, root_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::records;
use crate::run_arguments::{Asked, IfMissing, RunArguments};
use crate::session::Session;

/// Restore a file that FILE_DELETE removed
///
/// REFERENCE is `undo_metadata.recovery` of the result of the deletion. The restoration is a run of its own, which `actum undo`
/// takes back. A file that is at the path by now is a conflict, and nothing is changed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The recovery reference
    reference: String,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let reference: RecoveryReference =
        arguments.reference.parse().map_err(FileFailure::Reference)?;
    let failed = |source| FileFailure::Restore { reference: reference.to_string(), source };
    let records = records::open(&session.tenant)?;
    reference.check(&records).map_err(failed)?;
    let bases = base_directories(session)?;
    let mut roots = bases.iter().map(root_of);
    let is_it = |root: &std::path::PathBuf| {
        let id = View::open(root).and_then(|view| view.workspace_id());
        id.is_ok_and(|id| id == Some(reference.workspace))
    };
    let root = roots.find(is_it).ok_or_else(|| failed(RestoreError::Unknown))?;
    drop(records);
    let work = || Ok(Work::Undo(Which::Run(reference.run)));
    let asked = Asked { limits: Limits::default(), label: None, if_missing: IfMissing::Refuse };
    arguments.run_arguments.carry_out(session, &root, work, asked)
}
