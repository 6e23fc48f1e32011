//! Dev Intake: goals that wait for a simulation (AEC-12).

use actum_agent::bundle::AgentBundle;
use actum_core::Timestamp;
use actum_ledger::{LedgerError, Log};
use actum_record::agent::CorrelationId;
use actum_record::ledger::AgentEvent;
use serde_json::Value;

use crate::history::{Chain, document};

/// Goal that waits for a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeGoal {
    /// Goal.
    pub correlation: CorrelationId,
    /// Index of the event that escalated it.
    pub index: u64,
    /// Time.
    pub time: Timestamp,
    /// What the user wishes, as the Finder put it.
    pub requested_capability: Option<String>,
}

impl IntakeGoal {
    /// Lists the goals that wait, oldest first.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn open(log: &dyn Log) -> Result<Vec<Self>, LedgerError> {
        let mut goals = Vec::new();
        for escalation in log.unresolved_escalations()? {
            let chain = Chain::read(log, &escalation.correlation)?;
            let event = chain.events.iter().find(|event| event.index == escalation.index);
            let Some(AgentEvent::Execution(event)) = event.map(|event| &event.event) else {
                return Err(LedgerError::entry(escalation.index, &"it escalates nothing"));
            };
            let bundle: AgentBundle = document(log, escalation.index, event.refs.bundle)?;
            let wish = bundle.packet.get("requested_capability").and_then(Value::as_str);
            goals.push(Self {
                correlation: escalation.correlation,
                index: escalation.index,
                time: event.time,
                requested_capability: wish.map(str::to_owned),
            });
        }
        Ok(goals)
    }
}
