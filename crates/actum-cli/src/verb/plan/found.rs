//! Problems that are found in a task plan, with their error codes and positions.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use actum_api::task::{PlanLint, PlanProblem};
use actum_core::path::Harmless;
use actum_core::place::Place;
use actum_document::JsonPath;
use actum_gate::credential::spans;
use actum_task::limits::PROBLEMS_MAX;
use actum_task::report::CleanText;
use actum_task::{ErrorCode, Mistakes};

use crate::code_document;
use crate::count::number;
use crate::snippet::Quote;

/// Problems that were found in a task plan and its config. Their number is limited to what a user can still read.
#[derive(Debug, Default)]
pub(super) struct Problems {
    problems: Vec<PlanProblem>,
    /// Whether more problems were found than the limit allows.
    more: bool,
}

/// Creates a problem for the document from its error code, message and position.
pub(super) fn plan_problem(
    code: ErrorCode,
    message: impl Display,
    (path, place): (&JsonPath, Option<Place>),
) -> PlanProblem {
    PlanProblem {
        file: None,
        error_code: code.number(),
        error_type: code.error_type().to_owned(),
        error_category: code_document::category(code.category()),
        path: path.to_string(),
        line: place.map(|place| place.line),
        column: place.map(|place| place.column),
        // The message may quote text of the plan, so credentials are removed from it.
        message: CleanText::new(&message.to_string(), &spans).to_string(),
        recovery_action: code_document::recovery_action(code.recovery_action()),
    }
}

impl Problems {
    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Converts the problems to a document. `plan` is the id of the plan, and `size` the number of its actions and files. Both are
    /// `None` if the plan cannot be read.
    pub(super) fn document(self, plan: Option<String>, size: Option<(usize, usize)>) -> PlanLint {
        let Self { problems, more } = self;
        let (actions, files) =
            size.map(|(actions, files)| (number(actions), number(files))).unzip();
        let sound = plan.is_some() && problems.is_empty();
        PlanLint { plan, sound, actions, files, problems, more }
    }

    pub(super) fn add(&mut self, found: PlanProblem) {
        match self.problems.len() < PROBLEMS_MAX {
            true => self.problems.push(found),
            false => self.more = true,
        }
    }

    /// Adds the mistakes that were found in a document. Its content is quoted only if the file is not private.
    pub(super) fn add_mistakes(
        &mut self,
        (file, path, bytes): (&str, Option<&Path>, &[u8]),
        mistakes: &Mistakes,
    ) {
        for mistake in &mistakes.list {
            let quote = Quote::new(path, bytes, mistake.place);
            let message = quote.message_at_place(&mistake.problem, "the document is invalid");
            // The path contains names of members, which are part of the content as well.
            let path = if quote.is_shown() { mistake.path.clone() } else { JsonPath::default() };
            let found =
                plan_problem(ErrorCode::from_diagnostic(mistake), message, (&path, mistake.place));
            self.add(PlanProblem { file: Some(file.to_owned()), ..found });
        }
        self.more |= mistakes.is_cut;
    }
}

/// Writes the problems, one per line, followed by their number.
pub(super) fn write(lint: &PlanLint, out: &mut dyn Write) -> io::Result<()> {
    for found in &lint.problems {
        let PlanProblem { file, error_code, error_type, path, line, column, message, .. } = found;
        if let Some(file) = file {
            write!(out, "{}: ", Harmless(file.as_bytes()))?;
        }
        if let (Some(line), Some(column)) = (line, column) {
            write!(out, "line {line}, column {column}: ")?;
        }
        if !path.is_empty() {
            write!(out, "`{}`: ", Harmless(path.as_bytes()))?;
        }
        writeln!(out, "{} ({error_code} {error_type})", Harmless(message.as_bytes()))?;
    }
    let more = if lint.more { " shown, and there are more" } else { "" };
    match lint.problems.len() {
        0 => Ok(()),
        1 => writeln!(out, "1 problem{more}; nothing was changed"),
        count => writeln!(out, "{count} problems{more}; nothing was changed"),
    }
}
