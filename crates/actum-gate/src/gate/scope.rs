//! The gate of the scope: which paths a change may touch (FO-3).

use std::collections::BTreeSet;

use actum_core::receipt::PathEffect;
use actum_core::scope::ScopeError;
use actum_core::{PathRule, RelPath, Scope};

use super::{Said, with_more};
use crate::decision::{Bundle, Verdict};
use crate::policy::Policy;

/// How many rules a ground names.
const RULES_TOLD_MAX: usize = 10;

/// Who asks may set a scope, and so may each policy; a path must be in all of them. A policy that was made
/// narrower since does not stand in the way back.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    let touched = bundle.files().flat_map(PathEffect::paths).map(RelPath::as_bytes).collect();
    if let Some(ground) = outside(bundle, bundle.scope(), &touched) {
        return Said { verdict: Verdict::Deny, ground };
    }
    if bundle.restores() {
        return Said {
            verdict: Verdict::Allow,
            ground: "it brings back what was there".to_owned(),
        };
    }
    for layer in policy.layers() {
        if let Some(ground) = outside(bundle, &layer.scope, &touched) {
            let ground = format!("{ground}; so says {}", layer.source.policy());
            return Said { verdict: Verdict::Deny, ground };
        }
    }
    Said { verdict: Verdict::Allow, ground: "every path is in scope".to_owned() }
}

/// What of a change lies outside a scope. A renamed file is judged at both its paths. A directory comes
/// and goes with the files below it, and for their sake it need not be in an allowed place itself.
fn outside(bundle: &Bundle, scope: &Scope, touched: &BTreeSet<&[u8]>) -> Option<String> {
    let has_file_below = |directory: &RelPath| {
        let below = [directory.as_bytes(), b"/"].concat();
        touched.range(&*below..).next().is_some_and(|path| path.starts_with(&below))
    };
    let paths = bundle
        .change()
        .iter()
        .flat_map(|effect| effect.paths().map(|path| (path, effect.effect.is_of_file())));
    let mut refused = paths.filter_map(|(path, is_file)| match scope.check(path) {
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
