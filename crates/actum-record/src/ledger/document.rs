//! Ledger entries that start a log, rotate a key or announce the effects of a run.

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Approval, RequestKey, TenantId, WorkspaceId};
use crate::command::CommandsRun;
use crate::lease::LeaseRecord;
use crate::name::Actor;
use crate::receipt::{DecisionRecord, ExternalPipeline, Publisher, QueryRecord, RollbackFiles};
use crate::signer::{KeyId, KeyRole, PublicKey};

/// Entry that starts a log. It is the first entry of every log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogStarted {
    /// Format of the entry, which is always [`LogStarted::FORMAT`].
    pub format: String,
    /// Time at which the log was started.
    pub time: Timestamp,
    /// Tenant that the log belongs to.
    pub tenant: TenantId,
    /// Name of the log, which every checkpoint contains.
    pub origin: String,
    /// Keys that were in use when the log was started.
    pub keys: Vec<StartedKey>,
}

/// Key that was in use when a log was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedKey {
    /// Id of the key.
    pub id: KeyId,
    /// Role of the key.
    pub role: KeyRole,
    /// Public key itself.
    pub public: PublicKey,
}

/// Entry that records the replacement of a key. It is the payload of an envelope signed by the old key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRotated {
    /// Format of the entry, which is always [`KeyRotated::FORMAT`].
    pub format: String,
    /// Time of the rotation.
    pub time: Timestamp,
    /// Role of both keys.
    pub role: KeyRole,
    /// Id of the key that was replaced.
    pub old: KeyId,
    /// Id of the key that signs from now on.
    pub new: KeyId,
    /// Public key of the new key.
    pub public: PublicKey,
}

/// Entry that records the intent of a run to have effects. It is durable before the first effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectStarted {
    /// Format of the entry, which is always [`EffectStarted::FORMAT`].
    pub format: String,
    /// Time at which the intent was recorded.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace that the run changes.
    pub workspace: WorkspaceId,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: String,
    /// Id of the run.
    pub run: RunId,
    /// Sequence number reserved for the run in the workspace's journal. The journal record with this number later shows
    /// whether the run began.
    pub place: u64,
    /// Id of the action that the run is a part of, as recorded in [`ActionStarted`](super::ActionStarted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<RunId>,
    /// Run that this run undoes.
    pub undoes: Option<RunId>,
    /// Key of the request, if the caller provided one.
    pub request: Option<RequestKey>,
    /// Number of the attempt to carry out this request, counted from 1.
    pub attempt: u32,
    /// Actor that requested the run.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Label that describes the purpose of the run.
    pub label: String,
    /// Digest of the request.
    pub plan: Digest,
    /// Digest of the intended change. The bundle of the decision contains the entire change.
    pub change: Digest,
    /// Digest of the policy in force.
    pub policy: Digest,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// Approval that allowed the run to proceed, if it needed one.
    pub approval: Option<Approval>,
    /// Lease under which the run was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseRecord>,
    /// Commands that were executed for the run.
    #[serde(default, skip_serializing_if = "CommandsRun::is_empty")]
    pub commands: CommandsRun,
    /// SQL steps whose effects are part of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryRecord>,
    /// External pipelines that will run after the change is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Program that publishes the change.
    #[serde(default, skip_serializing_if = "Publisher::is_actum")]
    pub published_by: Publisher,
    /// Files that are needed to roll back a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_files: Option<RollbackFiles>,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

impl LogStarted {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.log-started/1";
}

impl KeyRotated {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.key-rotated/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.key-rotated+json";
}

impl EffectStarted {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.effect-started/1";
}
