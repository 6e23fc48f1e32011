//! Documents about the queue: pending plans, alerts, and the answers of approvers.

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
    /// Pending and approved plans, oldest first.
    pub plans: Vec<QueuedPlan>,
    /// Pending alerts, oldest first.
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
    /// Reason why the plan needs approval, as a sentence.
    pub why: String,
    /// Label of the request.
    pub label: String,
    /// Actor that made the request.
    pub actor: Actor,
    /// Workspace root at the time the plan was queued. For a single plan that is still open, the current root.
    pub root: String,
    /// Time at which the plan was queued.
    #[schemars(with = "value::Time")]
    pub queued: Timestamp,
    /// Time until which the plan can be approved or, once approved, carried out.
    #[schemars(with = "value::Time")]
    pub expires: Timestamp,
}

/// State of a plan in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// The plan is pending, because no approver has answered yet.
    Waiting,
    /// The plan was approved but has not been carried out yet.
    Approved,
    /// An approver denied the plan.
    Denied,
    /// The plan was approved, but the approval was revoked before the plan was carried out.
    Revoked,
    /// The plan was carried out, or its execution has started.
    CarriedOut,
    /// The plan was not answered or not carried out in time.
    Expired,
    /// The plan was answered, but the answer was not signed by a valid key.
    Unproven,
}

/// Alert that needs an operator's attention. Alerts of the same kind are combined into one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// Number of the first alert of this kind, which is the index of its ledger entry, counted from 0.
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
    /// Error code of a task plan. Absent if the alert was not raised by a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// Permanent reason code.
    pub name: String,
    /// Alert message as a sentence. For several alerts, the message of the first one.
    pub message: String,
    /// All messages if they differ. Absent if they are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<AlertMessage>,
    /// Number of further errors that the alert also covers.
    pub more: u64,
    /// Label of the request.
    pub label: String,
    /// Actor that made the request, or `null` if unknown.
    pub actor: Option<Actor>,
    /// Workspace root. Absent if the alert is not about a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Id of the run. Absent if the alert is not about a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Directory of the task's reports, relative to the workspace root. Absent if the alert was not raised by a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<String>,
}

/// Message that some of the combined alerts share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertMessage {
    /// Alert message as a sentence.
    pub message: String,
    /// Numbers of the alerts with this message.
    pub alerts: Vec<u64>,
}

/// Change to the queue, as printed by `actum queue --watch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum QueueEvent {
    /// A plan was added, or its state changed.
    Waits(QueuedPlan),
    /// A plan is no longer in the queue, because it was answered, carried out or has expired.
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
    /// Alerts that are no longer pending.
    pub alerts: Vec<Alert>,
}

/// Result of `actum deny --all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Denied {
    /// Ids of the denied plans.
    #[schemars(with = "Vec<value::RunId>")]
    pub plans: Vec<RunId>,
}

/// Single plan. Result of `actum queue PLAN` and of the commands that answer a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Summary of the plan, as listed in the queue.
    #[serde(flatten)]
    pub line: QueuedPlan,
    /// Digest of the request. An approval is bound to it.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Entry point that received the request.
    pub door: String,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Signed answer of an approver. Absent if the plan was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<PlanAnswer>,
    /// Effects on paths as evaluated by the gates, in the same form as in a receipt.
    #[schemars(with = "Vec<record::PathEffect>")]
    pub changes: Vec<PathEffect>,
    /// Earlier version of the plan. Absent if this is the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierPlan>,
    /// Differences between the queued plan and the current effect of the request, as sentences. If there are any, the plan is
    /// stale. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Parts of the request that an approver agrees to. Absent if the plan is no longer open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Diffs of the change in the current workspace. Absent if the plan is no longer open or the diffs cannot be computed.
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
    /// Reason given by the approver, or `null` if none was given.
    pub reason: Option<String>,
    /// Differences from the earlier plan, as sentences.
    pub differs: Vec<String>,
}

/// Parts of a request that an approver agrees to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Commands that produced the change, or that will run once it is approved. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<AskedCommand>,
    /// Commands that check the change. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Command that runs if a check fails. Absent if no repair is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    /// Working directory of the checks, relative to the workspace root. Absent if it is the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_start_in: Option<String>,
    /// Additional environment variables of the checks, each as `NAME=value`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks_environment: Vec<String>,
    /// Non-default limits of the checks, each as `NAME=AMOUNT`, with times in milliseconds. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks_limits: Vec<String>,
    /// Plan envelope of an action, in the format of `schemas/action-plan.schema.json`. Absent for other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Value>,
    /// Digest of the package that carries out the action. Absent for other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub package: Option<Digest>,
    /// Settings of a task. Absent for other requests.
    #[serde(flatten)]
    pub settings: TaskSettings,
}

/// Command that is part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedCommand {
    /// Command line as it would be typed in a shell.
    pub command: String,
    /// Whether the command has already run. If so, the change consists of its effects.
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
