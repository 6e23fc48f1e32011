//! Rows that repeat the content of agent entries in columns. Each column is derived from an entry, its index and its hash.

use actum_core::{Digest, Timestamp};
use actum_record::ledger::{
    AgentAccessDecided, AgentConfirmation, AgentEvent, AgentEventKind, AgentExecution, EntryKind,
    IntakeResolved,
};
use rusqlite::types::Value;

pub(in crate::sqlite) const EXECUTION: &str = "agent_execution_ledger";
pub(in crate::sqlite) const ACCESS: &str = "agent_execution_access_decision_ledger";
pub(in crate::sqlite) const CONFIRMATION: &str = "agent_execution_confirmation_ledger";
pub(in crate::sqlite) const RESOLVED: &str = "agent_intake_resolved_ledger";

/// Database row that represents an entry of the Agent Execution Core.
pub(in crate::sqlite) struct Image {
    /// Name of the table that contains the row.
    pub(in crate::sqlite) table: &'static str,
    /// Names and values of all columns, in the order of the table definition.
    pub(in crate::sqlite) columns: Vec<(&'static str, Value)>,
}

impl Image {
    /// Tables that contain a row for every entry of a kind, with that kind.
    pub(in crate::sqlite) const TABLES: [(&str, EntryKind); 4] = [
        (EXECUTION, EntryKind::AgentExecution),
        (ACCESS, EntryKind::AgentAccessDecided),
        (CONFIRMATION, EntryKind::AgentConfirmation),
        (RESOLVED, EntryKind::IntakeResolved),
    ];

    /// Creates the row for the entry at `index` with the hash `leaf`.
    pub(in crate::sqlite) fn new(event: &AgentEvent, (index, leaf): (u64, Digest)) -> Self {
        let (seq, leaf) = (integer(index), digest(leaf));
        let (table, columns) = match event {
            AgentEvent::Execution(entry) => (EXECUTION, execution(entry, seq, leaf)),
            AgentEvent::Access(entry) => (ACCESS, access(entry, seq, leaf)),
            AgentEvent::Confirmation(entry) => (CONFIRMATION, confirmation(entry, seq, leaf)),
            AgentEvent::IntakeResolved(entry) => (RESOLVED, resolved(entry, seq)),
        };
        Self { table, columns }
    }
}

fn execution(entry: &AgentExecution, seq: Value, leaf: Value) -> Vec<(&'static str, Value)> {
    let AgentExecution { refs, duration, .. } = entry;
    let claimed = entry.key.filter(|_| entry.event == AgentEventKind::DispatchStarted);
    let simulation = entry.simulation.as_ref().map(|simulation| simulation.as_str());
    vec![
        ("seq", seq),
        ("ref", leaf),
        ("tenant_id", text(entry.tenant.as_str())),
        ("correlation_id", text(entry.correlation.as_str())),
        ("request_key", digest(entry.request)),
        ("plan_id", text(entry.plan.as_str())),
        ("step_id", text(entry.step.as_str())),
        ("event", text(entry.event.as_str())),
        ("state", text(entry.state.as_str())),
        ("idempotency_key", optional(claimed, digest)),
        ("decision_key", optional(entry.key, digest)),
        ("simulation_id", optional(simulation, text)),
        ("simulation_ledger_ref", optional(entry.simulation_entry, digest)),
        ("access_decision_ref", optional(entry.access, digest)),
        ("confirmation_ref", optional(entry.confirmation, digest)),
        ("rollback_plan_ref", optional(entry.rollback_plan, digest)),
        ("decision_bundle_ref", digest(refs.bundle)),
        ("finder_packet_ref", digest(refs.finder_packet)),
        ("policy_snapshot_ref", digest(refs.policy_snapshot)),
        ("catalog_snapshot_ref", digest(refs.catalog_snapshot)),
        ("artifact_fingerprint_bundle_ref", optional(refs.artifact_fingerprints, digest)),
        ("confirmation_parse_proof_ref", optional(refs.confirmation_proof, digest)),
        ("confirmation_prompt_ref", optional(refs.prompt, digest)),
        ("simulation_outcome_ref", optional(refs.outcome, digest)),
        ("dispatch_decision_hash", digest(entry.decision)),
        ("reason_code", optional(entry.reason.as_deref(), text)),
        ("impactful", Value::Integer(entry.impactful.into())),
        ("created_at", time(entry.time)),
        ("duration_us", optional(duration.map(|it| it.dispatch_us), integer)),
        ("command_us", optional(duration.map(|it| it.command_us), integer)),
    ]
}

fn access(entry: &AgentAccessDecided, seq: Value, leaf: Value) -> Vec<(&'static str, Value)> {
    vec![
        ("seq", seq),
        ("ref", leaf),
        ("tenant_id", text(entry.tenant.as_str())),
        ("correlation_id", text(entry.correlation.as_str())),
        ("step_id", text(entry.step.as_str())),
        ("user_id", text(entry.user.as_str())),
        ("access_action", text(&entry.access_action)),
        ("outcome", text(entry.outcome.as_str())),
        ("reason_code", optional(entry.reason.as_deref(), text)),
        ("policy_snapshot_ref", digest(entry.policy_snapshot)),
        ("access_case_ref", digest(entry.case)),
        ("created_at", time(entry.time)),
    ]
}

fn confirmation(entry: &AgentConfirmation, seq: Value, leaf: Value) -> Vec<(&'static str, Value)> {
    vec![
        ("seq", seq),
        ("ref", leaf),
        ("tenant_id", text(entry.tenant.as_str())),
        ("correlation_id", text(entry.correlation.as_str())),
        ("thread_id", text(entry.thread.as_str())),
        ("step_id", text(entry.step.as_str())),
        ("outcome", text(entry.outcome.as_str())),
        ("confirm_lexicon_version_ref", digest(entry.lexicon)),
        ("confirmation_parse_proof_ref", digest(entry.proof)),
        ("confirmation_prompt_ref", digest(entry.prompt)),
        ("plan_fingerprint", digest(entry.plan_fingerprint)),
        ("language_tag", text(&entry.language)),
        ("accepted_token", optional(entry.token.as_deref(), text)),
        ("created_at", time(entry.time)),
    ]
}

fn resolved(entry: &IntakeResolved, seq: Value) -> Vec<(&'static str, Value)> {
    let simulation = entry.simulation.as_ref().map(|simulation| simulation.as_str());
    vec![
        ("seq", seq),
        ("tenant_id", text(entry.tenant.as_str())),
        ("correlation_id", text(entry.correlation.as_str())),
        ("escalated_ref", digest(entry.escalated)),
        ("simulation_id", optional(simulation, text)),
        ("created_at", time(entry.time)),
    ]
}

fn optional<T>(value: Option<T>, stored: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, stored)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn digest(digest: Digest) -> Value {
    Value::Blob(digest.as_bytes().to_vec())
}

fn time(time: Timestamp) -> Value {
    Value::Integer(time.micros())
}

/// Converts an index or a duration, which are always far below `i64::MAX`.
fn integer(number: u64) -> Value {
    Value::Integer(number.cast_signed())
}
