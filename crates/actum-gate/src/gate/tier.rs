//! Tier gate: computes the risk tier from the actual effect of a change, regardless of the declared tier (AA-1,
//! AA-5, D-2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use actum_core::path_name::PathName;
use actum_core::{PathRule, RelPath, RiskTier};
use actum_record::receipt::{EffectKind, PathEffect};

use super::GateVerdict;
use crate::decision::{Bundle, LeadsTo, LinkFound, TriggerFound, Verdict};
use crate::fold::folded;
use crate::ground::{Ground, TierReason};
use crate::policy::{BUILT_IN, BuiltIn, Layer, Policy, TierRule};
use crate::spelling::{Above, Guard, Guards, Spellings};
use crate::trigger::Trigger;

/// Maximum number of deleted files in a change that needs no approval.
const DELETED_FILES_MAX: usize = 200;
/// Maximum number of changed files in a change that needs no approval.
const CHANGED_FILES_MAX: usize = 2000;

/// Directories where agents keep their own work (EX-4).
const OWN_AREAS: [&str; 2] = ["agent/agent_outputs/", "agent/temp/"];

/// Directories that `actum run` needs for task reports. It fails if one of them is a file.
const REPORT_PARENTS: [&str; 3] = ["agent", "agent/agent_outputs", "agent/agent_outputs/plans"];

/// Risk tier, the reason for it, and the number of further paths with the same reason.
type Raised = (RiskTier, TierReason, usize);

/// Returns the risk tier of a change and the verdict of the gate.
pub(crate) fn judge(bundle: &Bundle, policy: &Policy) -> (RiskTier, GateVerdict) {
    let computed = computed(bundle, policy);
    let (tier, reason, more) = match bundle.declared() {
        Some(declared) if declared > computed.0 => (declared, TierReason::Declared, 0),
        Some(_) | None => computed,
    };
    let verdict = if tier.needs_approval() { Verdict::NeedsApproval } else { Verdict::Allow };
    (tier, GateVerdict { verdict, ground: Ground::Tier { tier, reason }.into() }.with_more(more))
}

/// Computes the tier from the effect of a change. An undo that only restores an earlier state needs no
/// approval, because it is the safety net for everything else. A redo is judged like any other change.
fn computed(bundle: &Bundle, policy: &Policy) -> Raised {
    let change = bundle.change();
    let pipelines: Vec<_> = bundle.external().iter().map(|it| it.name.clone()).collect();
    if !pipelines.is_empty() {
        return (RiskTier::R4, TierReason::External { pipelines }, 0);
    }
    if change.is_empty() {
        return (RiskTier::R0, TierReason::NoChange, 0);
    }
    if bundle.restores() {
        return (RiskTier::R2, TierReason::Restores, 0);
    }
    // If several reasons lead to the same tier, the first one is reported, so their order is part of the
    // decision rules.
    let raised =
        size(change).into_iter().chain(raised(bundle, policy)).chain(blocked_reports(bundle));
    let raised = raised.chain(sql_rows(bundle, policy));
    raised.fold(ordinary(bundle), |first, next| if next.0 > first.0 { next } else { first })
}

fn ordinary(bundle: &Bundle) -> Raised {
    static OWN: OnceLock<Vec<PathRule>> = OnceLock::new();
    // A test checks that all of these rules are valid.
    let own =
        OWN.get_or_init(|| OWN_AREAS.iter().filter_map(|it| PathRule::new(it).ok()).collect());
    match bundle.paths().all(|path| own.iter().any(|rule| rule.covers(path))) {
        true => (RiskTier::R1, TierReason::OwnArea, 0),
        false => (RiskTier::R2, TierReason::Reversible, 0),
    }
}

fn size(change: &[PathEffect]) -> Option<Raised> {
    let count = |is_counted: fn(EffectKind) -> bool| {
        change.iter().filter(|effect| is_counted(effect.effect)).count()
    };
    let deleted = count(|effect| effect == EffectKind::Deleted);
    let files = count(EffectKind::is_of_file);
    if deleted > DELETED_FILES_MAX {
        return Some((RiskTier::R3, TierReason::ManyDeleted { files: deleted }, 0));
    }
    (files > CHANGED_FILES_MAX).then_some((RiskTier::R3, TierReason::ManyChanged { files }, 0))
}

