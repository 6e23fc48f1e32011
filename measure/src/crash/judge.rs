//! Checks of the tree after a power cut.

use std::path::Path;

use actum_workspace::{Outcome, View, Workspace};

use super::Failure;
use super::plan::Plan;
use super::running_worker::Acknowledged;
use super::tree::Tree;
use super::worker::{last_run, last_step};

/// State of the tree after the cut, before recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// One of the two versions that recovery may end with.
    AsAcknowledged,
    /// An older version, because acknowledged work is only in the journal.
    Behind,
    /// No complete version.
    Mixed,
}

/// Number of the newest runs that are read from the log.
const RUNS_READ: usize = 20;

/// Checks the tree without recovering it.
pub(super) fn look(
    root: &Path,
    plan: &mut Plan,
    acknowledged: Acknowledged,
) -> Result<Found, Failure> {
    let Ok(tree) = Tree::read(root) else { return Ok(Found::Mixed) };
    // After an undo, the tree equals the version before the undone step. Among equal versions, use the newest.
    let step = plan.newest_that(acknowledged.0 + 1, |version| tree.is(version))?;
    Ok(match step {
        Some(step) if acknowledged.allows(step) => Found::AsAcknowledged,
        Some(_) => Found::Behind,
        None => Found::Mixed,
    })
}

/// Opens the workspace, which triggers recovery, and compares it with the plan. Returns the current step, or a description of the
/// violation.
pub(super) fn judge(
    root: &Path,
    plan: &mut Plan,
    acknowledged: Acknowledged,
) -> Result<usize, Failure> {
    let workspace = Workspace::open(root).map_err(|error| format!("recovery failed: {error}"))?;
    let recovery = workspace.recovery().cloned();
    if !workspace.blocked().is_empty() {
        return Err(format!("recovery asks for a person: {recovery:?}").into());
    }
    drop(workspace);
    let step = last_step(root)?;
    let because = || format!("{acknowledged:?}, the log ends at step {step}, {recovery:?}");
    if !acknowledged.allows(step) {
        return Err(format!("acknowledged work is lost: {}", because()).into());
    }
    check_same(root, plan, step).map_err(|error| format!("{error}; {}", because()))?;
    opening_again_does_nothing(root)?;
    check_same(root, plan, step).map_err(|error| format!("after a second opening {error}"))?;
    log_is_whole(root)?;
    if step > 0 {
        undo_works(root, plan, step)?;
    }
    Ok(step)
}

fn check_same(root: &Path, plan: &mut Plan, step: usize) -> Result<(), Failure> {
    let tree = Tree::read(root)?;
    let version = plan.version(step)?;
    if tree.is(version) {
        return Ok(());
    }
    Err(format!("the tree is not at step {step}: {}", tree.differences_in_short(version)).into())
}

fn opening_again_does_nothing(root: &Path) -> Result<(), Failure> {
    let status = View::open(root)?.status()?;
    if status.unfinished.is_some() || status.recovery_due || !status.blocked.is_empty() {
        return Err(format!("recovery left something to do: {status:?}").into());
    }
    let again = Workspace::open(root)?;
    match again.recovery() {
        None => Ok(()),
        Some(recovery) => Err(format!("a second opening recovers again: {recovery:?}").into()),
    }
}

fn log_is_whole(root: &Path) -> Result<(), Failure> {
    let view = View::open(root)?;
    for run in view.runs()?.iter().rev().take(RUNS_READ) {
        let report = view.show(run.run)?;
        if report.outcome == Outcome::Failed {
            return Err(format!("run {} is recorded as failed", run.run).into());
        }
    }
    Ok(())
}

/// Undoes the last step, and then undoes the undo.
fn undo_works(root: &Path, plan: &mut Plan, step: usize) -> Result<(), Failure> {
    let mut workspace = Workspace::open(root)?;
    let last = last_run(root)?.ok_or("the log knows no committed run")?;
    let undo = workspace.revert(last).map_err(|error| format!("undo of step {step}: {error}"))?;
    check_same(root, plan, step - 1).map_err(|error| format!("undo of step {step}: {error}"))?;
    workspace.revert(undo).map_err(|error| format!("undo of an undo: {error}"))?;
    check_same(root, plan, step).map_err(|error| format!("undo of an undo: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::tree;

    #[test]
    fn lost_and_mixed_trees_are_distinguished_from_acknowledged_ones() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let mut plan = Plan::new(5);
        tree::write(root, &plan.version(4).unwrap().clone()).unwrap();
        let mut found = |step| look(root, &mut plan, Acknowledged(step)).unwrap();
        assert_eq!(
            [3, 4, 8].map(&mut found),
            [Found::AsAcknowledged, Found::AsAcknowledged, Found::Behind]
        );
        std::fs::write(root.join("more"), "").unwrap();
        assert_eq!(found(4), Found::Mixed);
    }

    /// FO-2
    #[test]
    fn a_tree_that_lost_acknowledged_work_is_a_violation() {
        let directory = tempfile::tempdir().unwrap();
        let mut plan = Plan::new(5);
        tree::write(directory.path(), &plan.version(0).unwrap().clone()).unwrap();
        assert_eq!(judge(directory.path(), &mut plan, Acknowledged(0)).unwrap(), 0);
        let error = judge(directory.path(), &mut plan, Acknowledged(1)).unwrap_err();
        assert!(error.to_string().starts_with("acknowledged work is lost"), "{error}");
        std::fs::write(directory.path().join("more"), "").unwrap();
        let error = judge(directory.path(), &mut plan, Acknowledged(0)).unwrap_err();
        assert!(error.to_string().starts_with("the tree is not at step 0: `more`"), "{error}");
    }
}
