//! Steps whose process was killed: their outcome is recorded from what their action left (AEC-8).

use actum::Engine;
use actum_core::canonical::{self, plainly};
use actum_core::{Digest, Status};
use actum_ledger::{LedgerError, Log, NewEntry};
use actum_record::ledger::{
    ActionEnded, ActionStarted, AgentDuration, AgentEventKind, AgentExecution, AgentState,
    EntryKind,
};
use actum_record::merkle::leaf_hash;
use actum_workspace::ErrorKind;
use actum_workspace::disk::Disk;

use crate::error::DispatchError;

/// Entries after the start of a step among which that of its action is.
const NEAR: u64 = 4;
/// Ends of actions that are read at once.
const READ_MAX: u64 = 16;

/// Records the outcome of a step that was started in the entry `index` and has none. A step whose process is alive stays
/// open.
///
/// # Errors
/// [`DispatchError`]
pub(crate) fn settle_open<D: Disk>(
    engine: &mut Engine<D>,
    index: u64,
    open: AgentExecution,
) -> Result<(), DispatchError> {
    match engine.resume() {
        Ok(_) => {}
        // Another process is at work, perhaps on this step.
        Err(actum::Error::Workspace(error)) if matches!(error.kind, ErrorKind::Busy { .. }) => {
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    let records = engine.records();
    let ended = records.ledger().read(|log| find_end(log, index, &open))?;
    let Some((ended, leaf)) = ended else { return Ok(()) };
    let state = match ended.status {
        Status::Succeeded => AgentState::Succeeded,
        Status::Failed => AgentState::Failed,
        Status::Reverted | Status::Rejected | Status::Queued => AgentState::Reverted,
    };
    let micros = ended.time.micros().saturating_sub(open.time.micros());
    let dispatch_us = u64::try_from(micros).unwrap_or(0);
    let outcome = Digest::of(&canonical::to_vec(&ended)?);
    let refs = actum_record::ledger::AgentRefs { outcome: Some(outcome), ..open.refs };
    let execution = AgentExecution {
        time: records.now(),
        event: AgentEventKind::Outcome,
        state,
        reason: ended.ground,
        simulation_entry: Some(leaf),
        refs,
        duration: Some(AgentDuration { dispatch_us, command_us: 0 }),
        ..open
    };
    let body = canonical::to_vec(&execution)?;
    let entry = NewEntry { kind: EntryKind::AgentExecution, body, blobs: Vec::new() };
    match records.ledger().append(vec![entry]).wait() {
        // Another process was faster.
        Ok(_) | Err(LedgerError::Refused { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Finds the end of the action of a step, and the hash of its entry.
fn find_end(
    log: &dyn Log,
    index: u64,
    open: &AgentExecution,
) -> Result<Option<(ActionEnded, Digest)>, LedgerError> {
    let mut started = None;
    for near in index + 1..(index + NEAR).min(log.size()?) {
        let entry = log.sound_entry(near)?;
        if Some(leaf_hash(&entry.body)) == open.simulation_entry {
            let read = serde_json::from_slice::<ActionStarted>(&entry.body);
            started = Some(read.map_err(|error| LedgerError::entry(near, &plainly(&error)))?);
        }
    }
    let Some(started) = started else { return Ok(None) };
    let mut before = None;
    loop {
        let some = log.newest_of_kind(EntryKind::ActionEnded, before, READ_MAX)?;
        let Some(last) = some.last() else { return Ok(None) };
        before = Some(*last);
        for at in some {
            if at < index {
                return Ok(None);
            }
            let body = log.sound_entry(at)?.body;
            let ended = serde_json::from_slice::<ActionEnded>(&body);
            let ended = ended.map_err(|error| LedgerError::entry(at, &plainly(&error)))?;
            if ended.id == started.id {
                return Ok(Some((ended, leaf_hash(&body))));
            }
        }
    }
}
