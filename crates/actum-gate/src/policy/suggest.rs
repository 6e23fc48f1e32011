//! Suggests additions to the existing policies that would allow changes. Each addition is as narrow as
//! possible.
//!
//! Suggestions only cover allowed places and budgets, because these can be loosened by adding rules. Denied
//! paths, protected paths and high risk tiers are refused on purpose. Whether content is a secret cannot be
//! decided here.

use std::collections::BTreeMap;

use actum_core::scope::ScopeError;
use actum_core::{Budget, PathRule, RelPath};
use actum_record::receipt::PathEffect;

use super::{Layer, Policy, Source};
use crate::decision::Bundle;

/// Suggested addition to one policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// Source of the policy file.
    pub source: Source,
    /// Rules to add to the allowed places.
    pub allow: Vec<PathRule>,
    /// Limits to raise in the budget. A limit that needs no change is `None`.
    pub budget: Budget,
}

impl Policy {
    /// Returns the additions that the policy files need to allow these changes, ordered by source. Files that
    /// need no addition are omitted. The caller must judge the changes again, because some may still be
    /// refused.
    pub fn additions<'b>(
        &self,
        changes: impl Iterator<Item = &'b Bundle> + Clone,
    ) -> Vec<Addition> {
        let mut found: BTreeMap<Source, Addition> = BTreeMap::new();
        // Skip enclosing directories, because their rules are relative to a different root.
        for layer in self
            .layers
            .iter()
            .filter(|layer| !matches!(layer.source, Source::System | Source::Enclosing))
        {
            let mut allow: BTreeMap<&[u8], PathRule> = BTreeMap::new();
            let mut budget = Budget::unlimited();
            for bundle in changes.clone().filter(|bundle| !bundle.restores()) {
                for path in missing(layer, bundle) {
                    if let Some(rule) = PathRule::exactly(path) {
                        allow.insert(path.as_bytes(), rule);
                    }
                }
                let (files, loc) = size(bundle);
                let raised = |limit: Option<u64>, needed: u64, so_far: Option<u64>| {
                    limit.filter(|limit| *limit < needed).map(|_| needed).max(so_far)
                };
                budget = Budget {
                    max_files: raised(layer.budget.max_files, files, budget.max_files),
                    max_loc: raised(layer.budget.max_loc, loc, budget.max_loc),
                };
            }
            let allow: Vec<PathRule> = allow.into_values().collect();
            if !allow.is_empty() || budget != Budget::unlimited() {
                let source = layer.source;
                found.insert(source, Addition { source, allow, budget });
            }
        }
        found.into_values().collect()
    }

    /// Returns the policy with these additions applied.
    #[must_use]
    pub fn with(mut self, additions: &[Addition]) -> Self {
        for addition in additions {
            let layers = self.layers.iter_mut().filter(|layer| layer.source == addition.source);
            for Layer { scope, budget, .. } in layers {
                if let Some(allow) = &mut scope.allow {
                    allow.extend(addition.allow.iter().cloned());
                }
                budget.max_files = addition.budget.max_files.or(budget.max_files);
                budget.max_loc = addition.budget.max_loc.or(budget.max_loc);
            }
        }
        self
    }
}

impl Addition {
    /// Returns the addition as TOML. Lists contain only the entries to add to those in the policy file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut put = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        if !self.allow.is_empty() {
            put("[scope]".to_owned());
            put("allow = [ # in addition to the existing entries".to_owned());
            for rule in &self.allow {
                match std::str::from_utf8(rule.as_bytes()) {
                    Ok(rule) => put(format!("  {},", literal(rule))),
                    Err(_) => put(format!("  {{ hex = '{}' }}, # {rule}", hex(rule.as_bytes()))),
                }
            }
            put("]".to_owned());
        }
        let Budget { max_files, max_loc } = self.budget;
        if self.budget != Budget::unlimited() {
            put("[budget]".to_owned());
        }
        for (key, limit) in [("max_files", max_files), ("max_loc", max_loc)] {
            if let Some(limit) = limit {
                put(format!("{key} = {limit}"));
            }
        }
        text
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a TOML string. Escapes are only used if a literal string is not possible.
fn literal(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric();
    if text.chars().all(|c| is_plain(c) && c != '\'') {
        return format!("'{text}'");
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_plain(c) => c.to_string(),
        c => format!("\\U{:08X}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Returns the changed paths that a layer does not allow but that none of its rules denies.
fn missing<'b>(layer: &'b Layer, bundle: &'b Bundle) -> impl Iterator<Item = &'b RelPath> {
    let files = bundle.change().iter().filter(|effect| effect.effect.is_of_file());
    files
        .flat_map(PathEffect::paths)
        .filter(|path| matches!(layer.scope.check(path), Err(ScopeError::NotAllowed { .. })))
}

/// Returns the number of changed files and lines, counted like in the budget gate.
fn size(bundle: &Bundle) -> (u64, u64) {
    let files = bundle.change().iter().filter(|effect| effect.effect.is_of_file());
    files.fold((0, 0), |(files, loc), effect| {
        let lines = effect.added.saturating_add(effect.removed);
        (files + 1, u64::saturating_add(loc, lines))
    })
}
