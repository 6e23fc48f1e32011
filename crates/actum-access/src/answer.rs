//! What the policies say of a request, and which of them.

use actum_gate::ground::AccessGround;

/// How many grounds an answer has.
pub const GROUNDS_MAX: usize = 100;

/// Whether something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Allowed,
    /// It may once so many people have agreed to it.
    NeedsApproval {
        /// How many in all, 1 to 4; the least that is enough.
        approvals: u32,
    },
    /// It may not, whoever agrees.
    Denied,
}

/// The answer to a request (AEC-6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct AccessAnswer {
    /// Whether it may be done.
    pub access: Access,
    /// Policies that decided it, or why they could not: sorted, at least one, at most [`GROUNDS_MAX`].
    pub grounds: Vec<AccessGround>,
    /// Further grounds.
    pub more: usize,
}

impl AccessAnswer {
    pub(crate) fn new(access: Access, mut grounds: Vec<AccessGround>) -> Self {
        grounds.sort();
        grounds.dedup();
        let more = grounds.len().saturating_sub(GROUNDS_MAX);
        grounds.truncate(GROUNDS_MAX);
        Self { access, grounds, more }
    }
}
