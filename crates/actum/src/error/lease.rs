//! Why a lease cannot be granted or revoked.

use actum_gate::LeaseEntryProblem;
use actum_lease::{GrantError, LeaseError};

/// Why a lease cannot be granted or revoked.
#[derive(Debug, thiserror::Error)]
pub enum GrantLeaseError {
    /// No lease can have the terms.
    #[error(transparent)]
    Terms(#[from] GrantError),
    /// The key does not count now.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// A key of another role was given.
    #[error("a lease key is needed to grant or revoke a lease")]
    OtherRole,
    /// The entry would not count.
    #[error("cannot record it: {0}")]
    Entry(#[from] LeaseEntryProblem),
}
