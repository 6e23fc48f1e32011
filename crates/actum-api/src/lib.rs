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

mod document;
mod value;

mod gc;
mod init;

pub use document::{Document, DocumentType, Envelope, ReadError, SchemaFile, from_str};
pub use gc::Gc;
pub use init::Init;

/// All documents, by family.
const FAMILIES: &[&[DocumentType]] = &[init::DOCUMENTS, gc::DOCUMENTS];

/// Returns the type of each document, in the order of `docs/json.md`.
pub fn document_types() -> impl Iterator<Item = &'static DocumentType> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the published JSON Schema of each document.
pub fn schemas() -> Vec<SchemaFile> {
    document_types().map(DocumentType::schema_file).collect()
}
