//! Plans that the gates did not let run by themselves, and what a person says of them (AA-5).

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
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// For which workspace.
    pub workspace: WorkspaceId,
    /// Where that was, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The run that it would take back.
    pub undoes: Option<RunId>,
    /// The key of the request, where the caller gave one.
    pub request: Option<RequestKey>,
    /// Who asked for it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// What it is for, in the words of who asked.
    pub label: String,
    /// What was judged.
    pub bound: Bound,
    /// What the gates said.
    pub decision: DecisionRecord,
    /// Lease that it was judged under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseRecord>,
    /// The program.
    pub engine: String,
}

/// What an approval is bound to: where any of it is another, the approval is none.
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
    /// What the run that is carried out has to repeat.
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
    /// When.
    pub time: Timestamp,
    /// The plan.
    pub plan: JudgedPlan,
}

/// A plan waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanQueued {
    /// [`PlanQueued::FORMAT`].
    pub format: String,
    /// When.
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

/// What a person says of a plan in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may be carried out, once.
    Approved,
    /// It may not.
    Denied,
    /// It was approved, and may not be carried out any more.
    Revoked,
}

/// What a person says of a plan. An approval key signs it as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswered {
    /// [`PlanAnswered::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// The workspace of the plan.
    pub workspace: WorkspaceId,
    /// The plan.
    pub plan: RunId,
    /// The entry that put it into the queue.
    pub queued: EntryRef,
    /// What the person says.
    pub answer: Answer,
    /// Why, in the person's words.
    pub reason: Option<String>,
    /// What was approved.
    pub bound: Bound,
    /// Until when it may be carried out.
    pub expires: Timestamp,
    /// Who answered.
    pub by: Actor,
    /// What keeps others from answering so.
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
