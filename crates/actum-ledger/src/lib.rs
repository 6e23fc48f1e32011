//! The append-only record of what was done, and the keys that sign it.
//!
//! A ledger is the log of one tenant: entries in a dense sequence, a Merkle tree over their exact
//! bytes, and signed checkpoints of that tree. [`Ledger`] appends, [`LedgerView`] reads,
//! [`verify`](verify::verify) finds whatever was changed behind their back.

pub mod conformance;
mod error;
pub mod export;
pub mod home;
pub mod keys;
mod ledger;
pub mod projection;
mod proof;
pub mod snapshot;
pub mod sqlite;
mod store;
pub mod verify;
mod view;

pub use error::{LedgerError, Refusal, StoreFault, StoreName};
pub use home::{
    Doing, HomeError, HomeInputs, Inputs, LedgerHome, Marked, Marks, TaskTurn, TrustedPolicy,
    UnderWay,
};
pub use keys::{
    Admission, KeyError, Keys, Passphrase, Passphrases, Protection, Rotated, SigningKey,
    WAIT_MICROS,
};
pub use ledger::{Ledger, Pending};
pub use proof::{consistency, inclusion};
pub use snapshot::{OpenSnapshot, Snapshot};
pub use sqlite::SqliteStore;
pub use store::{
    Appended, BODY_BYTES_MAX, Entry, LOG_BYTES_MAX, Log, NewEntry, PlanRow, Prepared,
    REQUEST_ENTRIES_MAX, Request, RunRow, SignedCheckpoint, Store,
};
pub use view::LedgerView;
