//! The gates: each a function of a bundle and a policy, and of nothing else, in a file of its own.

pub(crate) mod access;
pub(crate) mod approval;
pub(crate) mod budget;
pub(crate) mod commands;
mod credentials;
mod output;
mod protected;
pub(crate) mod scope;
mod spelling;
pub(crate) mod tier;

use crate::decision::{Bundle, PROTECTED, Verdict};
use crate::policy::Policy;

pub use output::{OutputContent, refuses_output, refuses_result, refuses_root};
pub(crate) use protected::groups_covering;
pub(crate) use spelling::{Above, Guard, GuardKind, Spellings};

/// What one gate says, and why.
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    pub(crate) ground: String,
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

/// A ground, and how many more there are like it.
fn with_more(first: String, more: usize) -> String {
    match more {
        0 => first,
        more => format!("{first}; so it is with {more} more"),
    }
}
