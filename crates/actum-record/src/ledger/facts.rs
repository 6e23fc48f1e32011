//! Facts that follow from the bytes of an entry alone.

mod agent;
mod event;
mod quick;

use actum_core::{Digest, RunId, Status, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::{
    ActionEnded, ActionStarted, AgentAccessDecided, AgentConfirmation, AgentExecution, Agreed,
    AlertRaised, AlertSeen, Answer, CatalogChanged, EffectStarted, FILE_TASK_ROOTS_MAX,
    FileTaskEnded, FileTaskStarted, HistoryForgotten, IntakeResolved, Judged, JudgedPlan,
    KeyRotated, LeaseGranted, LeaseRevoked, LogStarted, PlanAnswered, PlanQueued, PlanRefused,
    RequestKey, SloWaived, TenantId, WorkspaceId,
};
use crate::lease::{LEASE_BLOCKS_MAX, LeaseRecord};
use crate::receipt::{EntryRef, PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE};
pub use event::{AgentEvent, FileTaskEvent, LeaseEvent, LeaseUse};

/// Kind of an entry. The set is closed; later versions of the format add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// The log began: the first entry, and no other.
    LogStarted,
    /// A key took the place of another.
    KeyRotated,
    /// A run is about to have effects.
    EffectStarted,
    /// A run has ended; the entry is its receipt.
    EffectDone,
    /// Gates refused a plan.
    PlanRefused,
    /// A plan waits for an approver.
    PlanQueued,
    /// An approver answered a plan.
    PlanAnswered,
    /// An action that an approver had to agree to begins.
    ActionStarted,
    /// An action has ended.
    ActionEnded,
    /// A user changed the catalog of actions.
    CatalogChanged,
    /// An event needs the attention of an operator.
    AlertRaised,
    /// An operator looked at an alert.
    AlertSeen,
    /// A collection removed the history of runs.
    HistoryForgotten,
    /// A lease was granted.
    LeaseGranted,
    /// A lease, or a block that a holder appended to one, was revoked.
    LeaseRevoked,
    /// A file task is about to change files.
    FileTaskStarted,
    /// A file task has ended; the entry is its result.
    FileTaskEnded,
    /// Event of a step of the agent core.
    AgentExecution,
    /// Access decision on a step of the agent core.
    AgentAccessDecided,
    /// Answer to a confirmation prompt of the agent core.
    AgentConfirmation,
    /// An escalated goal of the agent core was resolved.
    IntakeResolved,
    /// The SLO gate of the agent core was waived until a time.
    SloWaived,
}

/// Index of an entry, kept beside it for searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFacts {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Time of the entry.
    pub time: Timestamp,
    /// The run it is about; of an action that has ended the one that changed files.
    pub run: Option<RunId>,
    /// The plan in the queue that it is about, or that lets the run or the action go.
    pub plan: Option<RunId>,
    /// Judgement on that plan.
    pub judged: Option<Judged>,
    /// The workspace of run or plan.
    pub workspace: Option<WorkspaceId>,
    /// Run that the run or the queued plan undoes.
    pub undoes: Option<RunId>,
    /// The key of the request that it begins, and which attempt at it this is.
    pub request: Option<(RequestKey, u32)>,
    /// Outcome of the run or the action.
    pub status: Option<Status>,
    /// Answer to the plan.
    pub answer: Option<Answer>,
    /// Entry that this one names as its predecessor, with its place and its hash as a leaf. A receipt names the
    /// beginning of its run, an answer the plan in the queue, and the beginning of a run or an action its approval.
    /// A change of the catalog names the one before, an alert that was seen the alert, and the end of a file task
    /// its start.
    pub follows: Option<(u64, Digest)>,
    /// Event of a lease.
    pub lease: Option<LeaseEvent>,
    /// Event of a file task.
    pub file_task: Option<FileTaskEvent>,
    /// Event of the agent core.
    pub agent: Option<AgentEvent>,
    /// Tenant of the log that begins with it.
    pub tenant: Option<TenantId>,
    /// The documents in the ledger that it names.
    pub blobs: Vec<Digest>,
}

