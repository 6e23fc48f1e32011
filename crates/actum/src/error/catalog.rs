//! Errors from reading or changing the catalog of actions.

use actum_core::canonical::CanonicalError;
use actum_core::{ActionName, Digest};
use actum_gate::CatalogProblem;
use actum_ledger::LedgerError;
use actum_record::ledger::ActionState;

use crate::error::Error;

/// Error from reading or changing the catalog of actions.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// The ledger rejected the operation, or an I/O error occurred in it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The newest catalog change is not signed by a valid approval key.
    #[error(
        "the catalog of actions cannot be trusted: its newest change, entry {index} of the ledger, failed \
         verification: {problem}"
    )]
    Unproven {
        /// Index of the ledger entry that records the newest catalog change.
        index: u64,
        /// Reason why the signature of the change is not valid.
        problem: CatalogProblem,
    },
    /// The newest catalog change was signed for a different position in the ledger.
    #[error(
        "the catalog of actions cannot be trusted: its newest change, entry {index} of the ledger, was signed for \
         another position"
    )]
    Misplaced {
        /// Index of the ledger entry that records the newest catalog change.
        index: u64,
    },
    /// The catalog snapshot referenced by the newest change is missing, modified or invalid.
    #[error(
        "cannot use the catalog of actions: the snapshot referenced by entry {index} of the ledger {message}"
    )]
    Snapshot {
        /// Index of the ledger entry that records the newest catalog change.
        index: u64,
        /// Problem with the snapshot, as a clause that continues the message, such as `is missing`.
        message: String,
    },
    /// Another process changed the catalog after the operator reviewed it.
    #[error("the catalog of actions changed after it was shown")]
    ChangedSinceShown,
    /// The catalog does not contain an action with this name.
    #[error("the catalog has no action `{action}`")]
    Unknown {
        /// Name of the action that the error is about.
        action: ActionName,
    },
    /// The action cannot move from its current state to the requested one.
    #[error("cannot change the state of the action `{action}` to {}: it {}", to.as_str(), describe_state(*from))]
    State {
        /// Name of the action that the error is about.
        action: ActionName,
        /// Current state of the action, or `None` if it is not registered.
        from: Option<ActionState>,
        /// State that was requested for the action.
        to: ActionState,
    },
    /// The files of the plugin package differ from the files that were registered.
    #[error(
        "the package of the action `{action}` differs from the registered one: expected the digest \
         {registered}, found {given}"
    )]
    OtherPackage {
        /// Name of the action that the error is about.
        action: ActionName,
        /// Package digest recorded in the catalog.
        registered: Digest,
        /// Digest of the package that was given.
        given: Digest,
    },
    /// A plugin package tried to use the name of a core action.
    #[error("a package cannot be named `{action}`, because a core action has that name")]
    IsCore {
        /// Name of the action that the error is about.
        action: ActionName,
    },
    /// The given action name differs from the name that the package declares.
    #[error("expected a package for the action `{action}`, but found the action `{package}` in it")]
    OtherName {
        /// Action name that was given by the caller.
        action: ActionName,
        /// Action name that the package declares.
        package: ActionName,
    },
    /// The action cannot be registered, for example because one of its schemas is invalid.
    #[error("cannot register the action `{action}`: {message}")]
    Unsound {
        /// Name of the action that the error is about.
        action: ActionName,
        /// Problem that prevents the registration.
        message: String,
    },
    /// The catalog record cannot be written as canonical JSON.
    #[error("cannot record the catalog: {0}")]
    Record(#[from] CanonicalError),
    /// The signing key is not valid for catalog changes, so readers of the ledger would ignore the change.
    #[error("cannot change the catalog with this key: {0}")]
    Key(CatalogProblem),
    /// The description of a core action built into this program is invalid, which is a bug in actum.
    #[error("the built-in description of the core action `{action}` is invalid: {message}")]
    BuiltIn {
        /// Name of the action that the error is about.
        action: &'static str,
        /// Problem with the built-in description.
        message: String,
    },
}

fn describe_state(state: Option<ActionState>) -> String {
    state.map_or("is not registered".to_owned(), |state| format!("is {}", state.as_str()))
}

impl From<CatalogError> for Error {
    fn from(error: CatalogError) -> Self {
        if let CatalogError::Ledger(source) = error {
            return Self::Ledger { source };
        }
        Self::Catalog(Box::new(error))
    }
}
