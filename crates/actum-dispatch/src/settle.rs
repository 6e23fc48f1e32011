//! Records the outcomes of steps whose process was killed, based on the state of their actions (AEC-8).

use actum::Engine;
use actum_core::canonical::{self, describe};
use actum_core::{Digest, Status};
use actum_ledger::{LedgerError, Log, NewEntry, Refusal};
use actum_record::ledger::{
    ActionEnded, ActionStarted, AgentDuration, AgentEventKind, AgentExecution, AgentRefs,
    AgentState, EntryKind,
};
use actum_record::merkle::leaf_hash;
use actum_workspace::ErrorKind;
use actum_workspace::disk::Disk;

use crate::error::DispatchError;
use crate::outcome::KeptOutcome;

/// Maximum distance in the ledger between an event and the entry of its action, if both were appended together.
pub(crate) const APPEND_WINDOW: u64 = 4;
/// Maximum number of `ACTION_ENDED` entries that are read at a time.
const READ_MAX: u64 = 16;

/// Records the outcome of a step that was started by the event at `index` and has no outcome yet.
///
/// If the process of the step may still be running, the step stays open.
///
/// # Errors
/// [`DispatchError`] if the outcome cannot be determined or recorded.
pub(crate) fn settle_open<D: Disk>(
    engine: &mut Engine<D>,
    index: u64,
    open: AgentExecution,
) -> Result<(), DispatchError> {
    match engine.resume() {
        Ok(_) => {}
        // Another process is using the workspace, possibly for this step.
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
    let kept = KeptOutcome::new(&ended, None)?.to_vec()?;
    let refs = AgentRefs { outcome: Some(Digest::of(&kept)), ..open.refs };
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
    let entry = NewEntry { kind: EntryKind::AgentExecution, body, blobs: vec![kept] };
    match records.ledger().append(vec![entry]).wait() {
        Ok(_) => Ok(()),
        // Another process recorded the outcome first.
        Err(error) if matches!(error.refusal(), Some(Refusal::Agent(_))) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Finds the `ACTION_ENDED` entry for the action of a step, and returns it with its leaf hash.
fn find_end(
    log: &dyn Log,
    index: u64,
    open: &AgentExecution,
) -> Result<Option<(ActionEnded, Digest)>, LedgerError> {
    let mut started = None;
    for near in index + 1..(index + APPEND_WINDOW).min(log.size()?) {
        let entry = log.sound_entry(near)?;
        if Some(leaf_hash(&entry.body)) == open.simulation_entry {
            let read = serde_json::from_slice::<ActionStarted>(&entry.body);
            started = Some(read.map_err(|error| LedgerError::entry(near, &describe(&error)))?);
        }
    }
    let Some(started) = started else { return Ok(None) };
    for end in ends_between(log, (index, None)) {
        let (ended, leaf) = end?;
        if ended.id == started.id {
            return Ok(Some((ended, leaf)));
        }
    }
    Ok(None)
}

/// Iterates over the `ACTION_ENDED` entries between two indexes, newest first, each with its leaf hash.
pub(crate) fn ends_between(
    log: &dyn Log,
    (after, mut before): (u64, Option<u64>),
) -> impl Iterator<Item = Result<(ActionEnded, Digest), LedgerError>> {
    let mut read = Vec::new().into_iter();
    std::iter::from_fn(move || {
        let at = match read.next() {
            Some(at) => at,
            None => {
                let some = match log.newest_of_kind(EntryKind::ActionEnded, before, READ_MAX) {
                    Ok(some) => some,
                    Err(error) => return Some(Err(error)),
                };
                before = some.last().copied();
                read = some.into_iter();
                read.next()?
            }
        };
        (at > after).then(|| end_at(log, at))
    })
}

fn end_at(log: &dyn Log, at: u64) -> Result<(ActionEnded, Digest), LedgerError> {
    let body = log.sound_entry(at)?.body;
    let ended = serde_json::from_slice::<ActionEnded>(&body);
    let ended = ended.map_err(|error| LedgerError::entry(at, &describe(&error)))?;
    Ok((ended, leaf_hash(&body)))
}
