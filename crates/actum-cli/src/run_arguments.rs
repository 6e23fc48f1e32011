//! The options that every command has which makes a run.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::recovery_note;
use crate::run_end::{Intention, RunEnd};
use crate::verb::Session;
use actum_workspace::{LaterEdits, Limits, Workspace};

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
    pub(crate) wait: bool,
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
    /// Whether the run is made or only looked at, and what is shown of it.
    pub(crate) fn intention(&self, session: &Session) -> Intention {
        Intention::new(self.dry_run, self.diff, &session.screen)
    }
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

/// Tells what was recovered before the run, also where it failed, and shows how it ended.
pub(crate) fn tell(
    session: &Session,
    workspace: &Workspace,
    end: Result<RunEnd, Failure>,
) -> Result<Exit, Failure> {
    recovery_note::tell(&session.screen, workspace.recovery());
    end?.after(workspace.recovery()).show(&session.screen)?;
    Ok(Exit::Success)
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
