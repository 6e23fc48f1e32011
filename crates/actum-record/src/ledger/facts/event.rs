//! Events that an entry can record about leases, file tasks and the agent core.

use crate::agent::CorrelationId;
use crate::lease::{LeaseId, LeaseRecord, TaskName};
use crate::ledger::{
    AgentAccessDecided, AgentConfirmation, AgentExecution, IntakeResolved, TenantId,
};

/// Effect of an entry on a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseEvent {
    /// The entry grants the lease.
    Granted {
        /// Id of the first block of the lease.
        lease: LeaseId,
    },
    /// The entry revokes a block, and therefore every lease that contains the block.
    Revoked {
        /// Id of the revoked block.
        lease: LeaseId,
    },
    /// The entry counts as one use of each block of the lease.
    Used {
        /// Blocks of the lease, starting with the granted one. There is at least one.
        blocks: Vec<LeaseUse>,
    },
    /// The entry starts a run of a file task. It does not use the lease again, because the start of the task already did.
    UsedByTask {
        /// Blocks of the lease, starting with the granted one. There is at least one.
        blocks: Vec<LeaseUse>,
    },
}

/// Lease block that an entry uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseUse {
    /// Id of the lease block.
    pub id: LeaseId,
    /// Maximum number of uses of the block.
    pub uses: Option<u64>,
}

/// Effect of an entry on a file task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTaskEvent {
    /// The entry starts the task.
    Started {
        /// Id of the task.
        task: TaskName,
    },
    /// The entry ends the task. [`EntryFacts::follows`](super::EntryFacts::follows) refers to the start of the task, or is `None`
    /// if the task was refused before it started.
    Ended {
        /// Id of the task.
        task: TaskName,
    },
}

impl LeaseUse {
    /// Returns the blocks of a recorded lease.
    pub(super) fn new(lease: &LeaseRecord) -> Vec<Self> {
        lease.blocks.iter().map(|block| Self { id: block.id, uses: block.uses }).collect()
    }
}

impl FileTaskEvent {
    /// Returns the id of the task.
    pub fn task(&self) -> &TaskName {
        match self {
            Self::Started { task } | Self::Ended { task } => task,
        }
    }
}

/// Event of the Agent Execution Core that an entry records. Contains the entire entry, because every column of its table row is
/// derived from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// Event of a step.
    Execution(Box<AgentExecution>),
    /// Decision of the access policies on a step.
    Access(Box<AgentAccessDecided>),
    /// Answer to a confirmation prompt.
    Confirmation(Box<AgentConfirmation>),
    /// Resolution of an escalated goal.
    IntakeResolved(Box<IntakeResolved>),
}

impl AgentEvent {
    /// Returns the id of the goal that the event belongs to.
    pub fn correlation(&self) -> &CorrelationId {
        match self {
            Self::Execution(entry) => &entry.correlation,
            Self::Access(entry) => &entry.correlation,
            Self::Confirmation(entry) => &entry.correlation,
            Self::IntakeResolved(entry) => &entry.correlation,
        }
    }

    /// Returns the tenant that the entry states.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Execution(entry) => &entry.tenant,
            Self::Access(entry) => &entry.tenant,
            Self::Confirmation(entry) => &entry.tenant,
            Self::IntakeResolved(entry) => &entry.tenant,
        }
    }
}
