//! Policies: what is in force, tests, explanations, suggestions, and trust in a workspace's policy.

use actum_core::{Digest, RelPath, RiskTier, RunId, Timestamp};
use actum_record::receipt::EffectKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Document, DocumentType};
use crate::gate::{Gate, Ground, Verdict};
use crate::path::WorkspacePath;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<PolicyCheck>(),
    DocumentType::new::<PolicyTest>(),
    DocumentType::new::<PolicyExplanation>(),
    DocumentType::new::<CommandExplanation>(),
    DocumentType::new::<RunExplanation>(),
    DocumentType::new::<PolicySuggestion>(),
    DocumentType::new::<Trust>(),
];

/// Result of `actum policy check`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCheck {
    /// Digest of everything in force, as receipts have it.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Policy files that were read.
    pub files: Vec<PolicyFile>,
    /// Policy in force, in the form in which decisions record it.
    pub policy: Map<String, Value>,
    /// Command that notifies the operator of a plan that waits. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
    /// Additional rights of sandboxed commands. Absent if empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxAllowance>,
    /// Rights of plugin packages. Absent where the operator's policy does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<PluginAllowance>,
    /// Directories in which a workspace may be made although other programs act on their files. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// Task envelopes that are accepted. Absent where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_envelopes: Option<TaskEnvelopes>,
    /// Pipelines that task plans may run. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<Pipeline>,
    /// Library and limits of SQL steps. Absent where no policy sets any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<SqlSettings>,
    /// Files of the operator's access policies.
    pub access: Vec<AccessFile>,
    /// Rules of the workspace's policy that do not count before it is trusted, as sentences.
    pub ignored: Vec<String>,
    /// Rules that are likely mistakes, as sentences.
    pub warnings: Vec<String>,
}

/// Policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFile {
    /// Owner of the file.
    pub source: PolicySource,
    /// The file, as an absolute path. Escaped where its bytes are not UTF-8.
    pub path: String,
    /// Digest of the file.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// True if the file is trusted.
    pub trusted: bool,
    /// Digest that was trusted before the file changed, or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub trusted_before: Option<Digest>,
}

/// Owner of a policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// Administrator of the machine. This file only tightens.
    System,
    /// The operator.
    Operator,
    /// The workspace.
    Workspace,
    /// A directory above the workspace.
    Enclosing,
}

/// Additional rights of sandboxed commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxAllowance {
    /// Absolute paths that commands may read.
    pub read: Vec<String>,
    /// Absolute paths of directories that commands may write to. No change in them is part of a run.
    pub write: Vec<String>,
    /// Absolute paths that commands may read and execute.
    pub exec: Vec<String>,
    /// Names of environment variables that are passed through, or `NAME=VALUE`.
    pub env: Vec<String>,
    /// Directories of the workspace that are passed through. No change in them is part of a run.
    #[schemars(with = "Vec<value::PathName>")]
    pub caches: Vec<RelPath>,
    /// Limits above the default, each `NAME=AMOUNT`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// Pipeline that task plans may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pipeline {
    /// Name.
    pub name: String,
    /// Steps, each a program with its arguments. `{NAME}` stands for the value of a parameter.
    pub steps: Vec<Vec<String>>,
    /// Set for a pipeline that reaches outside: its steps have the network, and run after the change of the plan is published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Directory in which the steps start. Absent for the root of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::PathName>")]
    pub cwd: Option<RelPath>,
    /// Names of environment variables that are passed through, or `NAME=VALUE`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Rules of the paths on which the result depends. Absent where it may depend on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
    /// Rules of the paths that the steps may change.
    pub outputs: Vec<String>,
    /// Time of one run, in seconds, where it is less than the plan allows. Absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Parameters. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<PipelineParameter>,
}

/// Parameter of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineParameter {
    /// Name.
    pub name: String,
    /// Values that it may have, as a sentence.
    pub values: String,
    /// Value where the plan gives none. Absent where the plan has to give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Library and limits of SQL steps, as the policies set them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlSettings {
    /// DuckDB library that is loaded instead of the tested one, as an absolute path. Absent where none is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// SHA-256 of that library. Absent where none is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub sha256: Option<Digest>,
    /// Size of a database, in bytes. Absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Memory of the engine, in bytes. Absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Size of the files that the engine writes when that memory is full, in bytes. Absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u64>,
    /// Threads of the engine. Absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// Rights of plugin packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginAllowance {
    /// True if their code may run, in a sandbox. Absent where the operator's policy does not say.
    #[serde(default, rename = "allowPluginCodeExecution", skip_serializing_if = "Option::is_none")]
    pub code_execution: Option<bool>,
}

