//! Dev Intake: goals for which no simulation exists, waiting for a developer (AEC-12).

use std::collections::BTreeMap;

use actum::Records;
use actum_agent::bundle::AgentBundle;
use actum_core::{ActionName, Timestamp, canonical};
use actum_ledger::{AgentEscalation, LedgerError, Log, NewEntry, Refusal};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::ledger::{Actor, AgentEvent, AgentState, EntryKind, IntakeResolved};
use serde_json::Value;

use crate::error::DispatchError;
use crate::history::{Chain, document};

/// Pending goal for which no simulation exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeGoal {
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Index of the ledger event that escalated the goal.
    pub index: u64,
    /// Time of the escalation.
    pub time: Timestamp,
    /// User whose goal was escalated.
    pub user: UserId,
    /// Conversation that the goal belongs to.
    pub thread: ThreadId,
    /// Name and version of the Finder that found no simulation.
    pub finder: Option<String>,
    /// Capability that the goal requires, as described by the Finder.
    pub requested_capability: Option<String>,
}

impl IntakeGoal {
    /// Lists the pending goals with their newest escalation, ordered by its index. A goal is no longer pending once its
    /// step has succeeded.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn open(log: &dyn Log) -> Result<Vec<Self>, LedgerError> {
        let mut newest = BTreeMap::new();
        for escalation in log.unresolved_escalations()? {
            newest.insert(escalation.correlation.clone(), escalation);
        }
        let mut waiting = Vec::new();
        for escalation in newest.into_values() {
            if !has_succeeded(log, &escalation.correlation)? {
                waiting.push(escalation);
            }
        }
        waiting.sort_by_key(|escalation| escalation.index);
        waiting.into_iter().map(|escalation| Self::read(log, escalation)).collect()
    }

    /// Returns a pending goal with its newest escalation, or `None` if the goal is not pending.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn new(log: &dyn Log, correlation: &CorrelationId) -> Result<Option<Self>, LedgerError> {
        waiting(log, correlation)?.pop().map(|escalation| Self::read(log, escalation)).transpose()
    }

    /// Resolves all escalations of a pending goal. Returns the index of the last entry that was appended, or `None` if
    /// the goal is not pending.
    ///
    /// # Errors
    /// [`DispatchError`], in particular `NotActive` if the given simulation is not active.
    pub fn resolve(
        records: &Records,
        correlation: &CorrelationId,
        (simulation, reason): (Option<ActionName>, &str),
        by: &Actor,
    ) -> Result<Option<u64>, DispatchError> {
        if let Some(name) = &simulation {
            let catalog = records.catalog()?.in_force()?;
            if !catalog.find(name).is_some_and(|registered| registered.is_active()) {
                return Err(DispatchError::NotActive { simulation: name.clone() });
            }
        }
        let escalations = records.ledger().read(|log| waiting(log, correlation))?;
        let entry = |escalation: &AgentEscalation| {
            let body = canonical::to_vec(&IntakeResolved {
                format: IntakeResolved::FORMAT.to_owned(),
                time: records.now(),
                tenant: records.tenant().clone(),
                correlation: correlation.clone(),
                escalated: escalation.leaf,
                simulation: simulation.clone(),
                reason: reason.to_owned(),
                by: by.clone(),
            })?;
            Ok(NewEntry { kind: EntryKind::IntakeResolved, body, blobs: Vec::new() })
        };
        let entries = escalations.iter().map(entry).collect::<Result<Vec<_>, DispatchError>>()?;
        if entries.is_empty() {
            return Ok(None);
        }
        match records.ledger().append(entries).wait() {
            Ok(appended) => Ok(appended.last().map(|entry| entry.index)),
            // Another process resolved the goal first.
            Err(error) if matches!(error.refusal(), Some(Refusal::Agent(_))) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read(log: &dyn Log, escalation: AgentEscalation) -> Result<Self, LedgerError> {
        let AgentEscalation { correlation, index, .. } = escalation;
        let chain = Chain::read(log, &correlation)?;
        let event = chain.events.iter().find(|event| event.index == index);
        let Some(AgentEvent::Execution(event)) = event.map(|event| &event.event) else {
            return Err(LedgerError::entry(index, &"it is not an escalation"));
        };
        let bundle: AgentBundle = document(log, index, event.refs.bundle)?;
        let member =
            |name: &str| bundle.packet.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            correlation,
            index,
            time: event.time,
            user: event.user.clone(),
            thread: event.thread.clone(),
            finder: member("finder_version"),
            requested_capability: member("requested_capability"),
        })
    }
}

fn has_succeeded(log: &dyn Log, correlation: &CorrelationId) -> Result<bool, LedgerError> {
    let chain = Chain::read(log, correlation)?;
    let is_success = chain.executions().any(|(_, it)| it.state == AgentState::Succeeded);
    Ok(is_success)
}

/// Returns the unresolved escalations of a goal, or none if its step has succeeded.
fn waiting(
    log: &dyn Log,
    correlation: &CorrelationId,
) -> Result<Vec<AgentEscalation>, LedgerError> {
    let mut escalations = log.unresolved_escalations()?;
    escalations.retain(|escalation| escalation.correlation == *correlation);
    if !escalations.is_empty() && has_succeeded(log, correlation)? {
        escalations.clear();
    }
    Ok(escalations)
}
