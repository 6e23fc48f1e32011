//! JSON inputs: detects the format of a document, and reads the fields that several formats share.

mod problem;
pub(super) mod recognise;

pub use problem::DocumentProblem;

use actum_core::json::{Field, Fields, ShapeError, SyntaxError, Value};
use actum_core::place::Place;
use actum_core::{Digest, RelPath};

use super::{Format, JsonSyntax, ParseError, Problem, Reading, RootPrefix, json_patch};

/// Single JSON document of an input, which can contain several.
pub(super) struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) value: Value<'t>,
    /// Root directory that absolute paths in the document must be below.
    pub(super) root: &'t RootPrefix,
    /// File that a bare JSON Patch changes, if the caller gave one.
    pub(super) target: Option<&'t RelPath>,
}

/// Problem in a JSON input, with its byte offset.
pub(super) struct Refusal {
    pub(super) offset: usize,
    pub(super) problem: Problem,
}

impl<'t> Document<'t> {
    pub(super) fn read(text: &'t str, reading: &'t Reading) -> Result<Self, Refusal> {
        let Reading { root, target, .. } = reading;
        let value = Value::read(text.as_bytes())?;
        Ok(Self { text, value, root, target: target.as_ref() })
    }

    /// Detects the format of the document from its fields. An empty array is a JSON Patch if a target file is given, and
    /// an error otherwise.
    pub(super) fn format(&self) -> Result<(Format, &'static JsonSyntax), Refusal> {
        if self.is_empty() && self.target.is_some() {
            return Ok((Format::JsonPatch, &json_patch::SYNTAX));
        }
        self.filled()?;
        recognise::format(&self.value)
            .map_err(|problem| Refusal::at(self.value.span.start, problem))
    }

    /// Returns an error if the document is an empty array, which is valid only as a JSON Patch.
    pub(super) fn filled(&self) -> Result<(), Refusal> {
        if self.is_empty() {
            return Err(Refusal::at(self.value.span.start, DocumentProblem::EmptyArray));
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.value.each().is_empty()
    }
}

impl Refusal {
    pub(super) fn at(offset: usize, problem: impl Into<Problem>) -> Self {
        Self { offset, problem: problem.into() }
    }

    /// Shifts the offset by the number of bytes before the document in the input.
    pub(super) fn behind(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    /// Converts the byte offset into a line and column of `input`.
    pub(super) fn placed(self, input: &[u8]) -> ParseError {
        ParseError::at(Place::new(input, self.offset), self.problem)
    }
}

impl From<SyntaxError> for Refusal {
    fn from(error: SyntaxError) -> Self {
        Self::at(error.offset, DocumentProblem::Syntax(error.problem))
    }
}

impl From<ShapeError> for Refusal {
    fn from(error: ShapeError) -> Self {
        Self::at(error.offset, DocumentProblem::Shape(error.problem))
    }
}

/// Other names for the field `path` that are common in the edit tools of agents.
pub(super) const PATH_ALIASES: &[(&str, &str)] = &[("file_path", "path"), ("filename", "path")];

/// Checks whether an object has a field that names its file.
pub(super) fn has_path(value: &Value<'_>) -> bool {
    value.has("path") || PATH_ALIASES.iter().any(|(alias, _)| value.has(alias))
}

/// Parses the path in a field.
pub(super) fn path_in(field: Field<'_>, root: &RootPrefix) -> Result<RelPath, Refusal> {
    let refused = |error| Refusal::at(field.value.span.start, Problem::Path(error));
    RelPath::new(root.relative(field.string()?.as_bytes())).map_err(refused)
}

/// Name of the field with the digest that a file must have before the change.
pub(super) const EXPECTED: &str = "expected_prev_sha256";

/// Returns the digest that a file must have before the change, or `None` if the field is absent or `null`.
pub(super) fn expected_in(fields: &Fields<'_>) -> Result<Option<Digest>, Refusal> {
    let Some(field) = fields.optional(EXPECTED) else { return Ok(None) };
    let refused = |source| Refusal::at(field.value.span.start, DocumentProblem::Digest { source });
    field.string()?.parse().map(Some).map_err(refused)
}
