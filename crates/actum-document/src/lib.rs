//! The shapes of JSON documents. A document is described once, as a [`Shape`]: its reader is held to it, and its JSON
//! Schema is written from it, so neither can say something else than the other.

pub mod json_schema;
mod mistake;
pub mod reader;
mod shape;

pub use json_schema::SchemaFile;
pub use mistake::{Fault, JsonPath, Mistake, Problem, Step};
pub use shape::{Branch, Characters, Form, Member, Need, Others, Shape, Tagged, Text};

/// The deepest nesting: 64 arrays and objects around a value, the document itself among them.
pub const DEPTH_MAX: usize = 64;