/// Task envelopes that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskEnvelopes {
    /// Envelopes with a signed approval.
    Signed,
}

/// File of access policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessFile {
    /// The file, as an absolute path. Escaped where its bytes are not UTF-8.
    pub path: String,
    /// Digest of the file.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Number of policies in the file.
    pub policies: u64,
}

/// Result of `actum policy test`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyTest {
    /// File with the cases. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// Digest of everything in force.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Number of cases that hold.
    pub held: u64,
    /// The cases, in the order of the file.
    pub cases: Vec<PolicyCase>,
}

/// Case of a policy test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCase {
    /// Line of the case, counted from 1.
    pub line: u64,
    /// Name of the case.
    pub name: String,
    /// True if the case holds.
    pub holds: bool,
    /// Expected decision.
    pub expected: ExpectedDecision,
    /// Decision under the policy in force.
    pub found: FoundDecision,
}

/// Decision that a case expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedDecision {
    /// Expected verdict.
    pub verdict: Verdict,
    /// Expected tier; `null` where any is accepted.
    #[schemars(with = "Option<value::Tier>")]
    pub tier: Option<RiskTier>,
    /// Expected gate; `null` where any is accepted.
    pub gate: Option<String>,
}

/// Decision that the policy in force makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundDecision {
    /// Verdict of all gates.
    pub verdict: Verdict,
    /// Risk tier.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// First gate that refuses, or `null`.
    pub gate: Option<String>,
    /// Ground of that gate, else of the gate that the case expected to refuse, or `null`.
    #[schemars(with = "Option<Ground>")]
    pub ground: Option<Value>,
    /// Ground as a sentence. Its wording can change in any version.
    pub message: String,
}

/// Result of `actum policy suggest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySuggestion {
    /// Number of ledger entries that were looked at, the newest ones.
    pub entries: u64,
    /// Number of refused changes that would be refused now as well.
    pub refused: u64,
    /// Number of these that would pass with all additions.
    pub would_pass: u64,
    /// Suggested additions, by file.
    pub additions: Vec<PolicyAddition>,
    /// Reasons why the others would still be refused, each once, as sentences.
    pub still: Vec<String>,
}

/// Suggested addition to a policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyAddition {
    /// Owner of the file.
    pub source: PolicySource,
    /// Lines for the file, in TOML.
    pub toml: String,
}

/// Result of `actum policy explain PATH`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Effect that was asked about.
    #[schemars(with = "value::EffectKind")]
    pub effect: EffectKind,
    /// Path of a renamed file before. Absent for other effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<WorkspacePath>,
    /// Verdict of all gates.
    pub verdict: Verdict,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
}

/// Result of `actum policy explain --command`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExplanation {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Rule that decides, as a policy has it; `null` where no rule matches the command.
    pub rule: Option<Map<String, Value>>,
    /// Decision of the gate `commands`.
    #[serde(flatten)]
    pub gate: Gate,
}

/// Result of `actum policy explain RUN`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunExplanation {
    /// The run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Recorded decision.
    #[serde(flatten)]
    pub then: Decision,
    /// Digest of the policy that was in force.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Digest of the policy that is in force now.
    #[schemars(with = "value::Digest")]
    pub policy_now: Digest,
    /// Decision about the same change under the policy in force now; `null` where this version cannot make it.
    pub now: Option<Decision>,
    /// Reason why `now` is `null`, else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now_problem: Option<String>,
}

/// Decision of all gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Verdict of all gates.
    pub verdict: Verdict,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
}

/// Result of `actum trust`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// The policy file, as an absolute path. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// True if the file is trusted now, or will be from `from` on.
    pub trusted: bool,
    /// Time from which the trust counts. Absent where it counts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub from: Option<Timestamp>,
    /// Digest of the trusted file; `null` where it is not trusted.
    #[schemars(with = "Option<value::Digest>")]
    pub digest: Option<Digest>,
    /// Rules that loosen the policy and count with the trust, as sentences.
    pub counts: Vec<String>,
}

impl Document for PolicyCheck {
    const FORMAT: &'static str = "actum.policy-check/1";
}

impl Document for PolicyTest {
    const FORMAT: &'static str = "actum.policy-test/1";
}

impl Document for PolicyExplanation {
    const FORMAT: &'static str = "actum.policy-explanation/1";
}

impl Document for CommandExplanation {
    const FORMAT: &'static str = "actum.command-explanation/1";
}

impl Document for RunExplanation {
    const FORMAT: &'static str = "actum.run-explanation/1";
}

impl Document for PolicySuggestion {
    const FORMAT: &'static str = "actum.policy-suggestion/1";
}

impl Document for Trust {
    const FORMAT: &'static str = "actum.trust/1";
}
