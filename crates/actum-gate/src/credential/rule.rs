//! The tables of rules. An id is permanent; what a rule finds may become more precise.

mod contexts;
mod services;

use super::secret_pattern::SecretPattern;

/// One kind of credential.
pub(super) struct Rule {
    pub(super) id: &'static str,
    /// One sentence.
    pub(super) finds: &'static str,
    /// How literals are compared.
    pub(super) case: Case,
    /// Texts of three bytes or more of which one is in every credential of the kind, or in front of it.
    pub(super) literals: &'static [&'static str],
    /// What must stand there; the first that does counts.
    pub(super) shapes: &'static [SecretPattern],
    /// Contents in which the rule alone finds something. `{word 20}` and the like stand for text that
    /// only looks like chance, so that no scanner takes the table for a leak.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) matches: &'static [&'static str],
    /// Contents that come near, and in which no rule finds anything.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    pub(super) misses: &'static [&'static str],
}

/// How literals are compared with the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    /// ASCII letters of both cases are the same.
    Any,
}

impl Rule {
    /// Whether the rule rests on a name alone. Where another rule finds the same bytes, that one is
    /// reported.
    pub(super) fn is_generic(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, SecretPattern::Named(_)))
    }
}

/// All rules, by table.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [services::RULES, contexts::RULES].into_iter().flatten()
}
