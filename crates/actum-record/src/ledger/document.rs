//! The entries that are no receipts.

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Approval, RequestKey, TenantId, WorkspaceId};
use crate::command::CommandsRun;
use crate::lease::LeaseRecord;
use crate::name::Actor;
use crate::receipt::{DecisionRecord, ExternalPipeline, Publisher, QueryRecord, RollbackFiles};
use crate::signer::{KeyId, KeyRole, PublicKey};

/// The first entry of every log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogStarted {
    /// [`LogStarted::FORMAT`].
    pub format: String,
    /// Time of the first entry.
    pub time: Timestamp,
    /// Tenant whose log it is.
    pub tenant: TenantId,
    /// Its name, which is in every checkpoint.
    pub origin: String,
    /// The keys it begins with.
    pub keys: Vec<StartedKey>,
}

/// A key that a log begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedKey {
    /// Its name.
    pub id: KeyId,
    /// Role of the key.
    pub role: KeyRole,
    /// Its public half.
    pub public: PublicKey,
}

/// A key takes the place of another, which signed this as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRotated {
    /// [`KeyRotated::FORMAT`].
    pub format: String,
    /// Time of the change.
    pub time: Timestamp,
    /// Role of both keys.
    pub role: KeyRole,
    /// The key that has signed until now.
    pub old: KeyId,
    /// The key that signs from now on.
    pub new: KeyId,
    /// Its public half.
    pub public: PublicKey,
}

/// A run is about to have effects. It is durable before the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectStarted {
    /// [`EffectStarted::FORMAT`].
    pub format: String,
    /// Time of the intent.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Path of that workspace, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The run.
    pub run: RunId,
    /// Sequence number in the workspace's journal that is reserved for the run. The record there
    /// shows later whether the run began.
    pub place: u64,
    /// The action that it is a part of, by the name that this has in its [`ActionStarted`](super::ActionStarted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<RunId>,
    /// Run that it undoes.
    pub undoes: Option<RunId>,
    /// The key of the request, where the caller gave one.
    pub request: Option<RequestKey>,
    /// Number of the attempt at the request, counted from 1.
    pub attempt: u32,
    /// Actor that requested it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Purpose, in the words of the requester.
    pub label: String,
    /// The digest of what was asked for.
    pub plan: Digest,
    /// Digest of the intended change; the bundle of the decision has the whole change.
    pub change: Digest,
    /// The digest of the policy that is in force.
    pub policy: Digest,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// The approval that lets it go, where one was needed.
    pub approval: Option<Approval>,
    /// Lease that it was made under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseRecord>,
    /// Commands that were run for it.
    #[serde(default, skip_serializing_if = "CommandsRun::is_empty")]
    pub commands: CommandsRun,
    /// SQL steps whose effects are part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryRecord>,
    /// External pipelines that are to run after its change is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Process that makes its change visible.
    #[serde(default, skip_serializing_if = "Publisher::is_actum")]
    pub published_by: Publisher,
    /// Files with which a task is rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_files: Option<RollbackFiles>,
    /// The program.
    pub engine: String,
}

impl LogStarted {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.log-started/1";
}

impl KeyRotated {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.key-rotated/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.key-rotated+json";
}

impl EffectStarted {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.effect-started/1";
}
