//! Events of leases, file tasks and the agent core that an entry records.

use crate::agent::CorrelationId;
use crate::lease::{LeaseId, LeaseRecord, TaskName};
use crate::ledger::{
    AgentAccessDecided, AgentConfirmation, AgentExecution, IntakeResolved, TenantId,
};

/// Effect of an entry on a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseEvent {
    /// Grants it.
    Granted {
        /// Id of its first block.
        lease: LeaseId,
    },
    /// Revokes a block, and with it every lease that has the block.
    Revoked {
        /// Id of the block.
        lease: LeaseId,
    },
    /// Uses each of its blocks once.
    Used {
        /// Its blocks, the granted one first; one at least.
        blocks: Vec<LeaseUse>,
    },
    /// Starts a run of a file task, whose start used the lease already.
    UsedByTask {
        /// Its blocks, the granted one first; one at least.
        blocks: Vec<LeaseUse>,
    },
}

/// A block of a lease that an entry uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseUse {
    /// Id of the block.
    pub id: LeaseId,
    /// Most uses of it.
    pub uses: Option<u64>,
}

/// Effect of an entry on a file task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTaskEvent {
    /// Starts it.
    Started {
        /// Id of the task.
        task: TaskName,
    },
    /// Ends it. [`EntryFacts::follows`](super::EntryFacts::follows) is its start; none where it was refused before.
    Ended {
        /// Id of the task.
        task: TaskName,
    },
}

impl LeaseUse {
    /// The blocks of a lease.
    pub(super) fn new(lease: &LeaseRecord) -> Vec<Self> {
        lease.blocks.iter().map(|block| Self { id: block.id, uses: block.uses }).collect()
    }
}

impl FileTaskEvent {
    /// Id of the task.
    pub fn task(&self) -> &TaskName {
        match self {
            Self::Started { task } | Self::Ended { task } => task,
        }
    }
}

/// Event of the Agent Execution Core that an entry records: the entry itself, of which every column of its row follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// Event of a step.
    Execution(Box<AgentExecution>),
    /// Access decision on a step.
    Access(Box<AgentAccessDecided>),
    /// Answer to a confirmation prompt.
    Confirmation(Box<AgentConfirmation>),
    /// Resolution of an escalated goal.
    IntakeResolved(Box<IntakeResolved>),
}

impl AgentEvent {
    /// Goal that it is about.
    pub fn correlation(&self) -> &CorrelationId {
        match self {
            Self::Execution(entry) => &entry.correlation,
            Self::Access(entry) => &entry.correlation,
            Self::Confirmation(entry) => &entry.correlation,
            Self::IntakeResolved(entry) => &entry.correlation,
        }
    }

    /// Tenant that it names.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Execution(entry) => &entry.tenant,
            Self::Access(entry) => &entry.tenant,
            Self::Confirmation(entry) => &entry.tenant,
            Self::IntakeResolved(entry) => &entry.tenant,
        }
    }
}
