//! The queue: plans that wait, alerts, and the answers of approvers.

use actum_core::{Digest, RiskTier, RunId, Timestamp};
use actum_record::receipt::PathEffect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::Diffs;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::record::{self, Actor, PlanAnswer};
use crate::task::TaskSettings;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<Queue>(),
    DocumentType::new::<QueueEvent>(),
    DocumentType::new::<AlertsSeen>(),
    DocumentType::new::<Denied>(),
    DocumentType::new::<Plan>(),
];

/// Result of `actum queue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Plans that wait or are approved, the oldest first.
    pub plans: Vec<QueuedPlan>,
    /// Pending alerts, the oldest first.
    pub alerts: Vec<Alert>,
}

/// Plan in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedPlan {
    /// Id of the plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// State of the plan.
    pub state: PlanState,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Reason why it needs approval, as a sentence.
    pub why: String,
    /// Label of the request.
    pub label: String,
    /// Requester.
    pub actor: Actor,
    /// Root of the workspace when the plan was queued; of a single plan that is still open, its root now.
    pub root: String,
    /// Time at which the plan was queued.
    #[schemars(with = "value::Time")]
    pub queued: Timestamp,
    /// Time until which it can be approved or, once approved, carried out.
    #[schemars(with = "value::Time")]
    pub expires: Timestamp,
}

/// State of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// Pending: no approver has answered.
    Waiting,
    /// Approved, and not carried out yet.
    Approved,
    /// Denied by an approver.
    Denied,
    /// Approved, and revoked before it was carried out.
    Revoked,
    /// Carried out, or begun.
    CarriedOut,
    /// Not answered or not carried out in time.
    Expired,
    /// Answered, but no key that counts signed the answer.
    Unproven,
}

/// Alert that an operator should look at, or several of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// Number of the alert: its entry in the ledger, counted from 0.
    pub alert: u64,
    /// Time of the first alert of this kind.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Number of the last alert of this kind.
    pub last_alert: u64,
    /// Number of alerts of this kind.
    pub count: u64,
    /// Time of the last alert of this kind.
    #[schemars(with = "value::Time")]
    pub last: Timestamp,
    /// Code of task plans. Absent for alerts that no task raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// Permanent name of the reason.
    pub name: String,
    /// The alert as a sentence; of several alerts the first one.
    pub message: String,
    /// All messages, where they differ, else absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<AlertMessage>,
    /// Number of further errors that the alert stands for.
    pub more: u64,
    /// Label of the request.
    pub label: String,
    /// Requester; `null` where none is known.
    pub actor: Option<Actor>,
    /// Root of the workspace. Absent for alerts about no workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The run. Absent for alerts about no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Directory of the task's reports, relative to the root. Absent for alerts that no task raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<String>,
}

/// Message of some alerts of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertMessage {
    /// The message.
    pub message: String,
    /// Numbers of the alerts with this message.
    pub alerts: Vec<u64>,
}

/// Change of the queue, as `actum queue --watch` writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum QueueEvent {
    /// A plan is new or changed its state.
    Waits(QueuedPlan),
    /// A plan waits no longer: it was answered, carried out, or has expired.
    Gone {
        /// Id of the plan.
        #[schemars(with = "value::RunId")]
        plan: RunId,
    },
    /// An alert was raised.
    Alert(Alert),
    /// An alert was marked as seen.
    Seen {
        /// Number of the alert.
        alert: u64,
    },
}

/// Result of `actum queue --seen`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertsSeen {
    /// Alerts that are pending no longer.
    pub alerts: Vec<Alert>,
}

/// Result of `actum deny --all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Denied {
    /// Ids of the plans that were denied.
    #[schemars(with = "Vec<value::RunId>")]
    pub plans: Vec<RunId>,
}

/// One plan: result of `actum queue PLAN`, and of commands that answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The plan as the queue lists it.
    #[serde(flatten)]
    pub line: QueuedPlan,
    /// Digest of the request, to which an approval is bound.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Entry point that received the request.
    pub door: String,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Signed answer of an approver. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<PlanAnswer>,
    /// Effects on paths as the gates judged them, in the form of a receipt.
    #[schemars(with = "Vec<record::PathEffect>")]
    pub changes: Vec<PathEffect>,
    /// Earlier version of the plan. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierPlan>,
    /// Differences between the queued plan and what the request would do now, as sentences: the plan is stale. Absent if
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Parts of the request that an approver agrees to. Absent where the plan is no longer open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Diffs of the change as it would be made now. Absent where the plan is no longer open, and where the diff cannot be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Diffs>,
}

/// Earlier version of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierPlan {
    /// Id of the earlier plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// State of the earlier plan.
    pub state: PlanState,
    /// Reason that the approver gave, or `null`.
    pub reason: Option<String>,
    /// Differences to the earlier plan, as sentences.
    pub differs: Vec<String>,
}

/// Parts of a request that an approver agrees to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Commands that ran for the change, or run once it is approved. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<AskedCommand>,
    /// Commands that check the change. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Command that runs where a check fails. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    /// Directory in which checks start, relative to the root. Absent where it is the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_start_in: Option<String>,
    /// Environment of checks beyond the usual one, each as `NAME=value`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks_environment: Vec<String>,
    /// Limits of checks that differ from the usual ones, each as `NAME=AMOUNT`; times in milliseconds. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks_limits: Vec<String>,
    /// Plan envelope of an action, in the form of `schemas/action-plan.schema.json`. Absent for other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Value>,
    /// Digest of the package that carries the action out. Absent for other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub package: Option<Digest>,
    /// Settings of a task. Absent for other requests.
    #[serde(flatten)]
    pub settings: TaskSettings,
}

/// Command of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedCommand {
    /// The command as it would be typed.
    pub command: String,
    /// True if it ran already: its effects are the change.
    pub has_run: bool,
}

impl Document for Queue {
    const FORMAT: &'static str = "actum.queue/1";
}

impl Document for QueueEvent {
    const FORMAT: &'static str = "actum.queue-event/1";
}

impl Document for AlertsSeen {
    const FORMAT: &'static str = "actum.alerts-seen/1";
}

impl Document for Denied {
    const FORMAT: &'static str = "actum.denied/1";
}

impl Document for Plan {
    const FORMAT: &'static str = "actum.plan/1";
}
