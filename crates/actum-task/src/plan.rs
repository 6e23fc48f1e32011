//! The task plan, which an inspector writes and the executor carries out (EX-2, EX-9, EX-10, EX-12).

mod operation;
mod read;
mod schema;
mod write;

pub(super) use read::constraints;
pub(super) use schema::{CONSTRAINT_FIELDS, TASK_PLAN};

use std::num::NonZeroU32;
use std::time::Duration;

use actum_core::place::Place;
use actum_core::{Digest, RelPath, RiskTier};
use actum_edit::change_set::Hunk;
use actum_edit::edit::json_patch::JsonText;

use super::condition::Condition;
use super::diagnostics::Mistakes;
use super::graph::{Graph, GraphError, GraphProblem, Node};
use super::limits::{self, TimeLimit};
use super::name::{ActionId, PlanId, Selector};

/// Task plan of an inspector: actions on files, and instructions for their execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlan {
    /// Id of the plan, chosen by the planner.
    pub id: PlanId,
    /// Purpose of the plan in the planner's words.
    pub description: Option<String>,
    /// Actions of the plan in the planner's order. There is at least one.
    pub actions: Vec<Action>,
    /// Instructions for the execution of the actions.
    pub instructions: Instructions,
}

/// One action of a task plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Id of the action, chosen by the planner. [`Graph`](super::Graph) checks that it is unique.
    pub id: ActionId,
    /// Purpose of the action in the planner's words.
    pub description: Option<String>,
    /// Path of the file that the action operates on.
    pub target: RelPath,
    /// Operation on the target.
    pub work: Work,
    /// Digest that the target must have before the action (FO-6).
    pub expected: Option<Digest>,
    /// Ids of the actions that must be completed before this one.
    pub depends_on: Vec<ActionId>,
    /// Whether a failed postcondition rolls back the action (EX-12). Changes that the engine captures can be rolled back even if
    /// this is false.
    pub reversible: bool,
    /// Risk tier that the planner declares, from R1 to R4. It can only raise the computed tier (D-2).
    pub declared_tier: Option<RiskTier>,
    /// Conditions that must be true before the action.
    pub preconditions: Vec<Condition>,
    /// Conditions that must be true after the action.
    pub postconditions: Vec<Condition>,
    /// Time limit of the action. If absent, the limit in the config applies.
    pub timeout: Option<Duration>,
}

/// Target path in a plan, which may be found even if the rest of the plan is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// Index in the plan of the action that names the path, counted from 0.
    pub action: usize,
    /// Id of the action that names the path, or an empty string if the action has no id.
    pub id: String,
    /// Path that the action names, or `None` if it is not a valid path.
    pub path: Option<RelPath>,
}

/// Operation of an action on its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// `FILE_CREATE`: creates the target.
    Create {
        /// Content of the new file.
        content: String,
        /// Whether the new file is executable (EX-20).
        executable: bool,
    },
    /// `FILE_MODIFY`: changes the content of the target.
    Modify(Change),
    /// `FILE_DELETE`: deletes the target.
    Delete,
    /// `FILE_RENAME`: moves the target.
    Rename {
        /// Path to which the target is moved.
        new_path: RelPath,
    },
    /// `SCHEMA_UPDATE`: changes a schema in JSON or YAML.
    UpdateSchema(SchemaChange),
    /// `SQL_EXECUTE`: runs a query on a database, which is the target (A.2).
    ExecuteSql(SqlQuery),
    /// `PIPELINE_RUN`: runs a pipeline that the operator has declared.
    RunPipeline(Pipeline),
}

/// Type of an action, as named in a plan (EX-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionType {
    /// `FILE_CREATE`: creates a file.
    FileCreate,
    /// `FILE_MODIFY`: changes the content of a file.
    FileModify,
    /// `FILE_DELETE`: deletes a file.
    FileDelete,
    /// `FILE_RENAME`: moves a file.
    FileRename,
    /// `SCHEMA_UPDATE`: changes a schema.
    SchemaUpdate,
    /// `SQL_EXECUTE`: runs SQL on a database.
    SqlExecute,
    /// `PIPELINE_RUN`: runs a declared pipeline.
    PipelineRun,
}

