//! Conversions between Rust values and database columns.

use actum_core::{Digest, RunId, Status, Timestamp};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{
    AccessOutcome, AgentState, Answer, ConfirmationOutcome, EntryKind, WorkspaceId,
};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use rusqlite::{Error, Result, Row};

use super::packed::Unpacker;
use crate::log::{
    AgentClaim, AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Entry, FileTaskRow,
    LeaseRow, PlanRow, RunRow, SignedCheckpoint,
};
use crate::projection::agent::{KnownAccess, KnownConfirmation};

/// Wrapper that converts a value to and from its database column.
pub(super) struct Column<T>(pub(super) T);

/// Reads a run from the columns `run, workspace, request, attempt, started, done, status`.
pub(super) fn run(row: &Row<'_>) -> Result<RunRow> {
    let request: Option<Text<_>> = row.get(2)?;
    let status: Option<Column<Status>> = row.get(6)?;
    Ok(RunRow {
        run: row.get::<_, Column<RunId>>(0)?.0,
        workspace: row.get::<_, Column<WorkspaceId>>(1)?.0,
        request: request.map(|Text(request)| request),
        attempt: row.get(3)?,
        started: row.get(4)?,
        done: row.get(5)?,
        status: status.map(|Column(status)| status),
    })
}

/// Reads a plan from the columns `plan, workspace, queued, answer, answered, started`.
pub(super) fn plan(row: &Row<'_>) -> Result<PlanRow> {
    let answer: Option<Column<Answer>> = row.get(3)?;
    Ok(PlanRow {
        plan: row.get::<_, Column<RunId>>(0)?.0,
        workspace: row.get::<_, Column<WorkspaceId>>(1)?.0,
        queued: row.get(2)?,
        answered: answer.map(|Column(answer)| answer).zip(row.get(4)?),
        started: row.get(5)?,
    })
}

/// Reads a lease block from the columns `lease, granted, revoked, used`.
pub(super) fn lease(row: &Row<'_>) -> Result<LeaseRow> {
    let Column(lease) = row.get(0)?;
    Ok(LeaseRow { lease, granted: row.get(1)?, revoked: row.get(2)?, used: row.get(3)? })
}

/// Reads a file task from the columns `task, started, ended`.
pub(super) fn file_task(row: &Row<'_>) -> Result<FileTaskRow> {
    let Text::<TaskName>(task) = row.get(0)?;
    Ok(FileTaskRow { task, started: row.get(1)?, ended: row.get(2)? })
}

/// Reads the state of a step.
///
/// The first columns are the goal, step, state and index of the step's newest row. They are followed by the index and key of
/// its claim, and by the index and plan of its last start.
pub(super) fn agent_step(row: &Row<'_>) -> Result<AgentStepRow> {
    let (Text(correlation), Text(step), Column(state)) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let claim: Option<(u64, Column<Digest>)> = row.get::<_, Option<_>>(4)?.zip(row.get(5)?);
    let start: Option<(u64, Text<_>)> = row.get::<_, Option<_>>(6)?.zip(row.get(7)?);
    let claim = claim.zip(start).map(|((index, Column(key)), (last_start, Text(plan)))| {
        AgentClaim { index, key, last_start, plan }
    });
    Ok(AgentStepRow { correlation, step, claim, state, newest: row.get(3)? })
}

/// Reads the newest event of a step from the columns `plan_id, step_id, last_seq, correlation_id, state, decision_key,
/// reason_code, updated_at`.
pub(super) fn agent_current(row: &Row<'_>) -> Result<AgentCurrentRow> {
    let (Text(plan), Text(step), Text(correlation)) = (row.get(0)?, row.get(1)?, row.get(3)?);
    let (Column(state), key): (_, Option<Column<Digest>>) = (row.get(4)?, row.get(5)?);
    Ok(AgentCurrentRow {
        plan,
        step,
        newest: row.get(2)?,
        correlation,
        state,
        key: key.map(|Column(key)| key),
        reason: row.get(6)?,
        time: Timestamp::from_micros(row.get(7)?),
    })
}

