//! Replays the decisions on a goal from the ledger, to verify them (AEC-11).

mod decision;
mod history;
mod links;

use actum::Records;
use actum_core::{Digest, canonical};
use actum_gate::AccessJudge;
use actum_ledger::{LedgerError, Log, NewEntry};
use actum_record::agent::CorrelationId;
use actum_record::keyring::Keyring;
use actum_record::ledger::{
    Actor, AgentEvent, AgentEventKind, AgentExecution, AgentRefs, AgentState, EntryKind,
};

use crate::ENGINE;
use crate::error::DispatchError;
use crate::history::{Chain, ChainEvent};
use decision::MadeAgain;
use history::Histories;

/// Result of replaying the decisions on a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayReport {
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Replayed decisions, in the order of the ledger.
    pub decisions: Vec<ReplayedDecision>,
}

/// Result of replaying a single decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedDecision {
    /// Index of the ledger event.
    pub index: u64,
    /// Difference that was found, or `None` if the decision was reproduced.
    pub problem: Option<(ReplayCode, String)>,
}

/// Reason why a replay failed. No other reasons exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplayCode {
    /// A document is missing.
    RefMissing,
    /// The content of a document does not match its digest.
    RefHashMismatch,
    /// An entry that the event refers to is missing, or has different content.
    LinkMismatch,
    /// The facts about earlier events do not match the ledger.
    HistoryMismatch,
    /// Deciding again leads to a different decision.
    DecisionMismatch,
    /// The decision was made under a version of the rules that this program does not implement.
    EngineUnsupported,
    /// The projection does not match the events that it is derived from.
    ProjectionDrift,
}

impl ReplayCode {
    /// All replay codes.
    pub const ALL: [Self; 7] = [
        Self::RefMissing,
        Self::RefHashMismatch,
        Self::LinkMismatch,
        Self::HistoryMismatch,
        Self::DecisionMismatch,
        Self::EngineUnsupported,
        Self::ProjectionDrift,
    ];

    /// Returns the permanent name of the code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RefMissing => "REPLAY_REF_MISSING",
            Self::RefHashMismatch => "REPLAY_REF_HASH_MISMATCH",
            Self::LinkMismatch => "REPLAY_LINK_MISMATCH",
            Self::HistoryMismatch => "REPLAY_HISTORY_MISMATCH",
            Self::DecisionMismatch => "REPLAY_DECISION_MISMATCH",
            Self::EngineUnsupported => "REPLAY_ENGINE_UNSUPPORTED",
            Self::ProjectionDrift => "REPLAY_PROJECTION_DRIFT",
        }
    }
}

impl ReplayReport {
    /// Replays the decisions on a goal. The access policies are evaluated by `access`.
    ///
    /// # Errors
    /// [`LedgerError`] if the events of the goal cannot be read.
    pub fn new(
        (log, keyring): (&dyn Log, &Keyring),
        correlation: &CorrelationId,
        access: &dyn AccessJudge,
    ) -> Result<Self, LedgerError> {
        let chain = Chain::read(log, correlation)?;
        let (mut decisions, mut histories) = (Vec::new(), Histories::default());
        for event in &chain.events {
            let problem = match &event.event {
                AgentEvent::Execution(execution)
                    if execution.event == AgentEventKind::ReplayMismatch =>
                {
                    None
                }
                AgentEvent::Execution(execution) => {
                    replay((log, keyring), (&chain, event), execution, &histories)?
                }
                AgentEvent::Access(decided) => decision::check_access(log, decided, access)?,
                AgentEvent::Confirmation(answer) => decision::check_answer(log, answer)?,
                AgentEvent::IntakeResolved(_) => continue,
            };
            // Skip an event that failed. Events that depend on it fail as well.
            if problem.is_none() {
                histories.push((log, keyring), event)?;
            }
            decisions.push(ReplayedDecision { index: event.index, problem });
        }
        if let Some(drift) = drift(log, &chain)? {
            decisions.push(drift);
        }
        Ok(Self { correlation: correlation.clone(), decisions })
    }

