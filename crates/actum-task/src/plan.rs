//! Task plan: the input from an inspector (EX-2, EX-9, EX-10, EX-12).

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

/// Plan of an inspector: actions on files, and instructions for their execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlan {
    /// Id chosen by the planner.
    pub id: PlanId,
    /// Purpose in the planner's words.
    pub description: Option<String>,
    /// Actions in the planner's order; at least one.
    pub actions: Vec<Action>,
    /// Execution instructions.
    pub instructions: Instructions,
}

/// Action of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Id chosen by the planner. [`Graph`](super::Graph) checks that it is unique.
    pub id: ActionId,
    /// Purpose in the planner's words.
    pub description: Option<String>,
    /// Path of the target file.
    pub target: RelPath,
    /// Operation on the target.
    pub work: Work,
    /// Digest that the target must have before (FO-6).
    pub expected: Option<Digest>,
    /// Ids of the actions that must be done before.
    pub depends_on: Vec<ActionId>,
    /// True if a failed postcondition rolls the action back (EX-12). Changes that the engine captures
    /// can be rolled back regardless of this value.
    pub reversible: bool,
    /// Risk tier declared by the planner, R1 to R4; it can only raise the computed tier (D-2).
    pub declared_tier: Option<RiskTier>,
    /// Conditions before the action.
    pub preconditions: Vec<Condition>,
    /// Conditions after the action.
    pub postconditions: Vec<Condition>,
    /// Time limit; if absent, that of the config.
    pub timeout: Option<Duration>,
}

/// Target path named in a plan, even in one that cannot be read as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// Index of its action in the plan, counted from 0.
    pub action: usize,
    /// Id of the action; empty if it has none.
    pub id: String,
    /// Path, if it is valid.
    pub path: Option<RelPath>,
}

/// Operation on the target of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// `FILE_CREATE`: creates the file.
    Create {
        /// Content of the file.
        content: String,
        /// True if the file is executable (EX-20).
        executable: bool,
    },
    /// `FILE_MODIFY`: changes the file.
    Modify(Change),
    /// `FILE_DELETE`: deletes the file.
    Delete,
    /// `FILE_RENAME`: moves the file.
    Rename {
        /// New path.
        new_path: RelPath,
    },
    /// `SCHEMA_UPDATE`: changes a schema in JSON or YAML.
    UpdateSchema(SchemaChange),
    /// `SQL_EXECUTE`: runs a query on the target database (A.2).
    ExecuteSql(SqlQuery),
    /// `PIPELINE_RUN`: runs a pipeline that the operator declared.
    RunPipeline(Pipeline),
}

/// Types of actions (EX-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionType {
    /// `FILE_CREATE`
    FileCreate,
    /// `FILE_MODIFY`
    FileModify,
    /// `FILE_DELETE`
    FileDelete,
    /// `FILE_RENAME`
    FileRename,
    /// `SCHEMA_UPDATE`
    SchemaUpdate,
    /// `SQL_EXECUTE`
    SqlExecute,
    /// `PIPELINE_RUN`
    PipelineRun,
}

/// Change to a file (EX-10). Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `content`: replaces the whole content.
    Content(String),
    /// `hunks`: applies hunks of a unified diff, as in a change set.
    Hunks(Vec<Hunk>),
    /// `text_replace`: replaces a text by another, byte for byte.
    ReplaceText {
        /// Text to replace.
        pattern: String,
        /// Replacement.
        replacement: String,
        /// Expected number of matches; all of them are replaced.
        count: u32,
    },
    /// `line_insert`: inserts lines before a line; one past the last appends.
    InsertLines {
        /// Number of the first inserted line.
        line: u32,
        /// Inserted lines.
        content: String,
    },
    /// `line_delete`: deletes lines.
    DeleteLines {
        /// First deleted line.
        start: u32,
        /// Last deleted line, not before the first.
        end: u32,
    },
    /// Edit of a value in JSON or YAML.
    Structure(StructureEdit),
}

/// Change to a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaChange {
    /// `content`: replaces the whole content.
    Content(String),
    /// Edit of a value in it.
    Structure(StructureEdit),
}

/// Edit of one value of a JSON or YAML file; all other bytes are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureEdit {
    /// `json_add_property`
    JsonAddProperty {
        /// Path of the object.
        path: Selector,
        /// Name of the property, which must not exist yet.
        key: String,
        /// Value of the property.
        value: JsonText,
    },
    /// `json_remove_property`
    JsonRemoveProperty {
        /// Path of the object.
        path: Selector,
        /// Name of the property.
        key: String,
    },
    /// `json_update_value`
    JsonUpdateValue {
        /// Path of the value.
        path: Selector,
        /// Replacement value.
        value: JsonText,
    },
    /// `yaml_update`
    YamlUpdate {
        /// Path of the value, or of a new member of a mapping.
        path: Selector,
        /// Only document to search, counted from 1.
        document: Option<NonZeroU32>,
        /// Replacement value.
        value: JsonText,
    },
    /// `yaml_remove`
    YamlRemove {
        /// Path of the mapping member.
        path: Selector,
        /// Only document to search, counted from 1.
        document: Option<NonZeroU32>,
    },
}

/// SQL query (A.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlQuery {
    /// Path of the file with the query.
    pub query_file: RelPath,
    /// Values of the parameters: an object. `None` is the same as an empty object.
    pub parameters: Option<JsonText>,
    /// True if the last statement must return at least one row.
    pub expect_results: bool,
    /// Path for the resulting rows, as Parquet.
    pub save_results_to: Option<RelPath>,
}

