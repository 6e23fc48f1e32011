//! The gate of the scope: which paths a change may touch (FO-3).

use std::collections::BTreeSet;

use actum_core::scope::ScopeError;
use actum_core::{PathRule, RelPath, Scope};

use super::{Said, with_more};
use crate::decision::{Bundle, Verdict};
use crate::policy::Policy;

/// How many rules a ground names.
const RULES_TOLD_MAX: usize = 10;

/// The caller may set a scope, and so may each policy; a path must be in all of them. A scope counts from the root
/// that it was written for. An undo that restores is not held by the policies, which may be narrower by now.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    let above = bundle.above();
    let own = above.names.len();
    if let Some(ground) = outside(bundle, bundle.scope(), own) {
        return Said { verdict: Verdict::Deny, ground };
    }
    if bundle.restores() {
        return Said {
            verdict: Verdict::Allow,
            ground: "it brings back what was there".to_owned(),
        };
    }
    for layer in policy.layers() {
        let mut outside = layer
            .roots(bundle, &above)
            .into_iter()
            .filter_map(|root| outside(bundle, &layer.scope, root));
        if let Some(ground) = outside.next() {
            let ground = format!("{ground}; so says {}", layer.source.policy());
            return Said { verdict: Verdict::Deny, ground };
        }
    }
    Said { verdict: Verdict::Allow, ground: "every path is in scope".to_owned() }
}

/// The part of a change that lies outside a scope of the root that `depth` names lead to. A renamed file is judged at
/// both its paths. A directory comes and goes with the files below it, and for their sake it need not be in an
/// allowed place itself.
fn outside(bundle: &Bundle, scope: &Scope, depth: usize) -> Option<String> {
    if *scope == Scope::everything() {
        return None;
    }
    let mut paths = Vec::new();
    for effect in bundle.change() {
        for path in effect.paths() {
            match bundle.seen_from(depth, path) {
                Ok(path) => paths.push((path, effect.effect.is_of_file())),
                Err(_) => {
                    return Some(format!("the path `{path}` cannot be compared with its places"));
                }
            }
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
    Some(with_more(told(&first), refused.count()))
}

/// The words of this version of the rules; those of the error may change.
fn told(error: &ScopeError) -> String {
    match error {
        ScopeError::Denied { path, rule } => {
            format!("the path `{path}` is denied by the rule `{rule}`")
        }
        ScopeError::NotAllowed { path, rules } if rules.is_empty() => {
            format!("the path `{path}` is not allowed, as no path is")
        }
        ScopeError::NotAllowed { path, rules } => {
            let told = rules.iter().take(RULES_TOLD_MAX).map(|rule: &PathRule| format!("`{rule}`"));
            let more = if rules.len() > RULES_TOLD_MAX { ", …" } else { "" };
            let told = told.collect::<Vec<_>>().join(", ");
            format!("the path `{path}` is in none of the allowed places {told}{more}")
        }
    }
}