/// Change to the content of a file (EX-10). Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `content`: replaces the entire content.
    Content(String),
    /// `hunks`: applies hunks of a unified diff, in the same form as in a change set.
    Hunks(Vec<Hunk>),
    /// `text_replace`: replaces a literal text with another one.
    ReplaceText {
        /// Literal text to replace.
        pattern: String,
        /// Text that replaces the pattern.
        replacement: String,
        /// Number of times that the pattern must occur in the file. All occurrences are replaced.
        count: u32,
    },
    /// `line_insert`: inserts lines before a line. The number after the last line appends them.
    InsertLines {
        /// Number of the line before which the new lines are inserted.
        line: u32,
        /// Lines to insert.
        content: String,
    },
    /// `line_delete`: deletes a range of lines.
    DeleteLines {
        /// Number of the first line to delete.
        start: u32,
        /// Number of the last line to delete. It is not less than `start`.
        end: u32,
    },
    /// Edit of a value in a JSON or YAML file.
    Structure(StructureEdit),
}

/// Change to the content of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaChange {
    /// `content`: replaces the entire content.
    Content(String),
    /// Edit of a value in the schema.
    Structure(StructureEdit),
}

/// Edit of one value in a JSON or YAML file. All other bytes of the file stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureEdit {
    /// `json_add_property`: adds a property to a JSON object.
    JsonAddProperty {
        /// JSONPath of the object.
        path: Selector,
        /// Name of the new property, which the object must not have yet.
        key: String,
        /// Value of the new property.
        value: JsonText,
    },
    /// `json_remove_property`: removes a property from a JSON object.
    JsonRemoveProperty {
        /// JSONPath of the object.
        path: Selector,
        /// Name of the property to remove.
        key: String,
    },
    /// `json_update_value`: replaces a JSON value.
    JsonUpdateValue {
        /// JSONPath of the value to replace.
        path: Selector,
        /// New value.
        value: JsonText,
    },
    /// `yaml_update`: replaces a YAML value, or adds a member to a mapping.
    YamlUpdate {
        /// JSONPath of the value to replace or of the member to add.
        path: Selector,
        /// Number of the only YAML document to search, counted from 1. `None` to search all documents of the file.
        document: Option<NonZeroU32>,
        /// New value.
        value: JsonText,
    },
    /// `yaml_remove`: removes a member from a YAML mapping.
    YamlRemove {
        /// JSONPath of the member to remove.
        path: Selector,
        /// Number of the only YAML document to search, counted from 1. `None` to search all documents of the file.
        document: Option<NonZeroU32>,
    },
}

/// SQL statements that an action runs on its target database (A.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlQuery {
    /// Path of the file that contains the statements.
    pub query_file: RelPath,
    /// JSON object with the values of the parameters in the statements. `None` is equivalent to an empty object.
    pub parameters: Option<JsonText>,
    /// Whether the action fails if the last statement neither returns nor changes a row.
    pub expect_results: bool,
    /// Path to which the rows of the last statement are written as Parquet.
    pub save_results_to: Option<RelPath>,
}

/// Pipeline that an action runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Name of the pipeline in the operator's policy.
    pub name: String,
    /// JSON object with the parameters of the pipeline.
    pub parameters: Option<JsonText>,
}

/// Execution instructions of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// Whether actions run one after another or in parallel.
    pub order: ExecutionOrder,
    /// Soft constraints that the plan sets, which override those of the config (EX-19).
    pub constraints: ConstraintOverrides,
    /// Conditions that must be true after all actions.
    pub validation_rules: Vec<Condition>,
}

/// Execution order of actions that do not depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutionOrder {
    /// Actions run one after another.
    #[default]
    Sequential,
    /// Several actions may run at the same time.
    Parallel,
}

/// Soft constraints that apply to a run (seed, 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// Whether a failed action stops the run.
    pub stop_on_error: bool,
    /// Whether a stopped run is rolled back.
    pub rollback_on_failure: bool,
    /// Whether a changed file keeps its permissions.
    pub preserve_permissions: bool,
    /// Whether the targets are hashed again after the run. The digests that operations expect of their targets are always checked
    /// (EX-19).
    pub verify_hashes: bool,
}

/// Soft constraints that a plan or a config sets. Fields that are not set are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConstraintOverrides {
    /// Overrides [`Constraints::stop_on_error`].
    pub stop_on_error: Option<bool>,
    /// Overrides [`Constraints::rollback_on_failure`].
    pub rollback_on_failure: Option<bool>,
    /// Overrides [`Constraints::preserve_permissions`].
    pub preserve_permissions: Option<bool>,
    /// Overrides [`Constraints::verify_hashes`].
    pub verify_hashes: Option<bool>,
}

/// Line and column at which each action starts in the text of a plan, in the order of the actions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionPlaces(pub Vec<Place>);

/// Risk levels as written in plans, with their risk tiers (D-2).
const TIERS: [(&str, RiskTier); 4] = [
    ("LOW", RiskTier::R1),
    ("MEDIUM", RiskTier::R2),
    ("HIGH", RiskTier::R3),
    ("CRITICAL", RiskTier::R4),
];

