//! A log that can be read: the queries, and the values that they return.

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

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place, counted from 0.
    pub index: u64,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Its exact bytes.
    pub body: Vec<u8>,
}

/// One run, computed from its entries alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Workspace of the run.
    pub workspace: WorkspaceId,
    /// The key of the request, if the caller gave one.
    pub request: Option<RequestKey>,
    /// Number of the attempt at the request; 1 for a run without a key.
    pub attempt: u32,
    /// The index of its `EFFECT_STARTED`.
    pub started: u64,
    /// The index of its `EFFECT_DONE`.
    pub done: Option<u64>,
    /// Status of the ended run.
    pub status: Option<Status>,
}

impl RunRow {
    /// Returns the state of the run: the ledger knows of none before its intent.
    pub fn state(&self) -> State {
        // A row without a status of the end is damaged, and the run is over all the same.
        let ended = || State::Recorded(self.status.unwrap_or(Status::Failed));
        self.done.map_or(State::Changing, |_| ended())
    }
}

/// One queued plan, computed from its entries alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// The plan.
    pub plan: RunId,
    /// Workspace of the plan.
    pub workspace: WorkspaceId,
    /// The index of its `PLAN_QUEUED`.
    pub queued: u64,
    /// The last answer, and the index of that `PLAN_ANSWERED`.
    pub answered: Option<(Answer, u64)>,
    /// The index of the `EFFECT_STARTED` or `ACTION_STARTED` that its approval allowed.
    pub started: Option<u64>,
}

impl PlanRow {
    /// Returns true if the plan can still be carried out, as far as its entries show; it may have
    /// expired.
    pub fn is_open(&self) -> bool {
        let is_refused = matches!(self.answered, Some((Answer::Denied | Answer::Revoked, _)));
        self.started.is_none() && !is_refused
    }
}

/// One block of a lease, computed from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    /// Id of the block.
    pub lease: LeaseId,
    /// Index of its `LEASE_GRANTED`; `None` for a block that a holder appended.
    pub granted: Option<u64>,
    /// Index of its `LEASE_REVOKED`.
    pub revoked: Option<u64>,
    /// Number of uses: `EFFECT_STARTED` and `FILE_TASK_STARTED` entries that name it. The runs of a
    /// file task are not counted.
    pub used: u64,
}

impl LeaseRow {
    /// Row of a block without any entry.
    pub fn unknown(lease: LeaseId) -> Self {
        Self { lease, granted: None, revoked: None, used: 0 }
    }
}

/// One file task, computed from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTaskRow {
    /// Id of the task.
    pub task: TaskName,
    /// Index of its `FILE_TASK_STARTED`; `None` if it was refused before.
    pub started: Option<u64>,
    /// Index of its `FILE_TASK_ENDED`.
    pub ended: Option<u64>,
}

impl FileTaskRow {
    /// Returns true if it was started and has not ended.
    pub fn is_open(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }
}

/// A signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// Number of entries that it covers.
    pub size: u64,
    /// The signed note.
    pub note: String,
}

/// A log that can be read.
pub trait Log {
    /// Number of entries in the log.
    ///
    /// # Errors
    /// [`LedgerError`], as of everything here, if the store cannot be read.
    fn size(&self) -> Result<u64, LedgerError>;

    /// One entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError>;

    /// Returns one existing entry after a comparison with its recorded hash: the owner of the file
    /// of a ledger can change its bytes.
    ///
    /// # Errors
    /// See [`Log::size`]; `Damaged` if it is missing or was changed.
    fn sound_entry(&self, index: u64) -> Result<Entry, LedgerError> {
        let damaged = |message: &str| LedgerError::entry(index, &message);
        let entry = self.entry(index)?.ok_or_else(|| damaged("it is missing"))?;
        match self.node(Node { level: 0, index })? == leaf_hash(&entry.body) {
            true => Ok(entry),
            false => {
                Err(damaged("its bytes do not have the hash that was recorded: it was changed"))
            }
        }
    }

