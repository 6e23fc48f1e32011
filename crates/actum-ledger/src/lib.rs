//! Append-only ledger of actions and runs, and the keys with which its records are signed.
//!
//! A ledger is the log of one tenant. It consists of consecutively numbered entries, a Merkle tree over their exact bytes,
//! and signed checkpoints of that tree. [`Ledger`] appends entries, [`LedgerView`] reads them, and
//! [`verify`](verify::verify) detects modifications that were made in any other way.

pub mod conformance;
mod error;
pub mod export;
mod finding;
pub mod home;
mod inputs;
pub mod key_rotation;
pub mod keys;
mod ledger;
mod limits;
mod log;
mod new_entry;
pub mod projection;
mod proof;
pub mod snapshot;
pub mod sqlite;
mod store;
pub mod verify;
mod view;

pub use error::{AgentRefusal, LedgerError, Refusal, StoreFault, StoreName};
pub use home::{Activity, ActivityMark, HomeError, LedgerHome, Marks, TaskTurn, TrustedPolicy};
pub use inputs::{HomeInputs, INPUT_BYTES_MAX, Inputs};
pub use keys::{
    Admission, KeyError, Keys, Passphrase, Passphrases, Protection, Rotated, SigningKey,
    WAIT_MICROS,
};
pub use ledger::{Ledger, Pending};
pub use limits::{BODY_BYTES_MAX, LOG_BYTES_MAX, REQUEST_ENTRIES_MAX};
pub use log::{
    AgentClaim, AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Entry, FileTaskRow,
    LeaseRow, Log, PlanRow, RunRow, SLO_P95_US, SLO_P99_US, SignedCheckpoint,
};
pub use new_entry::{Appended, NewEntry, Prepared, Request};
pub use proof::{consistency, inclusion};
pub use snapshot::{OpenSnapshot, Snapshot};
pub use sqlite::SqliteStore;
pub use store::Store;
pub use view::LedgerView;
