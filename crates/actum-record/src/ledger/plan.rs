//! Plans that the gates did not let run by themselves, and the answers of approvers (AA-5).

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, RequestKey, TenantId, WorkspaceId};
use crate::lease::LeaseRecord;
use crate::receipt::{DecisionRecord, EntryRef, Isolation};

/// A plan that was judged and not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedPlan {
    /// Its name: the run that it would have been. Where it is carried out later, that is another run.
    pub id: RunId,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// For which workspace.
    pub workspace: WorkspaceId,
    /// Path of that workspace, escaped where the bytes are no UTF-8.
    pub root: String,
    /// Run that it would undo.
    pub undoes: Option<RunId>,
    /// The key of the request, where the caller gave one.
    pub request: Option<RequestKey>,
    /// Actor that requested it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Purpose, in the words of the requester.
    pub label: String,
    /// Content that was judged.
    pub bound: Bound,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// Lease that it was judged under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseRecord>,
    /// The program.
    pub engine: String,
}

/// Content that an approval is bound to: where any of it differs, the approval does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The digest of what was asked for.
    pub plan: Digest,
    /// The digest of the limits that were set with it.
    pub limits: Digest,
    /// The digest of what would change: of each file as it is and as it would be.
    pub change: Digest,
    /// The digest of the policy that is in force.
    pub policy: Digest,
}

/// The part of it that the entry of the run repeats, which is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// The digest of what was asked for.
    pub plan: Digest,
    /// The digest of what would change.
    pub change: Digest,
    /// The digest of the policy that is in force.
    pub policy: Digest,
}

impl Bound {
    /// Returns the judgement that the run has to repeat.
    pub fn judged(&self) -> Judged {
        let Self { plan, change, policy, .. } = *self;
        Judged { plan, change, policy }
    }
}

/// Gates refused a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRefused {
    /// [`PlanRefused::FORMAT`].
    pub format: String,
    /// Time of the request.
    pub time: Timestamp,
    /// The plan.
    pub plan: JudgedPlan,
}

/// Plan that waits for an approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanQueued {
    /// [`PlanQueued::FORMAT`].
    pub format: String,
    /// Time of the entry.
    pub time: Timestamp,
    /// Until when it can be approved.
    pub expires: Timestamp,
    /// The plan.
    pub plan: JudgedPlan,
    /// The digest of the request as a document. That is kept beside the ledger, since it holds contents
    /// of files.
    pub input: Digest,
    /// The last plan in the queue that was asked for under the same key or label, or that is the same.
    pub earlier: Option<RunId>,
}

/// Answer of an approver to a plan in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Approved: the plan may be carried out, once.
    Approved,
    /// Denied: the plan may not be carried out.
    Denied,
    /// Revoked: the plan was approved, and may no longer be carried out.
    Revoked,
}

/// Answer of an approver to a plan. An approval key signs it as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswered {
    /// [`PlanAnswered::FORMAT`].
    pub format: String,
    /// Time of the answer.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// The workspace of the plan.
    pub workspace: WorkspaceId,
    /// The plan.
    pub plan: RunId,
    /// The entry that put it into the queue.
    pub queued: EntryRef,
    /// Answer of the approver.
    pub answer: Answer,
    /// Reason, in the approver's words.
    pub reason: Option<String>,
    /// Content that was approved.
    pub bound: Bound,
    /// Until when it may be carried out.
    pub expires: Timestamp,
    /// User who answered.
    pub by: Actor,
    /// Isolation of the approval key, which keeps others from answering.
    pub isolation: Isolation,
}

impl Answer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Approved, Self::Denied, Self::Revoked];

    /// The word for it in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
        }
    }
}

impl PlanRefused {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.plan-refused/1";
}

impl PlanQueued {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.plan-queued/1";
}

impl PlanAnswered {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.plan-answered/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.plan-answered+json";
}
