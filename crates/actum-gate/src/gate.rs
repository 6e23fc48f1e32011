//! The gates: each a function of a bundle and a policy, and of nothing else, in a file of its own.

pub(crate) mod access;
pub(crate) mod approval;
pub(crate) mod budget;
pub(crate) mod commands;
mod credentials;
mod output;
mod protected;
pub(crate) mod scope;
pub(crate) mod tier;

use crate::decision::{Bundle, PROTECTED, Verdict};
use crate::ground::{Ground, Grounds};
use crate::policy::Policy;

pub use output::{OutputContent, refuses_output, refuses_result, refuses_root};

/// Verdict of one gate, and its ground.
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    pub(crate) ground: Grounds,
}

impl Said {
    fn allow(ground: Ground) -> Self {
        Self { verdict: Verdict::Allow, ground: ground.into() }
    }

    fn deny(ground: Ground) -> Self {
        Self { verdict: Verdict::Deny, ground: ground.into() }
    }

    /// Sets how many more grounds there are like the first.
    fn with_more(mut self, more: usize) -> Self {
        self.ground.more = more;
        self
    }
}

/// A gate.
pub(crate) type Gate = fn(&Bundle, &Policy) -> Said;

/// The gates before those of tier, access and approval, in their order; all are asked, whatever one says.
pub(crate) const GATES: [(&str, Gate); 5] = [
    (PROTECTED, protected::judge),
    ("scope", scope::judge),
    ("budget", budget::judge),
    ("commands", commands::judge),
    ("credentials", credentials::judge),
];
