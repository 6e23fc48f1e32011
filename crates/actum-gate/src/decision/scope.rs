//! The gate of the scope: which paths a change may touch (FO-3).

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_core::receipt::{EffectKind, PathEffect};
use actum_core::scope::{ScopeError, ScopeRule};

use super::bundle::Bundle;
use super::{Said, Verdict};

/// How many rules a ground names.
const RULES_TOLD_MAX: usize = 10;

/// A renamed file is judged at both its paths. A directory comes and goes with the files below
/// it, and for their sake it need not be in an allowed place itself.
pub(super) fn judge(bundle: &Bundle) -> Said {
    let touched: BTreeSet<&[u8]> =
        bundle.change().iter().filter(|effect| is_of_file(effect.effect)).flat_map(paths).collect();
    let has_file_below = |directory: &RelPath| {
        let below = [directory.as_bytes(), b"/"].concat();
        touched.range(&*below..).next().is_some_and(|path| path.starts_with(&below))
    };
    let refused = bundle.change().iter().flat_map(|effect| {
        let both = std::iter::once(&effect.path).chain(&effect.from);
        both.map(|path| (&path.0, is_of_file(effect.effect)))
    });
    let mut refused = refused.filter_map(|(path, is_file)| match bundle.scope().check(path) {
        Ok(()) => None,
        Err(ScopeError::NotAllowed { .. }) if !is_file && has_file_below(path) => None,
        Err(error) => Some(error),
    });
    match refused.next() {
        None => Said { verdict: Verdict::Allow, ground: "every path is in scope".to_owned() },
        Some(first) => {
            let ground = match refused.count() {
                0 => told(&first),
                more => format!("{}; so it is with {more} more", told(&first)),
            };
            Said { verdict: Verdict::Deny, ground }
        }
    }
}

pub(super) fn is_of_file(effect: EffectKind) -> bool {
    match effect {
        EffectKind::Created
        | EffectKind::Modified
        | EffectKind::Renamed
        | EffectKind::Mode
        | EffectKind::Attributes
        | EffectKind::Deleted => true,
        EffectKind::DirectoryCreated | EffectKind::DirectoryRemoved => false,
    }
}

fn paths(effect: &PathEffect) -> impl Iterator<Item = &[u8]> {
    std::iter::once(&effect.path).chain(&effect.from).map(|path| path.0.as_bytes())
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
            let told =
                rules.iter().take(RULES_TOLD_MAX).map(|rule: &ScopeRule| format!("`{rule}`"));
            let more = if rules.len() > RULES_TOLD_MAX { ", …" } else { "" };
            let told = told.collect::<Vec<_>>().join(", ");
            format!("the path `{path}` is in none of the allowed places {told}{more}")
        }
    }
}
