//! Ledger data about a run: its actor, gate decisions, commands and signatures.

use actum_core::path_name::PathName;
use actum_core::{Digest, FileMode, RunId, Timestamp};
use actum_record::command::{CommandEnd, CommandRecord, CommandsRun, SandboxRecord};
use actum_record::ledger::{self, TenantId, WorkspaceId};
use actum_record::receipt;
use actum_record::signer::KeyId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::change::ChangeKind;
use crate::gate::Gate;
use crate::value;
use crate::word::words;

/// User who made a request, and the agent that acted on the user's behalf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// Name that the agent gave itself, or `null` if no agent is involved.
    pub agent: Option<String>,
    /// User id.
    pub uid: u32,
    /// Name of the operating system user, or the user id if the user has no name.
    pub user: String,
}

/// Approval that allowed a run to proceed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Id of the approved plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Ledger entry with the signed approval.
    pub entry: EntryRef,
    /// Id of the key that signed the approval.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// User who approved the plan.
    pub by: Actor,
    /// Protection of the approval key.
    pub isolation: Isolation,
}

words! {
    /// Protection of an approval key from other processes of the same user.
    Isolation {
        /// The key is protected by a passphrase.
        Passphrase = "passphrase",
        /// The key is protected by a passphrase but was admitted only because its waiting period ended, so its creator is unproven.
        Unproven = "unproven",
        /// The key is not protected, so any process of the same user can read it.
        SameUser = "same_user",
    }
}

/// Reference to a ledger entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryRef {
    /// Name of the log.
    pub origin: String,
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Hash of the entry as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
}

/// Reference to a receipt and the key that signed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedReceipt {
    /// Index of the receipt in the ledger, counted from 0.
    pub index: u64,
    /// Id of the key that signed the receipt.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
}

/// Effect of a run on a single path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathEffect {
    /// Number of added lines, or 0 if the content has no lines.
    pub added: u64,
    /// State of the file after the run, or `null` if it does not exist.
    pub after: Option<FileState>,
    /// State of the file before the run, or `null` if it did not exist.
    pub before: Option<FileState>,
    /// Kind of the change.
    pub effect: ChangeKind,
    /// Old path of a renamed file, or `null` for other effects.
    #[schemars(with = "Option<value::PathName>")]
    pub from: Option<PathName>,
    /// Changed path. For a renamed file, this is the new path.
    #[schemars(with = "value::PathName")]
    pub path: PathName,
    /// Number of removed lines, or 0 if the content has no lines.
    pub removed: u64,
}

/// Content and permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileState {
    /// SHA-256 of the content.
    #[schemars(with = "value::Digest")]
    pub sha256: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Permission bits.
    #[schemars(with = "value::Mode")]
    pub mode: FileMode,
}

/// Signed answer of an approver to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAnswer {
    /// Format of the answer itself, including its version number.
    pub format: String,
    /// Time of the answer.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Id of the plan's workspace.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// Id of the plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Ledger entry that queued the plan.
    pub queued: EntryRef,
    /// Answer of the approver.
    pub answer: Answer,
    /// Reason given by the approver, or `null` if none was given.
    pub reason: Option<String>,
    /// Digests that the approval is bound to.
    pub bound: Bound,
    /// Time until which the plan may be carried out.
    #[schemars(with = "value::Time")]
    pub expires: Timestamp,
    /// Approver.
    pub by: Actor,
    /// Protection of the approval key.
    pub isolation: Isolation,
}

/// Digests that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Digest of the request.
    #[schemars(with = "value::Digest")]
    pub plan: Digest,
    /// Digest of the request's limits.
    #[schemars(with = "value::Digest")]
    pub limits: Digest,
    /// Digest of the change, which covers each file before and after.
    #[schemars(with = "value::Digest")]
    pub change: Digest,
    /// Digest of the active policy.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
}

words! {
    /// Answer of an approver.
    Answer {
        /// The plan may be carried out once.
        Approved = "approved",
        /// The plan must not be carried out.
        Denied = "denied",
        /// The approval was withdrawn.
        Revoked = "revoked",
    }
}

/// Record of a run in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Actor that requested the run.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Program that published the change: `client` for an agent's own client. Absent if actum published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub published_by: Option<String>,
    /// Key of the request, or `null` if the caller provided none.
    pub request: Option<String>,
    /// Number of the attempt to carry out this request, counted from 1.
    pub attempt: u32,
    /// Approval that allowed the run to proceed. Absent if none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Approval")]
    pub approval: Option<Approval>,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Commands that were executed for the run. Absent if no command was executed.
    #[serde(default, skip_serializing_if = "Commands::is_empty")]
    pub commands: Commands,
    /// External pipelines that ran after the change was published. Absent if empty or if the end of the run is not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalRun>,
    /// SQL steps whose effects are part of the run. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<Query>,
    /// Index of the intent in the ledger, counted from 0.
    pub intent: u64,
    /// Receipt of the run, or `null` if the end of the run is not recorded yet.
    pub receipt: Option<SignedReceipt>,
}

/// SQL step of a task plan, identified by digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Query {
    /// Id of the action in the plan.
    pub action: String,
    /// Path of the database.
    #[schemars(with = "value::PathName")]
    pub database: PathName,
    /// SHA-256 of the DuckDB library.
    #[schemars(with = "value::Digest")]
    pub library: Digest,
    /// SHA-256 of the parameters as written in the plan. Absent if the step has no parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Digest")]
    pub parameters: Option<Digest>,
    /// SHA-256 of the query.
    #[schemars(with = "value::Digest")]
    pub query: Digest,
}

