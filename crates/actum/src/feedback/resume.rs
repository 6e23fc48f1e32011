//! Interrupted actions, whose outcome is recorded by the next process in the workspace (AA-13).

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

/// Interrupted action: its process has exited, but its outcome is not recorded.
struct CutOff {
    started: ActionStarted,
    /// Result of the action's newest run, or `None` if that run has no receipt.
    run: Option<RunResult>,
    state: State,
}

impl Records {
    /// Records the outcome of each interrupted action in this workspace, and returns the ids of these actions.
    ///
    /// The caller must hold the workspace lock and must already have recorded the end of each run.
    ///
    /// # Errors
    /// Returns `Home` or `Ledger`. The action then stays open, so the next call finds it again.
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
                // The end of the action's run is not recorded yet, so the outcome of the action is unknown.
                Some(_) => continue,
            }
            left.end()?;
        }
        Ok(settled)
    }
}

/// Lists the interrupted actions in a workspace, whose processes exited before they recorded an outcome. This function
/// is read-only.
///
/// # Errors
/// Returns `Home` or `Ledger` if the marks or the ledger cannot be read.
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
    /// Determines the outcome of an interrupted action from the ledger. Returns `None` if the action never started or if
    /// its outcome is already recorded.
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

/// Creates the record of an interrupted action from its outcome and its newest run.
fn ended(
    started: ActionStarted,
    (status, run): (Status, Option<RunResult>),
    now: Timestamp,
) -> ActionEnded {
    let (ground, message) = match status {
        Status::Succeeded => (
            None,
            "its process ended before it could report the outcome; the requested change was made",
        ),
        Status::Failed => (
            run.as_ref().and_then(|run| run.reason.clone()),
            "its process ended before it could report the outcome, and the run needs attention; run `actum status`",
        ),
        Status::Reverted | Status::Rejected | Status::Queued => {
            let ground = Reason::Interrupted.name().to_owned();
            (Some(ground), "its process ended before the action was finished; nothing was changed")
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
        // The results of the checks were lost with the process.
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

/// Number of ledger entries fetched per lookup. A small number suffices, because an interrupted action is usually among
/// the newest entries.
const ENTRIES: u64 = 16;

/// Returns the newest entry of this kind that matches `is_wanted`, or `None` if no entry from index `from` on matches.
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
