//! Removal of old history. Removed runs can no longer be undone, so the ledger records the removal first. Runs within
//! the operator's retention limits are removed only with the operator's approval (FO-9).

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;
use actum_core::{RunId, Status, Timestamp, canonical};
use actum_gate::verify_forgotten;
use actum_ledger::{LedgerError, Log, NewEntry};
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::ledger::{
    Actor, EntryFacts, EntryKind, HistoryForgotten, Retention, WorkspaceId,
};
use actum_workspace::disk::{Disk, Time};
use actum_workspace::{GcOptions, GcReport, RunOptions, Workspace};

use crate::error::{Error, Result};
use crate::queue::Approver;
use crate::records::{Clock, Records, Witness};

/// Treatment of runs that a collection would remove but that the operator's retention protects.
#[derive(Clone, Copy)]
pub enum Retained<'a> {
    /// Keep the protected runs and remove the rest.
    Keep,
    /// Fail the entire collection if a protected run would be removed.
    Refuse,
    /// Remove the protected runs too, with this approval.
    Forget(&'a Approver<'a>),
}

/// Adds the retention limits to the options of a collection.
fn retaining(options: GcOptions, retention: Retention, clock: &Clock) -> GcOptions {
    let since = retention.since(clock.now()).map(|time| Time(time.micros().saturating_mul(1000)));
    GcOptions { retained_runs: retention.runs, retained_since: since, ..options }
}

/// Computes which runs and data a collection would remove, without removing anything.
///
/// # Errors
/// Returns `Workspace`, or `Retained` if the retention protects a run and `retained` is [`Retained::Refuse`].
pub fn foresee<D: Disk>(
    workspace: &mut Workspace<D>,
    options: &GcOptions,
    (retention, retained): (Retention, Retained<'_>),
    clock: &Clock,
) -> Result<GcReport> {
    let options = GcOptions { dry_run: true, ..options.clone() };
    let kept = workspace.gc(&retaining(options.clone(), retention, clock))?;
    match retained {
        Retained::Refuse if !kept.retained_runs.is_empty() => {
            Err(Error::Retained { runs: kept.retained_runs.len(), retention })
        }
        Retained::Keep | Retained::Refuse => Ok(kept),
        Retained::Forget(_) if kept.retained_runs.is_empty() => Ok(kept),
        Retained::Forget(_) => {
            Ok(GcReport { retained_runs: kept.retained_runs, ..workspace.gc(&options)? })
        }
    }
}

/// Returns the id of the workspace, and creates an id if the workspace has none.
fn named<D: Disk>(workspace: &mut Workspace<D>) -> Result<WorkspaceId> {
    if let Some(id) = workspace.id()? {
        return Ok(id);
    }
    let transaction =
        workspace.begin(RunOptions { label: "gc".to_owned(), ..RunOptions::default() })?;
    let id = transaction.workspace_id()?;
    transaction.abort();
    Ok(id)
}

/// Run whose history was removed by a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgottenRun {
    /// Id of the removed run.
    pub run: RunId,
    /// Time at which its history was removed.
    pub time: Timestamp,
}

/// Searches the ledger for the newest run that was removed by a collection and that satisfies `matches`.
///
/// # Errors
/// Returns [`LedgerError`] if the ledger cannot be read or is damaged.
pub fn forgotten_run(
    log: &dyn Log,
    keyring: &Keyring,
    matches: impl Fn(WorkspaceId, RunId) -> bool,
) -> Result<Option<ForgottenRun>, LedgerError> {
    let mut before = None;
    loop {
        let newest = log.newest_of_kind(EntryKind::HistoryForgotten, before, ENTRIES_MAX)?;
        for &index in &newest {
            let entry = log.sound_entry(index)?;
            // Skip an entry that is not signed by a known key, because it proves nothing.
            let Ok(forgotten) = verify_forgotten(&entry.body, keyring) else { continue };
            let (workspace, time) = (forgotten.workspace, forgotten.time);
            let found = forgotten.runs.iter().rev().find(|run| matches(workspace, **run));
            if let Some(&run) = found {
                return Ok(Some(ForgottenRun { run, time }));
            }
        }
        before = newest.last().copied();
        if before.is_none() {
            return Ok(None);
        }
    }
}

