//! Answer of the access policies to a request, with its grounds.

use actum_gate::ground::AccessGround;

/// Most grounds of an answer.
pub const GROUNDS_MAX: usize = 100;

/// Decision on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The request is allowed.
    Allowed,
    /// The request is allowed after this number of approvals.
    NeedsApproval {
        /// Least number of approvals that is enough, 1 to 4.
        approvals: u32,
    },
    /// The request is denied, also with approvals.
    Denied,
}

/// Answer to a request (AEC-6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct AccessAnswer {
    /// Decision.
    pub access: Access,
    /// Policies that decided, or the reason why they could not: sorted, at least one, at most [`GROUNDS_MAX`].
    pub grounds: Vec<AccessGround>,
    /// Number of further grounds.
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
