//! The gate of the budget: how much a change may change (FO-4).

use actum_core::{BudgetStatus, PathCost};

use super::bundle::Bundle;
use super::scope::is_of_file;
use super::{Said, Verdict};

/// A renamed file counts once, a directory not at all.
pub(super) fn judge(bundle: &Bundle) -> Said {
    let files = bundle.change().iter().filter(|effect| is_of_file(effect.effect));
    let costs = files.map(|effect| PathCost {
        path: effect.path.0.clone(),
        added: effect.added,
        removed: effect.removed,
    });
    match bundle.budget().check(costs.collect()) {
        Ok(status) => Said { verdict: Verdict::Allow, ground: told(&status) },
        Err(status) => Said { verdict: Verdict::Deny, ground: told(&status) },
    }
}

/// The words of this version of the rules; those of the status may change.
fn told(status: &BudgetStatus) -> String {
    let limit = |max: Option<u64>| max.map_or("no limit".to_owned(), |max| format!("limit {max}"));
    let (files, loc) = (limit(status.budget.max_files), limit(status.budget.max_loc));
    format!("files: {} ({files}); changed lines: {} ({loc})", status.files, status.loc)
}
