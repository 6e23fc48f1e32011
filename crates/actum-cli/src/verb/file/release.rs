//! `actum file release`: gives up the saved content of a deleted file, which can then no longer be restored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use actum::Retained;
use actum_api::gc::Gc;
use actum_file::{LedgerLog, RecoveryError, RecoveryReference, TaskLog, TaskStart};
use actum_workspace::{GcOptions, Workspace};

use super::{find_base_directory, parse_reference, unusable_reference};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::session::Session;
use crate::verb::gc;
use crate::{actor, clock, policy, records, recovery_note};

/// Release a file that FILE_DELETE removed, so that its space is freed and it can no longer be restored
///
/// `actum gc` keeps the content of a deleted file until the file is released. Releasing a file requires the approval
/// key, and is recorded in the ledger.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recovery reference from the result of the deletion
    reference: String,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let reference = parse_reference(&arguments.reference)?;
    let root = find_base_directory(&reference, session)?;
    let mut workspace = records::own_root(&root, &session.tenant)?.open_existing()?;
    let report = release(&reference, arguments, session, &root, &mut workspace);
    recovery_note::print(&session.screen, workspace.recovery());
    session.screen.show(&report?)?;
    Ok(Exit::Success)
}

fn release(
    reference: &RecoveryReference,
    arguments: &Arguments,
    session: &Session,
    root: &Path,
    workspace: &mut Workspace,
) -> Result<Gc, Failure> {
    let (_, records) = records::open_for(root, &session.tenant)?;
    let deletions = LedgerLog::new(&records).deletions().map_err(actum::Error::from)?;
    let is_same_run = |start: &TaskStart| {
        start.roots.iter().any(|it| (it.workspace, it.run) == (reference.workspace, reference.run))
    };
    let Some(TaskStart { task, source, .. }) = deletions.into_iter().find(is_same_run) else {
        return Err(unusable_reference(reference, RecoveryError::Unknown));
    };
    let task = task.as_str();
    let question = format!(
        "Release `{source}`, which task {task} deleted, so that it can no longer be restored?"
    );
    let key = OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
    let approver = key.approver();
    let retained = Retained::Forget(&approver);
    let only = Some(BTreeSet::from([reference.run]));
    let options = GcOptions { runs_max: 0, bytes_max: 0, only, ..GcOptions::default() };
    let retention = policy::in_force(root)?.retention;
    let clock = clock::clock();
    let foreseen = actum::foresee(workspace, &options, (retention, retained), &clock)?;
    if foreseen.removed_runs.is_empty() {
        return Err(unusable_reference(reference, RecoveryError::Unknown));
    }
    let asked = (retention, retained, actor::from_agent(None));
    let report = records.forget(workspace, root, &foreseen, &options, asked)?;
    Ok(gc::document(report, false))
}
