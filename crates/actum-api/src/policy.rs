//! Documents about policies: active rules, tests, explanations, suggestions, and trust in a workspace's policy.

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
    /// Digest of all active rules, as recorded in receipts.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Policy files that were read.
    pub files: Vec<PolicyFile>,
    /// Active policy, in the form in which decisions record it.
    pub policy: Map<String, Value>,
    /// Command that notifies the operator of a pending plan. Absent if no command is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
    /// Additional permissions of sandboxed commands. Absent if empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxAllowance>,
    /// Permissions of plugin packages. Absent if the operator's policy does not define them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<PluginAllowance>,
    /// Directories in which a workspace may be created even though other programs modify the files there. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// Kind of task envelopes that are accepted. Absent if all kinds are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_envelopes: Option<TaskEnvelopes>,
    /// Pipelines that task plans may run. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<Pipeline>,
    /// Library and limits of SQL steps. Absent if no policy sets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<SqlSettings>,
    /// Files with the operator's access policies.
    pub access: Vec<AccessFile>,
    /// Rules of the workspace's policy that have no effect until the policy is trusted, as sentences.
    pub ignored: Vec<String>,
    /// Rules that are probably mistakes, as sentences.
    pub warnings: Vec<String>,
}

/// Policy file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFile {
    /// Owner of the file.
    pub source: PolicySource,
    /// Absolute path of the file. Escaped if it is not UTF-8.
    pub path: String,
    /// Digest of the file.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Whether the file is trusted.
    pub trusted: bool,
    /// Digest of the last trusted version if the file has changed since, or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub trusted_before: Option<Digest>,
}

/// Owner of a policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// Administrator of the machine. This file can only tighten the rules.
    System,
    /// Operator.
    Operator,
    /// Workspace.
    Workspace,
    /// Parent directory of the workspace.
    Enclosing,
}

/// Additional permissions of sandboxed commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxAllowance {
    /// Absolute paths that commands may read.
    pub read: Vec<String>,
    /// Absolute paths of directories that commands may write to. Changes in them are not part of a run.
    pub write: Vec<String>,
    /// Absolute paths that commands may read and execute.
    pub exec: Vec<String>,
    /// Environment variables, either as a `NAME` that is passed through or as `NAME=VALUE`.
    pub env: Vec<String>,
    /// Workspace directories that commands access directly. Changes in them are not part of a run.
    #[schemars(with = "Vec<value::PathName>")]
    pub caches: Vec<RelPath>,
    /// Limits that are higher than the default, each as `NAME=AMOUNT`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// Pipeline that task plans may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pipeline {
    /// Name of the pipeline.
    pub name: String,
    /// Steps of the pipeline, each a program with its arguments. `{NAME}` is replaced with the value of a parameter.
    pub steps: Vec<Vec<String>>,
    /// Whether the pipeline has external effects. Its steps can access the network and run after the plan's change is published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Working directory of the steps. Absent if it is the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::PathName>")]
    pub cwd: Option<RelPath>,
    /// Environment variables, either as a `NAME` that is passed through or as `NAME=VALUE`. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Rules for the paths on which the result depends. Absent if it may depend on any path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
    /// Rules for the paths that the steps may change.
    pub outputs: Vec<String>,
    /// Maximum duration of one run of the pipeline, in seconds. Absent if it is not shorter than the plan allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Parameters of the pipeline. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<PipelineParameter>,
}

/// Parameter of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineParameter {
    /// Name of the parameter.
    pub name: String,
    /// Description of the allowed values as a sentence.
    pub values: String,
    /// Value that is used if the plan does not specify one. Absent if the plan has to specify one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Library and limits of SQL steps, as set by the policies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlSettings {
    /// Absolute path of the pinned DuckDB library, which is loaded instead of the tested one. Absent if no library is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// SHA-256 of the pinned library. Absent if no library is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub sha256: Option<Digest>,
    /// Maximum size of a database, in bytes. Absent if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Maximum memory of the engine, in bytes. Absent if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Maximum size of the files that the engine writes when its memory is full, in bytes. Absent if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u64>,
    /// Number of threads of the engine. Absent if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// Permissions of plugin packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginAllowance {
    /// Whether plugin code may run in a sandbox. Absent if the operator's policy does not define this.
    #[serde(default, rename = "allowPluginCodeExecution", skip_serializing_if = "Option::is_none")]
    pub code_execution: Option<bool>,
}

