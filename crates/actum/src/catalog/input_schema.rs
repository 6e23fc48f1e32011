//! Input schema of a registered action, compiled on first use.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::{Schema, SchemaProblem};

/// JSON Schema of an action's input. It is compiled once, when the first input is checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputSchema {
    written: Map<String, Value>,
    #[serde(skip)]
    compiled: OnceLock<Result<Schema, SchemaProblem>>,
}

impl InputSchema {
    /// Checks that an input matches the schema.
    ///
    /// # Errors
    /// [`SchemaProblem`] if the input does not match, or if the schema itself is invalid.
    pub fn check(&self, input: &Map<String, Value>) -> Result<(), SchemaProblem> {
        let schema = self.compiled.get_or_init(|| Schema::read(&self.written));
        schema.as_ref().map_err(Clone::clone)?.check(&Value::Object(input.clone()))
    }
}

impl From<Map<String, Value>> for InputSchema {
    fn from(written: Map<String, Value>) -> Self {
        Self { written, compiled: OnceLock::new() }
    }
}

impl Deref for InputSchema {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.written
    }
}

/// Compares only the source of the schemas, not their compiled form.
impl PartialEq for InputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for InputSchema {}
