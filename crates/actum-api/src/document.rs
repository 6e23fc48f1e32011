//! Common parts of all documents: their format name, their envelope and their published schema.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::brief_parts::BriefParts;

/// A JSON document. Its fields are those of the type; [`Envelope`] adds `format`.
pub trait Document: Serialize + DeserializeOwned + JsonSchema {
    /// Value of the field `format`. A change that breaks readers gets a new number.
    const FORMAT: &'static str;

    /// Returns what the document has for its brief form: nothing, unless it is about a run or an error.
    fn brief(&self) -> BriefParts {
        BriefParts::default()
    }
}

/// A document as it is written: `format`, then its fields.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Envelope<'a, D> {
    format: &'static str,
    #[serde(flatten)]
    document: &'a D,
}

impl<'a, D: Document> Envelope<'a, D> {
    /// Wraps a document.
    pub fn new(document: &'a D) -> Self {
        Self { format: D::FORMAT, document }
    }
}

/// Error of [`from_str`].
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not a JSON document with these fields.
    #[error("cannot read the document: {0}")]
    Json(#[from] serde_json::Error),
    /// The document has another format or another number.
    #[error("the document is `{found}`, not `{expected}`")]
    Format {
        /// Format of the expected type.
        expected: &'static str,
        /// Format in the text.
        found: String,
    },
}

/// Reads a document and checks its format. Unknown fields are skipped.
pub fn from_str<D: Document>(text: &str) -> Result<D, ReadError> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        format: Cow<'a, str>,
    }

    let Tag { format } = serde_json::from_str(text)?;
    if format != D::FORMAT {
        return Err(ReadError::Format { expected: D::FORMAT, found: format.into_owned() });
    }
    Ok(serde_json::from_str(text)?)
}

/// Published JSON Schema of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// Name of the file below `schemas/`.
    pub name: String,
    /// Whole text of the file.
    pub text: String,
}

/// Entry of the registry: one document, without its Rust type.
#[derive(Debug, Clone, Copy)]
pub struct DocumentType {
    /// Value of the field `format`.
    pub format: &'static str,
    root_schema: fn() -> Schema,
    rewrite: fn(&str) -> Result<Value, ReadError>,
}

impl DocumentType {
    /// Makes the entry of a type.
    pub(crate) const fn new<D: Document>() -> Self {
        Self { format: D::FORMAT, root_schema: root_schema::<D>, rewrite: rewrite::<D> }
    }

    /// Reads a document into its type and writes it again. Unknown fields are lost.
    pub fn rewrite(&self, text: &str) -> Result<Value, ReadError> {
        (self.rewrite)(text)
    }

    /// Returns the JSON Schema (draft 2020-12), `format` included.
    pub fn schema(&self) -> Value {
        let mut schema = (self.root_schema)().to_value();
        let Some(object) = schema.as_object_mut() else { return schema };
        let id = format!("urn:actum:api:{}", self.name().replace('/', ":"));
        let mut published = Map::new();
        published.insert("$schema".into(), object.shift_remove("$schema").unwrap_or_default());
        published.insert("$id".into(), id.into());
        published.insert("title".into(), self.format.into());
        object.shift_remove("title");
        for keyword in ["description", "type"] {
            published.extend(object.shift_remove_entry(keyword));
        }
        published.append(object);
        add_format(&mut published, self.format);
        published.into()
    }

    /// Returns the published file of the schema.
    pub fn schema_file(&self) -> SchemaFile {
        let name = self.name().replace('/', "-");
        // The alternate form is indented.
        let text = format!("{:#}\n", self.schema());
        SchemaFile { name: format!("api/{name}.schema.json"), text }
    }

    /// Returns the format without `actum.`.
    fn name(&self) -> &'static str {
        self.format.trim_start_matches("actum.")
    }
}

fn root_schema<D: Document>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<D>()
}

fn rewrite<D: Document>(text: &str) -> Result<Value, ReadError> {
    let document: D = from_str(text)?;
    Ok(serde_json::to_value(Envelope::new(&document))?)
}

/// Adds the field `format` before the others.
fn add_format(schema: &mut Map<String, Value>, format: &str) {
    let mut properties = Map::new();
    let about = "Name and number of the document.";
    properties.insert("format".into(), json!({ "description": about, "const": format }));
    let mut required = vec![Value::from("format")];
    if let Some(Value::Object(others)) = schema.get_mut("properties") {
        properties.extend(std::mem::take(others));
    }
    if let Some(Value::Array(others)) = schema.get_mut("required") {
        required.append(others);
    }
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
}
