//! Recovery references for deleted files, and the runs that garbage collection must keep for them (FE-10).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use actum::Records;
use actum_core::path::Cut;
use actum_core::{Digest, RunId};
use actum_ledger::LedgerError;
use actum_record::ledger::WorkspaceId;
use actum_record::receipt::PathEffect;

use crate::ports::TaskLog;

/// Reference to a deleted file, which `actum file restore` accepts. It names the workspace, the run and the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryReference {
    /// Workspace from which the file was deleted.
    pub workspace: WorkspaceId,
    /// Run that deleted the file.
    pub run: RunId,
    /// SHA-256 digest of the content of the file.
    pub content: Digest,
}

/// Error for a text that is not a recovery reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a recovery reference", Cut(given.as_bytes(), 200))]
pub struct RecoveryReferenceError {
    /// Rejected text.
    pub given: String,
}

/// Prefix of every recovery reference, which includes its version.
const SCHEME: &str = "actum-recovery-1";

/// Reason why a deleted file was not restored or released.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// No base directory has a run that deleted the file.
    #[error(
        "no base directory has a deletion that matches the recovery reference; the file may have been released"
    )]
    Unknown,
    /// The engine rejected the request or failed.
    #[error(transparent)]
    Engine(#[from] actum::Error),
}

impl RecoveryReference {
    /// Checks that the ledger contains the run, and that the run deleted only a file with the given content.
    ///
    /// # Errors
    /// Returns `Unknown` if there is no such run, and `Engine` if the ledger cannot be read.
    pub fn check(&self, records: &Records) -> Result<(), RecoveryError> {
        let receipt = records.recorded(self.run)?.and_then(|recorded| recorded.receipt);
        let is_deletion = receipt.is_some_and(|(receipt, _)| {
            let result = &receipt.statement.predicate;
            let is_deleted = |path: &PathEffect| {
                path.after.is_none()
                    && path.before.is_some_and(|before| before.sha256 == self.content)
            };
            result.workspace == self.workspace
                && matches!(&*result.paths, [path] if is_deleted(path))
        });
        if is_deletion { Ok(()) } else { Err(RecoveryError::Unknown) }
    }
}

impl fmt::Display for RecoveryReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workspace, run, content } = self;
        write!(f, "{SCHEME}/{workspace}/{run}/{content}")
    }
}

impl FromStr for RecoveryReference {
    type Err = RecoveryReferenceError;

    fn from_str(text: &str) -> Result<Self, RecoveryReferenceError> {
        let read = || {
            let mut parts = text.split('/');
            let parts = [
                parts.next()?,
                parts.next()?,
                parts.next()?,
                parts.next()?,
                parts.next().map_or("", |_| "/"),
            ];
            let [SCHEME, workspace, run, content, ""] = parts else { return None };
            Some(Self {
                workspace: workspace.parse().ok()?,
                run: run.parse().ok()?,
                content: content.parse().ok()?,
            })
        };
        // Only one spelling is valid, so that references to the same file can be compared as text.
        let read = read().filter(|read| read.to_string() == text);
        read.ok_or_else(|| RecoveryReferenceError { given: text.to_owned() })
    }
}

/// Returns the runs of a workspace that garbage collection must keep: the runs of successful deletions, and those of tasks that
/// are not settled. Pass them as [`GcOptions::protected`](actum_workspace::GcOptions::protected).
///
/// # Errors
/// Returns [`LedgerError`] if the log of file tasks cannot be read.
pub fn pinned_runs(
    log: &dyn TaskLog,
    workspace: WorkspaceId,
) -> Result<BTreeSet<RunId>, LedgerError> {
    let starts = log.deletions()?.into_iter().chain(log.open()?);
    let roots = starts.flat_map(|start| start.roots);
    Ok(roots.filter(|root| root.workspace == workspace).map(|root| root.run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-10
    #[test]
    fn recovery_reference_round_trips_and_rejects_other_spellings() {
        let reference = RecoveryReference {
            workspace: WorkspaceId::from_random(1),
            run: RunId::from_random(2),
            content: Digest::of(b"x"),
        };
        let text = reference.to_string();
        assert_eq!(text.parse(), Ok(reference));
        for wrong in [
            String::new(),
            text.to_uppercase(),
            format!("{text}/"),
            format!(" {text}"),
            text.replace("-1/", "-2/"),
            text.replacen('/', "//", 1),
            text.chars().take(text.len() - 1).collect(),
        ] {
            assert!(wrong.parse::<RecoveryReference>().is_err(), "{wrong}");
        }
    }
}
