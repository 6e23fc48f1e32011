//! Checks: commands that inspect a staged change.

use std::ops::ControlFlow;

use actum_action::Check;
use actum_action::limits::CHECK_NAME_CHARS_MAX;
use actum_gate::CommandLine;
use actum_record::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_sandbox::{Outcome, Stdin};

use super::{CommandError, Runner, Seen, StagedView, record};
use crate::error::{Error, Result};

/// Passed checks.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) records: Vec<CommandRecord>,
    pub(crate) sandbox: Option<SandboxRecord>,
    /// Checks in the detailed form of an action's result.
    pub(crate) told: Vec<Check>,
}

/// Maximum number of bytes of a check's output in an error.
const TOLD_MAX: usize = 2000;

impl Checked {
    /// Runs all checks, one after the other. Their changes in caches are dropped, too, since they are made from a
    /// change that may never be published.
    ///
    /// # Errors
    /// `Unverified` for the first check that does not end with 0; `Command`.
    pub(crate) fn all(
        runner: &Runner,
        checks: &[CommandLine],
        staged: &StagedView,
    ) -> Result<Self> {
        if let Some(unseen) = runner.unseen().filter(|_| !checks.is_empty()) {
            return Err(CommandError::Unseen(unseen.to_owned()).into());
        }
        let (mut records, mut sandbox, mut told) = (Vec::new(), None, Vec::new());
        for check in checks {
            let seen = Seen { staged: Some(staged), ..Seen::default() };
            let child = runner.start(check, seen, Stdin::Empty)?;
            let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
            let outcome = outcome.map_err(CommandError::from)?;
            let record = record(check, &outcome);
            told.push(as_check(check, &record, &outcome));
            if record.ended != CommandEnd::Code(0) {
                let output = match outcome.stderr.is_empty() {
                    true => &outcome.stdout,
                    false => &outcome.stderr,
                };
                let (check, output) = (check.clone(), last(output));
                return Err(Error::Unverified { check, record: Box::new(record), output, told });
            }
            sandbox = Some(runner.record(&outcome.in_force, &[]));
            records.push(record);
        }
        Ok(Self { records, sandbox, told })
    }
}

/// Returns a command as a check of an action (AA-7).
pub(crate) fn as_check(line: &CommandLine, record: &CommandRecord, outcome: &Outcome) -> Check {
    let written = |bytes: &[u8]| (!bytes.is_empty()).then(|| Check::excerpt(bytes));
    let (exit_code, message) = match &record.ended {
        CommandEnd::Code(code) => (Some(*code), None),
        ended @ (CommandEnd::Signal(_) | CommandEnd::Stopped(_)) => (None, Some(ended.to_string())),
    };
    Check {
        exit_code,
        duration_ms: Some(record.wall_ms),
        stdout: written(&outcome.stdout),
        stderr: written(&outcome.stderr),
        message,
        ..Check::new(name(line), record.ended == CommandEnd::Code(0))
    }
}

/// Returns a command as the name of a check, shortened to the maximum length.
fn name(line: &CommandLine) -> String {
    let text = line.quoted();
    match text.char_indices().nth(CHECK_NAME_CHARS_MAX) {
        Some(_) => text.chars().take(CHECK_NAME_CHARS_MAX - 1).chain(['…']).collect(),
        None => text,
    }
}

/// Returns the end of a text.
fn last(output: &[u8]) -> String {
    let from = output.len().saturating_sub(TOLD_MAX);
    let end = String::from_utf8_lossy(output.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}