/// Finds recorded runs of a workspace that are missing from its history although no collection removed them.
///
/// The search goes backwards from the workspace's witness through the ledger's run results, including those of other
/// workspaces. It stops at the first run that is accounted for. The missing runs are returned newest first.
///
/// # Errors
/// Returns [`LedgerError`] if the ledger cannot be read or is damaged.
pub fn missing_runs(
    log: &dyn Log,
    keyring: &Keyring,
    (workspace, witness): (WorkspaceId, &Witness),
    mut is_in_history: impl FnMut(RunId) -> bool,
) -> Result<Vec<RunId>, LedgerError> {
    let kind = EntryKind::EffectDone;
    let (mut before, mut missing) = (witness.index().saturating_add(1), Vec::new());
    // Fetch one entry at a time, because the first one is almost always accounted for.
    for _ in 0..MISSING_MAX {
        let Some(&index) = log.newest_of_kind(kind, Some(before), 1)?.first() else { break };
        before = index;
        let entry = log.sound_entry(index)?;
        let facts = EntryFacts::parse(kind, &entry.body);
        let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
        let is_candidate =
            facts.workspace == Some(workspace) && facts.status == Some(Status::Succeeded);
        let Some(run) = facts.run.filter(|_| is_candidate) else { continue };
        let is_it = |found: WorkspaceId, it: RunId| (found, it) == (workspace, run);
        if is_in_history(run) || forgotten_run(log, keyring, is_it)?.is_some() {
            break;
        }
        missing.push(run);
    }
    Ok(missing)
}

/// Maximum number of run results that [`missing_runs`] searches.
const MISSING_MAX: u64 = 64;

/// Number of ledger entries fetched per lookup.
const ENTRIES_MAX: u64 = 1000;

impl Records {
    /// Removes the history that [`foresee`] reported, along with unreferenced data. The removal is recorded in the ledger
    /// before anything is deleted.
    ///
    /// # Errors
    /// Returns `Ledger`, `Sign` or `Record` before anything is removed, or `Workspace` if the removal itself fails.
    pub fn forget<D: Disk>(
        &self,
        workspace: &mut Workspace<D>,
        root: &Path,
        foreseen: &GcReport,
        options: &GcOptions,
        (retention, retained, by): (Retention, Retained<'_>, Actor),
    ) -> Result<GcReport> {
        let approver = match retained {
            Retained::Forget(approver) => Some(approver),
            Retained::Keep | Retained::Refuse => None,
        };
        let forgotten = HistoryForgotten {
            format: HistoryForgotten::FORMAT.to_owned(),
            time: self.clock.now(),
            tenant: self.tenant.clone(),
            workspace: named(workspace)?,
            root: Quoted(root.as_os_str().as_bytes()).to_string(),
            runs: foreseen.removed_runs.clone(),
            bytes: foreseen.freed_bytes,
            kept: u64::try_from(foreseen.kept_runs).unwrap_or(u64::MAX),
            retention,
            by,
            approved: approver.map(|approver| approver.isolation),
        };
        let payload = canonical::to_vec(&forgotten)?;
        let payload_type = HistoryForgotten::PAYLOAD_TYPE;
        let envelope = match approver {
            Some(approver) => Envelope::sign(payload_type, payload, approver.signer)?,
            None => Envelope::sign(payload_type, payload, &self.signer()?)?,
        };
        let body = envelope.to_vec()?;
        drop(verify_forgotten(&body, self.keyring()).map_err(Box::new)?);
        let entry = NewEntry { kind: EntryKind::HistoryForgotten, body, blobs: Vec::new() };
        self.ledger.append(vec![entry]).wait()?;
        let only: BTreeSet<_> = foreseen.removed_runs.iter().copied().collect();
        let options = GcOptions { only: Some(only), ..options.clone() };
        Ok(workspace.gc(&options)?)
    }
}
