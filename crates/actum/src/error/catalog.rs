//! Why the catalog cannot be used or changed.

use actum_core::canonical::CanonicalError;
use actum_core::{ActionName, Digest};
use actum_gate::CatalogProblem;
use actum_ledger::LedgerError;
use actum_record::ledger::ActionState;

use crate::error::Error;

/// Why the catalog cannot be used or changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// The ledger refused or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The newest change of the catalog is signed by no key that counts.
    #[error(
        "the catalog of actions cannot be relied on: the newest change of it, entry {index} of the ledger, is not \
         proven: {problem}"
    )]
    Unproven {
        /// The entry.
        index: u64,
        /// Why it does not count.
        problem: CatalogProblem,
    },
    /// The newest change was signed for another place.
    #[error(
        "the catalog of actions cannot be relied on: the newest change of it, entry {index} of the ledger, was \
         signed for another place"
    )]
    Misplaced {
        /// The entry.
        index: u64,
    },
    /// What the newest change leads to cannot be used.
    #[error(
        "the catalog of actions cannot be used: the snapshot that entry {index} of the ledger names {message}"
    )]
    Snapshot {
        /// The entry.
        index: u64,
        /// What is wrong with it.
        message: String,
    },
    /// The catalog is another one than when it was shown.
    #[error("the catalog of actions changed after it was shown")]
    ChangedSinceShown,
    /// There is no such action.
    #[error("there is no action `{action}` in the catalog")]
    Unknown {
        /// Its name.
        action: ActionName,
    },
    /// It cannot go from where it stands to there.
    #[error("the action `{action}` cannot become {}: it {}", to.as_str(), stands(*from))]
    State {
        /// Its name.
        action: ActionName,
        /// Where it stands.
        from: Option<ActionState>,
        /// Where it was to stand.
        to: ActionState,
    },
    /// The package is another one than the catalog has.
    #[error(
        "the package of the action `{action}` is another one than the one that is registered: its digest is \
         {given} and not {registered}"
    )]
    OtherPackage {
        /// Its name.
        action: ActionName,
        /// The digest in the catalog.
        registered: Digest,
        /// That of the package.
        given: Digest,
    },
    /// The name is that of an action of actum's own.
    #[error("`{action}` is a core action, so no package can be it")]
    IsCore {
        /// Its name.
        action: ActionName,
    },
    /// A package is registered under its own name.
    #[error("the package is the action `{package}` and not `{action}`")]
    OtherName {
        /// The name that was given.
        action: ActionName,
        /// That of the package.
        package: ActionName,
    },
    /// A schema of it is none.
    #[error("the action `{action}` cannot be registered: {message}")]
    Unsound {
        /// Its name.
        action: ActionName,
        /// What is wrong with it.
        message: String,
    },
    /// What is to be recorded has no exact form.
    #[error("cannot record the catalog: {0}")]
    Record(#[from] CanonicalError),
    /// The key does not count, so nothing would come of it.
    #[error("the catalog cannot be changed so: {0}")]
    Key(CatalogProblem),
    /// This program was made wrongly.
    #[error("the core action `{action}` is not described as it must be: {message}")]
    BuiltIn {
        /// Its name.
        action: &'static str,
        /// What is wrong.
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
