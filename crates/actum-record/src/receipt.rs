//! Receipt of a run, which is an in-toto Statement v1 about its effects, signed in a DSSE envelope.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path_name::PathName;
use actum_core::{Digest, FileState, RelPath, RiskTier, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize};

use crate::command::{CommandRecord, SandboxRecord};
use crate::lease::LeaseRecord;
use crate::name::{Actor, RequestKey, TenantId, WorkspaceId};
use crate::signer::KeyId;

/// Payload type of an envelope that contains a statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Type of a statement (`_type`).
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of a statement's predicate.
pub const PREDICATE_TYPE: &str = "urn:actum:run-result:1";

/// Statement of a receipt, in the in-toto format that generic tools support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Type of the statement, which is always [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// The entire change, followed by the changed files in their final state. If the run left no files, only the change is
    /// listed.
    pub subject: Vec<Subject>,
    /// Type of the predicate, which is always [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// Outcome of the run, and the decisions that led to it.
    pub predicate: RunResult,
}

/// File or change that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Path of the file, escaped if it is not UTF-8, or `urn:actum:change:RUN` for the change.
    pub name: String,
    /// Digests of the subject's content.
    pub digest: SubjectDigest,
}

/// Digests of a statement's subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectDigest {
    /// SHA-256 digest.
    pub sha256: Digest,
}

/// Outcome of a run. Future versions may add fields, so readers must ignore unknown ones (D-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// Tenant whose ledger contains the receipt.
    pub tenant: TenantId,
    /// Workspace in which the run was made.
    pub workspace: WorkspaceId,
    /// Id of the run.
    pub run: RunId,
    /// Run that this run undoes.
    pub undoes: Option<RunId>,
    /// Status of the run.
    pub status: Status,
    /// Reason code, if the run did not succeed.
    pub reason: Option<String>,
    /// Digest of the request.
    pub plan: Digest,
    /// Digest of the entire change, which is the [`change_digest`] of `paths`.
    pub change: Digest,
    /// Effects of the run, ordered by path.
    pub paths: Vec<PathEffect>,
    /// Digest of the policy in force.
    pub policy: Digest,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// Approval that allowed the run to proceed, if it needed one.
    pub approval: Option<Approval>,
    /// Lease under which the run was made, including the chain of agents that it was passed on to.
    pub lease: Option<LeaseRecord>,
    /// Commands whose effects make up the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// Sandbox in which the commands ran.
    pub sandbox: Option<SandboxRecord>,
    /// Commands that verified the staged change successfully before it became visible.
    pub verification: Vec<CommandRecord>,
    /// SQL steps whose effects are part of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryRecord>,
    /// External pipelines that ran after the change was published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalRun>,
    /// Program that published the change.
    #[serde(default, skip_serializing_if = "Publisher::is_actum")]
    pub published_by: Publisher,
    /// Instructions for undoing the run, if it is in effect.
    pub rollback: Option<Rollback>,
    /// Files that are needed to roll back a task, as they were before any of its changes became visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_files: Option<RollbackFiles>,
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
    /// Time at which the intent of the run was recorded in the ledger.
    pub started: Timestamp,
    /// Time at which the run ended.
    pub ended: Timestamp,
    /// Time at which the receipt was signed.
    pub settled: Timestamp,
    /// Ledger entry with the intent of the run.
    pub intent: EntryRef,
    /// Process that determined the outcome of the run.
    pub settled_by: SettledBy,
    /// Name and version of the program that wrote the receipt.
    pub engine: String,
}

/// Program that published the change of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Publisher {
    /// Actum published the change, all or nothing.
    #[default]
    Actum,
    /// An agent's own client published the change. The run was adopted, so the change was visible before its intent was recorded.
    Client,
}

impl Publisher {
    /// Whether actum published the change. Records omit this case.
    pub fn is_actum(&self) -> bool {
        *self == Self::Actum
    }
}

/// Effect of a run on a single path. The fields are declared in alphabetical order, which canonical JSON requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEffect {
    /// Number of added lines, or 0 if the content has no lines.
    pub added: u64,
    /// State of the file after the run, or `None` if it does not exist.
    pub after: Option<FileState>,
    /// State of the file before the run, or `None` if it did not exist.
    pub before: Option<FileState>,
    /// Kind of the effect.
    pub effect: EffectKind,
    /// Old path of a renamed file.
    pub from: Option<PathName>,
    /// Affected path. For a renamed file, this is the new path.
    pub path: PathName,
    /// Number of removed lines, or 0 if the content has no lines.
    pub removed: u64,
}

/// Kind of effect on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// The file was created.
    Created,
    /// The content of the file changed.
    Modified,
    /// The file was moved from a different path. Its content may have changed as well.
    Renamed,
    /// Only the permission bits of the file changed.
    Mode,
    /// Only the owner or the extended attributes of the file changed, possibly together with the permission bits.
    Attributes,
    /// The file was deleted.
    Deleted,
    /// The directory was created.
    DirectoryCreated,
    /// The directory, which was empty, was removed.
    DirectoryRemoved,
}

impl PathEffect {
    /// Returns the affected paths, which are the new and the old one for a renamed file.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        std::iter::once(&self.path).chain(&self.from).map(|path| &path.0)
    }
}

impl EffectKind {
    /// Whether the effect is on a file, and not on a directory.
    pub fn is_of_file(self) -> bool {
        match self {
            Self::Created
            | Self::Modified
            | Self::Renamed
            | Self::Mode
            | Self::Attributes
            | Self::Deleted => true,
            Self::DirectoryCreated | Self::DirectoryRemoved => false,
        }
    }