/// Kind of task envelopes that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskEnvelopes {
    /// Only envelopes with a signed approval.
    Signed,
}

/// File with access policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessFile {
    /// Absolute path of the file. Escaped if it is not UTF-8.
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
    /// Path of the file with the test cases. Escaped if it is not UTF-8.
    pub file: String,
    /// Digest of all active rules.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Number of test cases that passed.
    pub held: u64,
    /// Test cases, in the order of the file.
    pub cases: Vec<PolicyCase>,
}

/// Test case for a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCase {
    /// Line of the test case, counted from 1.
    pub line: u64,
    /// Name of the test case.
    pub name: String,
    /// Whether the test case passed.
    pub holds: bool,
    /// Expected decision.
    pub expected: ExpectedDecision,
    /// Decision under the active policy.
    pub found: FoundDecision,
}

/// Decision that a policy test case expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedDecision {
    /// Expected verdict.
    pub verdict: Verdict,
    /// Expected risk tier, or `null` if any tier is accepted.
    #[schemars(with = "Option<value::Tier>")]
    pub tier: Option<RiskTier>,
    /// Expected gate, or `null` if any gate is accepted.
    pub gate: Option<String>,
}

/// Decision that the active policy makes for a test case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundDecision {
    /// Combined verdict of all gates.
    pub verdict: Verdict,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// First gate that rejects the change, or `null` if none does.
    pub gate: Option<String>,
    /// Ground of that gate, or of the gate that the test case expected to reject the change, or `null`.
    #[schemars(with = "Option<Ground>")]
    pub ground: Option<Value>,
    /// Ground as a sentence. Its wording may change in any version.
    pub message: String,
}

/// Result of `actum policy suggest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySuggestion {
    /// Number of examined ledger entries, starting with the newest.
    pub entries: u64,
    /// Number of rejected changes that would still be rejected under the active policy.
    pub refused: u64,
    /// Number of those changes that would pass with all suggested additions.
    pub would_pass: u64,
    /// Suggested additions, grouped by policy file.
    pub additions: Vec<PolicyAddition>,
    /// Reasons why the remaining changes would still be rejected, as sentences without duplicates.
    pub still: Vec<String>,
}

/// Suggested addition to a policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyAddition {
    /// Owner of the file.
    pub source: PolicySource,
    /// Lines to add to the file, in TOML.
    pub toml: String,
}

/// Result of `actum policy explain PATH`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    /// Path to be explained.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Effect on the path that the decision is about.
    #[schemars(with = "value::EffectKind")]
    pub effect: EffectKind,
    /// Old path of a renamed file. Absent for other effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<WorkspacePath>,
    /// Combined verdict of all gates.
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
    /// Program and its arguments.
    pub command: Vec<String>,
    /// Rule that determines the decision, as written in the policy, or `null` if no rule matches the command.
    pub rule: Option<Map<String, Value>>,
    /// Decision of the `commands` gate.
    #[serde(flatten)]
    pub gate: Gate,
}

/// Result of `actum policy explain RUN`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunExplanation {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Decision that was recorded for the run.
    #[serde(flatten)]
    pub then: Decision,
    /// Digest of the policy that was active at the time of the run.
    #[schemars(with = "value::Digest")]
    pub policy: Digest,
    /// Digest of the active policy.
    #[schemars(with = "value::Digest")]
    pub policy_now: Digest,
    /// Decision on the same change under the active policy, or `null` if this version of actum cannot make it.
    pub now: Option<Decision>,
    /// Reason why `now` is `null`. Absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now_problem: Option<String>,
}

/// Combined decision of all gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Combined verdict of all gates.
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
    /// Absolute path of the policy file. Escaped if it is not UTF-8.
    pub file: String,
    /// Whether the file is trusted, now or from the time in `from`.
    pub trusted: bool,
    /// Time from which the file is trusted. Absent if this takes effect immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Time>")]
    pub from: Option<Timestamp>,
    /// Digest of the trusted file, or `null` if the file is not trusted.
    #[schemars(with = "Option<value::Digest>")]
    pub digest: Option<Digest>,
    /// Rules that loosen the policy and take effect because the file is trusted, as sentences.
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
