//! Documents about task plans: templates, checks, previews, approvals, status lines, rollbacks and error codes.

use actum_core::{RiskTier, RunId, Status, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::brief_parts::BriefParts;
use crate::change::Diffs;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::sql_preview::SqlPreview;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<PlanLint>(),
    DocumentType::new::<PlanPreview>(),
    DocumentType::new::<PlanNew>(),
    DocumentType::new::<PlanApprove>(),
    DocumentType::new::<TaskStatus>(),
    DocumentType::new::<TaskCode>(),
    DocumentType::new::<Rollback>(),
];

/// Result of `actum plan lint`, and of `actum plan preview` and `approve` if the plan is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanLint {
    /// Id of the plan. Absent if the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Whether the plan has no problems.
    pub sound: bool,
    /// Number of actions in the plan. Absent if the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<u64>,
    /// Number of files that the plan writes. Absent if the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Problems found, up to a limit.
    pub problems: Vec<PlanProblem>,
    /// Whether there are further problems that are not listed.
    pub more: bool,
}

/// Problem in a task plan or its config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProblem {
    /// File with the problem. Absent if it is the plan itself and the plan could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Number of the error code.
    pub error_code: u16,
    /// Name of the error code.
    pub error_type: String,
    /// Category of the error code.
    pub error_category: ErrorCategory,
    /// Path of the value with the problem. Empty for the document itself.
    pub path: String,
    /// Line of the problem, counted from 1, or `null` if unknown.
    pub line: Option<u64>,
    /// Column of the problem, counted from 1, or `null` if unknown.
    pub column: Option<u64>,
    /// Description of the problem as a sentence.
    pub message: String,
    /// Consequence of the problem for the plan.
    pub recovery_action: RecoveryAction,
}

/// Category of an error code of task plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ErrorCategory {
    /// A document or its content is invalid.
    #[serde(rename = "VALIDATION_ERROR")]
    Validation,
    /// The file system or the git repository is not in the required state.
    #[serde(rename = "FILE_SYSTEM_ERROR")]
    FileSystem,
    /// The change is not permitted.
    #[serde(rename = "PERMISSION_ERROR")]
    Permission,
    /// The change would modify a protected file.
    #[serde(rename = "PROTECTED_FILE_ERROR")]
    ProtectedFile,
    /// An action that another action depends on was not carried out.
    #[serde(rename = "DEPENDENCY_ERROR")]
    Dependency,
    /// An internal error occurred in the engine.
    #[serde(rename = "INTERNAL_ERROR")]
    Internal,
}

impl ErrorCategory {
    /// Returns the value used in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION_ERROR",
            Self::FileSystem => "FILE_SYSTEM_ERROR",
            Self::Permission => "PERMISSION_ERROR",
            Self::ProtectedFile => "PROTECTED_FILE_ERROR",
            Self::Dependency => "DEPENDENCY_ERROR",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

/// Consequence of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecoveryAction {
    /// The task was rejected before anything was started.
    Rejected,
    /// The action was skipped.
    Skipped,
    /// All changes were rolled back.
    RolledBack,
    /// A user has to fix the problem.
    ManualRequired,
}

/// Result of `actum plan preview`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPreview {
    /// Id of the plan.
    pub plan: String,
    /// Whether the entire plan would be carried out.
    pub sound: bool,
    /// Actions in the order in which they would be carried out.
    pub actions: Vec<PreviewedAction>,
    /// Validation rules that would fail at the end, and other reasons why the changes would not be kept.
    pub broken_rules: Vec<ActionError>,
    /// Risk tier of the entire change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates on the entire change.
    pub gates: Vec<Gate>,
    /// Settings of the task.
    #[serde(flatten)]
    pub settings: TaskSettings,
    /// Diffs of the entire change.
    pub diff: Diffs,
}

/// Action of a plan, with its predicted result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewedAction {
    /// Id of the action.
    pub action_id: String,
    /// Predicted result of the action.
    #[serde(flatten)]
    pub end: ActionResult,
    /// Changes made by an SQL step. Absent for other actions, and if the step's changes would not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<SqlPreview>,
}

/// Predicted result of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionResult {
    /// The action would be carried out.
    Success {
        /// Summary of the action's effect.
        output: String,
    },
    /// The action would fail.
    Failed(ActionError),
    /// The action would be skipped.
    Skipped {
        /// Reason as a sentence.
        reason: String,
    },
    /// The action would run an external pipeline after the change is published.
    Deferred {
        /// Name of the pipeline.
        pipeline: String,
        /// Environment variables as declared in the policy. Absent if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<String>,
        /// Program and arguments of each step.
        steps: Vec<Vec<String>>,
    },
}

/// Error of an action or a validation rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionError {
    /// Number of the error code.
    pub error_code: u16,
    /// Error message as a sentence.
    pub error_message: String,
}

