//! Hints for failures from outside the workspace.

use actum::ForgottenRun;
use actum::reason::{self, Reason};
use actum_workspace::ErrorKind;

use super::{Session, ledger};
use crate::failure::Failure;
use crate::root;
use crate::run_prefix::RunPrefix;

/// Adds facts from outside the workspace: a workspace above the start of the command that discovery did not use, and a
/// run that was forgotten. For a path relative to that start it adds the file.
pub(crate) fn explained(failure: Failure, session: &Session) -> Failure {
    if let Failure::NoSuchRun { prefix } = &failure {
        return forgotten(prefix, session).unwrap_or(failure);
    }
    let Failure::Workspace(error) = failure else { return failure };
    if let ErrorKind::UnknownRun { run } = &error.kind {
        return forgotten(&run.to_string(), session).unwrap_or(Failure::Workspace(error));
    }
    let hint = if let ErrorKind::Missing { path, .. }
    | ErrorKind::Expected { path, found: None, .. } = &error.kind
    {
        root::meant(&session.start, path).map(|meant| format!("did you mean `{meant}`?"))
    } else if reason::of(&error.kind) == Reason::NotAWorkspace {
        root::above(&session.start).map(|above| above.to_string())
    } else {
        None
    };
    match hint {
        Some(hint) => Failure::Placed { source: Box::new(error), hint },
        None => Failure::Workspace(error),
    }
}

/// Returns the failure about a run whose id begins with `prefix`, if the ledger records that it was forgotten. An
/// unreadable ledger adds nothing to the original failure.
fn forgotten(prefix: &str, session: &Session) -> Option<Failure> {
    let prefix: RunPrefix = prefix.parse().ok()?;
    let ForgottenRun { run, time } = ledger::forgotten(&prefix, session).ok()??;
    Some(Failure::ForgottenRun { run, time })
}
