//! The shapes of JSON documents. A document is described once, as an [`ObjectSchema`]: its reader is held to it, and its JSON
//! Schema is written from it, so neither can say something else than the other.

mod diagnostic;
pub mod json_schema;
mod object_schema;
pub mod reader;

pub use diagnostic::{Diagnostic, Fault, JsonPath, Problem, Step};
pub use json_schema::SchemaFile;
pub use object_schema::{
    Branch, Characters, Form, Member, Need, ObjectSchema, Others, Tagged, Text,
};

/// The deepest nesting: 64 arrays and objects around a value, the document itself among them.
pub const DEPTH_MAX: usize = 64;
