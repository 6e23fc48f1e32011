//! Options of every command that makes a run, and the function that makes it.

use std::path::Path;

use actum::{EntryPoint, Work};
use actum_record::ledger::{NameError, RequestKey};
use actum_workspace::{LaterEdits, Limits};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::requested_run::{Asked, RequestedRun, RunForm};
use crate::session::Session;

/// Options of a run.
#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Show what would change, and change nothing; an interrupted run is rolled back first
    #[arg(long)]
    dry_run: bool,
    /// Also show the change as a diff
    #[arg(long)]
    diff: bool,
    /// Wait if another process is at work in the workspace
    #[arg(long)]
    wait: bool,
    /// Do it once: if a request with this key was carried out before and is in effect, show that run and change nothing
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    request_key: Option<String>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

/// Handling of files that were edited after the run to undo.
#[derive(clap::Args)]
pub(crate) struct KeepEdits {
    /// Remove only the run's lines from files that were edited later; each piece must match at exactly one place
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
    /// Returns true if the run is a dry run.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Returns the agent that makes the request, if one is named.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns true if the request has a key, by which a repetition is recognised.
    pub(crate) fn has_request_key(&self) -> bool {
        self.request_key.is_some()
    }

    /// Returns true if the run waits while another process holds the workspace.
    pub(crate) fn waits(&self) -> bool {
        self.wait
    }

    /// Makes the run or only computes it, and shows the outcome.
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
        // The process ends now: closing all open files would take a third of a millisecond more, and the kernel does it
        // anyway.
        std::mem::forget(engine);
        shown.map(|()| Exit::Success)
    }
}

/// Reads the key of a request. The error shows it escaped, unlike an error of the command-line parser.
pub(crate) fn request_key(key: Option<&str>) -> Result<Option<RequestKey>, Failure> {
    let key = key.map(RequestKey::from_caller).transpose();
    key.map_err(|error: NameError| Failure::Usage { message: format!("{error}") })
}

/// Limit of a label for the log, in bytes.
const LABEL_BYTES_MAX: usize = 1000;

/// Invalid label.
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
