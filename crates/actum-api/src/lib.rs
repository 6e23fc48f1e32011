//! Types and JSON Schemas for the JSON documents that actum prints.
//!
//! The documents are described in `docs/json.md` and printed by `actum --json`. A client can parse them with the same types:
//!
//! ```
//! let printed = r#"{"format":"actum.init/1","root":"/home/you/greeter","created":true}"#;
//! let init: actum_api::init::Init = actum_api::from_str(printed)?;
//! assert!(init.created);
//! assert_eq!(serde_json::to_string(&actum_api::Envelope::new(&init))?, printed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The types do not contain the `format` field. [`Envelope`] adds it, and [`from_str`] checks it. Readers ignore unknown
//! fields, as required by `docs/stability.md`. [`schemas`] returns the files in `schemas/api/`.

mod brief_parts;
mod document;
mod value;
mod word;

// Parts that several documents share.
pub mod change;
pub mod gate;
pub mod path;
pub mod record;

// Documents, grouped by topic.
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

/// All document types, grouped by module and listed in the order of `docs/json.md`.
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

/// Returns all document types in the order of `docs/json.md`.
pub fn document_types() -> impl Iterator<Item = &'static DocumentType> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the published JSON Schemas of all documents.
pub fn schemas() -> Vec<SchemaFile> {
    document_types().map(DocumentType::schema_file).collect()
}
