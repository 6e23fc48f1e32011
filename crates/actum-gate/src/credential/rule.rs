//! Tables of rules. An id is permanent; the findings of a rule may become more precise.

mod contexts;
mod services;

use super::secret_pattern::SecretPattern;

/// Kind of credential.
pub(super) struct Rule {
    pub(super) id: &'static str,
    /// Description of the findings in one sentence.
    pub(super) finds: &'static str,
    /// Case sensitivity of the literals.
    pub(super) case: Case,
    /// Literals of at least three bytes: one of them is in every credential of the kind, or before it.
    pub(super) literals: &'static [&'static str],
    /// Patterns around a literal; the first that matches counts.
    pub(super) shapes: &'static [SecretPattern],
    /// Examples in which only this rule finds something. `{word 20}` and the like stand for text that only
    /// looks random, so that no scanner reports the table as a leak.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) matches: &'static [&'static str],
    /// Near misses, in which no rule finds anything.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) misses: &'static [&'static str],
}

/// Case sensitivity of literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    /// ASCII letters match in both cases.
    Any,
}

impl Rule {
    /// Returns true if the rule depends on a name alone. If another rule finds the same bytes, that one is reported.
    pub(super) fn is_generic(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, SecretPattern::Named(_)))
    }
}

/// Returns all rules, by table.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [services::RULES, contexts::RULES].into_iter().flatten()
}
