//! The receipt of a run: an in-toto Statement v1 about what it did, signed in a DSSE envelope.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path_name::PathName;
use actum_core::{Digest, FileState, RelPath, RiskTier, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize};

use crate::command::{CommandRecord, SandboxRecord};
use crate::lease::LeaseRecord;
use crate::name::{Actor, RequestKey, TenantId, WorkspaceId};
use crate::signer::KeyId;

/// The payload type of an envelope that holds a statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of a statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of what is stated.
pub const PREDICATE_TYPE: &str = "urn:actum:run-result:1";

/// Statement of a receipt, in the form that generic tools know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// The files as the run left them, and the change as a whole, which is there even where
    /// no file is left.
    pub subject: Vec<Subject>,
    /// [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// Outcome of the run, and its grounds.
    pub predicate: RunResult,
}

/// One thing that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The path of a file, escaped where it is no UTF-8; or `urn:actum:change:RUN`.
    pub name: String,
    /// Its digests.
    pub digest: SubjectDigest,
}

/// The digests of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectDigest {
    /// SHA-256.
    pub sha256: Digest,
}

/// Outcome of a run. Fields may be added; readers ignore those they do not know (D-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Workspace in which it was made.
    pub workspace: WorkspaceId,
    /// The run.
    pub run: RunId,
    /// Run that it undoes.
    pub undoes: Option<RunId>,
    /// Status of the run.
    pub status: Status,
    /// The permanent name of the reason, where it did not succeed.
    pub reason: Option<String>,
    /// The digest of what was asked for.
    pub plan: Digest,
    /// The digest of the change as a whole: [`change_digest`] of `paths`.
    pub change: Digest,
    /// Effect on each path, ordered by path.
    pub paths: Vec<PathEffect>,
    /// The digest of the policy that was in force.
    pub policy: Digest,
    /// Decisions of the gates.
    pub decision: DecisionRecord,
    /// The approval that let it run, where one was needed.
    pub approval: Option<Approval>,
    /// Lease that it was made under, with the chain of agents that it was handed to.
    pub lease: Option<LeaseRecord>,
    /// The commands whose effects it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// The sandbox that was in force for what was started.
    pub sandbox: Option<SandboxRecord>,
    /// The commands that found the staged change good before anything was visible.
    pub verification: Vec<CommandRecord>,
    /// SQL steps whose effects are part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryRecord>,
    /// External pipelines that ran after its change was published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalRun>,
    /// Process that made its change visible.
    #[serde(default, skip_serializing_if = "Publisher::is_actum")]
    pub published_by: Publisher,
    /// Instructions to undo it, if it is in effect.
    pub rollback: Option<Rollback>,
    /// Files with which a task is rolled back, as they were before anything of it was visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_files: Option<RollbackFiles>,
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
    /// Time at which the intent went into the ledger.
    pub started: Timestamp,
    /// Time of the end.
    pub ended: Timestamp,
    /// Time of the signature.
    pub settled: Timestamp,
    /// The intent in the ledger.
    pub intent: EntryRef,
    /// Process that found out the outcome.
    pub settled_by: SettledBy,
    /// The program.
    pub engine: String,
}

/// Process that made the change of a run visible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Publisher {
    /// actum, all or nothing.
    #[default]
    Actum,
    /// The program of an agent. The change was visible before the intent of the run; its run was adopted.
    Client,
}

impl Publisher {
    /// Returns true for actum, which records leave out.
    pub fn is_actum(&self) -> bool {
        *self == Self::Actum
    }
}

/// Effect of a run on one path. The fields are in the order of their names, as canonical JSON has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEffect {
    /// Lines added; 0 for what has none.
    pub added: u64,
    /// The file after.
    pub after: Option<FileState>,
    /// The file before.
    pub before: Option<FileState>,
    /// Effect on the path.
    pub effect: EffectKind,
    /// Former path of a renamed file.
    pub from: Option<PathName>,
    /// The path; of a renamed file the new one.
    pub path: PathName,
    /// Lines removed.
    pub removed: u64,
}

/// Kind of effect on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A file appears.
    Created,
    /// A file's bytes change.
    Modified,
    /// A file comes from another path; its bytes may change as well.
    Renamed,
    /// Only the permission bits change.
    Mode,
    /// Only owner or extended attributes change, perhaps with the permission bits.
    Attributes,
    /// A file disappears.
    Deleted,
    /// A directory appears.
    DirectoryCreated,
    /// An empty directory disappears.
    DirectoryRemoved,
}

impl PathEffect {
    /// Each path that it touches; of a renamed file both.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        std::iter::once(&self.path).chain(&self.from).map(|path| &path.0)
    }
}

