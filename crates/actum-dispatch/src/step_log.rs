//! Log of a step, whose entries are appended together with those of its action (AEC-8, AEC-9).

use std::cell::RefCell;
use std::rc::Rc;

use actum::reason::Reason;
use actum::{ActionCompanion, ActionEnd, ActionRefusal, ActionStart, InForce};
use actum_agent::ReasonCode;
use actum_core::canonical::{self, CanonicalError};
use actum_core::{ActionName, Digest, Status, Timestamp};
use actum_ledger::NewEntry;
use actum_record::ledger::{
    AgentDuration, AgentEventKind, AgentExecution, AgentState, ConfirmationOutcome, EntryKind,
};
use actum_record::merkle::leaf_hash;
use serde_json::{Map, Value};

use crate::history::{Chain, KnownConfirmation};
use crate::outcome::{KeptOutcome, returned};

/// Log of a single dispatch.
pub(crate) struct StepLog {
    /// Event of the step, without the fields that are set when the action starts or ends.
    pub(crate) template: AgentExecution,
    /// Access decision, which is appended together with the first event.
    pub(crate) accompanying: Vec<NewEntry>,
    /// Confirmation that the decision depends on, if one is required.
    pub(crate) confirmed: Option<KnownConfirmation>,
    /// Documents that the events refer to.
    pub(crate) documents: Vec<Vec<u8>>,
    /// Number of entries in the ledger when the history of the goal was read.
    pub(crate) entries: u64,
    /// Name of the simulation.
    pub(crate) simulation: ActionName,
    /// Whether this is a retry. The earlier effect of the step was rolled back completely.
    pub(crate) is_retry: bool,
    /// Time at which the cycle began.
    pub(crate) began: Timestamp,
    pub(crate) logged: Rc<RefCell<Logged>>,
}

/// Events of the step that have been logged so far.
#[derive(Debug, Default)]
pub(crate) struct Logged {
    is_started: bool,
    /// Last event of the dispatch. `None` if the action was not executed because an earlier run had already answered
    /// the request.
    pub(crate) ended: Option<LoggedEnd>,
}

/// Last event of a dispatch, and the outcome that it records.
#[derive(Debug, Clone)]
pub(crate) struct LoggedEnd {
    /// Leaf hash of the event.
    pub(crate) leaf: Digest,
    /// Leaf hash of the `ACTION_ENDED` entry.
    pub(crate) action: Digest,
    /// Reason code of the action, unchanged.
    pub(crate) reason: Option<String>,
    /// Outcome that is returned to the caller.
    pub(crate) outcome: Map<String, Value>,
}

impl ActionCompanion for StepLog {
    fn start(&mut self, start: &ActionStart<'_>) -> Result<Vec<NewEntry>, ActionRefusal> {
        self.check_in_force(&start.in_force)?;
        let time = start.in_force.records.now();
        if self.confirmed.as_ref().is_some_and(|answer| time > answer.facts.expires) {
            return Err(refuse(Reason::ConfirmationExpired, ReasonCode::ConfirmationExpired));
        }
        let entries = self.start_entries(time, start.leaf).map_err(actum::Error::from)?;
        self.logged.borrow_mut().is_started = true;
        Ok(entries)
    }

    /// Checks that the policy, the catalog and the confirmation have not changed since the decision, because commands
    /// and checks can take a long time.
    fn check_in_force(&mut self, in_force: &InForce<'_>) -> Result<(), ActionRefusal> {
        let InForce { records, policy } = in_force;
        let policy = policy.to_vec().map_err(actum::Error::from)?;
        if Digest::of(&policy) != self.template.refs.policy_snapshot {
            return Err(refuse(Reason::PolicySnapshotChanged, ReasonCode::PolicySnapshotChanged));
        }
        let entries = records.ledger().read(|log| log.size()).map_err(actum::Error::from)?;
        if entries == self.entries {
            // No entry was appended since the history was read, so the catalog and the confirmation are unchanged.
            return Ok(());
        }
        let standing = records.catalog()?;
        let changed = standing.changed();
        let catalog = standing.in_force().map_err(actum::Error::from)?;
        if catalog.find(&self.simulation).is_none_or(|registered| !registered.is_active()) {
            return Err(refuse(Reason::SimulationNotActive, ReasonCode::SimulationNotActive));
        }
        if catalog.digest().map_err(actum::Error::from)? != self.template.refs.catalog_snapshot {
            return Err(refuse(Reason::CatalogSnapshotChanged, ReasonCode::CatalogSnapshotChanged));
        }
        // No change of the catalog can be missed, because the ledger rejects a start that does not refer to the newest
        // one.
        self.template.catalog = changed;
        let Some(confirmed) = &self.confirmed else { return Ok(()) };
        let AgentExecution { correlation, step, .. } = &self.template;
        let effective = records.ledger().read(|log| {
            let chain = Chain::read(log, correlation)?;
            let history = chain.history((log, records.keyring()), step)?;
            Ok(history.answer_to(confirmed.facts.plan_fingerprint))
        });
        match effective.map_err(actum::Error::from)? == Some(ConfirmationOutcome::Confirmed) {
            true => Ok(()),
            false => Err(refuse(Reason::ConfirmationRejected, ReasonCode::ConfirmationRejected)),
        }
    }

