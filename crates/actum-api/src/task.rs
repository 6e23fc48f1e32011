//! Task plans: templates, checks, previews and approvals of plans, status lines and rollbacks of tasks, and codes.

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

/// Result of `actum plan lint`, and of `actum plan preview` and `approve` where the plan cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanLint {
    /// Id of the plan. Absent where the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// True if there are no problems.
    pub sound: bool,
    /// Number of actions in the plan. Absent where the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<u64>,
    /// Number of files that the plan writes. Absent where the plan cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// The problems, up to a limit.
    pub problems: Vec<PlanProblem>,
    /// True if there are more problems than are listed.
    pub more: bool,
}

/// Problem of a task plan or its config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProblem {
    /// File that has the problem. Absent where it is the plan and could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Number of the code.
    pub error_code: u16,
    /// Word of the code.
    pub error_type: String,
    /// Category of the code.
    pub error_category: ErrorCategory,
    /// Path to the value that has the problem. Empty for the document itself.
    pub path: String,
    /// Line, counted from 1; `null` where the place is unknown.
    pub line: Option<u64>,
    /// Column, counted from 1; `null` where the place is unknown.
    pub column: Option<u64>,
    /// The problem as a sentence.
    pub message: String,
    /// Consequence for the plan.
    pub recovery_action: RecoveryAction,
}

/// Category of a code of task plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ErrorCategory {
    /// A document or its content is invalid.
    #[serde(rename = "VALIDATION_ERROR")]
    Validation,
    /// The file system or git is not as required.
    #[serde(rename = "FILE_SYSTEM_ERROR")]
    FileSystem,
    /// The change is not permitted.
    #[serde(rename = "PERMISSION_ERROR")]
    Permission,
    /// A protected file would change.
    #[serde(rename = "PROTECTED_FILE_ERROR")]
    ProtectedFile,
    /// An action that another depends on was not carried out.
    #[serde(rename = "DEPENDENCY_ERROR")]
    Dependency,
    /// The engine failed.
    #[serde(rename = "INTERNAL_ERROR")]
    Internal,
}

impl ErrorCategory {
    /// Returns the word in the document.
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
    /// Nothing was begun.
    Rejected,
    /// The action was skipped.
    Skipped,
    /// Everything is as before.
    RolledBack,
    /// A user has to act.
    ManualRequired,
}

/// Result of `actum plan preview`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPreview {
    /// Id of the plan.
    pub plan: String,
    /// True if the whole plan would be carried out.
    pub sound: bool,
    /// Actions in the order in which they would be carried out.
    pub actions: Vec<PreviewedAction>,
    /// Validation rules that would not hold at the end, and other reasons why the plan would not be kept.
    pub broken_rules: Vec<ActionError>,
    /// Risk tier of the whole change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Decisions of the gates about the whole change.
    pub gates: Vec<Gate>,
    /// Settings of the task.
    #[serde(flatten)]
    pub settings: TaskSettings,
    /// Diffs of the whole change.
    pub diff: Diffs,
}

/// Action of a previewed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewedAction {
    /// Id of the action.
    pub action_id: String,
    /// Result of the action.
    #[serde(flatten)]
    pub end: ActionResult,
    /// Effects of an SQL step. Absent for other actions, and where nothing of the action is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<SqlPreview>,
}

/// Result of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionResult {
    /// The action would be carried out.
    Success {
        /// Summary of its effect.
        output: String,
    },
    /// The action would fail.
    Failed(ActionError),
    /// The action would be skipped.
    Skipped {
        /// Reason as a sentence.
        reason: String,
    },
    /// The action runs an external pipeline, after the change is published.
    Deferred {
        /// Name of the pipeline.
        pipeline: String,
        /// Variables as they are declared. Absent if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<String>,
        /// Arguments of each step.
        steps: Vec<Vec<String>>,
    },
}

/// Error of an action or a validation rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionError {
    /// Number of the code.
    pub error_code: u16,
    /// The error as a sentence.
    pub error_message: String,
}

