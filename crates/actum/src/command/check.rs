//! Runs check commands, which inspect a staged change before it is published.

use std::ops::ControlFlow;

use actum_action::Check;
use actum_action::limits::CHECK_NAME_CHARS_MAX;
use actum_gate::CommandLine;
use actum_record::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_sandbox::{Outcome, Stdin};

use super::{CommandError, Runner, Seen, StagedView, record};
use crate::error::{Error, Result};

/// Results of checks that all passed.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) records: Vec<CommandRecord>,
    pub(crate) sandbox: Option<SandboxRecord>,
    /// Check results in the form in which an action's result reports them.
    pub(crate) results: Vec<Check>,
}

/// Maximum length in bytes of a check's output in an error message. Only the end of a longer output is reported.
const OUTPUT_BYTES_MAX: usize = 2000;

impl Checked {
    /// Runs the checks in order and stops at the first that fails. All their changes are dropped, even those in caches,
    /// because they depend on a change that may never be published.
    ///
    /// # Errors
    /// `Unverified` if a check does not exit with code 0; `Command` if a check cannot be run.
    pub(crate) fn all(
        runner: &Runner,
        checks: &[CommandLine],
        staged: &StagedView,
    ) -> Result<Self> {
        if let Some(unseen) = runner.unseen().filter(|_| !checks.is_empty()) {
            return Err(CommandError::Unseen(unseen.to_owned()).into());
        }
        let (mut records, mut sandbox, mut results) = (Vec::new(), None, Vec::new());
        for check in checks {
            let seen = Seen { staged: Some(staged), ..Seen::default() };
            let child = runner.start(check, seen, Stdin::Empty)?;
            let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
            let outcome = outcome.map_err(CommandError::from)?;
            let record = record(check, &outcome);
            results.push(as_check(check, &record, &outcome));
            if record.ended != CommandEnd::Code(0) {
                let output = match outcome.stderr.is_empty() {
                    true => &outcome.stdout,
                    false => &outcome.stderr,
                };
                let (check, output) = (check.clone(), last(output));
                return Err(Error::Unverified { check, record: Box::new(record), output, results });
            }
            sandbox = Some(runner.record(&outcome.in_force, &[]));
            records.push(record);
        }
        Ok(Self { records, sandbox, results })
    }
}

/// Converts the outcome of a command to a check in an action's result (AA-7).
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

/// Returns the command line as the name of its check, truncated to [`CHECK_NAME_CHARS_MAX`].
fn name(line: &CommandLine) -> String {
    let text = line.quoted();
    match text.char_indices().nth(CHECK_NAME_CHARS_MAX) {
        Some(_) => text.chars().take(CHECK_NAME_CHARS_MAX - 1).chain(['…']).collect(),
        None => text,
    }
}

/// Returns the last [`OUTPUT_BYTES_MAX`] bytes of the output as text.
fn last(output: &[u8]) -> String {
    let from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    let end = String::from_utf8_lossy(output.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}
