//! Scope gate: limits the paths that a change may touch (FO-3).

use std::collections::BTreeSet;

use actum_core::path_name::PathName;
use actum_core::scope::ScopeError;
use actum_core::{RelPath, Scope};

use super::GateVerdict;
use crate::decision::{Bundle, LeadsTo, LinkFound};
use crate::ground::Ground;
use crate::policy::{Policy, Source};

/// Maximum number of scope rules that a ground lists.
const RULES_NAMED_MAX: usize = 10;

/// Checks that every path of a change is within the scope of the request and of each policy. A scope applies
/// relative to the root for which it was written. Policies do not block an undo that only restores an earlier
/// state, because they may have become stricter since.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let above = bundle.above();
    let own = above.names.len();
    if let Some(refused) = outside(bundle, bundle.scope(), own, None) {
        return refused;
    }
    if bundle.restores() {
        return GateVerdict::allow(Ground::Restores);
    }
    let refused = policy.layers().iter().find_map(|layer| {
        let mut roots = layer.roots(bundle, &above).into_iter();
        roots.find_map(|root| outside(bundle, &layer.scope, root, Some(layer.source)))
    });
    refused.unwrap_or_else(|| GateVerdict::allow(Ground::InScope))
}

/// Denies a change if part of it is outside `scope`, which is relative to the root at `depth` names. Both paths
/// of a renamed file are checked. A directory is created or removed together with the files below it, so it
/// does not have to be in an allowed place itself.
fn outside(
    bundle: &Bundle,
    scope: &Scope,
    depth: usize,
    policy: Option<Source>,
) -> Option<GateVerdict> {
    if *scope == Scope::everything() {
        return None;
    }
    let mut paths = Vec::new();
    for effect in bundle.change() {
        for path in effect.paths() {
            match bundle.seen_from(depth, path) {
                Ok(path) => paths.push((path, effect.effect.is_of_file())),
                Err(_) => {
                    let path = PathName(path.clone());
                    return Some(GateVerdict::deny(Ground::ScopeUnknown { path, policy }));
                }
            }
        }
    }
    for found in bundle.links() {
        // Other programs may write through a link, so its target must be in scope as well.
        match &found.leads_to {
            LeadsTo::Path(to) => match bundle.seen_from(depth, &to.0) {
                Ok(path) if may_be_denied_below(scope, &path) => {
                    return Some(GateVerdict::deny(ground_of_link(found, policy)));
                }
                Ok(path) => paths.push((path, true)),
                Err(_) => return Some(GateVerdict::deny(ground_of_link(found, policy))),
            },
            LeadsTo::Root => return Some(GateVerdict::deny(ground_of_link(found, policy))),
            // Other gates judge these destinations.
            LeadsTo::State | LeadsTo::Outside => {}
        }
    }
    let files = paths.iter().filter(|(_, is_file)| *is_file);
    let touched: BTreeSet<&[u8]> = files.map(|(path, _)| path.as_bytes()).collect();
    let has_file_below = |directory: &RelPath| {
        let below = [directory.as_bytes(), b"/"].concat();
        touched.range(&*below..).next().is_some_and(|path| path.starts_with(&below))
    };
    let mut refused = paths.iter().filter_map(|(path, is_file)| match scope.check(path) {
        Ok(()) => None,
        Err(ScopeError::NotAllowed { .. }) if !is_file && has_file_below(path) => None,
        Err(error) => Some(error),
    });
    let first = refused.next()?;
    Some(GateVerdict::deny(ground(first, policy)).with_more(refused.count()))
}

/// Returns true if a deny rule may match a path below `path`.
fn may_be_denied_below(scope: &Scope, path: &RelPath) -> bool {
    scope.deny.iter().any(|rule| rule.leads_below(path))
}

fn ground_of_link(found: &LinkFound, policy: Option<Source>) -> Ground {
    Ground::ScopeUnknown { path: found.path.clone(), policy }
}

fn ground(error: ScopeError, policy: Option<Source>) -> Ground {
    match error {
        ScopeError::Denied { path, rule } => {
            Ground::ScopeDenied { path: PathName(path), rule, policy }
        }
        ScopeError::NotAllowed { path, mut rules } => {
            let rules_omitted = rules.len().saturating_sub(RULES_NAMED_MAX);
            rules.truncate(RULES_NAMED_MAX);
            Ground::ScopeNotAllowed { path: PathName(path), rules, rules_omitted, policy }
        }
    }
}