/// Commands that were executed for a run, and their sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// Commands that produced the change, in order. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Command>,
    /// Commands that checked the staged change. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<Command>,
    /// Sandbox in which the commands ran. Absent if they were not sandboxed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Confinement")]
    pub sandbox: Option<Confinement>,
}

/// External pipeline of a task plan. Its effects outside the workspace are never undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalRun {
    /// Id of the action in the plan.
    pub action: String,
    /// Name of the pipeline.
    pub name: String,
    /// SHA-256 of the pipeline's declaration in the operator's policy.
    #[schemars(with = "value::Digest")]
    pub declaration: Digest,
    /// Environment variables as declared in the policy. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Program and arguments of each step.
    pub steps: Vec<Vec<String>>,
    /// Outcome of the pipeline.
    pub ended: ExternalEnd,
    /// Steps that were executed.
    pub commands: Vec<Command>,
}

/// Outcome of an external pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExternalEnd {
    /// No step was started.
    NotStarted,
    /// All steps succeeded.
    Succeeded,
    /// A step failed or was stopped.
    Failed,
    /// The actum process ended before the outcome was recorded, so it is unknown whether the pipeline ran.
    Unknown,
}

/// Command that was executed, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Program and its arguments.
    pub argv: Vec<String>,
    /// Outcome of the command.
    pub ended: CommandEnding,
    /// Duration in milliseconds.
    pub wall_ms: u64,
    /// SHA-256 of standard output.
    #[schemars(with = "value::Digest")]
    pub stdout: Digest,
    /// SHA-256 of standard error.
    #[schemars(with = "value::Digest")]
    pub stderr: Digest,
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnding {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
    /// The command was terminated for this reason.
    Stopped(String),
}

/// Sandbox in which commands ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Sandbox tier: `N` (namespaces, Landlock and seccomp) or `L` (Landlock and seccomp).
    pub tier: String,
    /// Landlock ABI version, or `null` if Landlock was not used.
    pub landlock: Option<u32>,
    /// Whether the commands ran as root, without capabilities.
    pub is_root: bool,
    /// Directories that commands accessed directly. Changes in them are not part of the run.
    pub caches: Vec<String>,
}

impl Commands {
    /// Whether no command was executed.
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.verified.is_empty()
    }
}

impl From<ledger::PlanAnswered> for PlanAnswer {
    fn from(answered: ledger::PlanAnswered) -> Self {
        let ledger::PlanAnswered {
            format,
            time,
            tenant,
            workspace,
            plan,
            queued,
            answer,
            reason,
            bound: ledger::Bound { plan: request, limits, change, policy },
            expires,
            by,
            isolation,
        } = answered;
        Self {
            format,
            time,
            tenant,
            workspace,
            plan,
            queued: queued.into(),
            answer: answer.as_str().into(),
            reason,
            bound: Bound { plan: request, limits, change, policy },
            expires,
            by: by.into(),
            isolation: isolation.as_str().into(),
        }
    }
}

impl From<receipt::EntryRef> for EntryRef {
    fn from(receipt::EntryRef { origin, index, leaf }: receipt::EntryRef) -> Self {
        Self { origin, index, leaf }
    }
}

impl From<ledger::Actor> for Actor {
    fn from(ledger::Actor { agent, uid, user }: ledger::Actor) -> Self {
        Self { agent, uid, user }
    }
}

impl From<receipt::Approval> for Approval {
    fn from(approval: receipt::Approval) -> Self {
        let receipt::Approval { plan, entry, key, by, isolation } = approval;
        Self { plan, entry: entry.into(), key, by: by.into(), isolation: isolation.as_str().into() }
    }
}

impl From<receipt::QueryRecord> for Query {
    fn from(record: receipt::QueryRecord) -> Self {
        let receipt::QueryRecord { action, database, library, parameters, query } = record;
        Self { action, database, library, parameters, query }
    }
}

impl From<CommandsRun> for Commands {
    fn from(CommandsRun { made, verified, sandbox }: CommandsRun) -> Self {
        Self {
            made: made.into_iter().map(Command::from).collect(),
            verified: verified.into_iter().map(Command::from).collect(),
            sandbox: sandbox.map(|SandboxRecord { tier, landlock, is_root, caches }| Confinement {
                tier,
                landlock,
                is_root,
                caches,
            }),
        }
    }
}

impl From<receipt::ExternalRun> for ExternalRun {
    fn from(
        receipt::ExternalRun { commands, ended, pipeline, sandbox: _ }: receipt::ExternalRun,
    ) -> Self {
        let receipt::ExternalPipeline { action, declaration, env, name, steps } = pipeline;
        let ended = match ended {
            receipt::ExternalEnd::NotStarted => ExternalEnd::NotStarted,
            receipt::ExternalEnd::Succeeded => ExternalEnd::Succeeded,
            receipt::ExternalEnd::Failed => ExternalEnd::Failed,
            receipt::ExternalEnd::Unknown => ExternalEnd::Unknown,
        };
        let commands = commands.into_iter().map(Command::from).collect();
        Self { action, name, declaration, env, steps, ended, commands }
    }
}

impl From<CommandRecord> for Command {
    fn from(CommandRecord { argv, ended, wall_ms, stdout, stderr }: CommandRecord) -> Self {
        let ended = match ended {
            CommandEnd::Code(code) => CommandEnding::Code(code),
            CommandEnd::Signal(signal) => CommandEnding::Signal(signal),
            CommandEnd::Stopped(why) => CommandEnding::Stopped(why),
        };
        Self { argv, ended, wall_ms, stdout, stderr }
    }
}
