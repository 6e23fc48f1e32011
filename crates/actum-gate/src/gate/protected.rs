//! Protected gate: denies changes to protected paths, regardless of their spelling (D-5, EX-4).

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_core::path::Unseen;
use actum_core::path_name::PathName;
use actum_record::receipt::{EffectKind, PathEffect};

use super::GateVerdict;
use crate::decision::{Bundle, LeadsTo, LinkFound, TriggerFound, Verdict, WorkKind};
use crate::ground::{Ground, Protector};
use crate::policy::{Exceptions, Policy, ProtectedGroup, Source, groups_below, groups_covering};
use crate::spelling::{Above, Guard, Guards, Spellings};

pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    // Permission bits apply to all names of a hard-linked file, and one of the other names may be protected.
    let is_shared = |effect: &&PathEffect| {
        matches!(effect.effect, EffectKind::Mode | EffectKind::Attributes)
            && bundle.linked().contains(&effect.path)
    };
    if let Some(PathEffect { path, .. }) = bundle.change().iter().find(is_shared) {
        return GateVerdict::deny(Ground::SharedPermissions { path: path.clone() });
    }
    if let Some(verdict) = unseen_characters(bundle, Unseen::Deceptive) {
        return verdict;
    }
    if let Some(verdict) = new_states(bundle) {
        return verdict;
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
            of_group.map(|(guard, group)| (guard, Protector::Group(group.id.to_owned())));
        of_group.or_else(|| {
            let (guard, source) = own.covering(&path).next()?;
            Some((guard, Protector::Policy(*source)))
        })
    };
    if let Some(found) = bundle.links().iter().find(|it| it.leads_to == LeadsTo::State) {
        return GateVerdict::deny(Ground::StateTarget { link: found.path.clone() });
    }
    // Returns a rule that protects a path below this one, if it is a directory.
    let rule_below = |relative: &RelPath| {
        let path = Spellings::below(&above, relative);
        let of_group = groups_below(&path).find(|(_, group)| policy.protects(group));
        let of_group =
            of_group.map(|(guard, group)| (guard, Protector::Group(group.id.to_owned())));
        of_group.or_else(|| {
            let (guard, source) = own.reached_below(&path).next()?;
            Some((guard, Protector::Policy(*source)))
        })
    };
    let targets = bundle.links().iter().filter_map(|found| Some((found, found.target()?)));
    let mut led_to = targets
        .filter_map(|(found, to)| Some((found, to, rule_for(to).or_else(|| rule_below(to))?)));
    if let Some((found, path, (guard, by))) = led_to.next() {
        let (root, rule) = (bundle.root_shown(path, guard), guard.rule().clone());
        let (link, path) = (found.path.clone(), PathName(path.clone()));
        let verdict = GateVerdict::deny(Ground::ProtectedTarget { link, path, root, rule, by });
        return verdict.with_more(led_to.count());
    }
    // If a link replaces a directory, all paths below it are replaced with those of the link's target.
    let replaced = |found: &LinkFound| {
        let (guard, by) = rule_below(&found.path.0)?;
        let (root, rule) = (bundle.root_shown(&found.path.0, guard), guard.rule().clone());
        Some(Ground::Protected { path: found.path.clone(), root, rule, by })
    };
    if let Some(ground) = bundle.links().iter().find_map(replaced) {
        return GateVerdict::deny(ground);
    }
    let mut touched = bundle.paths().filter_map(|path| Some((path, rule_for(path)?)));
    match touched.next() {
        None => unseen_characters(bundle, Unseen::InEmoji).unwrap_or_else(|| {
            GateVerdict::allow(match bundle.paths().find(|path| excepted.contains(path)) {
                None => Ground::NotProtected,
                Some(path) => Ground::Excepted { path: PathName(path.clone()) },
            })
        }),
        Some((path, (guard, by))) => {
            let (root, rule) = (bundle.root_shown(path, guard), guard.rule().clone());
            let path = PathName(path.clone());
            GateVerdict::deny(Ground::Protected { path, root, rule, by }).with_more(touched.count())
        }
    }
}

/// Returns the exceptions that apply. Exceptions are paths in the workspace, so none applies if the workspace
/// itself is inside a protected directory.
fn exceptions<'p>(policy: &'p Policy, above: &Above<'_>) -> BTreeSet<&'p RelPath> {
    let excepted: BTreeSet<&RelPath> = policy.exceptions().collect();
    let is_around = |(_, group): &(Guard, &ProtectedGroup)| policy.protects(group);
    if excepted.is_empty() || groups_covering(&Spellings::around(above)).any(is_around) {
        return BTreeSet::new();
    }
    excepted
}

/// Judges new names that contain invisible characters. Names with such characters in emoji need an approval,
/// and all others are denied. Names restored by undo or redo are not new, and existing files with such names
/// can be changed and deleted.
fn unseen_characters(bundle: &Bundle, found: Unseen) -> Option<GateVerdict> {
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
    let path = named.next()?.path.clone();
    let (verdict, ground) = match found {
        Unseen::Nothing => return None,
        Unseen::InEmoji => (Verdict::NeedsApproval, Ground::EmojiCharacters { path }),
        Unseen::Deceptive => (Verdict::Deny, Ground::HiddenCharacters { path }),
    };
    Some(GateVerdict { verdict, ground: ground.into() }.with_more(named.count()))
}

/// Denies changes that turn a directory into a git repository, whose state every profile protects, or into a
/// home of ledgers and keys, where no change could be undone.
fn new_states(bundle: &Bundle) -> Option<GateVerdict> {
    let mut marks = bundle.triggers().iter().filter(|it| it.trigger.is_denied());
    let TriggerFound { path, trigger } = marks.next()?.clone();
    Some(GateVerdict::deny(Ground::NewState { path, trigger }).with_more(marks.count()))
}
