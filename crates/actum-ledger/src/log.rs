//! Queries on a log, and the values that they return.

mod agent;

use actum_core::{Digest, RunId, Status, Timestamp, canonical};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{
    Answer, EntryFacts, EntryKind, LeaseEvent, LogStarted, RequestKey, TenantId, WorkspaceId,
};
use actum_record::lifecycle::State;
use actum_record::merkle::{Frontier, Node, leaf_hash};

use crate::error::LedgerError;
pub use agent::{
    AgentClaim, AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, SLO_P95_US, SLO_P99_US,
};

/// Single entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Exact bytes of the entry.
    pub body: Vec<u8>,
}

/// State of a run, computed only from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Id of the run.
    pub run: RunId,
    /// Workspace in which the run was started.
    pub workspace: WorkspaceId,
    /// Idempotency key of the request, if the caller gave one.
    pub request: Option<RequestKey>,
    /// Number of the attempt at the request, which is 1 for a run without a request key.
    pub attempt: u32,
    /// Index of the `EFFECT_STARTED` entry of the run.
    pub started: u64,
    /// Index of the `EFFECT_DONE` entry of the run, or `None` if the run has not ended.
    pub done: Option<u64>,
    /// Status with which the run ended, or `None` if it has not ended.
    pub status: Option<Status>,
}

impl RunRow {
    /// Returns the lifecycle state of the run. Earlier states are not recorded, because a run appears in the ledger only once
    /// its intent is recorded.
    pub fn state(&self) -> State {
        // A row that has an end but no status is damaged, but the run is over in any case.
        let ended = || State::Recorded(self.status.unwrap_or(Status::Failed));
        self.done.map_or(State::Changing, |_| ended())
    }
}

/// State of a queued plan, computed only from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// Id of the plan.
    pub plan: RunId,
    /// Workspace for which the plan was queued.
    pub workspace: WorkspaceId,
    /// Index of the `PLAN_QUEUED` entry of the plan.
    pub queued: u64,
    /// Last answer to the plan, with the index of its `PLAN_ANSWERED` entry.
    pub answered: Option<(Answer, u64)>,
    /// Index of the `EFFECT_STARTED` or `ACTION_STARTED` entry that used the approval of the plan.
    pub started: Option<u64>,
}

impl PlanRow {
    /// Returns whether the plan can still be carried out according to its entries. It may have expired nevertheless.
    pub fn is_open(&self) -> bool {
        let is_refused = matches!(self.answered, Some((Answer::Denied | Answer::Revoked, _)));
        self.started.is_none() && !is_refused
    }
}

/// State of a lease block, computed from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    /// Id of the lease block.
    pub lease: LeaseId,
    /// Index of the `LEASE_GRANTED` entry, or `None` for a block that was appended by a holder of the lease.
    pub granted: Option<u64>,
    /// Index of the `LEASE_REVOKED` entry, or `None` if the block is not revoked.
    pub revoked: Option<u64>,
    /// Number of `EFFECT_STARTED` and `FILE_TASK_STARTED` entries that refer to the block. The runs of a file task are not
    /// counted in addition.
    pub used: u64,
}

impl LeaseRow {
    /// Creates the row for a block that no entry refers to.
    pub fn unknown(lease: LeaseId) -> Self {
        Self { lease, granted: None, revoked: None, used: 0 }
    }
}

/// State of a file task, computed from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTaskRow {
    /// Id of the file task.
    pub task: TaskName,
    /// Index of the `FILE_TASK_STARTED` entry, or `None` if the task was refused before it started.
    pub started: Option<u64>,
    /// Index of the `FILE_TASK_ENDED` entry, or `None` if the task has not ended.
    pub ended: Option<u64>,
}

impl FileTaskRow {
    /// Returns whether the task was started and has not ended yet.
    pub fn is_open(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }
}

/// Signed checkpoint of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// Number of entries covered by the checkpoint.
    pub size: u64,
    /// Text of the checkpoint as a signed note.
    pub note: String,
}

/// Read access to a log.
pub trait Log {
    /// Returns the number of entries in the log.
    ///
    /// # Errors
    /// Like all methods of this trait, returns [`LedgerError`] if the store cannot be read.
    fn size(&self) -> Result<u64, LedgerError>;

    /// Returns the entry with this index, or `None` if the log does not have it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError>;

    /// Returns an existing entry after checking that its bytes match the recorded hash. The check is necessary because the
    /// owner of the ledger file can change the bytes.
    ///
    /// # Errors
    /// See [`Log::size`]. Returns `Damaged` if the entry is missing or was changed.
    fn sound_entry(&self, index: u64) -> Result<Entry, LedgerError> {
        let damaged = |message: &str| LedgerError::entry(index, &message);
        let entry = self.entry(index)?.ok_or_else(|| damaged("it is missing"))?;
        match self.node(Node { level: 0, index })? == leaf_hash(&entry.body) {
            true => Ok(entry),
            false => Err(damaged("its bytes do not match the recorded hash, so it was changed")),
        }
    }

    /// Returns at most `count` entries, starting with the index `from`.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError>;