/// Run of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Name of the pipeline.
    pub name: String,
    /// Parameters: an object.
    pub parameters: Option<JsonText>,
}

/// Execution instructions that a plan sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// Execution order.
    pub order: ExecutionOrder,
    /// Soft constraints that the plan sets (EX-19).
    pub constraints: ConstraintOverrides,
    /// Conditions after all actions.
    pub validation_rules: Vec<Condition>,
}

/// Execution order of the actions; each one follows its dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutionOrder {
    /// One action after the other.
    #[default]
    Sequential,
    /// Several actions at once.
    Parallel,
}

/// Effective soft constraints (seed, 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// True if a failed action stops the run.
    pub stop_on_error: bool,
    /// True if a stopped run is rolled back.
    pub rollback_on_failure: bool,
    /// True if a changed file keeps its permissions.
    pub preserve_permissions: bool,
    /// True if the targets are hashed again after the run. The expected digests before the run are always checked
    /// (EX-19).
    pub verify_hashes: bool,
}

/// Soft constraints that are set; `None` if unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConstraintOverrides {
    /// Same as in [`Constraints`].
    pub stop_on_error: Option<bool>,
    /// Same as in [`Constraints`].
    pub rollback_on_failure: Option<bool>,
    /// Same as in [`Constraints`].
    pub preserve_permissions: Option<bool>,
    /// Same as in [`Constraints`].
    pub verify_hashes: Option<bool>,
}

/// Positions of the actions in the text of a plan, by index in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionPlaces(pub Vec<Place>);

/// Words for risk tiers (D-2).
const TIERS: [(&str, RiskTier); 4] = [
    ("LOW", RiskTier::R1),
    ("MEDIUM", RiskTier::R2),
    ("HIGH", RiskTier::R3),
    ("CRITICAL", RiskTier::R4),
];

/// Error of an invalid task plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task plan cannot be used: {0}")]
pub struct TaskPlanError(#[source] pub Mistakes);

impl TaskPlan {
    /// Reads a `task_plan.json`.
    ///
    /// # Errors
    /// [`TaskPlanError`] with all problems, up to [`PROBLEMS_MAX`](super::limits::PROBLEMS_MAX), or only the
    /// first if the text is not JSON. [`graph`](Self::graph) and [`lint`](super::lint) report whether the
    /// actions are consistent with each other.
    pub fn read(bytes: &[u8]) -> Result<Self, TaskPlanError> {
        read::plan(bytes).map(|(plan, _)| plan).map_err(TaskPlanError)
    }

    /// Reads a plan, and also returns the position of each action.
    ///
    /// # Errors
    /// Same errors as [`read`](Self::read).
    pub fn read_with_places(bytes: &[u8]) -> Result<(Self, ActionPlaces), TaskPlanError> {
        read::plan(bytes).map_err(TaskPlanError)
    }

    /// Lists the targets that the bytes of a plan name, even if the plan as a whole cannot be read.
    pub fn named_targets(bytes: &[u8]) -> Vec<NamedTarget> {
        read::named(bytes)
    }

    /// Finds problems with the order of the actions, even if the plan as a whole cannot be read. Returns
    /// nothing if an id or a dependency cannot be read. Each problem comes with the position of its action.
    pub fn named_order_problems(bytes: &[u8]) -> Vec<(GraphProblem, Option<Place>)> {
        read::order_problems(bytes)
    }

    /// Orders the actions by their dependencies (EX-8).
    ///
    /// # Errors
    /// [`GraphError`] if two actions share an id, a dependency is not in the plan, or actions depend on each other.
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

    /// Writes the plan as JSON in the form that [`read`](Self::read) accepts.
    pub fn to_json(&self) -> String {
        write::plan(self)
    }

    /// Returns the effective soft constraints: those of the plan, otherwise those of `defaults`.
    pub fn constraints(&self, defaults: Constraints) -> Constraints {
        self.instructions.constraints.over(defaults)
    }
}

impl Default for Constraints {
    /// Returns the defaults of the seed (7.2).
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
    /// Returns these constraints, with the unset ones taken from `others`.
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

    /// Returns the files that it changes: the target, and the path of a rename or of saved query results.
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

    /// Returns the file that it may additionally remove: the write-ahead log of a database, whose content is
    /// then in the database.
    pub fn write_ahead_log(&self) -> Option<RelPath> {
        let Work::ExecuteSql(_) = &self.work else { return None };
        RelPath::new([self.target.as_bytes(), b".wal"].concat()).ok()
    }

    /// Returns the files that it reads and does not change.
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
    /// Returns the `type` of its operation.
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

    /// Returns the type of an action with this operation.
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

    /// Returns the pipeline that it runs, if it runs one.
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

    /// Returns the whole content that it gives its target, if it sets one.
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
    /// All types.
    pub const ALL: [Self; 7] = [
        Self::FileCreate,
        Self::FileModify,
        Self::FileDelete,
        Self::FileRename,
        Self::SchemaUpdate,
        Self::SqlExecute,
        Self::PipelineRun,
    ];

    /// Returns the word used in a plan.
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

    /// Returns the time limit of such an action (seed, 11.1).
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
    /// Returns the word used in a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}
