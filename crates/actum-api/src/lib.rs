//! The JSON documents of actum, as types with JSON Schemas.
//!
//! `docs/json.md` describes these documents. `actum --json` writes them; a client reads them with the same types:
//!
//! ```
//! let printed = r#"{"format":"actum.init/1","root":"/home/you/greeter","created":true}"#;
//! let init: actum_api::init::Init = actum_api::from_str(printed)?;
//! assert!(init.created);
//! assert_eq!(serde_json::to_string(&actum_api::Envelope::new(&init))?, printed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A type leaves out the field `format`, which [`Envelope`] adds and [`from_str`] checks. Readers skip unknown fields, as
//! `docs/stability.md` asks. [`schemas`] gives the files below `schemas/api/`.

mod brief_parts;
mod document;
mod value;
mod word;

// Parts of several documents.
pub mod change;
pub mod gate;
pub mod path;
pub mod record;

// Documents, by family.
pub mod agent;
pub mod apply;
pub mod bind;
pub mod brief;
pub mod catalog;
pub mod command;
pub mod doctor;
pub mod error;
pub mod feedback;
pub mod gc;
pub mod history;
pub mod init;
pub mod key;
pub mod lease;
pub mod ledger;
pub mod plugin;
pub mod policy;
pub mod program;
pub mod protect;
pub mod queue;
pub mod reason;
pub mod receipt;
pub mod recovery;
pub mod replay;
pub mod sql;
pub mod sql_preview;
pub mod status;
pub mod task;
pub mod written;

pub use document::{Document, DocumentType, Envelope, ReadError, SchemaFile, from_str};

/// All documents, one line for each family.
const FAMILIES: &[&[DocumentType]] = &[
    init::DOCUMENTS,
    apply::DOCUMENTS,
    history::DOCUMENTS,
    sql::DOCUMENTS,
    status::DOCUMENTS,
    error::DOCUMENTS,
    brief::DOCUMENTS,
    recovery::DOCUMENTS,
    gc::DOCUMENTS,
    doctor::DOCUMENTS,
    protect::DOCUMENTS,
    command::DOCUMENTS,
    bind::DOCUMENTS,
    key::DOCUMENTS,
    lease::DOCUMENTS,
    written::DOCUMENTS,
    receipt::DOCUMENTS,
    ledger::DOCUMENTS,
    replay::DOCUMENTS,
    queue::DOCUMENTS,
    catalog::DOCUMENTS,
    feedback::DOCUMENTS,
    agent::DOCUMENTS,
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