    /// Returns the hash of a complete subtree of the Merkle tree.
    ///
    /// # Errors
    /// See [`Log::size`]. Returns `Damaged` if the hash is missing.
    fn node(&self, node: Node) -> Result<Digest, LedgerError>;

    /// Returns the document that is stored under a digest. The caller must compare its actual digest.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Returns the state of a run, or `None` if it was never started.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError>;

    /// Returns the runs in a workspace that were started and have not ended yet, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError>;

    /// Returns the runs that attempted a request, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError>;

    /// Returns the state of a queued plan, or `None` if it was never queued.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError>;

    /// Returns the plans that can still be carried out, oldest first. Plans that have expired are included.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError>;

    /// Returns at most `count` plans of a workspace, newest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_plans(&self, workspace: WorkspaceId, count: u64)
    -> Result<Vec<PlanRow>, LedgerError>;

    /// Returns the state of a lease block, or `None` if no entry refers to it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError>;

    /// Returns the state of a file task, or `None` if no entry refers to it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError>;

    /// Returns the file tasks that were started and have not ended yet, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError>;

    /// Returns the state of a step of a goal, or `None` if no event refers to it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError>;

    /// Returns the steps whose effect was started and has no outcome yet, in the order of their newest events.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError>;

    /// Returns the newest event of a step of a plan, or `None` if no event refers to it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError>;

    /// Returns the indexes of all entries of the Agent Execution Core about a goal, in ascending order. Use
    /// [`Log::sound_entry`] to read the entries.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError>;

    /// Returns the goal to which a request key is bound, which is the goal of the first event with this key. Returns `None` if
    /// there is no such event.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_goal_of_request(&self, request: &Digest)
    -> Result<Option<CorrelationId>, LedgerError>;

    /// Returns the escalations that have not been resolved, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError>;

    /// Returns the counters for all dispatches whose outcome was recorded in the minute of `since` or later.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError>;

    /// Counts the idempotency keys that have more than one successful outcome. Stores reject entries that would lead to this,
    /// so the count should be 0.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn count_duplicate_effects(&self) -> Result<u64, LedgerError>;

    /// Returns the indexes of the newest entries of a kind, newest first.
    ///
    /// Returns at most `count` indexes, all of them below `before` if that is given. Lookups are fast for `ACTION_ENDED`,
    /// `CATALOG_CHANGED`, `ALERT_RAISED`, `ALERT_SEEN`, `HISTORY_FORGOTTEN`, `LEASE_GRANTED`, `LEASE_REVOKED` and
    /// `SLO_WAIVED`. For other kinds, the entire log may have to be read. Use [`Log::sound_entry`] to read the entries.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError>;

    /// Returns the checkpoint that covers the most entries, or `None` if there are no checkpoints.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError>;

    /// Returns at most `count` checkpoints that cover at least `size` entries, smallest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError>;

    /// Returns the name of the log, which is stored in its first entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn origin(&self) -> Result<String, LedgerError> {
        Ok(self.beginning()?.origin)
    }

    /// Returns the tenant of the log, which is stored in its first entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn tenant(&self) -> Result<TenantId, LedgerError> {
        Ok(self.beginning()?.tenant)
    }

    /// Returns the content of the first entry, `LOG_STARTED`.
    ///
    /// # Errors
    /// See [`Log::size`]. Returns `Damaged` if the entry is missing or is not a `LOG_STARTED`.
    fn beginning(&self) -> Result<LogStarted, LedgerError> {
        let damaged = |message: String| LedgerError::Damaged { message };
        let first = self.entry(0)?.ok_or_else(|| damaged("it has no first entry".to_owned()))?;
        let wrong = |error: &dyn std::fmt::Display| {
            damaged(format!("its first entry does not name the log: {error}"))
        };
        let value = canonical::read(&first.body).map_err(|error| wrong(&error))?;
        serde_json::from_value(value).map_err(|error| wrong(&error))
    }

    /// Returns at most `count` leases, newest first. If `before` is given, all of them were granted before that entry.
    ///
    /// # Errors
    /// See [`Log::sound_entry`].
    fn newest_leases(&self, before: Option<u64>, count: u64) -> Result<Vec<LeaseRow>, LedgerError> {
        let granted = self.newest_of_kind(EntryKind::LeaseGranted, before, count)?;
        let row = |index| {
            let facts = EntryFacts::parse(EntryKind::LeaseGranted, &self.sound_entry(index)?.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            let row = match facts.lease {
                Some(LeaseEvent::Granted { lease }) => self.lease(lease)?,
                Some(
                    LeaseEvent::Revoked { .. }
                    | LeaseEvent::Used { .. }
                    | LeaseEvent::UsedByTask { .. },
                )
                | None => None,
            };
            row.ok_or_else(|| LedgerError::entry(index, &"the lease that it grants is unknown"))
        };
        granted.into_iter().map(row).collect()
    }

    /// Returns the right edge of the Merkle tree as it was when the log had `size` entries.
    ///
    /// # Errors
    /// See [`Log::node`].
    fn frontier(&self, size: u64) -> Result<Frontier, LedgerError> {
        Frontier::read(size, |node| self.node(node))
    }
}