    /// Returns the permanent name used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Mode => "mode",
            Self::Attributes => "attributes",
            Self::Deleted => "deleted",
            Self::DirectoryCreated => "directory_created",
            Self::DirectoryRemoved => "directory_removed",
        }
    }
}

/// Record of the gates' decision on a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// Version of the rules by which the decision follows from the bundle.
    pub semantics: u32,
    /// Digest of the ledger document that contains all inputs of the decision.
    pub bundle: Digest,
    /// Digest of the bundle together with the decision.
    pub digest: Digest,
    /// Risk tier of the change.
    pub tier: RiskTier,
    /// Decision of each gate, in the order of evaluation.
    pub gates: Vec<GateRecord>,
}

/// Decision of a single gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    /// Name of the gate.
    pub gate: String,
    /// Verdict of the gate, which is `allow`, `needs_approval` or `deny`.
    pub verdict: String,
    /// Grounds for the verdict.
    pub ground: RecordedGround,
}

/// Recorded ground of a gate's verdict. Its fields depend on [`DecisionRecord::semantics`]. Before version 7, the ground was a
/// sentence. `actum_gate` parses it and formats it for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordedGround(pub serde_json::Value);

/// Approval that allowed a run to proceed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Id of the approved plan.
    pub plan: RunId,
    /// Ledger entry with the signed approval.
    pub entry: EntryRef,
    /// Id of the key that signed the approval.
    pub key: KeyId,
    /// User who approved the plan.
    pub by: Actor,
    /// Protection of the approval key.
    pub isolation: Isolation,
}

/// Protection of an approval key from other processes of the same user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The key is protected by a passphrase.
    Passphrase,
    /// The key is protected by a passphrase but was admitted only because its waiting period ended, so its creator is unproven.
    Unproven,
    /// The key is not protected, so any process of the same user can read it.
    SameUser,
}

impl Isolation {
    /// Returns the permanent name used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passphrase => "passphrase",
            Self::Unproven => "unproven",
            Self::SameUser => "same_user",
        }
    }
}

/// Instructions for undoing a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Id of the run to undo.
    pub undo: RunId,
}

/// SQL step of a task plan, with digests of its inputs. The digests of the database itself are recorded with the paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryRecord {
    /// Id of the action in the plan.
    pub action: String,
    /// Path of the database.
    pub database: PathName,
    /// SHA-256 of the SQL library that executed the query.
    pub library: Digest,
    /// SHA-256 of the parameters as written in the plan. Absent if the query has no parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Digest>,
    /// SHA-256 of the query.
    pub query: Digest,
}

/// Pipeline of a task plan with effects outside of the workspace. It runs after the change is published, and its effects cannot
/// be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalPipeline {
    /// Id of the action in the plan.
    pub action: String,
    /// SHA-256 of the pipeline's declaration in the operator's policy, as canonical JSON.
    pub declaration: Digest,
    /// Environment variables as declared in the policy, either as `NAME` if the value is inherited, or as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Name of the pipeline.
    pub name: String,
    /// Program and arguments of each step, with the values from the plan.
    pub steps: Vec<Vec<String>>,
}

/// External pipeline that belongs to a run, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalRun {
    /// Steps that were executed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// Outcome of the pipeline.
    pub ended: ExternalEnd,
    /// Definition of the pipeline.
    pub pipeline: ExternalPipeline,
    /// Sandbox in which the steps ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRecord>,
}

/// Outcome of an external pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalEnd {
    /// No step was started.
    NotStarted,
    /// All steps succeeded.
    Succeeded,
    /// A step failed or was stopped. Effects that it had before that remain.
    Failed,
    /// The actum process ended before the outcome was recorded, so it is unknown whether the pipeline ran.
    Unknown,
}

impl ExternalRun {
    /// Creates the record of a pipeline for which no executed steps are known.
    pub fn without_steps(pipeline: ExternalPipeline, ended: ExternalEnd) -> Self {
        Self { commands: Vec::new(), ended, pipeline, sandbox: None }
    }
}

/// Digests of the files in a task's report directory that are needed to roll the task back. The digests of its backups are
/// recorded with the paths, as the content before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackFiles {
    /// Digest of the rollback manifest, while it is active.
    pub manifest: Digest,
    /// Digest of the outcomes of the actions in the execution report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Digest>,
    /// Digest of the rollback script.
    pub script: Digest,
}

/// Reference to a ledger entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRef {
    /// Name of the log.
    pub origin: String,
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Hash of the entry as a leaf of the Merkle tree.
    pub leaf: Digest,
}

/// Process that determined the outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettledBy {
    /// The process that performed the run.
    Run,
    /// A later process, which recovered the outcome from the journal of the workspace.
    Recovery,
}

/// Computes the digest of an entire change from its [`PathEffect`] list, or from the same list in a parsed document. Using the
/// document preserves fields that this version does not know.
///
/// # Errors
/// Returns [`CanonicalError`] if JSON cannot represent a size exactly.
pub fn change_digest(paths: &(impl Serialize + ?Sized)) -> Result<Digest, CanonicalError> {
    Ok(Digest::tagged("actum/change/v1", &[&canonical::ordered_to_vec(&paths)?]))
}

impl Statement {
    /// Creates the statement about the outcome of a run.
    pub fn new(predicate: RunResult) -> Self {
        let whole = Subject {
            name: format!("urn:actum:change:{}", predicate.run),
            digest: SubjectDigest { sha256: predicate.change },
        };
        let left = (predicate.status == Status::Succeeded).then_some(&predicate.paths);
        let files = left.into_iter().flatten().filter_map(|effect| {
            let digest = SubjectDigest { sha256: effect.after.as_ref()?.sha256 };
            Some(Subject { name: effect.path.exact(), digest })
        });
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject: std::iter::once(whole).chain(files).collect(),
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }
}