/// Error for a task plan that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task plan cannot be used: {0}")]
pub struct TaskPlanError(#[source] pub Mistakes);

impl TaskPlan {
    /// Parses a `task_plan.json`.
    ///
    /// # Errors
    /// Returns [`TaskPlanError`] with the problems of the plan, up to [`PROBLEMS_MAX`](super::limits::PROBLEMS_MAX). If the text is
    /// not JSON, only the first problem is reported. Whether the actions fit together is not checked here but by
    /// [`graph`](Self::graph) and [`lint`](super::lint).
    pub fn read(bytes: &[u8]) -> Result<Self, TaskPlanError> {
        read::plan(bytes).map(|(plan, _)| plan).map_err(TaskPlanError)
    }

    /// Parses a `task_plan.json` and also returns the position of each action in the text.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](Self::read).
    pub fn read_with_places(bytes: &[u8]) -> Result<(Self, ActionPlaces), TaskPlanError> {
        read::plan(bytes).map_err(TaskPlanError)
    }

    /// Lists the target paths in the text of a plan, even if other parts of the plan are invalid.
    pub fn named_targets(bytes: &[u8]) -> Vec<NamedTarget> {
        read::named(bytes)
    }

    /// Finds problems with the order of the actions, even if other parts of the plan are invalid. Each problem is returned with the
    /// position of its action.
    ///
    /// Returns an empty list if any action id or dependency is invalid.
    pub fn named_order_problems(bytes: &[u8]) -> Vec<(GraphProblem, Option<Place>)> {
        read::order_problems(bytes)
    }

    /// Builds the dependency graph of the actions (EX-8).
    ///
    /// # Errors
    /// Returns [`GraphError`] if two actions share an id, a dependency is not in the plan, or actions depend on each other in a
    /// cycle.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let nodes =
            self.actions.iter().map(|Action { id, depends_on, .. }| Node { id, depends_on });
        Graph::new(&nodes.collect::<Vec<_>>())
    }

    /// Returns the paths that the actions write, each with the index of its action.
    pub fn targets(&self) -> impl Iterator<Item = (usize, &RelPath)> {
        let actions = self.actions.iter().enumerate();
        actions.flat_map(|(at, action)| action.written().map(move |path| (at, path)))
    }

    /// Serializes the plan as JSON that [`read`](Self::read) accepts.
    pub fn to_json(&self) -> String {
        write::plan(self)
    }

    /// Returns the soft constraints that apply to a run of the plan. Constraints that the plan does not set are taken from
    /// `defaults`.
    pub fn constraints(&self, defaults: Constraints) -> Constraints {
        self.instructions.constraints.over(defaults)
    }
}

impl Default for Constraints {
    /// Returns the defaults that the seed defines (7.2).
    fn default() -> Self {
        Self {
            stop_on_error: true,
            rollback_on_failure: true,
            preserve_permissions: true,
            verify_hashes: true,
        }
    }
}

impl ConstraintOverrides {
    /// Applies these overrides to `others`.
    pub fn over(&self, others: Constraints) -> Constraints {
        Constraints {
            stop_on_error: self.stop_on_error.unwrap_or(others.stop_on_error),
            rollback_on_failure: self.rollback_on_failure.unwrap_or(others.rollback_on_failure),
            preserve_permissions: self.preserve_permissions.unwrap_or(others.preserve_permissions),
            verify_hashes: self.verify_hashes.unwrap_or(others.verify_hashes),
        }
    }
}

impl Action {
    /// Returns the type of the action.
    pub fn action_type(&self) -> ActionType {
        self.work.action_type()
    }

    /// Returns the paths that the action writes: its target, and the new path of a rename or the path of saved query results.
    pub fn written(&self) -> impl Iterator<Item = &RelPath> {
        let moved_to = match &self.work {
            Work::Rename { new_path } => Some(new_path),
            Work::ExecuteSql(query) => query.save_results_to.as_ref(),
            Work::Create { .. }
            | Work::Modify(_)
            | Work::Delete
            | Work::UpdateSchema(_)
            | Work::RunPipeline(_) => None,
        };
        std::iter::once(&self.target).chain(moved_to)
    }

    /// Returns the path of the write-ahead log of a target database. The action may remove this file, because its content is moved
    /// into the database.
    pub fn write_ahead_log(&self) -> Option<RelPath> {
        let Work::ExecuteSql(_) = &self.work else { return None };
        RelPath::new([self.target.as_bytes(), b".wal"].concat()).ok()
    }

