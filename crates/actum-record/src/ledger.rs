//! Entries of a ledger, and the facts that can be derived from the bytes of an entry.
//!
//! An entry is a document in canonical JSON. All indexed data about it is derived from these bytes ([`EntryFacts`]), so the
//! hash of the entry covers its index as well.

mod action;
mod agent;
mod alert;
mod attempt;
mod confidence;
mod document;
mod facts;
mod file_task;
mod forgotten;
mod lease;
mod plan;

pub use crate::name::{Actor, NameError, RequestKey, TenantId, WorkspaceId};
pub use crate::receipt::{Approval, Isolation, Publisher};
pub use action::{ActionCheck, ActionEnded, ActionStarted, ActionState, Agreed, CatalogChanged};
pub use agent::{
    AGENT_DURATION_US_MAX, AccessOutcome, AgentAccessDecided, AgentConfirmation, AgentDuration,
    AgentEventKind, AgentExecution, AgentRefs, AgentState, ConfirmationOutcome, IntakeResolved,
    SloWaived,
};
pub use alert::{AlertRaised, AlertSeen};
pub use attempt::Attempt;
pub use confidence::{Confidence, NoConfidence};
pub use document::{EffectStarted, KeyRotated, LogStarted, StartedKey};
pub use facts::{
    AgentEvent, EntryError, EntryFacts, EntryKind, FileTaskEvent, LeaseEvent, LeaseUse,
};
pub use file_task::{FILE_TASK_ROOTS_MAX, FileTaskEnded, FileTaskRoot, FileTaskStarted};
pub use forgotten::{HistoryForgotten, Retention};
pub use lease::{LeaseGranted, LeaseRevoked};
pub use plan::{Answer, Bound, Judged, JudgedPlan, PlanAnswered, PlanQueued, PlanRefused};
