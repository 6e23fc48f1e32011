//! Exceptions from the rules, each with a reason.

use std::collections::BTreeSet;

use super::Place;
use crate::tidy::Finding;

pub(super) const FILE: &str = "xtask/prose/exceptions.json";

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    /// Path pattern, in which `*` matches within a name and `**` also matches directories.
    path: String,
    rule: String,
    /// Part of the sentence. If it is empty, the exception covers every offence against the rule.
    #[serde(default)]
    text: String,
    reason: String,
}

/// All exceptions, and the indices of those that cover an offence.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    all: Vec<Exception>,
    used: BTreeSet<usize>,
}

impl Exceptions {
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { all: serde_json::from_str(text)?, used: BTreeSet::new() })
    }

    /// Returns whether an exception covers this offence, and records every exception that does.
    pub(super) fn cover(&mut self, place: &Place) -> bool {
        let covers = |exception: &Exception| {
            exception.rule == place.rule
                && matches(&exception.path, &place.path)
                && place.offence.sentence.to_lowercase().contains(&exception.text.to_lowercase())
        };
        let found: Vec<usize> =
            (0..).zip(&self.all).filter(|(_, it)| covers(it)).map(|(index, _)| index).collect();
        self.used.extend(&found);
        !found.is_empty()
    }

    /// Returns findings for exceptions that have no reason or cover nothing.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let problem = |(index, exception): (usize, &Exception)| {
            let Exception { path, rule, text, reason } = exception;
            let problem = if reason.trim().is_empty() {
                "has no `reason`: say why the text stays"
            } else if self.used.contains(&index) {
                return None;
            } else {
                "covers nothing: remove it"
            };
            let quoted = if text.is_empty() { String::new() } else { format!(", `{text}`") };
            let problem = format!("the exception for `{path}`, `{rule}`{quoted} {problem}");
            Some(Finding::new(FILE, None, problem))
        };
        (0..).zip(&self.all).filter_map(problem).collect()
    }
}

/// Whether a path matches a pattern with `*` and `**`.
fn matches(pattern: &str, path: &str) -> bool {
    let rests = |path: &str, stop: Option<char>| -> Vec<String> {
        let end = stop.and_then(|stop| path.find(stop)).unwrap_or(path.len());
        (0..=end).filter_map(|at| path.get(at..)).map(str::to_owned).collect()
    };
    if let Some(behind) = pattern.strip_prefix("**") {
        return rests(path, None).iter().any(|rest| matches(behind, rest));
    }
    if let Some(behind) = pattern.strip_prefix('*') {
        return rests(path, Some('/')).iter().any(|rest| matches(behind, rest));
    }
    match (pattern.chars().next(), path.chars().next()) {
        (None, None) => true,
        (Some(a), Some(b)) if a == b => {
            let behind = |text: &'_ str| text.get(a.len_utf8()..).unwrap_or_default().to_owned();
            matches(&behind(pattern), &behind(path))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::rule::Offence;

    fn place(path: &str, rule: &str, sentence: &str) -> Place {
        let offence = Offence {
            line: 1,
            found: String::new(),
            message: String::new(),
            sentence: sentence.into(),
        };
        Place { path: path.into(), rule: rule.into(), offence }
    }

    #[test]
    fn star_matches_within_a_name_and_double_star_across_directories() {
        let cases = [
            ("README.md", "README.md", true),
            ("README.md", "docs/README.md", false),
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/b/a.md", false),
            ("docs/**", "docs/b/a.md", true),
            ("**/a.md", "docs/b/a.md", true),
            ("crates/*/src/**.rs", "crates/x/src/y/z.rs", true),
            ("crates/*/src/**.rs", "crates/x/y/src/z.rs", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn an_exception_covers_its_path_its_rule_and_its_text() {
        let text = r#"[{"path": "a/*", "rule": "A.B", "text": "the house", "reason": "r"}]"#;
        let mut exceptions = Exceptions::read(text).unwrap();
        let cases = [
            (place("a/b", "A.B", "In The house of"), true),
            (place("b/b", "A.B", "the house"), false),
            (place("a/b", "A.C", "the house"), false),
            (place("a/b", "A.B", "a house"), false),
        ];
        for (place, expected) in cases {
            assert_eq!(exceptions.cover(&place), expected, "{place:?}");
        }
        assert_eq!(exceptions.findings(), []);
    }

    #[test]
    fn an_unused_exception_or_one_without_a_reason_fails() {
        let text = r#"[{"path": "a", "rule": "A.B", "reason": "r"}, {"path": "b", "rule": "A.B", "text": "t", "reason": " "}]"#;
        let mut exceptions = Exceptions::read(text).unwrap();
        assert!(exceptions.cover(&place("b", "A.B", "t")));
        let found: Vec<String> = exceptions.findings().iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "xtask/prose/exceptions.json: the exception for `a`, `A.B` covers nothing: remove it",
                "xtask/prose/exceptions.json: the exception for `b`, `A.B`, `t` has no `reason`: say why the text stays",
            ]
        );
    }

    #[test]
    fn an_unknown_field_of_an_exception_is_rejected() {
        let text = r#"[{"path": "a", "rule": "A.B", "reasons": "r", "reason": "r"}]"#;
        assert!(Exceptions::read(text).is_err());
    }
}