/// Reads an escalation from the columns `seq, ref, correlation_id, step_id`.
pub(super) fn agent_escalation(row: &Row<'_>) -> Result<AgentEscalation> {
    let (Column(leaf), Text(correlation), Text(step)) = (row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(AgentEscalation { index: row.get(0)?, leaf, correlation, step })
}

/// Reads dispatch counters from the columns `total, over_p95, over_p99, errors`.
pub(super) fn agent_slo(row: &Row<'_>) -> Result<AgentSlo> {
    let (total, over_p95, over_p99, errors) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(AgentSlo { total, over_p95, over_p99, errors })
}

/// Reads an access decision from the columns `step_id, outcome`.
pub(super) fn known_access(row: &Row<'_>) -> Result<KnownAccess> {
    let (Text(step), Column(outcome)) = (row.get(0)?, row.get(1)?);
    Ok(KnownAccess { step, outcome })
}

/// Reads a confirmation answer from the columns `step_id, outcome, confirmation_parse_proof_ref, plan_fingerprint`.
pub(super) fn known_confirmation(row: &Row<'_>) -> Result<KnownConfirmation> {
    let (Text(step), Column(outcome), Column(proof)) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let Column(plan) = row.get(3)?;
    Ok(KnownConfirmation { step, outcome, proof, plan })
}

/// Reads an entry from the columns `seq, kind, body`.
pub(super) fn entry(row: &Row<'_>) -> Result<Entry> {
    let Column(kind) = row.get(1)?;
    Ok(Entry { index: row.get(0)?, kind, body: unpacked(row, 2)? })
}

/// Reads a document from the column `bytes`.
pub(super) fn document(row: &Row<'_>) -> Result<Vec<u8>> {
    unpacked(row, 0)
}

/// Reads a byte string, and decompresses it if necessary.
pub(super) fn unpacked(row: &Row<'_>, column: usize) -> Result<Vec<u8>> {
    let stored = row.get_ref(column)?.as_blob()?;
    Unpacker::unpacked(stored)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Blob, error.into()))
}

/// Reads a checkpoint from the columns `size, note`.
pub(super) fn checkpoint(row: &Row<'_>) -> Result<SignedCheckpoint> {
    Ok(SignedCheckpoint { size: row.get(0)?, note: row.get(1)? })
}

/// Returns the hash of the subtree at `level` from the concatenated hashes that are stored with an entry.
pub(super) fn hash_of_level(nodes: &[u8], level: u32) -> Option<Digest> {
    let (hashes, rest) = nodes.as_chunks::<32>();
    let hash = hashes.get(usize::try_from(level).ok()?)?;
    rest.is_empty().then(|| Digest::from_bytes(*hash))
}

/// Wrapper for a value that is stored as text and parsed when it is read.
pub(super) struct Text<T>(pub(super) T);

impl<T: std::str::FromStr> FromSql for Text<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

/// Reads a 60-bit id, which fits into the signed integers of SQLite.
fn bits(value: ValueRef<'_>) -> FromSqlResult<u64> {
    let number = value.as_i64()?;
    let bits = u64::try_from(number).ok().filter(|bits| *bits >> 60 == 0);
    bits.ok_or(FromSqlError::OutOfRange(number))
}

impl FromSql for Column<RunId> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        bits(value).map(|bits| Self(RunId::from_random(bits)))
    }
}

impl FromSql for Column<WorkspaceId> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        bits(value).map(|bits| Self(WorkspaceId::from_random(bits)))
    }
}

impl FromSql for Column<EntryKind> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        EntryKind::of_name(value.as_str()?).map(Self).ok_or(FromSqlError::InvalidType)
    }
}

impl FromSql for Column<Digest> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes: [u8; 32] =
            value.as_blob()?.try_into().map_err(|error| FromSqlError::Other(Box::new(error)))?;
        Ok(Self(Digest::from_bytes(bytes)))
    }
}

impl FromSql for Column<LeaseId> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Column::column_result(value).map(|Column(digest)| Self(LeaseId(digest)))
    }
}

impl FromSql for Column<AgentState> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        word(value, AgentState::ALL, AgentState::as_str)
    }
}

impl FromSql for Column<AccessOutcome> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        word(value, AccessOutcome::ALL, AccessOutcome::as_str)
    }
}

impl FromSql for Column<ConfirmationOutcome> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        word(value, ConfirmationOutcome::ALL, ConfirmationOutcome::as_str)
    }
}

/// Reads an enum value that is stored by its name.
fn word<T: Copy>(
    value: ValueRef<'_>,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> FromSqlResult<Column<T>> {
    let text = value.as_str()?;
    let found = all.iter().copied().find(|found| as_str(*found) == text);
    found.map(Column).ok_or(FromSqlError::InvalidType)
}

impl FromSql for Column<Status> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        let status = Status::ALL.into_iter().find(|status| status.as_str() == text);
        status.map(Self).ok_or(FromSqlError::InvalidType)
    }
}

impl FromSql for Column<Answer> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        let answer = Answer::ALL.into_iter().find(|answer| answer.as_str() == text);
        answer.map(Self).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Column<RunId> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.bits().cast_signed()))
    }
}

impl ToSql for Column<WorkspaceId> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.bits().cast_signed()))
    }
}

impl ToSql for Column<LeaseId> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let LeaseId(digest) = &self.0;
        Ok(ToSqlOutput::from(digest.as_bytes().to_vec()))
    }
}
