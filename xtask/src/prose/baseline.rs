//! Baseline: the number of offences older than a rule, for each file and rule. The numbers may only decrease.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Place;
use crate::tidy::Finding;

pub(super) const FILE: &str = "xtask/prose/baseline.txt";

pub(super) const HEADER: &str = "\
# Offences against the rules of `cargo xtask prose`, counted for each file and rule. New ones fail, and
# so does a count that is too high: `cargo xtask prose --update` lowers it.
";

/// Number of offences, by path and rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Baseline {
    counts: BTreeMap<(String, String), usize>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{FILE}`, line {line}: write `PATH RULE COUNT`, in the order of paths and each once")]
pub(super) struct BaselineError {
    line: usize,
}

impl Baseline {
    pub(super) fn read(text: &str) -> Result<Self, BaselineError> {
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let error = BaselineError { line: number };
            if line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.split(' ').collect();
            let [path, rule, count] = parts.as_slice() else { return Err(error) };
            let Some(count) = count.parse().ok().filter(|count| *count > 0) else {
                return Err(error);
            };
            let key = ((*path).to_owned(), (*rule).to_owned());
            if counts.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(error);
            }
            counts.insert(key, count);
        }
        Ok(Self { counts })
    }

    pub(super) fn count(places: &[Place]) -> Self {
        let mut counts = BTreeMap::new();
        for Place { path, rule, .. } in places {
            *counts.entry((path.clone(), rule.clone())).or_default() += 1;
        }
        Self { counts }
    }

    pub(super) fn write(&self) -> String {
        let mut text = HEADER.to_owned();
        for ((path, rule), count) in &self.counts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{path} {rule} {count}");
        }
        text
    }

    pub(super) fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Keeps only the counts of the selected files.
    pub(super) fn within(mut self, is_selected: impl Fn(&str) -> bool) -> Self {
        self.counts.retain(|(path, _), _| is_selected(path));
        self
    }

    /// Returns the smaller of both counts for each file and rule, or the current count for files whose count may be raised.
    pub(super) fn lowered_to(&self, now: &Self, may_raise: impl Fn(&str) -> bool) -> Self {
        let allowed = |(key, count): (&(String, String), &usize)| {
            let before = self.counts.get(key).copied().unwrap_or_default();
            let after = if may_raise(&key.0) { *count } else { before.min(*count) };
            (after > 0).then(|| (key.clone(), after))
        };
        Self { counts: now.counts.iter().filter_map(allowed).collect() }
    }

    /// Returns the differences between the tree and the baseline: all offences of a file and rule whose number exceeds the
    /// baseline, and all counts that are too high.
    pub(super) fn findings(&self, places: &[Place]) -> Vec<Finding> {
        let now = Self::count(places);
        let keys: BTreeSet<_> = self.counts.keys().chain(now.counts.keys()).collect();
        let mut findings = Vec::new();
        for key in keys {
            let (path, rule) = key;
            let of = |baseline: &Self| baseline.counts.get(key).copied().unwrap_or_default();
            let (allowed, found) = (of(self), of(&now));
            if found > allowed {
                if allowed > 0 {
                    let problem = format!(
                        "{rule}: {found} offences, {allowed} in the baseline: rewrite at least {}",
                        found - allowed
                    );
                    findings.push(Finding::new(path, None, problem));
                }
                let offences = places.iter().filter(|it| (&it.path, &it.rule) == (path, rule));
                findings.extend(offences.map(Place::finding));
            } else if found < allowed {
                let problem = format!(
                    "{rule}: {found} in the file, {allowed} in the baseline: lower it with \
                     `cargo xtask prose --update`"
                );
                findings.push(Finding::new(path, None, problem));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::rule::Offence;

    fn places(counts: &[(&str, &str, usize)]) -> Vec<Place> {
        let mut places = Vec::new();
        for (path, rule, count) in counts {
            for line in 1..=*count {
                let offence = Offence {
                    line,
                    found: "f".into(),
                    message: "m".into(),
                    sentence: String::new(),
                };
                places.push(Place { path: (*path).into(), rule: (*rule).into(), offence });
            }
        }
        places
    }

    fn baseline(counts: &[(&str, &str, usize)]) -> Baseline {
        Baseline::count(&places(counts))
    }

    fn found(before: &[(&str, &str, usize)], now: &[(&str, &str, usize)]) -> Vec<String> {
        baseline(before).findings(&places(now)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn baseline_round_trips() {
        let baseline = baseline(&[("b", "A.B", 2), ("a", "A.C", 1), ("a", "A.B", 3)]);
        let text = baseline.write();
        assert_eq!(text, format!("{HEADER}a A.B 3\na A.C 1\nb A.B 2\n"));
        assert_eq!(Baseline::read(&text), Ok(baseline));
    }

    #[test]
    fn a_malformed_line_is_rejected() {
        for line in ["a A.B", "a A.B 0", "a A.B x", "a A.B 1 2", "", "a A.A 1", "a A.B 2"] {
            let text = format!("a A.B 1\n{line}\n");
            assert_eq!(Baseline::read(&text), Err(BaselineError { line: 2 }), "{line}");
        }
    }

    #[test]
    fn offences_equal_to_the_baseline_pass() {
        assert_eq!(found(&[("a", "A.B", 2)], &[("a", "A.B", 2)]), [""; 0]);
    }

    #[test]
    fn new_offence_fails_and_lists_all_candidates() {
        assert_eq!(
            found(&[("a", "A.B", 1)], &[("a", "A.B", 2), ("b", "A.B", 1)]),
            [
                "a: A.B: 2 offences, 1 in the baseline: rewrite at least 1",
                "a:1: A.B: m",
                "a:2: A.B: m",
                "b:1: A.B: m",
            ]
        );
    }

    #[test]
    fn fewer_offences_than_in_the_baseline_fail() {
        let lower = "lower it with `cargo xtask prose --update`";
        assert_eq!(
            found(&[("a", "A.B", 2), ("gone", "A.B", 1)], &[("a", "A.B", 1)]),
            [
                format!("a: A.B: 1 in the file, 2 in the baseline: {lower}"),
                format!("gone: A.B: 0 in the file, 1 in the baseline: {lower}"),
            ]
        );
    }

    #[test]
    fn an_update_lowers_all_counts_and_raises_only_those_of_stated_files() {
        let before = baseline(&[("a", "A.B", 2), ("b", "A.B", 2), ("gone", "A.B", 1)]);
        let now = baseline(&[("a", "A.B", 1), ("b", "A.B", 3), ("c", "A.B", 1), ("d", "A.B", 1)]);
        let after = before.lowered_to(&now, |path| path == "d");
        assert_eq!(after, baseline(&[("a", "A.B", 1), ("b", "A.B", 2), ("d", "A.B", 1)]));
    }
}
