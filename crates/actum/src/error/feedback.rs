//! Errors from recording the feedback of an action.

use actum_core::canonical::CanonicalError;
use actum_ledger::LedgerError;

/// Error from recording the outcome of an action. The effects of the action are kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FeedbackError {
    /// The ledger rejected the entry or could not be written.
    #[error("cannot record the outcome of the action: {0}")]
    Ledger(#[from] LedgerError),
    /// The feedback cannot be written as canonical JSON.
    #[error("cannot record the outcome of the action: {0}")]
    Record(#[from] CanonicalError),
}
