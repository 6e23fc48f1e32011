//! Reasons for feedback that could not be written.

use actum_core::canonical::CanonicalError;
use actum_ledger::LedgerError;

/// Failure to write feedback. The effects of the action remain.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FeedbackError {
    /// The ledger refused or failed.
    #[error("cannot record how the action ended: {0}")]
    Ledger(#[from] LedgerError),
    /// The feedback has no exact form.
    #[error("cannot record how the action ended: {0}")]
    Record(#[from] CanonicalError),
}