    /// Returns whether every decision was reproduced.
    pub fn is_same(&self) -> bool {
        self.problem().is_none()
    }

    fn problem(&self) -> Option<ReplayCode> {
        self.decisions.iter().find_map(|decision| Some(decision.problem.as_ref()?.0))
    }

    /// Records a failed replay, unless one is recorded already. After that, no effect of the goal can be started.
    ///
    /// # Errors
    /// [`DispatchError`] if the failure cannot be recorded.
    pub fn record(&self, records: &Records, actor: &Actor) -> Result<(), DispatchError> {
        let Some(code) = self.problem() else { return Ok(()) };
        let chain = records.ledger().read(|log| Chain::read(log, &self.correlation))?;
        let is_recorded =
            chain.executions().any(|(_, it)| it.event == AgentEventKind::ReplayMismatch);
        let Some((_, newest)) = chain.executions().next_back().filter(|_| !is_recorded) else {
            return Ok(());
        };
        let is_running = newest.state == AgentState::Started;
        let state = if is_running { AgentState::Started } else { AgentState::ReplayFailed };
        let body = canonical::to_vec(&AgentExecution {
            time: records.now(),
            actor: actor.clone(),
            event: AgentEventKind::ReplayMismatch,
            state,
            reason: Some(code.as_str().to_owned()),
            simulation_entry: None,
            refs: AgentRefs { outcome: None, prompt: None, ..newest.refs.clone() },
            duration: None,
            engine: ENGINE.to_owned(),
            ..newest.clone()
        })?;
        let entry = NewEntry { kind: EntryKind::AgentExecution, body, blobs: Vec::new() };
        records.ledger().append(vec![entry]).wait()?;
        Ok(())
    }
}

type Problem = Option<(ReplayCode, String)>;

/// Replays one decision, and checks the entries and the history that it is based on.
fn replay(
    (log, keyring): (&dyn Log, &Keyring),
    (chain, at): (&Chain, &ChainEvent),
    event: &AgentExecution,
    histories: &Histories,
) -> Result<Problem, LedgerError> {
    let MadeAgain { bundle, plan } = match decision::check((log, keyring), event)? {
        Ok(again) => again,
        Err(problem) => return Ok(Some(problem)),
    };
    if let Some(problem) = links::check(log, (chain, at), (event, &bundle))? {
        return Ok(Some(problem));
    }
    // An event with an outcome repeats the decision of the event that started the effect, so its history was already
    // checked.
    match event.duration {
        Some(_) => Ok(None),
        None => histories.check(log, (&bundle, &event.step), plan),
    }
}

fn problem(code: ReplayCode, message: impl Into<String>) -> (ReplayCode, String) {
    (code, message.into())
}

/// Checks that a document is stored in the ledger and matches its digest.
fn check_document(log: &dyn Log, digest: Digest) -> Result<Problem, LedgerError> {
    let Some(bytes) = log.blob(&digest)? else {
        let message = format!("the document {digest} is missing");
        return Ok(Some(problem(ReplayCode::RefMissing, message)));
    };
    let is_same = Digest::of(&bytes) == digest;
    let message = || format!("the document {digest} was changed");
    Ok((!is_same).then(|| problem(ReplayCode::RefHashMismatch, message())))
}

/// Compares the projection with the newest event of each step.
fn drift(log: &dyn Log, chain: &Chain) -> Result<Option<ReplayedDecision>, LedgerError> {
    for (ChainEvent { index, .. }, event) in chain.executions() {
        let newest = chain.executions().rev();
        let newest =
            newest.into_iter().find(|(_, it)| (&it.plan, &it.step) == (&event.plan, &event.step));
        let current = log.agent_current(&event.plan, &event.step)?;
        let expected = newest.map(|(at, it)| (at.index, it.state));
        if current.map(|row| (row.newest, row.state)) != expected {
            let message = format!(
                "`agent_execution_current` does not match the events of the plan {}",
                event.plan
            );
            let problem = Some((ReplayCode::ProjectionDrift, message));
            return Ok(Some(ReplayedDecision { index: *index, problem }));
        }
    }
    Ok(None)
}
