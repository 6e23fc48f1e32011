//! Common parts of all documents: format name, envelope and published schema.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::brief_parts::BriefParts;

/// JSON document that actum prints. The fields of the type become fields of the document, and [`Envelope`] adds `format`.
pub trait Document: Serialize + DeserializeOwned + JsonSchema {
    /// Value of the `format` field. Its number is increased by every change that would break readers.
    const FORMAT: &'static str;

    /// Returns the values that the document contributes to its brief form. The default is empty. Documents about a run or an error
    /// override it.
    fn brief(&self) -> BriefParts {
        BriefParts::default()
    }
}

/// Document in its serialized form, with `format` as the first field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Envelope<'a, D> {
    format: &'static str,
    #[serde(flatten)]
    document: &'a D,
}

impl<'a, D: Document> Envelope<'a, D> {
    /// Wraps a document, so that it can be serialized.
    pub fn new(document: &'a D) -> Self {
        Self { format: D::FORMAT, document }
    }
}

/// Error from [`from_str`], which reads a document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not valid JSON, or lacks the fields of the document.
    #[error("failed to parse the document: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is a document of a different type or version.
    #[error("expected a document of format `{expected}`, found `{found}`")]
    Format {
        /// Format of the expected document type.
        expected: &'static str,
        /// Format stated in the text.
        found: String,
    },
}

/// Parses a document from JSON and checks its format. Unknown fields are ignored.
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
    /// File name, relative to `schemas/`.
    pub name: String,
    /// Complete text of the file.
    pub text: String,
}

/// Document type without its Rust type, as listed in the registry of all documents.
#[derive(Debug, Clone, Copy)]
pub struct DocumentType {
    /// Value of the `format` field.
    pub format: &'static str,
    root_schema: fn() -> Schema,
    rewrite: fn(&str) -> Result<Value, ReadError>,
}

impl DocumentType {
    /// Creates the registry entry for a document type.
    pub(crate) const fn new<D: Document>() -> Self {
        Self { format: D::FORMAT, root_schema: root_schema::<D>, rewrite: rewrite::<D> }
    }

    /// Parses a document and serializes it again. Unknown fields are dropped.
    pub fn rewrite(&self, text: &str) -> Result<Value, ReadError> {
        (self.rewrite)(text)
    }

    /// Returns the JSON Schema (draft 2020-12) of the document, including the `format` field.
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

    /// Returns the JSON Schema of the document as a file that can be published.
    pub fn schema_file(&self) -> SchemaFile {
        let name = self.name().replace('/', "-");
        // The alternate format flag indents the JSON.
        let text = format!("{:#}\n", self.schema());
        SchemaFile { name: format!("api/{name}.schema.json"), text }
    }

    /// Returns the format without the prefix `actum.`, such as `apply/1`.
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

/// Inserts the `format` field before all other fields of a schema.
fn add_format(schema: &mut Map<String, Value>, format: &str) {
    let mut properties = Map::new();
    let about = "Format of the document, including its version number.";
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