/// Raises the tier if SQL steps change more rows than the strictest policy allows without an approval.
fn sql_rows(bundle: &Bundle, policy: &Policy) -> Option<Raised> {
    let limits = policy.layers().iter();
    let limits = limits.filter_map(|layer| Some((layer.sql_rows?, layer.source)));
    let (rows_max, policy) = limits.min_by_key(|(rows, _)| *rows)?;
    let rows = bundle.sql_rows().filter(|rows| *rows > rows_max)?;
    Some((RiskTier::R3, TierReason::SqlRows { rows, rows_max, policy }, 0))
}

/// Raises the tier for a new file at a path where task reports need a directory.
fn blocked_reports(bundle: &Bundle) -> Option<Raised> {
    let path = new_files_at_report_parents(bundle).next()?;
    Some((RiskTier::R3, TierReason::BlockedReports { path: path.clone() }, 0))
}

/// Returns new files at paths where task reports need a directory, in this workspace or an enclosing one.
fn new_files_at_report_parents(bundle: &Bundle) -> impl Iterator<Item = &PathName> {
    let is_parent = |path: &RelPath| {
        let mut seen = bundle.seen_from_each_root(path);
        seen.any(|path| {
            let folded = folded(path.as_bytes());
            REPORT_PARENTS.iter().any(|parent| parent.as_bytes() == &*folded)
        })
    };
    let is_new_file = |effect: EffectKind| match effect {
        EffectKind::Created | EffectKind::Renamed => true,
        EffectKind::Modified
        | EffectKind::Mode
        | EffectKind::Attributes
        | EffectKind::Deleted
        | EffectKind::DirectoryCreated
        | EffectKind::DirectoryRemoved => false,
    };
    let new = bundle.change().iter().filter(move |it| is_new_file(it.effect));
    new.filter(move |it| is_parent(&it.path.0)).map(|it| &it.path)
}

/// Collects all reasons that raise the tier, starting with the built-in rules.
fn raised(bundle: &Bundle, policy: &Policy) -> Vec<Raised> {
    let rules = TierRules::new(bundle, policy);
    let mut raised = rules.of_changed_paths();
    raised.extend(facts(bundle));
    raised.extend(rules.of_replaced_directories());
    raised.extend(triggers(bundle));
    raised
}

/// Returns the changed paths that each need an approval, because they raise the tier to R3 or above on their
/// own.
pub fn paths_that_need_approval(bundle: &Bundle, policy: &Policy) -> BTreeSet<RelPath> {
    let rules = TierRules::new(bundle, policy);
    let touched = bundle.change().iter().flat_map(|it| it.paths().map(|path| (path, it.effect)));
    let by_rule = touched.filter(|(path, effect)| {
        rules.needs_approval(path, *effect) || effect.is_of_file() && Trigger::is_hook(path.name())
    });
    let by_rule = by_rule.map(|(path, _)| path.clone());
    let links = bundle.links().iter().filter(|found| {
        found.leads_to == LeadsTo::Outside || rules.replaces_named_paths(&found.path.0)
    });
    let found = links.map(|found| &found.path).chain(bundle.linked()).chain(bundle.opened());
    let found = found.chain(bundle.triggers().iter().map(|found| &found.path));
    let blocked = new_files_at_report_parents(bundle);
    by_rule.chain(found.chain(blocked).map(|path| path.0.clone())).collect()
}

/// Tier rules that apply to a change: the built-in rules and those of the policies.
struct TierRules<'a> {
    bundle: &'a Bundle,
    built_in: &'static Guards<usize>,
    of_policy: Guards<usize>,
    policy: Vec<(&'a TierRule, &'a Layer)>,
    /// Directories above the workspace, including the enclosing roots that rules also apply to.
    above: Above<'a>,
}

