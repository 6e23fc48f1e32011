//! What the policies say of a request, and which of them.

/// How many grounds an answer tells.
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
    /// The policies that decided it, by their names and reasons; sorted, and at least one. No more
    /// than [`GROUNDS_MAX`], and one that says how many more there are.
    pub grounds: Vec<String>,
}

impl AccessAnswer {
    pub(crate) fn new(access: Access, mut grounds: Vec<String>) -> Self {
        grounds.sort();
        grounds.dedup();
        let more = grounds.len().saturating_sub(GROUNDS_MAX);
        grounds.truncate(GROUNDS_MAX);
        if more > 0 {
            grounds.push(format!("and {more} more"));
        }
        Self { access, grounds }
    }
}
