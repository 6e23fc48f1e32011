//! The gate of protected paths: what no change may touch, however its path is spelled (D-5, EX-4).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use actum_core::RelPath;
use actum_core::path::Unseen;
use actum_record::receipt::{EffectKind, PathEffect};

use super::spelling::{Above, Guard, Guards, Spellings};
use super::{Said, with_more};
use crate::decision::{Bundle, Verdict, WorkKind};
use crate::policy::{Exceptions, PROTECTED_GROUPS, Policy, ProtectedGroup, Source};

pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    // Permission bits belong to all names of a file, and one of the others may be protected.
    let is_shared = |effect: &&PathEffect| {
        matches!(effect.effect, EffectKind::Mode | EffectKind::Attributes)
            && bundle.linked().contains(&effect.path)
    };
    if let Some(PathEffect { path, .. }) = bundle.change().iter().find(is_shared) {
        let ground =
            format!("`{path}` has another name elsewhere, whose permissions would change too");
        return Said { verdict: Verdict::Deny, ground };
    }
    if let Some(said) = unseen_characters(bundle, Unseen::Deceptive) {
        return said;
    }
    if let Some(said) = new_states(bundle) {
        return said;
    }
    let own = policy.layers().iter().flat_map(|layer| {
        layer.protected.iter().map(|rule| (layer.guard(rule, bundle), layer.source))
    });
    let own: Guards<Source> = Guards::new(own);
    let above = bundle.above();
    let excepted = exceptions(policy, &above);
    let is_excepted = |path: &RelPath, group: &ProtectedGroup| {
        group.exceptions == Exceptions::Interactive && excepted.contains(path)
    };
    let rule_for = |relative: &RelPath| {
        let path = Spellings::below(&above, relative);
        let of_group = groups_covering(&path)
            .find(|(_, group)| policy.protects(group) && !is_excepted(relative, group));
        let of_group =
            of_group.map(|(guard, group)| (guard, format!("`{}`, {}", guard.rule(), group.name)));
        of_group.or_else(|| {
            let (guard, source) = own.covering(&path).next()?;
            Some((guard, format!("`{}` of {}", guard.rule(), source.policy())))
        })
    };
    let mut touched = bundle.paths().filter_map(|path| Some((path, rule_for(path)?)));
    match touched.next() {
        None => {
            if let Some(said) = unseen_characters(bundle, Unseen::InEmoji) {
                return said;
            }
            let ground = match bundle.paths().find(|path| excepted.contains(path)) {
                None => "no path is protected".to_owned(),
                Some(path) => {
                    format!("the operator's policy excepts `{path}`; no other path is protected")
                }
            };
            Said { verdict: Verdict::Allow, ground }
        }
        Some((path, (guard, rule))) => {
            let path = bundle.shown(path, guard);
            let first = format!("the path {path} is protected by {rule}");
            Said { verdict: Verdict::Deny, ground: with_more(first, touched.count()) }
        }
    }
}

/// Exceptions that count. An exception is a path in the workspace, so none counts where the workspace itself lies in
/// a protected directory.
fn exceptions<'p>(policy: &'p Policy, above: &Above<'_>) -> BTreeSet<&'p RelPath> {
    let excepted: BTreeSet<&RelPath> = policy.exceptions().collect();
    let is_around = |(_, group): &(Guard, &ProtectedGroup)| policy.protects(group);
    if excepted.is_empty() || groups_covering(&Spellings::around(above)).any(is_around) {
        return BTreeSet::new();
    }
    excepted
}

/// Judges new names with characters that are not shown: those of emoji need approval, all others are denied. What undo
/// and redo bring back is no new name, and a file that has such a name already can be changed and deleted.
fn unseen_characters(bundle: &Bundle, found: Unseen) -> Option<Said> {
    let (verdict, what) = match found {
        Unseen::Nothing => return None,
        Unseen::InEmoji => (Verdict::NeedsApproval, "that belong to an emoji"),
        Unseen::Deceptive => (Verdict::Deny, "that are not shown"),
    };
    if bundle.work() != WorkKind::Apply {
        return None;
    }
    let is_new = |effect: &&PathEffect| match effect.effect {
        EffectKind::Created | EffectKind::Renamed | EffectKind::DirectoryCreated => true,
        EffectKind::Modified
        | EffectKind::Mode
        | EffectKind::Attributes
        | EffectKind::Deleted
        | EffectKind::DirectoryRemoved => false,
    };
    let new = bundle.change().iter().filter(is_new);
    let mut named = new.filter(|effect| effect.path.0.unseen() == found);
    let first = &named.next()?.path;
    let first = format!("the new name `{first}` has characters {what}");
    Some(Said { verdict, ground: with_more(first, named.count()) })
}

/// Denies what makes a directory a git repository, whose state is protected in any profile, or a home of ledgers and keys,
/// in which no change could be undone.
fn new_states(bundle: &Bundle) -> Option<Said> {
    let mut marks = bundle.triggers().iter().filter(|it| it.trigger.is_denied());
    let first = marks.next()?;
    let ground = format!("`{}` {}", first.path, first.trigger.effect());
    Some(Said { verdict: Verdict::Deny, ground: with_more(ground, marks.count()) })
}

/// Built-in rules of all groups that match a path, in their order.
pub(crate) fn groups_covering<'p>(
    path: &'p Spellings<'p>,
) -> impl Iterator<Item = &'static (Guard, &'static ProtectedGroup)> + 'p {
    built_in().covering(path)
}

fn built_in() -> &'static Guards<&'static ProtectedGroup> {
    static BUILT_IN: OnceLock<Guards<&ProtectedGroup>> = OnceLock::new();
    let rules = |group: &'static ProtectedGroup| {
        group.paths.rules().map(move |(rule, kind)| (rule, kind, group))
    };
    BUILT_IN.get_or_init(|| Guards::built_in(PROTECTED_GROUPS.iter().flat_map(rules)))
}
