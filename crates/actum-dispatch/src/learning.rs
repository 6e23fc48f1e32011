//! Counts the successes of simulations for the learning table of the Finder (AEC-20).

use std::collections::{BTreeMap, BTreeSet};

use actum_core::ActionName;
use actum_ledger::{LedgerError, Log};
use actum_record::agent::{CorrelationId, StepId};
use actum_record::ledger::{AgentEvent, AgentState, EntryFacts, EntryKind};

/// Maximum number of entries that are read at a time.
const READ_MAX: u64 = 1024;

/// Counts the succeeded steps of each simulation. A step has succeeded if its newest event in the ledger has the state
/// `SUCCEEDED`.
///
/// A step is counted once, no matter how many attempts it took. It is not counted if it was reverted later, or if its
/// replay failed. The result depends only on the ledger entries.
///
/// # Errors
/// [`LedgerError`], in particular `Damaged` if an entry was modified.
pub fn count_successes(log: &dyn Log) -> Result<BTreeMap<ActionName, u64>, LedgerError> {
    let mut counts: BTreeMap<ActionName, u64> = BTreeMap::new();
    let mut seen: BTreeSet<(CorrelationId, StepId)> = BTreeSet::new();
    let mut behind = None;
    loop {
        let newest = log.newest_of_kind(EntryKind::AgentExecution, behind, READ_MAX)?;
        let Some(last) = newest.last().copied() else { return Ok(counts) };
        for index in newest {
            let entry = log.sound_entry(index)?;
            let facts = EntryFacts::parse(entry.kind, &entry.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            let Some(AgentEvent::Execution(event)) = facts.agent else { continue };
            let is_newest = seen.insert((event.correlation.clone(), event.step.clone()));
            let has_succeeded = is_newest && event.state == AgentState::Succeeded;
            if let Some(simulation) = event.simulation.filter(|_| has_succeeded) {
                let count = counts.entry(simulation).or_default();
                *count = count.saturating_add(1);
            }
        }
        behind = Some(last);
    }
}
