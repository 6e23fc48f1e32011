//! Reasons for a catalog that cannot be used or changed.

use actum_core::canonical::CanonicalError;
use actum_core::{ActionName, Digest};
use actum_gate::CatalogProblem;
use actum_ledger::LedgerError;
use actum_record::ledger::ActionState;

use crate::error::Error;

/// Failure to use or change the catalog.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// The ledger refused or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No valid key signed the newest change of the catalog.
    #[error(
        "the catalog of actions cannot be relied on: the newest change of it, entry {index} of the ledger, is not \
         proven: {problem}"
    )]
    Unproven {
        /// Ledger entry of the change.
        index: u64,
        /// Reason why the signature does not count.
        problem: CatalogProblem,
    },
    /// The newest change was signed for another place.
    #[error(
        "the catalog of actions cannot be relied on: the newest change of it, entry {index} of the ledger, was \
         signed for another place"
    )]
    Misplaced {
        /// Ledger entry of the change.
        index: u64,
    },
    /// The snapshot that the newest change names cannot be used.
    #[error(
        "the catalog of actions cannot be used: the snapshot that entry {index} of the ledger names {message}"
    )]
    Snapshot {
        /// Ledger entry of the change.
        index: u64,
        /// Problem of the snapshot.
        message: String,
    },
    /// The catalog has changed since it was shown.
    #[error("the catalog of actions changed after it was shown")]
    ChangedSinceShown,
    /// The catalog has no such action.
    #[error("there is no action `{action}` in the catalog")]
    Unknown {
        /// Name of the action.
        action: ActionName,
    },
    /// The transition between these states is not allowed.
    #[error("the action `{action}` cannot become {}: it {}", to.as_str(), stands(*from))]
    State {
        /// Name of the action.
        action: ActionName,
        /// Current state.
        from: Option<ActionState>,
        /// Requested state.
        to: ActionState,
    },
    /// The package differs from the one in the catalog.
    #[error(
        "the package of the action `{action}` is not the registered one: its digest is \
         {given} and not {registered}"
    )]
    OtherPackage {
        /// Name of the action.
        action: ActionName,
        /// Digest in the catalog.
        registered: Digest,
        /// Digest of the package.
        given: Digest,
    },
    /// The name belongs to a core action.
    #[error("`{action}` is a core action, so no package can have its name")]
    IsCore {
        /// Name of the action.
        action: ActionName,
    },
    /// A package can be registered only under its own name.
    #[error("the package contains the action `{package}`, not `{action}`")]
    OtherName {
        /// Given name.
        action: ActionName,
        /// Name of the package.
        package: ActionName,
    },
    /// A schema of the action is invalid.
    #[error("the action `{action}` cannot be registered: {message}")]
    Unsound {
        /// Name of the action.
        action: ActionName,
        /// Problem of the schema.
        message: String,
    },
    /// The record has no exact form.
    #[error("cannot record the catalog: {0}")]
    Record(#[from] CanonicalError),
    /// The key does not count, so the change would have no effect.
    #[error("cannot change the catalog with this key: {0}")]
    Key(CatalogProblem),
    /// The description of a core action in this program is wrong.
    #[error("the description of the core action `{action}` is wrong: {message}")]
    BuiltIn {
        /// Name of the action.
        action: &'static str,
        /// Problem of the description.
        message: String,
    },
}

fn stands(state: Option<ActionState>) -> String {
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