    /// Returns the paths that the action reads but does not change.
    pub fn read_only(&self) -> impl Iterator<Item = &RelPath> {
        let conditions = self.preconditions.iter().chain(&self.postconditions);
        let query = match &self.work {
            Work::ExecuteSql(query) => Some(&query.query_file),
            Work::Create { .. }
            | Work::Modify(_)
            | Work::Delete
            | Work::Rename { .. }
            | Work::UpdateSchema(_)
            | Work::RunPipeline(_) => None,
        };
        let read = conditions.map(|condition| &condition.path).chain(query);
        read.filter(|path| !self.written().any(|written| written == *path))
    }
}

impl Work {
    /// Returns the operation's `type` as written in a plan.
    pub fn operation(&self) -> &'static str {
        let structure = |edit: &StructureEdit| match edit {
            StructureEdit::JsonAddProperty { .. } => "json_add_property",
            StructureEdit::JsonRemoveProperty { .. } => "json_remove_property",
            StructureEdit::JsonUpdateValue { .. } => "json_update_value",
            StructureEdit::YamlUpdate { .. } => "yaml_update",
            StructureEdit::YamlRemove { .. } => "yaml_remove",
        };
        match self {
            Self::Create { .. } => "create",
            Self::Modify(Change::Content(_)) | Self::UpdateSchema(SchemaChange::Content(_)) => {
                "content"
            }
            Self::Modify(Change::Hunks(_)) => "hunks",
            Self::Modify(Change::ReplaceText { .. }) => "text_replace",
            Self::Modify(Change::InsertLines { .. }) => "line_insert",
            Self::Modify(Change::DeleteLines { .. }) => "line_delete",
            Self::Modify(Change::Structure(edit))
            | Self::UpdateSchema(SchemaChange::Structure(edit)) => structure(edit),
            Self::Delete => "delete",
            Self::Rename { .. } => "rename",
            Self::ExecuteSql(_) => "sql_execute",
            Self::RunPipeline(_) => "pipeline_run",
        }
    }

    /// Returns the type of action that performs this operation.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Create { .. } => ActionType::FileCreate,
            Self::Modify(_) => ActionType::FileModify,
            Self::Delete => ActionType::FileDelete,
            Self::Rename { .. } => ActionType::FileRename,
            Self::UpdateSchema(_) => ActionType::SchemaUpdate,
            Self::ExecuteSql(_) => ActionType::SqlExecute,
            Self::RunPipeline(_) => ActionType::PipelineRun,
        }
    }

    /// Returns the pipeline if this operation runs one.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        match self {
            Self::RunPipeline(pipeline) => Some(pipeline),
            Self::Create { .. }
            | Self::Modify(_)
            | Self::Delete
            | Self::Rename { .. }
            | Self::UpdateSchema(_)
            | Self::ExecuteSql(_) => None,
        }
    }

    /// Returns the new content of the target if the operation replaces it completely.
    pub fn whole_content(&self) -> Option<&str> {
        match self {
            Self::Create { content, .. }
            | Self::Modify(Change::Content(content))
            | Self::UpdateSchema(SchemaChange::Content(content)) => Some(content),
            Self::Modify(_)
            | Self::Delete
            | Self::Rename { .. }
            | Self::UpdateSchema(_)
            | Self::ExecuteSql(_)
            | Self::RunPipeline(_) => None,
        }
    }
}

impl ActionType {
    /// All action types.
    pub const ALL: [Self; 7] = [
        Self::FileCreate,
        Self::FileModify,
        Self::FileDelete,
        Self::FileRename,
        Self::SchemaUpdate,
        Self::SqlExecute,
        Self::PipelineRun,
    ];

    /// Returns the name of the type as written in plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileCreate => "FILE_CREATE",
            Self::FileModify => "FILE_MODIFY",
            Self::FileDelete => "FILE_DELETE",
            Self::FileRename => "FILE_RENAME",
            Self::SchemaUpdate => "SCHEMA_UPDATE",
            Self::SqlExecute => "SQL_EXECUTE",
            Self::PipelineRun => "PIPELINE_RUN",
        }
    }

    /// Returns the time limit for actions of this type (seed, 11.1).
    pub fn time_limit(self) -> TimeLimit {
        match self {
            Self::FileCreate | Self::FileModify | Self::FileDelete | Self::FileRename => {
                limits::FILE_TIME
            }
            Self::SchemaUpdate => limits::SCHEMA_TIME,
            Self::SqlExecute => limits::SQL_TIME,
            Self::PipelineRun => limits::PIPELINE_TIME,
        }
    }
}

impl std::fmt::Display for ActionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ExecutionOrder {
    /// Returns the name of the order as written in plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}
