//! An input in JSON: which of the formats it is in, and what they share.

mod problem;
pub(super) mod recognise;

pub use problem::DocumentProblem;

use actum_core::json::{Field, Fields, ShapeError, SyntaxError, Value};
use actum_core::place::Place;
use actum_core::{Digest, RelPath};

use super::{Format, JsonSyntax, ParseError, Problem, Reading, RootPrefix, json_patch};

/// One JSON document of an input.
pub(super) struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) value: Value<'t>,
    /// Root that absolute paths in it may lie below.
    pub(super) root: &'t RootPrefix,
    /// File that a bare JSON Patch changes.
    pub(super) target: Option<&'t RelPath>,
}

/// Refusal of an input, with the byte.
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

    /// The format that its fields show it to be in; an empty array is a JSON Patch where a file is named
    /// for one.
    pub(super) fn format(&self) -> Result<(Format, &'static JsonSyntax), Refusal> {
        if self.is_empty() && self.target.is_some() {
            return Ok((Format::JsonPatch, &json_patch::SYNTAX));
        }
        self.filled()?;
        recognise::format(&self.value)
            .map_err(|problem| Refusal::at(self.value.span.start, problem))
    }

    /// Refuses an empty array, which only a JSON Patch can be.
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

    /// Moves the refusal behind the bytes before its document.
    pub(super) fn behind(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    /// Adds the line and column in `input`.
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

/// Other names of the field `path`, as tools of agents have it.
pub(super) const PATH_ALIASES: &[(&str, &str)] = &[("file_path", "path"), ("filename", "path")];

/// Returns true if an object names its file.
pub(super) fn has_path(value: &Value<'_>) -> bool {
    value.has("path") || PATH_ALIASES.iter().any(|(alias, _)| value.has(alias))
}

/// The path in a field.
pub(super) fn path_in(field: Field<'_>, root: &RootPrefix) -> Result<RelPath, Refusal> {
    let refused = |error| Refusal::at(field.value.span.start, Problem::Path(error));
    RelPath::new(root.relative(field.string()?.as_bytes())).map_err(refused)
}

/// The name of the field that holds the digest a file must have.
pub(super) const EXPECTED: &str = "expected_prev_sha256";

/// The digest that a file must have; none where the field is left out or `null`.
pub(super) fn expected_in(fields: &Fields<'_>) -> Result<Option<Digest>, Refusal> {
    let Some(field) = fields.optional(EXPECTED) else { return Ok(None) };
    let refused = |source| Refusal::at(field.value.span.start, DocumentProblem::Digest { source });
    field.string()?.parse().map(Some).map_err(refused)
}