/// Settings of a task that differ from the defaults, and its commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSettings {
    /// Settings of the system config that differ from the defaults. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<TaskSetting>,
    /// Commit of the run, as the repository is now. Absent where none is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<TaskCommit>,
    /// Description of the plan, for the message of the commit. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_body: Option<String>,
}

/// Setting of a system config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSetting {
    /// Name with that of its object, such as `git.commit`.
    pub name: String,
    /// Value as the config has it.
    pub value: String,
}

/// Commit of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TaskCommit {
    /// The commit can be made.
    Planned {
        /// Branch that is checked out.
        branch: String,
        /// Author, such as `Ada <ada@example.org>`.
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
    /// The file, as the command named it. Escaped where its bytes are not UTF-8.
    pub file: String,
}

/// Result of `actum plan approve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanApprove {
    /// Id of the task.
    pub task: String,
    /// File of the task envelope, beside the plan.
    pub envelope: String,
    /// File of the signed approval; `null` where the envelope is unsigned.
    pub approval: Option<String>,
    /// Time until which the approval counts; `null` where the envelope is unsigned.
    #[schemars(with = "Option<value::Time>")]
    pub expires: Option<Timestamp>,
}

/// Status line of a task, which `actum run` writes. `schemas/task-status.schema.json` is its contract with all limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskStatus {
    /// Progress of the task.
    Update(TaskUpdate),
    /// End of the task: the last line.
    Final(Box<TaskEnd>),
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskUpdate {
    /// Number of the line, counted from 0.
    pub sequence: u32,
    /// Id of the task.
    pub task_id: String,
    /// Id of the plan. Absent before the plan was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Time of the line.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Phase of the task, such as `EXECUTING`.
    pub phase: String,
    /// Id of the action. Absent for lines about no action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Status of the action: `STARTED`, `SUCCESS`, `FAILED` or `SKIPPED`. Absent for lines about no action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<String>,
    /// Number of the code of a failed action, else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<u16>,
    /// Number of actions that have ended.
    pub actions_done: u32,
    /// Number of all actions.
    pub actions_total: u32,
    /// Further information as a sentence. Absent without one.
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
    /// Id of the plan. Absent where the plan could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Time of the line.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Status in the words of the reports: `SUCCESS`, `PARTIAL`, `FAILED`, `ROLLED_BACK`, `CANCELLED` or `REJECTED`.
    pub status: String,
    /// Status in the words that all commands share.
    #[schemars(with = "value::Status")]
    pub outcome: Status,
    /// Id of the execution report, or of the error report of a rejected task.
    pub report_id: String,
    /// Directory of the reports, relative to the root. Absent where no report was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_directory: Option<String>,
    /// Numbers of actions by their end. Absent for a rejected task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_summary: Option<ActionsSummary>,
    /// True if the task was rolled back.
    pub rollback_performed: bool,
    /// Error that decided the status. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
}

/// Numbers of actions by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionsSummary {
    /// All actions.
    pub total: u32,
    /// Actions that were carried out.
    pub completed: u32,
    /// Actions that failed.
    pub failed: u32,
    /// Actions that were skipped.
    pub skipped: u32,
}

/// Result of `actum explain CODE`, for a code of task plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCode {
    /// Number of the code.
    pub error_code: u16,
    /// Word of the code.
    pub error_type: String,
    /// Category of the code.
    pub error_category: ErrorCategory,
    /// Meaning of the code, as a sentence.
    pub about: String,
    /// Consequence, as the reports name it.
    pub recovery_action: RecoveryAction,
    /// Consequence as a sentence.
    pub response: String,
    /// Advice.
    pub to_do: String,
}

/// Result of `actum rollback`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rollback {
    /// Id of the task.
    pub task: String,
    /// Directory of the task's reports, relative to the root.
    pub report_directory: String,
    /// Run that took the task back; `null` where that was done before and only the reports were missing.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Commit that reverts the task's commit; `null` without one.
    pub commit: Option<String>,
    /// True if the task is rolled back.
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
