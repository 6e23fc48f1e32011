//! Reasons for a lease that cannot be granted or revoked.

use actum_gate::LeaseEntryProblem;
use actum_lease::{GrantError, LeaseError};

/// Failure to grant or revoke a lease.
#[derive(Debug, thiserror::Error)]
pub enum GrantLeaseError {
    /// No lease can have these terms.
    #[error(transparent)]
    Terms(#[from] GrantError),
    /// The key does not count now.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The key has another role.
    #[error("a lease key is needed to grant or revoke a lease")]
    OtherRole,
    /// The entry would not count.
    #[error("cannot record the lease: {0}")]
    Entry(#[from] LeaseEntryProblem),
}
