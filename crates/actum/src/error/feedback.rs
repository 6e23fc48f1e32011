//! Why feedback could not be written.

use actum_core::canonical::CanonicalError;
use actum_ledger::LedgerError;

/// Why feedback could not be written. What the action did stays as it is.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FeedbackError {
    /// The ledger refused or failed.
    #[error("cannot record how the action ended: {0}")]
    Ledger(#[from] LedgerError),
    /// It has no exact form.
    #[error("cannot record how the action ended: {0}")]
    Record(#[from] CanonicalError),
}
