//! Updates the status of rollback manifests after an undo, a manual rollback, or their expiry (EX-16).

use std::collections::BTreeSet;
use std::path::Path;

use actum_core::{RunId, Timestamp};
use actum_ledger::{Marks, TaskTurn};
use actum_record::ledger::WorkspaceId;
use actum_task::report::{
    EXECUTION_REPORT_FILE, ExecutionReport, ManifestEvent, ManifestStatus, ReportStatus,
    RollbackManifest, RollbackMethod,
};
use actum_workspace::View;

use super::OutputError;
use super::documents::clean;
use super::outputs::{Outputs, ReportDirectory};
use super::rollback::{Seen, is_as_before, read_report};
use crate::error::Result;

/// Number of most recent runs that are checked for having been undone.
const RUNS_MAX: usize = 100;

/// Selects whether the backups of tasks with an expired manifest are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backups {
    /// Keep the backups.
    Keep,
    /// Remove the backups.
    Collect,
}

/// Updates the status of each rollback manifest in the workspace at `root`, and returns the number of removed backups.
/// Does nothing while another process executes a task.
///
/// A manifest becomes EXECUTED if its run was undone or every file has the same state as before the run. It becomes
/// EXPIRED at the end of its validity.
///
/// # Errors
/// `Home`, `Output`, `Workspace`.
pub fn update_manifests(
    marks: &Marks,
    (root, workspace): (&Path, WorkspaceId),
    now: Timestamp,
    backups: Backups,
) -> Result<u64> {
    let outputs = Outputs::new(root)?;
    if outputs.reports()?.is_empty() {
        return Ok(0);
    }
    match marks.begin_tasks(workspace)? {
        Some(turn) => update(&turn, (root, &outputs), now, backups),
        None => Ok(0),
    }
}

/// Updates the rollback manifests. The caller must hold the task lock, as `_turn` proves.
pub(super) fn update(
    _turn: &TaskTurn,
    (root, outputs): (&Path, &Outputs),
    now: Timestamp,
    backups: Backups,
) -> Result<u64> {
    let (mut undone, mut seen) = (None, Seen::default());
    let (mut removed, mut is_written) = (0, false);
    for name in outputs.reports()? {
        let Some(directory) = outputs.reports_named(name)? else { continue };
        let Some(manifest) = directory.manifest()? else { continue };
        let was = manifest.status();
        let mut status = was;
        if status == ManifestStatus::Active {
            let undone = match &undone {
                Some(undone) => undone,
                None => undone.insert(undone_runs(root)?),
            };
            status = match rolled_back(outputs, &directory, (&manifest, undone), &mut seen)? {
                Some(report) => {
                    directory.put(EXECUTION_REPORT_FILE, Some(report.write()))?;
                    directory.end_manifest(ManifestEvent::RolledBack)?;
                    ManifestStatus::Executed
                }
                None => directory.expire_manifest(&manifest, now)?.status(),
            };
        }
        is_written |= status != was;
        if (status, backups) == (ManifestStatus::Expired, Backups::Collect) {
            removed += directory.remove_backups(outputs)?;
        }
    }
    if is_written {
        outputs.sync()?;
    }
    Ok(removed)
}

/// Returns the runs among the most recent ones that were undone.
fn undone_runs(root: &Path) -> Result<BTreeSet<RunId>> {
    let newest = View::open(root)?.newest(RUNS_MAX)?.into_iter();
    let is_undone = |(run, shown): (actum_workspace::RunRef, actum_workspace::Result<_>)| {
        let shown: actum_workspace::RunReport = shown.ok()?;
        shown.undone_by.map(|_| run.run)
    };
    Ok(newest.filter_map(is_undone).collect())
}

/// Returns the updated report of a task that was rolled back by other means than `actum rollback`, for example by
/// `actum undo`.
///
/// Returns `None` for a task with a git commit, because only a reverting commit rolls it back, and for a run that is not
/// known to have taken effect.
fn rolled_back(
    outputs: &Outputs,
    directory: &ReportDirectory,
    (manifest, undone): (&RollbackManifest, &BTreeSet<RunId>),
    seen: &mut Seen,
) -> std::result::Result<Option<ExecutionReport>, OutputError> {
    let Some(run) = manifest.run() else { return Ok(None) };
    let Some(report) = read_report(directory)? else { return Ok(None) };
    let more = &report.facts().more;
    let is_in_effect = match report.status() {
        ReportStatus::Success | ReportStatus::Partial => true,
        // A failed run without a receipt has an unknown result.
        ReportStatus::Failed => more.receipt.is_some(),
        ReportStatus::RolledBack | ReportStatus::Cancelled => false,
    };
    if !is_in_effect || more.commit.is_some() || more.run != Some(run) {
        return Ok(None);
    }
    let note = if undone.contains(&run) {
        "undone by `actum undo`"
    } else if !manifest.checkpoints().is_empty() && is_as_before(outputs, manifest, seen) {
        "every file is as it was before the task"
    } else {
        return Ok(None);
    };
    Ok(Some(report.rolled_back(RollbackMethod::Checkpoint, clean(note))))
}
