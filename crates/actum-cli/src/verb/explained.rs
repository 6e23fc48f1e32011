//! Hints for failures from outside the workspace.

use actum::ForgottenRun;
use actum::reason::{self, Reason};
use actum_workspace::ErrorKind;

use super::{Session, ledger};
use crate::failure::Failure;
use crate::root;
use crate::run_prefix::RunPrefix;

/// Adds what is known from outside the workspace: the one above the start of the command that discovery did not use, the
/// path that a path relative to that start means, and that a run was forgotten.
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

/// The failure about a run whose id begins so, where the ledger records that it was forgotten. A ledger that cannot be
/// read adds nothing to the failure at hand.
fn forgotten(prefix: &str, session: &Session) -> Option<Failure> {
    let prefix: RunPrefix = prefix.parse().ok()?;
    let ForgottenRun { run, time } = ledger::forgotten(&prefix, session).ok()??;
    Some(Failure::ForgottenRun { run, time })
}