    /// At most `count` entries from `from` on.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError>;

    /// The hash of a complete subtree.
    ///
    /// # Errors
    /// See [`Log::size`]; `Damaged` if it is missing.
    fn node(&self, node: Node) -> Result<Digest, LedgerError>;

    /// A document by its digest; the caller compares.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Returns the row of a run.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError>;

    /// The runs of a workspace that were started and have no end yet, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError>;

    /// All attempts at a request, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError>;

    /// Returns the row of a queued plan.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError>;

    /// Returns the plans that can still be carried out, oldest first; also those that have expired.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError>;

    /// The plans of a workspace, at most `count`, the newest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_plans(&self, workspace: WorkspaceId, count: u64)
    -> Result<Vec<PlanRow>, LedgerError>;

    /// Returns one block of a lease; `None` if no entry names it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError>;

    /// Returns one file task; `None` if no entry names it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError>;

    /// The file tasks that were started and have no end yet, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError>;

    /// Returns a step of a goal; `None` if no event names it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError>;

    /// Steps whose effect has started and has no outcome yet, in the order of their newest events.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError>;

    /// Returns the newest event of a step of a plan; `None` if no event names it.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError>;

    /// Indexes of all entries of the agent core about a goal, in the order of the log. Read them
    /// with [`Log::sound_entry`].
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError>;

    /// Returns the goal that the key of a request is bound to: the first one with an event that
    /// names it; `None` without such an event.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_goal_of_request(&self, request: &Digest)
    -> Result<Option<CorrelationId>, LedgerError>;

    /// Escalations that are not resolved, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError>;

    /// Counters of the dispatches whose outcome is of the minute of `since` or of a later one.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError>;

    /// Number of idempotency keys with more than one successful outcome. No store takes entries that lead to one.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn count_duplicate_effects(&self) -> Result<u64, LedgerError>;

    /// Returns the indexes of the newest entries of a kind: at most `count` of those before the
    /// entry `before`, the newest first. Those of `ACTION_ENDED`, `CATALOG_CHANGED`,
    /// `ALERT_RAISED`, `ALERT_SEEN`, `HISTORY_FORGOTTEN`, `LEASE_GRANTED`, `LEASE_REVOKED` and
    /// `SLO_WAIVED` are found at once; for another kind the whole log may be read. Read them with
    /// [`Log::sound_entry`].
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError>;

    /// The checkpoint that covers the most.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError>;

    /// The checkpoints that cover at least `size` entries, at most `count`, the smallest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError>;

    /// Name of the log, from its first entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn origin(&self) -> Result<String, LedgerError> {
        Ok(self.beginning()?.origin)
    }

    /// Tenant of the log, which its first entry names.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn tenant(&self) -> Result<TenantId, LedgerError> {
        Ok(self.beginning()?.tenant)
    }

    /// First entry of the log.
    ///
    /// # Errors
    /// See [`Log::size`]; `Damaged` if it is missing or another.
    fn beginning(&self) -> Result<LogStarted, LedgerError> {
        let damaged = |message: String| LedgerError::Damaged { message };
        let first = self.entry(0)?.ok_or_else(|| damaged("it has no first entry".to_owned()))?;
        let wrong = |error: &dyn std::fmt::Display| {
            damaged(format!("its first entry does not name the log: {error}"))
        };
        let value = canonical::read(&first.body).map_err(|error| wrong(&error))?;
        serde_json::from_value(value).map_err(|error| wrong(&error))
    }

    /// The leases that were granted before the entry `before`, at most `count`, the newest first.
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
            row.ok_or_else(|| LedgerError::entry(index, &"the lease that it grants is not known"))
        };
        granted.into_iter().map(row).collect()
    }

    /// The right edge of the log as it was when it had `size` entries.
    ///
    /// # Errors
    /// See [`Log::node`].
    fn frontier(&self, size: u64) -> Result<Frontier, LedgerError> {
        Frontier::read(size, |node| self.node(node))
    }
}
