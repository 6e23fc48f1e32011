//! The JSON documents of actum, as types with JSON Schemas.
//!
//! `docs/json.md` describes these documents. `actum --json` writes them; a client reads them with the same types:
//!
//! ```
//! let printed = r#"{"format":"actum.init/1","root":"/home/you/greeter","created":true}"#;
//! let init: actum_api::Init = actum_api::from_str(printed)?;
//! assert!(init.created);
//! assert_eq!(serde_json::to_string(&actum_api::Envelope::new(&init))?, printed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A type leaves out the field `format`, which [`Envelope`] adds and [`from_str`] checks. Readers skip unknown fields, as
//! `docs/stability.md` asks. [`schemas`] gives the files below `schemas/api/`.

mod change;
mod document;
mod gate;
mod path;
mod record;
mod value;
mod word;

mod apply;
mod bind;
mod command;
mod doctor;
mod error;
mod gc;
mod history;
mod init;
mod recovery;
mod status;
mod recorded;

pub mod catalog;
pub mod feedback;
pub mod key;
pub mod ledger;
pub mod plugin;
pub mod policy;
pub mod program;
pub mod queue;
pub mod reason;
pub mod receipt;
pub mod replay;
pub mod task;
pub mod view;
pub mod written;

pub use apply::{Apply, Effect, MovedHunk, Outcome, ReceiptRef, Redo, Undo};
pub use bind::{Bind, Binding};
pub use change::{Change, ChangeKind, Changes, Diffs, FileDiff, Sides};
pub use command::{
    Ended, Enforcement, Exec, ExecOutcome, Execution, InForce, Node, NodeChange, NodeType, Output,
    Resource, Sandbox, Usage, Violation,
};
pub use doctor::{Doctor, Finding, Health};
pub use document::{Document, DocumentType, Envelope, ReadError, SchemaFile, from_str};
pub use error::{
    BudgetUse, Conflict, DeniedPlan, Error, FileCost, Queued, Refusal, WorkspaceState,
};
pub use gate::{Gate, Ground, Verdict};
pub use gc::Gc;
pub use history::{
    Diff, Image, ImageAttributes, ImageChange, ImageType, Log, LoggedRun, Run, RunFacts, RunKind,
};
pub use init::Init;
pub use path::{WorkspacePath, hexadecimal};
pub use record::{
    Actor, Approval, Command, CommandEnding, Commands, Confinement, EntryRef, Isolation, RunRecord,
    SignedReceipt,
};
pub use recovery::{BlockedPath, Recovered, Recovery, RefusedPath, Resolve};
pub use status::{DriftedPath, Status};

/// All documents, one line for each family.
const FAMILIES: &[&[DocumentType]] = &[
    init::DOCUMENTS,
    apply::DOCUMENTS,
    history::DOCUMENTS,
    status::DOCUMENTS,
    error::DOCUMENTS,
    recovery::DOCUMENTS,
    gc::DOCUMENTS,
    doctor::DOCUMENTS,
    command::DOCUMENTS,
    bind::DOCUMENTS,
/// All documents, by family.
const FAMILIES: &[&[DocumentType]] = &[
    init::DOCUMENTS,
    gc::DOCUMENTS,
    key::DOCUMENTS,
    written::DOCUMENTS,
    receipt::DOCUMENTS,
    ledger::DOCUMENTS,
    replay::DOCUMENTS,
    queue::DOCUMENTS,
    catalog::DOCUMENTS,
    feedback::DOCUMENTS,
    task::DOCUMENTS,
    plugin::DOCUMENTS,
    policy::DOCUMENTS,
    reason::DOCUMENTS,
    program::DOCUMENTS,
];

/// Returns the type of each document, in the order of `docs/json.md`.
pub fn document_types() -> impl Iterator<Item = &'static DocumentType> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the published JSON Schema of each document.
pub fn schemas() -> Vec<SchemaFile> {
    document_types().map(DocumentType::schema_file).collect()
}