impl EffectKind {
    /// Returns true for an effect on a file, and not on a directory.
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

    /// The word for it in documents.
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

/// The decision of the gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The version of the rules that led from the bundle to the decision.
    pub semantics: u32,
    /// The digest of all that it was made from, a document in the ledger.
    pub bundle: Digest,
    /// The digest of bundle and decision together.
    pub digest: Digest,
    /// The risk tier of the change.
    pub tier: RiskTier,
    /// Decision of each gate, in their order.
    pub gates: Vec<GateRecord>,
}

/// Decision of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    /// Its name.
    pub gate: String,
    /// `allow`, `needs_approval` or `deny`.
    pub verdict: String,
    /// Ground of the decision.
    pub ground: RecordedGround,
}

/// Ground of a gate: an object whose fields [`DecisionRecord::semantics`] defines, and a sentence in versions before 7.
/// `actum_gate` reads it and words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordedGround(pub serde_json::Value);

/// Approval that let a run go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The plan.
    pub plan: RunId,
    /// The entry that holds the signed approval.
    pub entry: EntryRef,
    /// The key that signed it.
    pub key: KeyId,
    /// User who approved.
    pub by: Actor,
    /// Isolation of the approval key, which keeps others from approving.
    pub isolation: Isolation,
}

/// Isolation of an approval key, which keeps others from answering in a user's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The key that signed is protected by a passphrase.
    Passphrase,
    /// The key is protected by a passphrase, and was admitted by waiting: nothing proves its origin.
    Unproven,
    /// Nothing: any process of the same user can read the key.
    SameUser,
}

impl Isolation {
    /// The word for it in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passphrase => "passphrase",
            Self::Unproven => "unproven",
            Self::SameUser => "same_user",
        }
    }
}

/// Instructions to undo a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The run to undo.
    pub undo: RunId,
}

/// SQL step of a task plan: what it ran on, by digests. The digests of the database stand with the paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryRecord {
    /// Id of the action in the plan.
    pub action: String,
    /// Database.
    pub database: PathName,
    /// SHA-256 of the library.
    pub library: Digest,
    /// SHA-256 of the parameters, as the plan writes them; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Digest>,
    /// SHA-256 of the query.
    pub query: Digest,
}

/// Pipeline of a task plan that reaches outside: it runs after the change is published, and nothing undoes its effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalPipeline {
    /// Id of the action in the plan.
    pub action: String,
    /// SHA-256 of its declaration in the operator's policy, as canonical JSON.
    pub declaration: Digest,
    /// Variables as they are declared: names of those that come from outside, or `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Name.
    pub name: String,
    /// Arguments of each step, with the values of the plan.
    pub steps: Vec<Vec<String>>,
}

/// External pipeline of a run, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalRun {
    /// Steps that ran, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// End of the pipeline.
    pub ended: ExternalEnd,
    /// Pipeline.
    pub pipeline: ExternalPipeline,
    /// Confinement of its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRecord>,
}

/// End of an external pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalEnd {
    /// No step of it was started.
    NotStarted,
    /// All steps succeeded.
    Succeeded,
    /// A step failed or was stopped. What it did before that is done.
    Failed,
    /// Its process ended first: whether it began, and what it did, is not known.
    Unknown,
}

impl ExternalRun {
    /// Record of a pipeline of which no step is known.
    pub fn without_steps(pipeline: ExternalPipeline, ended: ExternalEnd) -> Self {
        Self { commands: Vec::new(), ended, pipeline, sandbox: None }
    }
}

/// Digests of the files in the reports of a task with which it is rolled back. Those of its backups are with the paths, as
/// the content before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackFiles {
    /// The rollback manifest, while it is active.
    pub manifest: Digest,
    /// The outcomes of the actions in the execution report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Digest>,
    /// The rollback script.
    pub script: Digest,
}

/// An entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRef {
    /// The name of the log.
    pub origin: String,
    /// Its place, counted from 0.
    pub index: u64,
    /// Its hash as a leaf of the Merkle tree.
    pub leaf: Digest,
}

/// Process that found out the outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettledBy {
    /// The run itself.
    Run,
    /// A later one, from the journal of the workspace.
    Recovery,
}

/// Digest of a change as a whole: of the list of its [`PathEffect`], or of that list in a document.
/// The document may have more of each path than this version knows.
///
/// # Errors
/// [`CanonicalError`] where a size has no exact number in JSON.
pub fn change_digest(paths: &(impl Serialize + ?Sized)) -> Result<Digest, CanonicalError> {
    Ok(Digest::tagged("actum/change/v1", &[&canonical::ordered_to_vec(&paths)?]))
}

impl Statement {
    /// The statement about a run.
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