impl<'a> TierRules<'a> {
    fn new(bundle: &'a Bundle, policy: &'a Policy) -> Self {
        static GUARDS: OnceLock<Guards<usize>> = OnceLock::new();
        let built_in = GUARDS.get_or_init(|| {
            let paths = BUILT_IN.iter().enumerate();
            Guards::built_in(paths.flat_map(|(of, rule)| {
                rule.paths.rules().map(move |(path, kind)| (path, kind, of))
            }))
        });
        let layers = policy.layers().iter();
        let policy: Vec<(&TierRule, &Layer)> =
            layers.flat_map(|layer| layer.tiers.iter().map(move |rule| (rule, layer))).collect();
        let paths = policy.iter().enumerate();
        let paths = paths.flat_map(|(of, (rule, layer))| {
            rule.paths.iter().map(move |path| (layer.guard(path, bundle), of))
        });
        let of_policy = Guards::new(paths);
        Self { bundle, built_in, of_policy, policy, above: bundle.above() }
    }

    /// Returns true if a rule raises the tier to R3 or above for this effect on this path.
    fn needs_approval(&self, path: &RelPath, effect: EffectKind) -> bool {
        let spellings = Spellings::below(&self.above, path);
        let is_built_in = |of: &usize| {
            effect.is_of_file() && BUILT_IN.get(*of).is_some_and(|rule| rule.tier.needs_approval())
        };
        let is_of_policy = |of: &usize| {
            self.policy.get(*of).is_some_and(|(rule, _)| {
                rule.tier.needs_approval()
                    && (rule.effects.is_empty() || rule.effects.contains(&effect))
            })
        };
        self.built_in.covering(&spellings).any(|(_, of)| is_built_in(of))
            || self.of_policy.covering(&spellings).any(|(_, of)| is_of_policy(of))
    }

    /// Returns true if a link at this path replaces paths that a rule names.
    fn replaces_named_paths(&self, link: &RelPath) -> bool {
        let path = Spellings::below(&self.above, link);
        let is_replaced = self.built_in.reached_below(&path).next().is_some();
        is_replaced || self.of_policy.reached_below(&path).next().is_some()
    }

    /// Returns the tiers from all rules that match a changed path.
    fn of_changed_paths(&self) -> Vec<Raised> {
        let changed = self.bundle.change().iter();
        let touched: Vec<Touched<'_>> = changed
            .flat_map(|it| {
                let spellings = |path| Spellings::below(&self.above, path);
                it.paths().map(move |path| (path, it.effect, spellings(path)))
            })
            .collect();
        let built_in = matching_rules(self.built_in, &touched, |_, effect| effect.is_of_file());
        let built_in = built_in
            .into_iter()
            .filter_map(|(of, (path, guard, more))| self.built_in(of, (path, guard), more));
        let applies = |of: usize, effect| {
            let effects = self.policy.get(of).map(|(rule, _)| &rule.effects);
            effects.is_some_and(|effects| effects.is_empty() || effects.contains(&effect))
        };
        let of_policy = matching_rules(&self.of_policy, &touched, applies)
            .into_iter()
            .filter_map(|(of, (path, guard, more))| self.of_policy(of, (path, guard), more));
        built_in.chain(of_policy).collect()
    }

    /// Returns the tiers from rules about paths below a new link. If the link replaces a directory, all of
    /// these paths are replaced with those of the link's target.
    fn of_replaced_directories(&self) -> Vec<Raised> {
        let links = self.bundle.links().iter().map(|found| &found.path.0);
        let replaced = links.flat_map(|link| {
            let path = Spellings::below(&self.above, link);
            let built_in = self.built_in.reached_below(&path);
            let built_in = built_in.filter_map(|(guard, of)| self.built_in(*of, (link, guard), 0));
            let of_policy = self.of_policy.reached_below(&path);
            let of_policy =
                of_policy.filter_map(|(guard, of)| self.of_policy(*of, (link, guard), 0));
            built_in.chain(of_policy).collect::<Vec<_>>()
        });
        replaced.collect()
    }