/// Bytes that are no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no {kind} entry: {message}")]
pub struct EntryError {
    /// Kind of document that was expected.
    pub kind: &'static str,
    /// Problem.
    pub message: String,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::LogStarted,
        Self::KeyRotated,
        Self::EffectStarted,
        Self::EffectDone,
        Self::PlanRefused,
        Self::PlanQueued,
        Self::PlanAnswered,
        Self::ActionStarted,
        Self::ActionEnded,
        Self::CatalogChanged,
        Self::AlertRaised,
        Self::AlertSeen,
        Self::HistoryForgotten,
        Self::LeaseGranted,
        Self::LeaseRevoked,
        Self::FileTaskStarted,
        Self::FileTaskEnded,
        Self::AgentExecution,
        Self::AgentAccessDecided,
        Self::AgentConfirmation,
        Self::IntakeResolved,
        Self::SloWaived,
    ];

    /// The permanent name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LogStarted => "LOG_STARTED",
            Self::KeyRotated => "KEY_ROTATED",
            Self::EffectStarted => "EFFECT_STARTED",
            Self::EffectDone => "EFFECT_DONE",
            Self::PlanRefused => "PLAN_REFUSED",
            Self::PlanQueued => "PLAN_QUEUED",
            Self::PlanAnswered => "PLAN_ANSWERED",
            Self::ActionStarted => "ACTION_STARTED",
            Self::ActionEnded => "ACTION_ENDED",
            Self::CatalogChanged => "CATALOG_CHANGED",
            Self::AlertRaised => "ALERT_RAISED",
            Self::AlertSeen => "ALERT_SEEN",
            Self::HistoryForgotten => "HISTORY_FORGOTTEN",
            Self::LeaseGranted => "LEASE_GRANTED",
            Self::LeaseRevoked => "LEASE_REVOKED",
            Self::FileTaskStarted => "FILE_TASK_STARTED",
            Self::FileTaskEnded => "FILE_TASK_ENDED",
            Self::AgentExecution => "AGENT_EXECUTION",
            Self::AgentAccessDecided => "AGENT_ACCESS_DECIDED",
            Self::AgentConfirmation => "AGENT_CONFIRMATION",
            Self::IntakeResolved => "INTAKE_RESOLVED",
            Self::SloWaived => "SLO_WAIVED",
        }
    }

    /// The kind of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The part of an envelope that is looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'b> {
    #[serde(borrow)]
    payload: &'b str,
    #[serde(borrow)]
    payload_type: &'b str,
}

/// The part of a receipt that is looked at.
#[derive(Deserialize)]
struct Receipt {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Predicate,
}

/// The `door` of the runs of a file task.
const FILE_TASK_DOOR: &str = "file task";

/// The documents that a judged plan names.
fn documents(plan: &JudgedPlan) -> Vec<Digest> {
    let lease = plan.lease.as_ref().map(|lease| lease.document);
    [plan.decision.bundle, plan.bound.policy].into_iter().chain(lease).collect()
}

#[derive(Deserialize)]
struct Predicate {
    run: RunId,
    workspace: WorkspaceId,
    status: Status,
    settled: Timestamp,
    intent: EntryRef,
}

impl EntryFacts {
    /// Facts with a kind and a time alone.
    fn nothing(kind: EntryKind, time: Timestamp) -> Self {
        Self {
            kind,
            time,
            run: None,
            plan: None,
            judged: None,
            workspace: None,
            undoes: None,
            request: None,
            status: None,
            answer: None,
            follows: None,
            lease: None,
            file_task: None,
            agent: None,
            tenant: None,
            blobs: Vec::new(),
        }
    }

    /// Reads the facts from the bytes of an entry of this kind.
    ///
    /// # Errors
    /// [`EntryError`] where they are no such entry.
    pub fn parse(kind: EntryKind, body: &[u8]) -> Result<Self, EntryError> {
        match quick::of(kind, body) {
            Some(facts) => Ok(facts),
            None => Self::at_length(kind, body),
        }
    }

