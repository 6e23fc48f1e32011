//! The gate of the budget: how much a change may change (FO-4).

use actum_core::{Budget, BudgetStatus, PathCost};

use super::Said;
use crate::decision::{Bundle, Verdict};
use crate::policy::Policy;

/// A renamed file counts once, a directory not at all. Who asks may set a budget, and so may each policy.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    let costs = bundle.files().map(|effect| PathCost {
        path: effect.path.0.clone(),
        added: effect.added,
        removed: effect.removed,
    });
    let costs: Vec<PathCost> = costs.collect();
    let layers = if bundle.restores() { &[] } else { policy.layers() };
    let of_layers = layers.iter().map(|layer| (layer.budget, Some(layer.source)));
    let mut budgets = std::iter::once((bundle.budget(), None)).chain(of_layers);
    let exceeded = budgets.find_map(|(budget, source)| {
        budget.check(costs.clone()).err().map(|status| (status, source))
    });
    match exceeded {
        Some((status, source)) => {
            let whose = source.map_or(String::new(), |it| format!("; so says {}", it.policy()));
            Said { verdict: Verdict::Deny, ground: told(&status) + &whose }
        }
        None => {
            let strictest = layers.iter().map(|layer| layer.budget).fold(bundle.budget(), within);
            let (Ok(status) | Err(status)) = strictest.check(costs);
            Said { verdict: Verdict::Allow, ground: told(&status) }
        }
    }
}

/// The strictest of two budgets.
fn within(one: Budget, other: Budget) -> Budget {
    let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    Budget {
        max_files: least(one.max_files, other.max_files),
        max_loc: least(one.max_loc, other.max_loc),
    }
}

/// The words of this version of the rules; those of the status may change.
fn told(status: &BudgetStatus) -> String {
    let limit = |max: Option<u64>| max.map_or("no limit".to_owned(), |max| format!("limit {max}"));
    let (files, loc) = (limit(status.budget.max_files), limit(status.budget.max_loc));
    format!("files: {} ({files}); changed lines: {} ({loc})", status.files, status.loc)
}
