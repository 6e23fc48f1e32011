//! Database tables of the Agent Execution Core (AEC-8).

mod image;
mod read;

use actum_record::ledger::EntryFacts;
use rusqlite::params_from_iter;

use super::fault::fault;
use super::link::Link;
use crate::error::LedgerError;
use crate::new_entry::Appended;
pub(super) use image::Image;

/// Tables of the Agent Execution Core, in the order in which the schema defines them.
pub(super) const TABLES: [&str; 6] =
    [image::EXECUTION, image::ACCESS, image::CONFIRMATION, image::RESOLVED, CURRENT, MINUTE];
pub(super) const CURRENT: &str = "agent_execution_current";
pub(super) const MINUTE: &str = "agent_slo_minute";

const REMOVE_CURRENT: &str = "DELETE FROM agent_execution_current";
/// Inserts the newest event of each step of each plan. With `max(seq)`, SQLite takes the other columns from the row with the
/// greatest `seq` (lang_select.html, 2.5). Grouping yields the rows in the order of the primary key.
const REBUILD_CURRENT: &str = "INSERT INTO agent_execution_current (tenant_id, plan_id, step_id, last_seq, \
     correlation_id, state, decision_key, reason_code, updated_at) \
     SELECT tenant_id, plan_id, step_id, max(seq), correlation_id, state, decision_key, reason_code, created_at \
     FROM agent_execution_ledger GROUP BY tenant_id, plan_id, step_id";

/// Stores the row for an entry of the Agent Execution Core. Triggers then update `agent_execution_current` and the counters.
pub(super) fn put(
    link: &Link,
    facts: &EntryFacts,
    Appended { index, leaf }: Appended,
) -> Result<(), LedgerError> {
    let Some(event) = &facts.agent else { return Ok(()) };
    let Image { table, columns } = Image::new(event, (index, leaf));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let places = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", names.join(", "));
    let put = || {
        let mut insert = link.connection.prepare_cached(&sql)?;
        insert.execute(params_from_iter(columns.iter().map(|(_, value)| value)))
    };
    put().map(drop).map_err(|error| fault("append to", &link.path, error))
}

/// Rebuilds `agent_execution_current` from `agent_execution_ledger`, and returns the number of its rows. Must be called
/// inside a transaction.
pub(super) fn rebuild_current(link: &Link) -> Result<u64, LedgerError> {
    let rebuild = || {
        link.connection.execute(REMOVE_CURRENT, ())?;
        link.connection.execute(REBUILD_CURRENT, ())
    };
    let rows = rebuild().map_err(|error| fault("append to", &link.path, error))?;
    Ok(u64::try_from(rows).unwrap_or(u64::MAX))
}
