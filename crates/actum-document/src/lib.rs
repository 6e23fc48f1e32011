//! Descriptions of JSON documents. A document type is described once, as an [`ObjectSchema`], which is used both to validate
//! documents and to generate the JSON Schema. The two can therefore never disagree.

mod diagnostic;
pub mod json_schema;
mod object_schema;
pub mod reader;

pub use diagnostic::{Diagnostic, Fault, JsonPath, Problem, Step};
pub use json_schema::SchemaFile;
pub use object_schema::{
    Branch, Characters, Form, Member, Need, ObjectSchema, Others, Tagged, Text,
};

/// Maximum nesting depth of a document: a value may be enclosed in at most 64 arrays and objects, including the outermost one.
pub const DEPTH_MAX: usize = 64;
