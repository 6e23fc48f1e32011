//! Rules that hold back a change, as data instead of the messages of the gates.

use std::collections::BTreeSet;

use actum_core::{PathRule, RelPath};
use actum_gate::policy::{BUILT_IN, BuiltInPaths, PROTECTED_GROUPS, Policy};
use actum_gate::{Case, GateName, Trigger};
use actum_record::receipt::PathEffect;

/// Rule together with the gate that applies it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) gate: &'static str,
    pub(super) name: String,
}

/// Returns the rules by which these `gates` hold back a change under the default policy, without duplicates. A gate that no known
/// rule explains, such as the size gate or the name gate, counts as a rule itself.
pub(super) fn holding_back(case: &Case, gates: &[GateName]) -> Vec<Rule> {
    let mut rules = BTreeSet::new();
    for gate in gates {
        let mut names: BTreeSet<String> = BTreeSet::new();
        match gate {
            GateName::Tier => {
                let files = || case.change.iter().filter(|it| it.effect.is_of_file());
                for built_in in &BUILT_IN {
                    names.extend(matching(&built_in.paths, files()));
                }
                names.extend(triggers(case));
            }
            GateName::Protected => {
                let policy = Policy::default();
                for group in PROTECTED_GROUPS.iter().filter(|group| policy.protects(group)) {
                    names.extend(matching(&group.paths, case.change.iter()));
                }
                names.extend(triggers(case));
            }
            GateName::Credentials => {
                names.extend(case.found.iter().map(|found| found.finding.rule.clone()))
            }
            GateName::Scope
            | GateName::Budget
            | GateName::Commands
            | GateName::Lease
            | GateName::Access
            | GateName::Approval => {}
        }
        if names.is_empty() {
            names
                .insert("no rule of a path or a content: size, or characters of a name".to_owned());
        }
        let rule = |name| Rule { gate: gate.as_str(), name };
        rules.extend(names.into_iter().map(rule));
    }
    rules.into_iter().collect()
}

fn matching<'a>(
    paths: &'a BuiltInPaths,
    effects: impl Iterator<Item = &'a PathEffect>,
) -> impl Iterator<Item = String> {
    let touched: Vec<RelPath> = effects.flat_map(PathEffect::paths).filter_map(lower).collect();
    let patterns = paths.patterns();
    let matches = move |pattern: &&str| {
        PathRule::new(pattern.to_ascii_lowercase())
            .is_ok_and(|rule| touched.iter().any(|path| rule.covers(path)))
    };
    patterns.filter(matches).map(str::to_owned)
}

/// Returns the path in lower case, as the rules are written.
fn lower(path: &RelPath) -> Option<RelPath> {
    RelPath::new(path.as_bytes().to_ascii_lowercase()).ok()
}

fn triggers(case: &Case) -> impl Iterator<Item = String> + '_ {
    case.triggers.iter().map(|it| trigger_name(it.trigger).to_owned())
}

fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::GitRepository => "HEAD of a git repository",
        Trigger::GitConfiguration => "configuration of git",
        Trigger::GitHook => "name of a git hook",
        Trigger::LifecycleScript => "lifecycle script in package.json",
        Trigger::LedgerHome => "keyring of actum",
    }
}