    /// Returns the tier from the built-in rule at index `of`, whose `guard` matches a path and `more` further
    /// paths.
    fn built_in(
        &self,
        of: usize,
        (path, guard): (&RelPath, &Guard),
        more: usize,
    ) -> Option<Raised> {
        let BuiltIn { tier, id, .. } = BUILT_IN.get(of)?;
        let root = self.bundle.root_shown(path, guard);
        let (path, rule) = (PathName(path.clone()), (*id).to_owned());
        Some((*tier, TierReason::BuiltIn { path, root, rule }, more))
    }

    /// Returns the tier from the policy rule at index `of`, like [`Self::built_in`].
    fn of_policy(
        &self,
        of: usize,
        (path, guard): (&RelPath, &Guard),
        more: usize,
    ) -> Option<Raised> {
        let (TierRule { tier, why, .. }, layer) = self.policy.get(of)?;
        let root = self.bundle.root_shown(path, guard);
        let (path, why, policy) = (PathName(path.clone()), why.clone(), layer.source);
        Some((*tier, TierReason::Policy { path, root, why, policy }, more))
    }
}

/// Finds changes that need an approval at any path: files with other hard links, world-writable files, and
/// links that point outside the workspace.
fn facts(bundle: &Bundle) -> impl Iterator<Item = Raised> {
    let r3 = |reason, more: usize| (RiskTier::R3, reason, more);
    let linked = bundle.linked().split_first();
    let linked =
        linked.map(|(path, more)| r3(TierReason::HardLinked { path: path.clone() }, more.len()));
    let opened = bundle.opened().split_first();
    let opened =
        opened.map(|(path, more)| r3(TierReason::WorldWritable { path: path.clone() }, more.len()));
    let mut outside = bundle.links().iter().filter(|it| it.leads_to == LeadsTo::Outside);
    let outside = outside.next().map(|LinkFound { path, .. }| {
        r3(TierReason::LinkOutside { path: path.clone() }, outside.count())
    });
    linked.into_iter().chain(opened).chain(outside)
}

/// Finds changed files that make another program run something, such as git hooks.
fn triggers(bundle: &Bundle) -> impl Iterator<Item = Raised> {
    let raised = |path: &PathName, trigger| {
        (RiskTier::R3, TierReason::Trigger { path: path.clone(), trigger }, 0)
    };
    let found = bundle.triggers().iter();
    let found = found.map(move |TriggerFound { path, trigger }| raised(path, *trigger));
    let mut files = bundle.change().iter().filter(|it| it.effect.is_of_file());
    let hook = files.find_map(|it| it.paths().find(|path| Trigger::is_hook(path.name())));
    let hook = hook.map(|path| raised(&PathName(path.clone()), Trigger::GitHook));
    found.chain(hook)
}

/// Path of the change, its effect, and its spellings.
type Touched<'b> = (&'b RelPath, EffectKind, Spellings<'b>);

/// Finds the rules that match a change. For each rule, the map has the first matching path, the guard that
/// matched, and the number of further paths. A rule matches if any of its guards does.
fn matching_rules<'b, 'g>(
    guards: &'g Guards<usize>,
    touched: &[Touched<'b>],
    applies: impl Fn(usize, EffectKind) -> bool,
) -> BTreeMap<usize, (&'b RelPath, &'g Guard, usize)> {
    let mut matching = BTreeMap::new();
    for (path, effect, spellings) in touched {
        let mut covering: Vec<(usize, &Guard)> =
            guards.covering(spellings).map(|(guard, of)| (*of, guard)).collect();
        covering.dedup_by_key(|(of, _)| *of);
        for (of, guard) in covering.into_iter().filter(|(of, _)| applies(*of, *effect)) {
            let entry = matching.entry(of).and_modify(|(_, _, more)| *more += 1);
            entry.or_insert((*path, guard, 0));
        }
    }
    matching
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-4
    #[test]
    fn agent_areas_are_valid_path_rules() {
        for area in OWN_AREAS {
            PathRule::new(area).unwrap();
        }
    }
}
