//! The options that every command has which makes a run, and how the run is made.

use std::path::Path;

use actum::{EntryPoint, Work};
use actum_record::ledger::{NameError, RequestKey};
use actum_workspace::{LaterEdits, Limits};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::requested_run::{Asked, RequestedRun, RunForm};
use crate::session::Session;

/// How a run is made.
#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Show what would change, and change nothing; a run that was cut off is rolled back first
    #[arg(long)]
    dry_run: bool,
    /// Show the change as a diff, too
    #[arg(long)]
    diff: bool,
    /// Wait for another process that is at work in the workspace
    #[arg(long)]
    wait: bool,
    /// Do it once: where a request with this key was carried out before and is in effect, show that run
    /// and change nothing
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    request_key: Option<String>,
    /// The agent that asks, for the record
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

/// What the way back does with files that were edited since.
#[derive(clap::Args)]
pub(crate) struct KeepEdits {
    /// Take only the lines of the run out of files that were edited since; each piece must stand
    /// at exactly one place
    #[arg(long)]
    keep_edits: bool,
}

impl KeepEdits {
    pub(crate) fn limits(&self) -> Limits {
        let later_edits = if self.keep_edits { LaterEdits::Keep } else { LaterEdits::Refuse };
        Limits { later_edits, ..Limits::default() }
    }
}

impl RunArguments {
    /// Whether nothing is to be changed.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The agent that asks, if one is named.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Whether the request has a key, by which it is known when it comes again.
    pub(crate) fn has_request_key(&self) -> bool {
        self.request_key.is_some()
    }

    /// Whether to wait for another process that is at work in the workspace.
    pub(crate) fn waits(&self) -> bool {
        self.wait
    }

    /// Makes the run or only looks at it, and shows how it ended.
    pub(crate) fn carry_out(
        &self,
        session: &Session,
        root: &Path,
        work: impl FnOnce() -> Result<Work, Failure>,
        asked: Asked,
    ) -> Result<Exit, Failure> {
        let run = RequestedRun {
            session,
            root,
            asked,
            form: match self.dry_run {
                true => RunForm::Look,
                false => RunForm::Make,
            },
            extras: self.diff.then(|| session.screen.audience()).into(),
            wait: self.wait,
            key: request_key(self.request_key.as_deref())?,
            agent: self.agent.clone(),
            lease: &self.lease,
            door: EntryPoint::CommandLine,
        };
        let (shown, engine) = run.carry_out(work, |end| end.show(&session.screen))?;
        // The process ends now; to close all that is open in good order would take it a third of a
        // millisecond more, and the kernel does the same.
        std::mem::forget(engine);
        shown.map(|()| Exit::Success)
    }
}

/// Reads the key of a request. An error shows it escaped, which the parser of the command line would not.
pub(crate) fn request_key(key: Option<&str>) -> Result<Option<RequestKey>, Failure> {
    let key = key.map(RequestKey::from_caller).transpose();
    key.map_err(|error: NameError| Failure::Usage { message: format!("{error}") })
}

/// The most bytes of a label for the log.
const LABEL_BYTES_MAX: usize = 1000;

/// What was typed is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give 1 to {LABEL_BYTES_MAX} bytes of text")]
pub(crate) struct LabelError;

/// Reads a label for the log, which escapes it.
pub(crate) fn label(text: &str) -> Result<String, LabelError> {
    let fits = (1..=LABEL_BYTES_MAX).contains(&text.len());
    fits.then(|| text.to_owned()).ok_or(LabelError)
}

/// Reads a label of one line.
pub(crate) fn one_line(text: &str) -> Result<String, String> {
    match text.chars().any(char::is_control) {
        true => Err("it has to be one line, without control characters".to_owned()),
        false => label(text).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_limit_on_both_sides() {
        assert_eq!(label(""), Err(LabelError));
        assert_eq!(label("x"), Ok("x".to_owned()));
        assert!(label(&"x".repeat(LABEL_BYTES_MAX)).is_ok());
        assert_eq!(label(&"x".repeat(LABEL_BYTES_MAX + 1)), Err(LabelError));
    }
}
