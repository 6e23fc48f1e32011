//! Built-in check of core actions, which verifies that the staged change matches the request (AA-3).

use std::collections::BTreeMap;

use actum_action::Check;
use actum_core::{Digest, FileState, RelPath};
use actum_edit::Operation;
use actum_record::receipt::{EffectKind, PathEffect};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::action_error::ActionError;
use super::core_action::{Wanted, wanted};
use crate::engine::stage::Staged;
use crate::error::Result;
use crate::reason::Reason;

/// Name of the check for a requested change, as results list it.
const ASKED: &str = "actum: the staged change matches the request";
/// Name of the check for an undo, as results list it.
const BACK: &str = "actum: the staged change restores the state before the run";

/// Compares the staged change with the requested operations. Paths that a repair changed are not compared, and if that
/// leaves no path, returns `None`.
pub(super) fn of_change<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    asked: &[Operation],
    repaired: &[Operation],
) -> Result<Option<Check>> {
    let mut wanted = wanted(asked);
    let asked_paths = wanted.len();
    wanted.retain(|path, _| !repaired.iter().flat_map(Operation::paths).any(|it| it == path));
    for (path, wanted) in &wanted {
        if let Some(problem) = problem(transaction, path, wanted)? {
            return Ok(Some(refused(ASKED, path, problem)));
        }
    }
    let left_out = asked_paths - wanted.len();
    Ok(match (wanted.len(), left_out) {
        (0, 1..) => None,
        (compared, 0) => Some(held(ASKED, compared)),
        (compared, left_out) => {
            let check = held(ASKED, compared);
            let held = check.message.unwrap_or_default();
            let message =
                format!("{held}; {left_out} not compared because the repair changed them");
            Some(Check { message: Some(message), ..check })
        }
    })
}

/// Compares the staged change of an undo with the earlier state of the files in the receipt of the undone run.
pub(super) fn of_undo<D: Disk>(staged: &mut Staged<'_, D>) -> Result<Check> {
    let Some(run) = staged.undoes else { return Ok(unknown()) };
    let recorded = staged.begun.records.recorded(run)?;
    let Some((receipt, _)) = recorded.and_then(|recorded| recorded.receipt) else {
        return Ok(unknown());
    };
    let before = before(&receipt.statement.predicate.paths);
    for (path, facts) in &before {
        let wanted = facts.as_ref().map_or(Wanted::Nothing, |facts| Wanted::Content(facts.sha256));
        if let Some(problem) = problem(&mut staged.begun.transaction, path, &wanted)? {
            return Ok(refused(BACK, path, problem));
        }
    }
    Ok(held(BACK, before.len()))
}

/// Returns the state of each file before a run changed it, or `None` for a file that the run created.
fn before(paths: &[PathEffect]) -> BTreeMap<RelPath, Option<FileState>> {
    let mut before = BTreeMap::new();
    for effect in paths.iter().filter(|effect| effect.effect.is_of_file()) {
        match (effect.effect, &effect.from) {
            (EffectKind::Renamed, Some(from)) => {
                before.insert(from.0.clone(), effect.before);
                before.entry(effect.path.0.clone()).or_insert(None);
            }
            _ => {
                before.insert(effect.path.0.clone(), effect.before);
            }
        }
    }
    before
}

/// Compares a staged path with its required state, and describes the difference, if any.
fn problem<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    path: &RelPath,
    wanted: &Wanted,
) -> Result<Option<&'static str>> {
    let exists = transaction.mode_of(path).is_some();
    Ok(match (wanted, exists) {
        (Wanted::Content(digest), true) => {
            let found = Digest::of(&transaction.read(path)?);
            (found != *digest).then_some("has different content")
        }
        (Wanted::Content(_) | Wanted::Something, false) => Some("is missing"),
        (Wanted::Nothing, true) => Some("still exists"),
        (Wanted::Something, true) | (Wanted::Nothing, false) => None,
    })
}

fn held(name: &str, paths: usize) -> Check {
    let paths = match paths {
        1 => "1 path matches".to_owned(),
        paths => format!("{paths} paths match"),
    };
    Check { message: Some(paths), ..Check::new(name, true) }
}

fn refused(name: &str, path: &RelPath, problem: &str) -> Check {
    Check { message: Some(format!("`{path}` {problem}")), ..Check::new(name, false) }
}

/// Returns a failed check for an undo whose run has no receipt, so that there is nothing to compare with.
fn unknown() -> Check {
    let message = Some("the ledger has no receipt for the run to undo".to_owned());
    Check { message, ..Check::new(BACK, false) }
}

/// Converts a failed check into the error that ends the action.
pub(super) fn refusal(check: &Check) -> ActionError {
    let why = check.message.as_deref().unwrap_or_default();
    let message = format!("the check `{}` failed: {why}", check.name);
    ActionError::reverted(Reason::VerificationFailed, message)
}
