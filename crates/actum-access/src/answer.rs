//! Answer of the access policies to a request, with the grounds for it.

use actum_gate::ground::AccessGround;

/// Maximum number of grounds listed in an answer.
pub const GROUNDS_MAX: usize = 100;

/// Decision of the access policies on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The request is allowed without approvals beyond those it already has.
    Allowed,
    /// The request is allowed once it has the given number of approvals.
    NeedsApproval {
        /// Smallest sufficient number of approvals, from 1 to 4.
        approvals: u32,
    },
    /// The request is denied, no matter how many approvals it gets.
    Denied,
}

/// Answer of the access policies to a request, with the policies that decided (AEC-6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct AccessAnswer {
    /// Decision on the request.
    pub access: Access,
    /// Policies that led to the decision, or the reason why they could not be evaluated. Sorted, with at least one and
    /// at most [`GROUNDS_MAX`] elements.
    pub grounds: Vec<AccessGround>,
    /// Number of grounds that were left out because of [`GROUNDS_MAX`].
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