    /// Reads the facts of any entry, or describes its problem.
    fn at_length(kind: EntryKind, body: &[u8]) -> Result<Self, EntryError> {
        let wrong = |message: String| EntryError { kind: kind.as_str(), message };
        let json = |error: serde_json::Error| wrong(error.to_string());
        let format = |found: &str, wanted: &str| match found == wanted {
            true => Ok(()),
            false => Err(wrong(format!("its format is `{found}` and not `{wanted}`"))),
        };
        let nothing = |time| Self::nothing(kind, time);
        let payload = |wanted: &str| {
            let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(json)?;
            format(envelope.payload_type, wanted)?;
            STANDARD.decode(envelope.payload).map_err(|error| wrong(error.to_string()))
        };
        let agent = |time, found: agent::Found| {
            let (event, blobs) = found.map_err(wrong)?;
            Ok(Self { agent: Some(event), blobs, ..nothing(time) })
        };
        let blocks = |lease: &LeaseRecord| match lease.blocks.len() {
            1..=LEASE_BLOCKS_MAX => Ok(LeaseUse::new(lease)),
            count => Err(wrong(format!(
                "its lease has {count} blocks, and a lease has 1 to {LEASE_BLOCKS_MAX}"
            ))),
        };
        match kind {
            EntryKind::LogStarted => {
                let entry: LogStarted = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, LogStarted::FORMAT)?;
                Ok(Self { tenant: Some(entry.tenant), ..nothing(entry.time) })
            }
            EntryKind::KeyRotated => {
                let payload = payload(KeyRotated::PAYLOAD_TYPE)?;
                let entry: KeyRotated = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, KeyRotated::FORMAT)?;
                Ok(nothing(entry.time))
            }
            EntryKind::EffectStarted => {
                let entry: EffectStarted = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, EffectStarted::FORMAT)?;
                let approval = entry.approval.as_ref();
                let EffectStarted { plan, change, policy, .. } = entry;
                let lease = entry.lease.as_ref();
                let document = lease.map(|lease| lease.document);
                let used = lease.map(blocks).transpose()?.map(|blocks| match &*entry.door {
                    FILE_TASK_DOOR => LeaseEvent::UsedByTask { blocks },
                    _ => LeaseEvent::Used { blocks },
                });
                Ok(Self {
                    run: Some(entry.run),
                    plan: approval.map(|approval| approval.plan),
                    judged: approval.map(|_| Judged { plan, change, policy }),
                    workspace: Some(entry.workspace),
                    undoes: entry.undoes,
                    request: entry.request.map(|request| (request, entry.attempt)),
                    follows: approval.map(|approval| (approval.entry.index, approval.entry.leaf)),
                    lease: used,
                    blobs: [entry.decision.bundle, policy].into_iter().chain(document).collect(),
                    ..nothing(entry.time)
                })
            }
            EntryKind::PlanRefused => {
                let PlanRefused { format: found, time, plan } =
                    serde_json::from_slice(body).map_err(json)?;
                format(&found, PlanRefused::FORMAT)?;
                Ok(Self {
                    workspace: Some(plan.workspace),
                    blobs: documents(&plan),
                    ..nothing(time)
                })
            }
            EntryKind::PlanQueued => {
                let PlanQueued { format: found, time, plan, .. } =
                    serde_json::from_slice(body).map_err(json)?;
                format(&found, PlanQueued::FORMAT)?;
                Ok(Self {
                    plan: Some(plan.id),
                    judged: Some(plan.bound.judged()),
                    workspace: Some(plan.workspace),
                    undoes: plan.undoes,
                    blobs: documents(&plan),
                    ..nothing(time)
                })
            }
            EntryKind::PlanAnswered => {
                let payload = payload(PlanAnswered::PAYLOAD_TYPE)?;
                let entry: PlanAnswered = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, PlanAnswered::FORMAT)?;
                let PlanAnswered { time, plan, workspace, queued, answer, bound, .. } = entry;
                Ok(Self {
                    plan: Some(plan),
                    judged: Some(bound.judged()),
                    workspace: Some(workspace),
                    answer: Some(answer),
                    follows: Some((queued.index, queued.leaf)),
                    ..nothing(time)
                })
            }
            EntryKind::ActionStarted => {
                let entry: ActionStarted = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, ActionStarted::FORMAT)?;
                let ActionStarted { time, workspace, agreed, .. } = entry;
                let begun = Self { workspace: Some(workspace), ..nothing(time) };
                Ok(match agreed {
                    None => begun,
                    Some(Agreed { bound, approval }) => Self {
                        plan: Some(approval.plan),
                        judged: Some(bound.judged()),
                        follows: Some((approval.entry.index, approval.entry.leaf)),
                        blobs: vec![bound.policy],
                        ..begun
                    },
                })
            }
            EntryKind::ActionEnded => {
                let entry: ActionEnded = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, ActionEnded::FORMAT)?;
                let ActionEnded { time, workspace, run, status, .. } = entry;
                let (workspace, status) = (Some(workspace), Some(status));
                Ok(Self { run, workspace, status, ..nothing(time) })
            }
            EntryKind::CatalogChanged => {
                let payload = payload(CatalogChanged::PAYLOAD_TYPE)?;
                let entry: CatalogChanged = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, CatalogChanged::FORMAT)?;
                let CatalogChanged { time, follows, snapshot, .. } = entry;
                let follows = Some((follows.index, follows.leaf));
                Ok(Self { follows, blobs: vec![snapshot], ..nothing(time) })
            }
            EntryKind::AlertRaised => {
                let entry: AlertRaised = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, AlertRaised::FORMAT)?;
                Ok(Self { workspace: entry.workspace, ..nothing(entry.time) })
            }
            EntryKind::AlertSeen => {
                let entry: AlertSeen = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, AlertSeen::FORMAT)?;
                let AlertSeen { time, workspace, alert, .. } = entry;
                let follows = Some((alert.index, alert.leaf));
                Ok(Self { workspace, follows, ..nothing(time) })
            }
            EntryKind::HistoryForgotten => {
                let payload = payload(HistoryForgotten::PAYLOAD_TYPE)?;
                let entry: HistoryForgotten = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, HistoryForgotten::FORMAT)?;
                Ok(Self { workspace: Some(entry.workspace), ..nothing(entry.time) })
            }
            EntryKind::LeaseGranted => {
                let payload = payload(LeaseGranted::PAYLOAD_TYPE)?;
                let entry: LeaseGranted = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, LeaseGranted::FORMAT)?;
                let lease = Some(LeaseEvent::Granted { lease: entry.lease });
                Ok(Self { lease, blobs: vec![entry.document], ..nothing(entry.time) })
            }
            EntryKind::LeaseRevoked => {
                let payload = payload(LeaseRevoked::PAYLOAD_TYPE)?;
                let entry: LeaseRevoked = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, LeaseRevoked::FORMAT)?;
                let lease = Some(LeaseEvent::Revoked { lease: entry.lease });
                Ok(Self { lease, ..nothing(entry.time) })
            }
            EntryKind::FileTaskStarted => {
                let entry: FileTaskStarted = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, FileTaskStarted::FORMAT)?;
                let FileTaskStarted { time, task, lease, roots, .. } = entry;
                if !(1..=FILE_TASK_ROOTS_MAX).contains(&roots.len()) {
                    let found = roots.len();
                    let message = format!(
                        "it has {found} base directories, and a file task has 1 to {FILE_TASK_ROOTS_MAX}"
                    );
                    return Err(wrong(message));
                }
                Ok(Self {
                    lease: Some(LeaseEvent::Used { blocks: blocks(&lease)? }),
                    file_task: Some(FileTaskEvent::Started { task }),
                    blobs: vec![lease.document],
                    ..nothing(time)
                })
            }
            EntryKind::FileTaskEnded => {
                let payload = payload(FileTaskEnded::PAYLOAD_TYPE)?;
                let entry: FileTaskEnded = serde_json::from_slice(&payload).map_err(json)?;
                let FileTaskEnded { time, task_id, started } = entry;
                let follows = started.map(|started| (started.index, started.leaf));
                if task_id.is_none() && follows.is_some() {
                    return Err(wrong("it names a start, and no task".to_owned()));
                }
                let file_task = task_id.map(|task| FileTaskEvent::Ended { task });
                Ok(Self { follows, file_task, ..nothing(time) })
            }
            EntryKind::AgentExecution => {
                let entry: AgentExecution = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, AgentExecution::FORMAT)?;
                agent(entry.time, agent::execution(entry))
            }
            EntryKind::AgentAccessDecided => {
                let entry: AgentAccessDecided = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, AgentAccessDecided::FORMAT)?;
                agent(entry.time, agent::access(entry))
            }
            EntryKind::AgentConfirmation => {
                let entry: AgentConfirmation = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, AgentConfirmation::FORMAT)?;
                agent(entry.time, agent::confirmation(entry))
            }
            EntryKind::IntakeResolved => {
                let entry: IntakeResolved = serde_json::from_slice(body).map_err(json)?;
                format(&entry.format, IntakeResolved::FORMAT)?;
                agent(entry.time, agent::intake_resolved(entry))
            }
            EntryKind::SloWaived => {
                let payload = payload(SloWaived::PAYLOAD_TYPE)?;
                let entry: SloWaived = serde_json::from_slice(&payload).map_err(json)?;
                format(&entry.format, SloWaived::FORMAT)?;
                Ok(nothing(entry.time))
            }
            EntryKind::EffectDone => {
                let payload = payload(PAYLOAD_TYPE)?;
                let receipt: Receipt = serde_json::from_slice(&payload).map_err(json)?;
                format(&receipt.kind, STATEMENT_TYPE)?;
                format(&receipt.predicate_type, PREDICATE_TYPE)?;
                let Predicate { run, workspace, status, settled, intent } = receipt.predicate;
                Ok(Self {
                    run: Some(run),
                    workspace: Some(workspace),
                    status: Some(status),
                    follows: Some((intent.index, intent.leaf)),
                    ..nothing(settled)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests;
