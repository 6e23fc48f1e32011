//! Options that are shared by all commands that make a run, and the function that makes it.

use std::path::Path;

use actum::{EntryPoint, Work};
use actum_record::ledger::{NameError, RequestKey};
use actum_workspace::{LaterEdits, Limits};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::requested_run::{Asked, RequestedRun, RunForm};
use crate::session::Session;

/// Options that are shared by all commands that make a run.
#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Show what would change without changing anything; an interrupted run is still rolled back first
    #[arg(long)]
    dry_run: bool,
    /// Also show the change as a diff
    #[arg(long)]
    diff: bool,
    /// Wait if another process is using the workspace
    #[arg(long)]
    wait: bool,
    /// Carry out the request only once: if a request with this key was carried out before and is still in effect, show
    /// that run and change nothing
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    request_key: Option<String>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

/// Option of undo and redo for files that were edited after the run.
#[derive(clap::Args)]
pub(crate) struct KeepEdits {
    /// Keep later edits of the files: change only the lines of the run, each hunk of which must match at exactly one
    /// place
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
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Returns the name of the agent that makes the request, if `--agent` was passed.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns whether the request has a key, so that a repetition of it is recognized.
    pub(crate) fn has_request_key(&self) -> bool {
        self.request_key.is_some()
    }

    /// Returns whether to wait while another process holds the workspace.
    pub(crate) fn waits(&self) -> bool {
        self.wait
    }

    /// Makes the run, or only computes it if it is a dry run, and shows the result.
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
            entry_point: EntryPoint::CommandLine,
        };
        let (shown, engine) = run.carry_out(work, |end| end.show(&session.screen))?;
        // Leak the engine, because the process is about to exit: closing all files here would take a third of a
        // millisecond, and the kernel closes them anyway.
        std::mem::forget(engine);
        shown.map(|()| Exit::Success)
    }
}

/// Parses a request key. Unlike an error of the command-line parser, the error escapes the key before it is shown.
pub(crate) fn request_key(key: Option<&str>) -> Result<Option<RequestKey>, Failure> {
    let key = key.map(RequestKey::from_caller).transpose();
    key.map_err(|error: NameError| Failure::Usage { message: format!("{error}") })
}

/// Maximum length of a label for the log, in bytes.
const LABEL_BYTES_MAX: usize = 1000;

/// Error for a label that is empty or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {LABEL_BYTES_MAX} bytes of text")]
pub(crate) struct LabelError;

/// Checks the length of a label. Control characters are allowed, because the log escapes them.
pub(crate) fn label(text: &str) -> Result<String, LabelError> {
    let fits = (1..=LABEL_BYTES_MAX).contains(&text.len());
    fits.then(|| text.to_owned()).ok_or(LabelError)
}

/// Checks the length of a label, which must be a single line without control characters.
pub(crate) fn one_line(text: &str) -> Result<String, String> {
    match text.chars().any(char::is_control) {
        true => Err("expected a single line without control characters".to_owned()),
        false => label(text).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_has_a_minimum_and_a_maximum_length() {
        assert_eq!(label(""), Err(LabelError));
        assert_eq!(label("x"), Ok("x".to_owned()));
        assert!(label(&"x".repeat(LABEL_BYTES_MAX)).is_ok());
        assert_eq!(label(&"x".repeat(LABEL_BYTES_MAX + 1)), Err(LabelError));
    }
}
