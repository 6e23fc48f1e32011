//! Budget gate: limits the size of a change (FO-4).

use actum_core::{Budget, BudgetStatus, PathCost};

use super::GateVerdict;
use crate::decision::Bundle;
use crate::ground::Ground;
use crate::policy::{Policy, Source};

/// Checks the size of a change against the budgets of the request and of each policy. A renamed file counts as
/// one file, and directories do not count.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
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
        Some((status, policy)) => GateVerdict::deny(ground(&status, policy)),
        None => {
            let strictest = layers.iter().map(|layer| layer.budget).fold(bundle.budget(), within);
            let (Ok(status) | Err(status)) = strictest.check(costs);
            GateVerdict::allow(ground(&status, None))
        }
    }
}

/// Returns a budget with the stricter of both limits for each size.
fn within(one: Budget, other: Budget) -> Budget {
    let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    Budget {
        max_files: least(one.max_files, other.max_files),
        max_loc: least(one.max_loc, other.max_loc),
    }
}

fn ground(status: &BudgetStatus, policy: Option<Source>) -> Ground {
    let BudgetStatus { budget: Budget { max_files, max_loc }, files, loc, .. } = *status;
    Ground::Budget { files, loc, files_max: max_files, loc_max: max_loc, policy }
}
