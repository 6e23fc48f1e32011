//! Rule tables of the credential scan. Rule ids are permanent, but a rule may become more precise over time.

mod contexts;
mod services;

use super::secret_pattern::SecretPattern;

/// Rule that recognises one kind of credential.
pub(super) struct Rule {
    pub(super) id: &'static str,
    /// Description of the credentials that the rule finds, as one sentence.
    pub(super) finds: &'static str,
    /// Whether the literals match case-sensitively.
    pub(super) case: Case,
    /// Literals of at least three bytes. Every credential of this kind contains one of them or directly follows
    /// one.
    pub(super) literals: &'static [&'static str],
    /// Patterns that are tried around each literal. The first one that matches determines the secret.
    pub(super) shapes: &'static [SecretPattern],
    /// Examples that this rule, and no other, must find. Templates such as `{word 20}` expand to random-looking
    /// text, so that secret scanners do not report this table as a leak.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) matches: &'static [&'static str],
    /// Near misses that no rule may report.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) misses: &'static [&'static str],
}

/// Case sensitivity of the literals of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    /// Uppercase and lowercase ASCII letters are equal.
    Any,
}

impl Rule {
    /// Returns true if the rule recognises a secret only by the name of its variable. If a more specific rule
    /// finds the same bytes, only that finding is reported.
    pub(super) fn is_generic(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, SecretPattern::Named(_)))
    }
}

/// Returns the rules of all tables, in table order.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [services::RULES, contexts::RULES].into_iter().flatten()
}