/// Non-default settings of a task, and the commit that it makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSettings {
    /// Settings of the system config that differ from the defaults. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<TaskSetting>,
    /// Commit that the run would make in the current state of the repository. Absent if no commit is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<TaskCommit>,
    /// Description of the plan, which becomes part of the commit message. Absent if the plan has no description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_body: Option<String>,
}

/// Setting of a system config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSetting {
    /// Qualified name of the setting, such as `git.commit`.
    pub name: String,
    /// Value of the setting, as written in the config.
    pub value: String,
}

/// Commit that a task makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TaskCommit {
    /// The commit can be made.
    Planned {
        /// Branch that is checked out.
        branch: String,
        /// Author of the commit, such as `Ada <ada@example.org>`.
        author: String,
    },
    /// The commit cannot be made.
    Impossible {
        /// Reason as a sentence.
        problem: String,
    },
}

/// Result of `actum plan new`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanNew {
    /// Path of the new plan, as given on the command line. Escaped if it is not UTF-8.
    pub file: String,
}

/// Result of `actum plan approve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanApprove {
    /// Id of the task.
    pub task: String,
    /// Path of the task envelope, which is written next to the plan.
    pub envelope: String,
    /// Path of the signed approval, or `null` if the envelope is unsigned.
    pub approval: Option<String>,
    /// Time until which the approval is valid, or `null` if the envelope is unsigned.
    #[schemars(with = "Option<value::Time>")]
    pub expires: Option<Timestamp>,
}

/// Status line of a task, as printed by `actum run`. `schemas/task-status.schema.json` contains its complete contract, including
/// all limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskStatus {
    /// Progress of the task.
    Update(TaskUpdate),
    /// End of the task. This is the last line.
    Final(Box<TaskEnd>),
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskUpdate {
    /// Number of the line, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: String,
    /// Id of the plan. Absent until the plan has been read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Time at which the line was printed.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Phase of the task, such as `EXECUTING`.
    pub phase: String,
    /// Id of the action. Absent if the line is not about an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Status of the action: `STARTED`, `SUCCESS`, `FAILED` or `SKIPPED`. Absent if the line is not about an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<String>,
    /// Number of the error code of a failed action. Absent for other lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<u16>,
    /// Number of actions that have ended.
    pub actions_done: u32,
    /// Total number of actions.
    pub actions_total: u32,
    /// Additional information as a sentence. Optional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// End of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskEnd {
    /// Number of the line, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: String,
    /// Id of the plan. Absent if the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Time at which the line was printed.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Status of the task, as used in reports: `SUCCESS`, `PARTIAL`, `FAILED`, `ROLLED_BACK`, `CANCELLED` or `REJECTED`.
    pub status: String,
    /// Status of the request, as used by all commands.
    #[schemars(with = "value::Status")]
    pub outcome: Status,
    /// Id of the execution report, or of the error report if the task was rejected.
    pub report_id: String,
    /// Directory of the reports, relative to the workspace root. Absent if no report was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_directory: Option<String>,
    /// Number of actions by outcome. Absent if the task was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_summary: Option<ActionsSummary>,
    /// Whether the task was rolled back.
    pub rollback_performed: bool,
    /// Error that determined the status. Absent if no error occurred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
}

/// Number of actions by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionsSummary {
    /// Total number of actions.
    pub total: u32,
    /// Number of actions that were carried out.
    pub completed: u32,
    /// Number of actions that failed.
    pub failed: u32,
    /// Number of actions that were skipped.
    pub skipped: u32,
}

/// Result of `actum explain CODE` for an error code of task plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCode {
    /// Number of the error code.
    pub error_code: u16,
    /// Name of the error code.
    pub error_type: String,
    /// Category of the error code.
    pub error_category: ErrorCategory,
    /// Meaning of the error code, as a sentence.
    pub about: String,
    /// Consequence of the error, as named in reports.
    pub recovery_action: RecoveryAction,
    /// Consequence of the error, as a sentence.
    pub response: String,
    /// Advice for the user.
    pub to_do: String,
}

/// Result of `actum rollback`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rollback {
    /// Id of the task.
    pub task: String,
    /// Directory of the task's reports, relative to the workspace root.
    pub report_directory: String,
    /// Run that rolled back the task, or `null` if it was already rolled back and only the reports were missing.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Commit that reverts the task's commit, or `null` if no commit was reverted.
    pub commit: Option<String>,
    /// Whether the task is rolled back.
    pub rollback_performed: bool,
}

impl Document for PlanLint {
    const FORMAT: &'static str = "actum.plan-lint/1";
}

impl Document for PlanPreview {
    const FORMAT: &'static str = "actum.plan-preview/1";
}

impl Document for PlanNew {
    const FORMAT: &'static str = "actum.plan-new/1";
}

impl Document for PlanApprove {
    const FORMAT: &'static str = "actum.plan-approve/1";
}

impl Document for TaskStatus {
    const FORMAT: &'static str = "actum.task-status/1";
}

impl Document for TaskCode {
    const FORMAT: &'static str = "actum.task-code/1";
}

impl Document for Rollback {
    const FORMAT: &'static str = "actum.rollback/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}
