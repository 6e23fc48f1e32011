//! Ledger entries about plans that the gates refused or queued for approval, and about the approvers' answers (AA-5).

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, RequestKey, TenantId, WorkspaceId};
use crate::lease::LeaseRecord;
use crate::receipt::{DecisionRecord, EntryRef, Isolation};

/// Plan that the gates judged but did not allow to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedPlan {
    /// Id of the plan, in the form of a run id. If the plan is carried out later, that run has a different id.
    pub id: RunId,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace that the plan would change.
    pub workspace: WorkspaceId,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: String,
    /// Run that the plan would undo.
    pub undoes: Option<RunId>,
    /// Key of the request, if the caller provided one.
    pub request: Option<RequestKey>,
    /// Actor that requested the plan.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Label that describes the purpose of the plan.
    pub label: String,
    /// Digests of the content that the gates judged.
    pub bound: Bound,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// Lease under which the plan was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseRecord>,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Digests that an approval is bound to. The approval is not valid if any of them differs when the plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Digest of the request.
    pub plan: Digest,
    /// Digest of the request's limits.
    pub limits: Digest,
    /// Digest of the change, which covers each file before and after.
    pub change: Digest,
    /// Digest of the policy in force.
    pub policy: Digest,
}

/// Digests of [`Bound`] that the entry of the run repeats when an approved plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// Digest of the request.
    pub plan: Digest,
    /// Digest of the change.
    pub change: Digest,
    /// Digest of the policy in force.
    pub policy: Digest,
}

impl Bound {
    /// Returns the digests that the run must repeat.
    pub fn judged(&self) -> Judged {
        let Self { plan, change, policy, .. } = *self;
        Judged { plan, change, policy }
    }
}

/// Entry that records that the gates refused a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRefused {
    /// Format of the entry, which is always [`PlanRefused::FORMAT`].
    pub format: String,
    /// Time at which the plan was requested.
    pub time: Timestamp,
    /// Plan that was refused.
    pub plan: JudgedPlan,
}

/// Entry that records that a plan was queued and waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanQueued {
    /// Format of the entry, which is always [`PlanQueued::FORMAT`].
    pub format: String,
    /// Time at which the plan was queued.
    pub time: Timestamp,
    /// Time until which the plan can be approved.
    pub expires: Timestamp,
    /// Plan that was queued.
    pub plan: JudgedPlan,
    /// Digest of the document with the request, which is stored outside of the ledger because it contains the content of files.
    pub input: Digest,
    /// Most recent queued plan that has the same request key or label as this plan, or the same content.
    pub earlier: Option<RunId>,
}

/// Answer of an approver to a queued plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The plan may be carried out once.
    Approved,
    /// The plan must not be carried out.
    Denied,
    /// The approval was withdrawn, so the plan may no longer be carried out.
    Revoked,
}

/// Entry that records an approver's answer to a queued plan. It is the payload of an envelope signed by an approval key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswered {
    /// Format of the entry, which is always [`PlanAnswered::FORMAT`].
    pub format: String,
    /// Time of the answer.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace of the plan.
    pub workspace: WorkspaceId,
    /// Id of the plan.
    pub plan: RunId,
    /// Ledger entry that queued the plan.
    pub queued: EntryRef,
    /// Answer of the approver.
    pub answer: Answer,
    /// Reason given by the approver.
    pub reason: Option<String>,
    /// Digests that the approval is bound to.
    pub bound: Bound,
    /// Time until which the plan may be carried out.
    pub expires: Timestamp,
    /// User who answered the plan.
    pub by: Actor,
    /// Protection of the approval key that signed the answer.
    pub isolation: Isolation,
}

impl Answer {
    /// All possible answers.
    pub const ALL: [Self; 3] = [Self::Approved, Self::Denied, Self::Revoked];

    /// Returns the permanent name used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
        }
    }
}

impl PlanRefused {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.plan-refused/1";
}

impl PlanQueued {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.plan-queued/1";
}

impl PlanAnswered {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.plan-answered/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.plan-answered+json";
}
