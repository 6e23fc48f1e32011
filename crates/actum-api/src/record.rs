//! Facts about a run in the ledger: who asked for it, what the gates decided, what was run, who signed.

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

/// User who asked for something, and the agent that acts for this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// Name that the agent gives itself; `null` where no agent is named.
    pub agent: Option<String>,
    /// Number of the user.
    pub uid: u32,
    /// Name of the user of the operating system, or its number where it has no name.
    pub user: String,
}

/// Approval that let a run go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Id of the approved plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Entry of the ledger with the signed approval.
    pub entry: EntryRef,
    /// Key that signed it.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// User who approved.
    pub by: Actor,
    /// Protection of the key.
    pub isolation: Isolation,
}

words! {
    /// Protection of an approval key from other processes of the same user.
    Isolation {
        /// The key is protected by a passphrase.
        Passphrase = "passphrase",
        /// The key is protected by a passphrase, and was admitted by waiting: nothing proves who made it.
        Unproven = "unproven",
        /// None: any process of the same user can read the key.
        SameUser = "same_user",
    }
}

/// Reference to an entry of a ledger.
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

/// Reference to a receipt, with the key that signed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedReceipt {
    /// Index of the receipt in the ledger, counted from 0.
    pub index: u64,
    /// Key that signed it.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
}

/// Effect of a run on one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathEffect {
    /// Number of lines added; 0 for what has none.
    pub added: u64,
    /// The file after the run; `null` if it does not exist.
    pub after: Option<FileState>,
    /// The file before the run; `null` if it did not exist.
    pub before: Option<FileState>,
    /// Change of the path.
    pub effect: ChangeKind,
    /// Path of a renamed file before the run, else `null`.
    #[schemars(with = "Option<value::PathName>")]
    pub from: Option<PathName>,
    /// The path; of a renamed file the new one.
    #[schemars(with = "value::PathName")]
    pub path: PathName,
    /// Number of lines removed; 0 for what has none.
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

/// Signed answer of an approver about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAnswer {
    /// Name and number of the answer's own format.
    pub format: String,
    /// Time of the answer.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Workspace of the plan.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// The plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Ledger entry that queued the plan.
    pub queued: EntryRef,
    /// The answer.
    pub answer: Answer,
    /// Reason that the approver gave, or `null`.
    pub reason: Option<String>,
    /// Digests of what was approved.
    pub bound: Bound,
    /// Time until which the plan may be carried out.
    #[schemars(with = "value::Time")]
    pub expires: Timestamp,
    /// The approver.
    pub by: Actor,
    /// Isolation of the approval key.
    pub isolation: Isolation,
}

/// Digests that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Digest of the request.
    #[schemars(with = "value::Digest")]
    pub plan: Digest,
    /// Digest of the limits of the request.
    #[schemars(with = "value::Digest")]
    pub limits: Digest,
    /// Digest of the change: of each file before and after.
    #[schemars(with = "value::Digest")]
    pub change: Digest,
    /// Digest of the policy in force.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
}

words! {
    /// Answer of an approver.
    Answer {
        /// The plan may be carried out, once.
        Approved = "approved",
        /// The plan may not be carried out.
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
    /// Program that made the change visible: `client` where that of an agent did. Absent where actum did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub published_by: Option<String>,
    /// Key of the request; `null` where the caller gave none.
    pub request: Option<String>,
    /// Number of the attempt at this request, counted from 1.
    pub attempt: u32,
    /// Approval that let the run go. Absent where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Approval")]
    pub approval: Option<Approval>,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Commands that were run. Absent where none was.
    #[serde(default, skip_serializing_if = "Commands::is_empty")]
    pub commands: Commands,
    /// External pipelines, which ran after the change was published. Absent if empty, or if the end is not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalRun>,
    /// SQL steps whose effects the run has. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<Query>,
    /// Index of the intent in the ledger, counted from 0.
    pub intent: u64,
    /// The receipt; `null` while the end of the run is not recorded.
    pub receipt: Option<SignedReceipt>,
}

/// SQL step of a task plan, by digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Query {
    /// Id of the action in the plan.
    pub action: String,
    /// Path of the database.
    #[schemars(with = "value::PathName")]
    pub database: PathName,
    /// SHA-256 of the library.
    #[schemars(with = "value::Digest")]
    pub library: Digest,
    /// SHA-256 of the parameters, as the plan writes them. Absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Digest")]
    pub parameters: Option<Digest>,
    /// SHA-256 of the query.
    #[schemars(with = "value::Digest")]
    pub query: Digest,
}

/// Commands that were run for a run, and their confinement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// Commands whose effects are the change, in order. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Command>,
    /// Commands that checked the staged change. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<Command>,
    /// Confinement of the commands. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Confinement")]
    pub sandbox: Option<Confinement>,
}

/// External pipeline of a task plan: its effects outside of the workspace are never undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalRun {
    /// Id of its action in the plan.
    pub action: String,
    /// Name.
    pub name: String,
    /// SHA-256 of its declaration in the operator's policy.
    #[schemars(with = "value::Digest")]
    pub declaration: Digest,
    /// Variables as they are declared. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Arguments of each step.
    pub steps: Vec<Vec<String>>,
    /// End of the pipeline.
    pub ended: ExternalEnd,
    /// Steps that ran.
    pub commands: Vec<Command>,
}

/// End of an external pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExternalEnd {
    /// No step was started.
    NotStarted,
    /// All steps succeeded.
    Succeeded,
    /// A step failed or was stopped.
    Failed,
    /// The process ended first: whether it ran is not known.
    Unknown,
}

/// A command and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Outcome of the command.
    pub ended: CommandEnding,
    /// Running time in milliseconds.
    pub wall_ms: u64,
    /// SHA-256 of its standard output.
    #[schemars(with = "value::Digest")]
    pub stdout: Digest,
    /// SHA-256 of its standard error.
    #[schemars(with = "value::Digest")]
    pub stderr: Digest,
}

/// End of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnding {
    /// The command exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// The command was terminated for this reason.
    Stopped(String),
}

/// Confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Tier of the sandbox: `N` (namespaces, Landlock and seccomp) or `L` (Landlock and seccomp).
    pub tier: String,
    /// Version of the Landlock interface; `null` where it was not used.
    pub landlock: Option<u32>,
    /// True if the commands ran as root, without capabilities.
    pub is_root: bool,
    /// Directories that were passed through. Their changes are not part of the run.
    pub caches: Vec<String>,
}

impl Commands {
    /// Returns true if no command was run.
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
