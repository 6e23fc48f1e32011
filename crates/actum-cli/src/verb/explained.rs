//! Adds hints to failures that can only be explained with information from outside the workspace.

use actum::ForgottenRun;
use actum::reason::{self, Reason};
use actum_workspace::ErrorKind;

use super::{Session, ledger};
use crate::failure::Failure;
use crate::root;
use crate::run_prefix::RunPrefix;

/// Adds a hint to a failure if there is one. If no workspace was found, the hint names a workspace in an enclosing directory that
/// discovery skipped. If a path is missing, the hint suggests the file that the path names relative to the current directory. If
/// `actum gc` forgot the requested run, the failure is replaced by [`Failure::ForgottenRun`].
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
        root::suggested_path(&session.start, path)
            .map(|suggestion| format!("did you mean `{suggestion}`?"))
    } else if reason::from_error_kind(&error.kind) == Reason::NotAWorkspace {
        root::above(&session.start).map(|above| above.to_string())
    } else {
        None
    };
    match hint {
        Some(hint) => Failure::Placed { source: Box::new(error), hint },
        None => Failure::Workspace(error),
    }
}

/// Returns a failure which says that `actum gc` forgot the run whose id begins with `prefix`. Returns `None` if the ledger has no
/// record of that, or cannot be read.
fn forgotten(prefix: &str, session: &Session) -> Option<Failure> {
    let prefix: RunPrefix = prefix.parse().ok()?;
    let ForgottenRun { run, time } = ledger::forgotten(&prefix, session).ok()??;
    Some(Failure::ForgottenRun { run, time })
}
