//! Interrupted actions: the next process in the workspace records how they ended (AA-13).

use actum_core::canonical::describe;
use actum_core::{RunId, Status, Timestamp};
use actum_ledger::{Activity, LedgerError, Log, Marks};
use actum_record::keyring::Keyring;
use actum_record::ledger::{
    ActionEnded, ActionStarted, Attempt, EffectStarted, EntryKind, WorkspaceId,
};
use actum_record::lifecycle::{self, Event, State};
use actum_record::receipt::RunResult;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::reason::Reason;
use crate::recorded::RecordedRun;
use crate::records::Records;

/// Action whose process is gone and whose end is not recorded.
struct CutOff {
    started: ActionStarted,
    /// Result of its newest run, if that has one.
    run: Option<RunResult>,
    state: State,
}

impl Records {
    /// Records the end of the actions that ended processes left in this workspace, and returns their ids. The lock of
    /// the workspace is held, and the end of each run is recorded.
    ///
    /// # Errors
    /// `Home`, `Ledger`; the action stays open then, and is found again.
    pub(crate) fn settle_left_actions(&self, workspace: WorkspaceId) -> Result<Vec<RunId>> {
        let mut settled = Vec::new();
        for left in self.marks().abandoned(Activity::Action, workspace)? {
            let left = left?;
            match self.ledger.read(|log| CutOff::find(log, self.keyring(), left.id()))? {
                None => {}
                Some(CutOff { started, run, state: State::Ended(status) }) => {
                    let ended = ended(started, (status, run), self.clock.now());
                    self.append_feedback(&ended).map_err(super::FeedbackError::into_error)?;
                    settled.push(left.id());
                }
                // The end of the action's run is not recorded.
                Some(_) => continue,
            }
            left.end()?;
        }
        Ok(settled)
    }
}

/// Lists the actions in a workspace whose process is gone and whose end is not recorded. Changes nothing.
///
/// # Errors
/// `Home`, `Ledger`.
pub fn cut_off_actions(
    marks: &Marks,
    (log, keyring): (&dyn Log, &Keyring),
    workspace: WorkspaceId,
) -> Result<Vec<RunId>> {
    let mut cut_off = Vec::new();
    for left in marks.abandoned(Activity::Action, workspace)? {
        let id = left?.id();
        cut_off.extend(CutOff::find(log, keyring, id)?.map(|_| id));
    }
    Ok(cut_off)
}

impl CutOff {
    /// Determines the outcome of an interrupted action from the ledger. `None` if it never began, or if its end is
    /// recorded.
    fn find(log: &dyn Log, keyring: &Keyring, id: RunId) -> Result<Option<Self>, LedgerError> {
        let is_of_it = |started: &ActionStarted| started.id == id;
        let Some((index, started)) = newest(log, EntryKind::ActionStarted, 0, is_of_it)? else {
            return Ok(None);
        };
        let is_of_it = |ended: &ActionEnded| ended.id == id;
        if newest(log, EntryKind::ActionEnded, index, is_of_it)?.is_some() {
            return Ok(None);
        }
        let mut events = vec![Event::Start];
        let mut result = None;
        let is_of_it = |run: &EffectStarted| run.action == Some(id);
        if let Some((_, intent)) = newest(log, EntryKind::EffectStarted, index, is_of_it)? {
            events.push(Event::StartRun);
            let row = log.run(intent.run)?;
            let run = row.map(|row| RecordedRun::read(log, keyring, row)).transpose()?;
            let receipt = run.and_then(|run| run.receipt);
            result = receipt.map(|(receipt, _)| receipt.statement.predicate);
            events.extend(result.as_ref().map(|result| Event::EndRun(result.status)));
        }
        events.push(Event::CutOff);
        let state = lifecycle::after(events);
        let state = state.map_err(|error| LedgerError::entry(index, &error))?;
        Ok(Some(Self { started, run: result, state }))
    }
}

/// Creates the record of an interrupted action with this outcome and the newest of its runs.
fn ended(
    started: ActionStarted,
    (status, run): (Status, Option<RunResult>),
    now: Timestamp,
) -> ActionEnded {
    let (ground, message) = match status {
        Status::Succeeded => {
            (None, "its process ended before it could tell; what it asked for is done")
        }
        Status::Failed => (
            run.as_ref().and_then(|run| run.reason.clone()),
            "its process ended before it could tell, and the run needs attention: `actum status` tells more",
        ),
        Status::Reverted | Status::Rejected | Status::Queued => {
            let ground = Reason::Interrupted.name().to_owned();
            (Some(ground), "its process ended before the action did; nothing was changed")
        }
    };
    let until = run.as_ref().map_or(started.time, |run| run.ended);
    let micros = until.micros().saturating_sub(started.time.micros());
    let ActionStarted {
        format: _,
        time: _,
        tenant,
        workspace,
        root,
        id,
        action_id,
        action_type,
        tier,
        confidence,
        reason,
        plan,
        actor,
        door,
        agreed,
        engine: _,
    } = started;
    let made = run.filter(|run| matches!(run.status, Status::Succeeded | Status::Failed));
    ActionEnded {
        format: ActionEnded::FORMAT.to_owned(),
        time: now,
        tenant,
        workspace,
        root,
        id,
        action_id,
        action_type,
        tier: made.as_ref().map_or(tier, |run| tier.max(run.decision.tier)),
        confidence,
        reason,
        plan,
        actor,
        door,
        status,
        ground,
        message: Some(message.to_owned()),
        // The findings of the checks were not recorded.
        checks: Vec::new(),
        repair: Attempt::default(),
        rollback: super::rollback(status, true),
        run: made.map(|run| run.run),
        queued: None,
        approved: agreed.map(|agreed| agreed.approval.plan),
        duration_ms: u64::try_from(micros / 1000).unwrap_or(0),
        engine: crate::records::ENGINE.to_owned(),
    }
}

/// Number of entries that one lookup reads: an interrupted action is usually among the last.
const ENTRIES: u64 = 16;

/// Returns the newest matching entry of a kind after `from`.
fn newest<T: DeserializeOwned>(
    log: &dyn Log,
    kind: EntryKind,
    from: u64,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<Option<(u64, T)>, LedgerError> {
    let mut before = None;
    loop {
        let some = log.newest_of_kind(kind, before, ENTRIES)?;
        let Some(last) = some.last() else { return Ok(None) };
        before = Some(*last);
        for index in some {
            if index < from {
                return Ok(None);
            }
            let entry = serde_json::from_slice(&log.sound_entry(index)?.body);
            let entry: T = entry.map_err(|error| LedgerError::entry(index, &describe(&error)))?;
            if is_wanted(&entry) {
                return Ok(Some((index, entry)));
            }
        }
    }
}
