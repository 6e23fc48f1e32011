//! Resumes after an interruption: records the end of the runs that an earlier process left open, from the journal of
//! the workspace.

use std::fmt;

use actum_core::canonical::describe;
use actum_core::{Digest, RunId, Status};
use actum_gate::decision::Bundle;
use actum_ledger::{LedgerError, Log, SigningKey};
use actum_record::ledger::{EffectStarted, WorkspaceId};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{EntryRef, PathEffect};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use crate::alerts::{Alert, NewAlert};
use crate::engine::binding;
use crate::engine::outcome::Outcome;
use crate::engine::publish::Intent;
use crate::error::Result;
use crate::place::Place;
use crate::reason::Reason;
use crate::records::{Records, Witness};

/// Run of an earlier process whose end was recorded by a later process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// Id of the run.
    pub run: RunId,
    /// Status with which the run ended.
    pub status: Status,
}

/// Records the end of all runs of this workspace that are open in the ledger.
///
/// The workspace is locked and its journal has been recovered. So none of these runs is still in progress, and the
/// journal knows each of them that ever touched a file.
pub(crate) fn settle_open_runs<D: Disk>(
    transaction: &Transaction<'_, D>,
    records: &Records,
    signer: &SigningKey,
    (workspace, root, place): (WorkspaceId, &str, &Place),
) -> Result<Vec<Resumed>> {
    let origin = records.origin()?;
    let witness = Witness::under(transaction, origin)?;
    binding::check(transaction, &records.own_ledger()?, witness.as_ref(), place)?;
    if witness.is_none() {
        binding::bind_first(transaction, records)?;
    }
    // If this ledger has no record of the workspace, or has just adopted it, earlier runs are not expected to be in the
    // ledger.
    let adopted = witness.as_ref().map(Witness::adopted);
    let newest =
        transaction.newest_ended()?.filter(|run| adopted.is_some_and(|it| it != Some(*run)));
    let (open, unrecorded) = records.ledger.read(|log| {
        witness.map_or(Ok(()), |witness| witness.check_in(log))?;
        let unrecorded = unrecorded(log, newest, workspace)?;
        Ok((open_runs(log, workspace)?, unrecorded))
    })?;
    if let Some(run) = unrecorded {
        let message = format!(
            "run {run} changed the workspace but is not in this ledger, so another installation made it"
        );
        let name = Reason::RunUnrecorded.name();
        let (actor, workspace) = (None, Some((workspace, root.to_owned())));
        records.alert(NewAlert { name, message, actor, workspace })?;
    }
    let mut resumed = Vec::with_capacity(open.len());
    for Open { index, leaf, started, paths } in open {
        let run = started.run;
        // The run was interrupted if the recovery of this workspace handle has just rolled it back.
        let is_rolled_back =
            transaction.recovery().is_some_and(|found| found.unfinished == Some(run));
        let ending = transaction.ending_of(run, started.place)?;
        let outcome = Outcome::from_journal(ending, started.time, is_rolled_back);
        let entry = EntryRef { origin: origin.to_owned(), index, leaf };
        let intent = Intent { started, entry, paths };
        let receipt = records.record_end(signer, &intent, (outcome, None))?;
        let keys = records.keys_in_force();
        let entry = receipt.entry(origin);
        Witness::keep(entry, keys, |log, line| transaction.keep_witness(log, line));
        resumed.push(Resumed { run, status: outcome.status });
    }
    Ok(resumed)
}

/// Returns the newest run that ended in the workspace if the ledger has no record of it, unless an alert about such a
/// run is already pending.
fn unrecorded(
    log: &dyn Log,
    newest: Option<RunId>,
    workspace: WorkspaceId,
) -> std::result::Result<Option<RunId>, LedgerError> {
    let Some(run) = newest else { return Ok(None) };
    if log.run(run)?.is_some() {
        return Ok(None);
    }
    let name = Reason::RunUnrecorded.name();
    let waits =
        |alert: &Alert| alert.raised.workspace == Some(workspace) && alert.raised.name == name;
    Ok((!Alert::open(log)?.iter().any(waits)).then_some(run))
}

/// Run with an intent in the ledger, but no recorded end.
struct Open {
    index: u64,
    leaf: Digest,
    started: EffectStarted,
    paths: Vec<PathEffect>,
}

fn open_runs(log: &dyn Log, workspace: WorkspaceId) -> std::result::Result<Vec<Open>, LedgerError> {
    let rows = log.open_runs(workspace)?;
    let mut open = Vec::with_capacity(rows.len());
    for row in rows {
        let index = row.started;
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(index, error);
        let entry = log.sound_entry(index)?;
        let started = serde_json::from_slice(&entry.body);
        let started: EffectStarted = started.map_err(|error| damaged(&describe(&error)))?;
        let bundle = log.blob(&started.decision.bundle)?;
        let bundle = bundle.ok_or_else(|| damaged(&"its bundle is missing"))?;
        let bundle = Bundle::read(&bundle).map_err(|error| damaged(&error))?;
        open.push(Open {
            index,
            leaf: leaf_hash(&entry.body),
            started,
            paths: bundle.change().to_vec(),
        });
    }
    Ok(open)
}