    fn end(&mut self, end: &ActionEnd<'_>) -> Result<Vec<NewEntry>, CanonicalError> {
        let ActionEnd { ended, leaf, envelope, command_ms } = end;
        let was_done_before = envelope.feedback.contains_key("doneBefore");
        let is_started = self.logged.borrow().is_started;
        if was_done_before && !is_started {
            return Ok(Vec::new());
        }
        let outcome = returned(envelope)?;
        let kept = KeptOutcome::new(ended, Some(&outcome))?.to_vec()?;
        let mut entries = Vec::new();
        let reason = ended.ground.clone();
        let (event, state) = match (is_started, ended.status) {
            (false, Status::Succeeded) => {
                // The action had nothing to change, so it was never started.
                entries = self.start_entries(ended.time, *leaf)?;
                (AgentEventKind::Outcome, AgentState::Succeeded)
            }
            (true, Status::Succeeded) => (AgentEventKind::Outcome, AgentState::Succeeded),
            (true, Status::Failed) => (AgentEventKind::Outcome, AgentState::Failed),
            (true, Status::Reverted | Status::Rejected | Status::Queued) => {
                (AgentEventKind::Outcome, AgentState::Reverted)
            }
            (false, Status::Queued) => (AgentEventKind::NoEffect, AgentState::AwaitingAp),
            (false, Status::Reverted | Status::Rejected | Status::Failed) => {
                (AgentEventKind::NoEffect, AgentState::Refused)
            }
        };
        if !is_started && event == AgentEventKind::NoEffect {
            entries.append(&mut self.accompanying);
        }
        let state = match (event, self.is_retry) {
            // A step that is already claimed keeps its state.
            (AgentEventKind::NoEffect, true) => AgentState::Reverted,
            _ => state,
        };
        let total_us = ended.time.micros().saturating_sub(self.began.micros());
        let total_us = u64::try_from(total_us).unwrap_or(0);
        let command_us = command_ms.saturating_mul(1000).min(total_us);
        let mut execution = self.template.clone();
        execution.time = ended.time;
        execution.event = event;
        execution.state = state;
        execution.simulation_entry = Some(*leaf);
        execution.refs.outcome = Some(Digest::of(&kept));
        self.documents.push(kept);
        if event == AgentEventKind::Outcome {
            execution.reason.clone_from(&reason);
            let dispatch_us = total_us.saturating_sub(command_us);
            execution.duration = Some(AgentDuration { dispatch_us, command_us });
        } else {
            execution.reason = Some(reason.clone().unwrap_or_else(|| "EXECUTION_ENDED".to_owned()));
        }
        let (entry, event_leaf) = self.entry(&execution)?;
        entries.push(entry);
        let ended = LoggedEnd { leaf: event_leaf, action: *leaf, reason, outcome };
        self.logged.borrow_mut().ended = Some(ended);
        Ok(entries)
    }
}

impl StepLog {
    /// Creates the entries for the start of the effect: the access decision and the event that claims the step.
    fn start_entries(
        &mut self,
        time: Timestamp,
        action: Digest,
    ) -> Result<Vec<NewEntry>, CanonicalError> {
        let mut execution = self.template.clone();
        execution.time = time;
        execution.event = match self.is_retry {
            true => AgentEventKind::RetryStarted,
            false => AgentEventKind::DispatchStarted,
        };
        execution.state = AgentState::Started;
        execution.simulation_entry = Some(action);
        let (entry, _) = self.entry(&execution)?;
        let mut entries = std::mem::take(&mut self.accompanying);
        entries.push(entry);
        Ok(entries)
    }

    fn entry(&mut self, execution: &AgentExecution) -> Result<(NewEntry, Digest), CanonicalError> {
        let body = canonical::ordered_to_vec(execution)?;
        let leaf = leaf_hash(&body);
        // Store the documents with the first event. Later events refer to the same documents.
        let blobs = std::mem::take(&mut self.documents);
        Ok((NewEntry { kind: EntryKind::AgentExecution, body, blobs }, leaf))
    }
}

fn refuse(reason: Reason, code: ReasonCode) -> ActionRefusal {
    ActionRefusal::Refused { reason, message: code.sentence().to_owned() }
}
