//! What is wrong with a task plan, with code and place.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use actum_core::path::Harmless;
use actum_core::place::Place;
use actum_document::JsonPath;
use actum_gate::credential::spans;
use actum_task::limits::PROBLEMS_MAX;
use actum_task::report::CleanText;
use actum_task::{ErrorCategory, ErrorCode, Mistakes, RecoveryAction};
use serde::Serialize;

use crate::snippet::Quote;

/// All that is wrong, at most as many as one wants to read.
#[derive(Debug, Default, Serialize)]
pub(super) struct Problems {
    problems: Vec<Found>,
    /// Whether there are more.
    more: bool,
}

/// One problem.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// The document, where it is not the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    error_code: ErrorCode,
    error_type: &'static str,
    error_category: ErrorCategory,
    /// The value that is meant.
    path: String,
    /// Counted from 1.
    line: Option<u64>,
    column: Option<u64>,
    message: String,
    /// What would become of the plan.
    recovery_action: RecoveryAction,
}

impl Found {
    pub(super) fn new(
        code: ErrorCode,
        message: impl Display,
        (path, place): (&JsonPath, Option<Place>),
    ) -> Self {
        Self {
            file: None,
            error_code: code,
            error_type: code.error_type(),
            error_category: code.category(),
            path: path.to_string(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            // A text of the plan can stand in it.
            message: CleanText::new(&message.to_string(), &spans).to_string(),
            recovery_action: code.recovery_action(),
        }
    }
}

impl Problems {
    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn add(&mut self, found: Found) {
        match self.problems.len() < PROBLEMS_MAX {
            true => self.problems.push(found),
            false => self.more = true,
        }
    }

    /// Adds what is wrong with a document, of which no more is shown than its place allows.
    pub(super) fn add_mistakes(
        &mut self,
        (file, path, bytes): (&str, Option<&Path>, &[u8]),
        mistakes: &Mistakes,
    ) {
        for mistake in &mistakes.list {
            let quote = Quote::new(path, bytes, mistake.place);
            let message = quote.message_at_place(&mistake.problem, "the document breaks its rules");
            // Names of members are content, too.
            let path = if quote.is_shown() { mistake.path.clone() } else { JsonPath::default() };
            let found = Found::new(ErrorCode::of(mistake), message, (&path, mistake.place));
            self.add(Found { file: Some(file.to_owned()), ..found });
        }
        self.more |= mistakes.is_cut;
    }

    /// A line for each, and how many there are.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for found in &self.problems {
            let Found { file, error_code, error_type, path, line, column, message, .. } = found;
            if let Some(file) = file {
                write!(out, "{}: ", Harmless(file.as_bytes()))?;
            }
            if let (Some(line), Some(column)) = (line, column) {
                write!(out, "line {line}, column {column}: ")?;
            }
            if !path.is_empty() {
                write!(out, "`{}`: ", Harmless(path.as_bytes()))?;
            }
            let number = error_code.number();
            writeln!(out, "{} ({number} {error_type})", Harmless(message.as_bytes()))?;
        }
        let more = if self.more { ", and there are more" } else { "" };
        match self.problems.len() {
            0 => Ok(()),
            1 => writeln!(out, "1 problem{more}; nothing was changed"),
            count => writeln!(out, "{count} problems{more}; nothing was changed"),
        }
    }
}
