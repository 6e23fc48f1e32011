//! Diagnostics of a task document, each with its error code (EX-2, EX-18).

use std::fmt;

use actum_core::path::PathProblem;
use actum_document::{Diagnostic, JsonPath, Problem, Step};

use super::codes::ErrorCode;

/// Diagnostics of a single document, in the order of their positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    /// List of diagnostics, with at least one and at most [`PROBLEMS_MAX`](super::limits::PROBLEMS_MAX) elements.
    pub list: Vec<Diagnostic>,
    /// Whether the list was truncated.
    pub is_cut: bool,
}

impl Mistakes {
    pub(super) fn of_one(mistake: Diagnostic) -> Self {
        Self { list: vec![mistake], is_cut: false }
    }

    /// Returns the error code of the entire document. A protected path takes precedence over the code of the first
    /// diagnostic.
    pub fn code(&self) -> ErrorCode {
        let codes = || self.list.iter().map(ErrorCode::from_diagnostic);
        let protected = codes().find(|code| *code == ErrorCode::ProtectedFileViolation);
        protected.or_else(|| codes().next()).unwrap_or(ErrorCode::SchemaViolation)
    }

    /// Returns the diagnostics with the given code.
    pub fn with_code(&self, code: ErrorCode) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().filter(move |mistake| ErrorCode::from_diagnostic(mistake) == code)
    }
}

impl std::error::Error for Mistakes {}

/// Formats the first diagnostic and the number of the others.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.list.split_first() else { return Ok(()) };
        first.fmt(f)?;
        match (others.len(), self.is_cut) {
            (0, false) => Ok(()),
            (1, false) => f.write_str(" (and 1 other problem)"),
            (count, false) => write!(f, " (and {count} other problems)"),
            (count, true) => write!(f, " (and more than {count} other problems)"),
        }
    }
}

impl ErrorCode {
    /// Returns the error code of a diagnostic (EX-18).
    pub fn from_diagnostic(mistake: &Diagnostic) -> Self {
        match &mistake.problem {
            Problem::TooLarge { .. } => Self::InputTooLarge,
            Problem::Syntax(_) | Problem::Unwritable | Problem::TooDeep => Self::InvalidJson,
            Problem::Yaml { .. } => Self::InvalidYaml,
            Problem::Doubled => Self::DuplicateKey,
            Problem::Unknown { .. } => Self::UnknownField,
            Problem::Word { .. } => word_code(&mistake.path),
            Problem::Length { expected, chars } if *chars > expected.chars_max => {
                Self::LimitExceeded
            }
            Problem::TooMany { count, .. } if *count > 0 => Self::LimitExceeded,
            Problem::Path(error) => match error.problem {
                PathProblem::Reserved => Self::ProtectedFileViolation,
                PathProblem::Absolute | PathProblem::Parent => Self::PathTraversal,
                PathProblem::Empty
                | PathProblem::NotPlain
                | PathProblem::Nul
                | PathProblem::TooLong => Self::InvalidPath,
            },
            Problem::Inexact { .. }
            | Problem::Missing { .. }
            | Problem::Kind { .. }
            | Problem::Number { .. }
            | Problem::Length { .. }
            | Problem::Characters { .. }
            | Problem::TooMany { .. }
            | Problem::CoreName { .. }
            | Problem::NotPermitted { .. }
            | Problem::Rule(_)
            | Problem::AlsoNested { .. }
            | Problem::Contradiction { .. }
            | Problem::Backwards { .. } => Self::SchemaViolation,
        }
    }
}

/// Returns the error code for an unknown word at the given path in a document.
fn word_code(path: &JsonPath) -> ErrorCode {
    let is = |step: &Step, name: &str| matches!(step, Step::Member(member) if member == name);
    match &*path.0 {
        [.., last] if is(last, "action_type") => ErrorCode::UnknownActionType,
        [.., before, last] if is(before, "operation") && is(last, "type") => {
            ErrorCode::UnknownOperation
        }
        _ => ErrorCode::SchemaViolation,
    }
}
