//! Errors from granting or revoking a lease.

use actum_gate::LeaseEntryProblem;
use actum_lease::{GrantError, LeaseError};

/// Error from granting or revoking a lease.
#[derive(Debug, thiserror::Error)]
pub enum GrantLeaseError {
    /// The terms are not valid for a lease.
    #[error(transparent)]
    Terms(#[from] GrantError),
    /// The new lease fails verification, for example because its key is not valid at this time.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The key is not a lease key.
    #[error("a lease key is needed to grant or revoke a lease")]
    OtherRole,
    /// The signed ledger entry fails verification, so readers of the ledger would ignore it.
    #[error("cannot record the lease: {0}")]
    Entry(#[from] LeaseEntryProblem),
}
