//! Facts about an entry that are derived from its bytes, which the ledger indexes for searches.

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

/// Kind of a ledger entry. The set is closed, and only later versions of the format can add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// The log was started. Only the first entry of a log has this kind.
    LogStarted,
    /// A key was replaced by a new one.
    KeyRotated,
    /// A run is about to have effects.
    EffectStarted,
    /// A run has ended. The entry is its receipt.
    EffectDone,
    /// The gates refused a plan.
    PlanRefused,
    /// A plan was queued and waits for approval.
    PlanQueued,
    /// An approver answered a plan.
    PlanAnswered,
    /// An action has started.
    ActionStarted,
    /// An action has ended.
    ActionEnded,
    /// A user changed the catalog of actions.
    CatalogChanged,
    /// An alert was raised, because an event needs the attention of an operator.
    AlertRaised,
    /// An operator marked an alert as seen.
    AlertSeen,
    /// Garbage collection removed the history of runs.
    HistoryForgotten,
    /// A lease was granted.
    LeaseGranted,
    /// A lease, or a block that a holder appended to a lease, was revoked.
    LeaseRevoked,
    /// A file task is about to change files.
    FileTaskStarted,
    /// A file task has ended. The entry is its result.
    FileTaskEnded,
    /// An event happened to a step of the agent core.
    AgentExecution,
    /// The access policies decided on a step of the agent core.
    AgentAccessDecided,
    /// A user answered a confirmation prompt of the agent core.
    AgentConfirmation,
    /// An escalated goal of the agent core was resolved.
    IntakeResolved,
    /// The SLO gate of the agent core was suspended until a given time.
    SloWaived,
}

/// Facts about an entry, stored in an index so that the entry can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFacts {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Time of the entry.
    pub time: Timestamp,
    /// Run that the entry is about. For the end of an action, this is the run that changed files.
    pub run: Option<RunId>,
    /// Queued plan that the entry is about, or whose approval allowed the run or action to proceed.
    pub plan: Option<RunId>,
    /// Digests of the judged plan, which the run that carries it out must repeat.
    pub judged: Option<Judged>,
    /// Workspace of the run, action or plan.
    pub workspace: Option<WorkspaceId>,
    /// Run that is undone by the run or the queued plan.
    pub undoes: Option<RunId>,
    /// Key of the request that the run carries out, and the number of the attempt.
    pub request: Option<(RequestKey, u32)>,
    /// Outcome of the run or action.
    pub status: Option<Status>,
    /// Answer of the approver to the plan.
    pub answer: Option<Answer>,
    /// Entry that this entry refers to as its predecessor, as index and leaf hash. A receipt refers to the start of its run, an
    /// answer to the queued plan, and the start of a run or action to its approval. A catalog change refers to the previous
    /// change, an `ALERT_SEEN` entry to the alert, and the end of a file task to its start.
    pub follows: Option<(u64, Digest)>,
    /// Effect of the entry on a lease.
    pub lease: Option<LeaseEvent>,
    /// Effect of the entry on a file task.
    pub file_task: Option<FileTaskEvent>,
    /// Event of the agent core that the entry records.
    pub agent: Option<AgentEvent>,
    /// Tenant of the log, if the entry starts a log.
    pub tenant: Option<TenantId>,
    /// Digests of the ledger documents that the entry refers to.
    pub blobs: Vec<Digest>,
}

/// Error for bytes that are not a valid entry of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {kind} entry: {message}")]
pub struct EntryError {
    /// Name of the expected kind of entry.
    pub kind: &'static str,
    /// Description of the problem.
    pub message: String,
}

impl EntryKind {
    /// All kinds of entries.
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

    /// Returns the permanent name of the kind.
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

    /// Returns the kind with this permanent name, or `None` if the name is unknown.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Fields of an envelope that are needed for its facts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'b> {
    #[serde(borrow)]
    payload: &'b str,
    #[serde(borrow)]
    payload_type: &'b str,
}

/// Fields of a receipt that are needed for its facts.
#[derive(Deserialize)]
struct Receipt {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Predicate,
}

/// Value of the `door` field in runs of a file task.
const FILE_TASK_DOOR: &str = "file task";

/// Returns the digests of the ledger documents that a judged plan refers to.
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
    /// Returns facts that contain only a kind and a time.
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

    /// Derives the facts from the bytes of an entry of the given kind.
    ///
    /// # Errors
    /// Returns [`EntryError`] if the bytes are not a valid entry of this kind.
    pub fn parse(kind: EntryKind, body: &[u8]) -> Result<Self, EntryError> {
        match quick::parse(kind, body) {
            Some(facts) => Ok(facts),
            None => Self::at_length(kind, body),
        }
    }

    /// Derives the facts of any entry by deserializing it completely. Used for entries that the fast path does not support.
    fn at_length(kind: EntryKind, body: &[u8]) -> Result<Self, EntryError> {
        let wrong = |message: String| EntryError { kind: kind.as_str(), message };
        let json = |error: serde_json::Error| wrong(error.to_string());
        let format = |found: &str, wanted: &str| match found == wanted {
            true => Ok(()),
            false => Err(wrong(format!("expected the format `{wanted}`, found `{found}`"))),
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
                "a lease must have 1 to {LEASE_BLOCKS_MAX} blocks, but this one has {count}"
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
                        "a file task must have 1 to {FILE_TASK_ROOTS_MAX} base directories, but this one has {found}"
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
                    return Err(wrong("`started` is set, but `task_id` is null".to_owned()));
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
