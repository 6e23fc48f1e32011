//! The task plan: what an inspector asks for (EX-2, EX-9, EX-10, EX-12).

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

/// What an inspector asks for: actions on files, and how they are to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlan {
    /// What the planner calls it.
    pub id: PlanId,
    /// What it is for, in the planner's words.
    pub description: Option<String>,
    /// What is to be done, in the planner's order; at least one.
    pub actions: Vec<Action>,
    /// How.
    pub instructions: Instructions,
}

/// One action of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What the plan calls it. Whether it is the only one with this id is for the
    /// [`Graph`](super::Graph) to say.
    pub id: ActionId,
    /// What it is for, in the planner's words.
    pub description: Option<String>,
    /// The file that it is about.
    pub target: RelPath,
    /// What is done to it.
    pub work: Work,
    /// The content that the target must have before (FO-6).
    pub expected: Option<Digest>,
    /// The actions that must be done before.
    pub depends_on: Vec<ActionId>,
    /// Whether a failed postcondition takes it back (EX-12). What the engine captures can be rolled back, whatever
    /// stands here.
    pub reversible: bool,
    /// The tier as the planner has it, R1 to R4; it can only raise what the engine computes (D-2).
    pub declared_tier: Option<RiskTier>,
    /// What must hold before.
    pub preconditions: Vec<Condition>,
    /// What must hold after.
    pub postconditions: Vec<Condition>,
    /// How long it may take; where it is not said, the config does.
    pub timeout: Option<Duration>,
}

/// Path that a plan names as a target, also where the plan as a whole cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// The place of its action in the plan, counted from 0.
    pub action: usize,
    /// The id of the action; empty where it has none.
    pub id: String,
    /// The path, where it can be used as one.
    pub path: Option<RelPath>,
}

/// What is done to the target of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// `FILE_CREATE`: it is made.
    Create {
        /// What is in it.
        content: String,
        /// Whether it may be run (EX-20).
        executable: bool,
    },
    /// `FILE_MODIFY`: it is changed.
    Modify(Change),
    /// `FILE_DELETE`: it is removed.
    Delete,
    /// `FILE_RENAME`: it is moved.
    Rename {
        /// Where to.
        new_path: RelPath,
    },
    /// `SCHEMA_UPDATE`: a schema, in JSON or YAML, is changed.
    UpdateSchema(SchemaChange),
    /// `SQL_EXECUTE`: a query runs on the database that is the target (A.2).
    ExecuteSql(SqlQuery),
    /// `PIPELINE_RUN`: a pipeline that the operator declared runs.
    RunPipeline(Pipeline),
}

/// The types of actions (EX-9).
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

/// How a file is changed (EX-10). Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `content`: all of it is replaced.
    Content(String),
    /// `hunks`: hunks of a unified diff, as in a change set.
    Hunks(Vec<Hunk>),
    /// `text_replace`: a text is replaced by another, byte for byte.
    ReplaceText {
        /// What is replaced.
        pattern: String,
        /// What takes its place.
        replacement: String,
        /// How often it must be there; all of them are replaced.
        count: u32,
    },
    /// `line_insert`: lines are put in before a line; one behind the last appends.
    InsertLines {
        /// The line that they come to stand at.
        line: u32,
        /// The lines.
        content: String,
    },
    /// `line_delete`: lines are taken out.
    DeleteLines {
        /// The first of them.
        start: u32,
        /// The last of them, not before the first.
        end: u32,
    },
    /// A value in JSON or YAML.
    Structure(StructureEdit),
}

/// How a schema is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaChange {
    /// `content`: all of it is replaced.
    Content(String),
    /// A value in it.
    Structure(StructureEdit),
}

/// A change to one value of a file in JSON or YAML; every other byte stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureEdit {
    /// `json_add_property`
    JsonAddProperty {
        /// The object.
        path: Selector,
        /// The name of the property, which is not there yet.
        key: String,
        /// Its value.
        value: JsonText,
    },
    /// `json_remove_property`
    JsonRemoveProperty {
        /// The object.
        path: Selector,
        /// The name of the property.
        key: String,
    },
    /// `json_update_value`
    JsonUpdateValue {
        /// The value.
        path: Selector,
        /// What takes its place.
        value: JsonText,
    },
    /// `yaml_update`
    YamlUpdate {
        /// The value, or a member that a mapping does not have yet.
        path: Selector,
        /// The only document that is searched, counted from 1.
        document: Option<NonZeroU32>,
        /// What takes its place.
        value: JsonText,
    },
    /// `yaml_remove`
    YamlRemove {
        /// The member of a mapping.
        path: Selector,
        /// The only document that is searched, counted from 1.
        document: Option<NonZeroU32>,
    },
}

/// A query (A.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlQuery {
    /// The file that it is in.
    pub query_file: RelPath,
    /// What its parameters stand for: an object; none is the same as one without members.
    pub parameters: Option<JsonText>,
    /// Whether the last statement must give at least one row.
    pub expect_results: bool,
    /// Where the rows go, as Parquet.
    pub save_results_to: Option<RelPath>,
}

/// A run of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// What it is given: an object.
    pub parameters: Option<JsonText>,
}

/// How a plan is carried out, as far as it says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// In which order.
    pub order: ExecutionOrder,
    /// The soft constraints that it sets (EX-19).
    pub constraints: ConstraintOverrides,
    /// What must hold when all is done.
    pub validation_rules: Vec<Condition>,
}

/// In which order actions are carried out; each after those it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutionOrder {
    /// One after the other.
    #[default]
    Sequential,
    /// Several at once.
    Parallel,
}

/// The soft constraints (seed, 7.2) that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// Whether an action that fails stops the run.
    pub stop_on_error: bool,
    /// Whether a run that stops is taken back.
    pub rollback_on_failure: bool,
    /// Whether a changed file keeps its permissions.
    pub preserve_permissions: bool,
    /// Whether the contents of targets are hashed again after the run. What a plan expects of a file
    /// before is checked either way (EX-19).
    pub verify_hashes: bool,
}

/// The soft constraints, each where it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConstraintOverrides {
    /// As in [`Constraints`].
    pub stop_on_error: Option<bool>,
    /// As in [`Constraints`].
    pub rollback_on_failure: Option<bool>,
    /// As in [`Constraints`].
    pub preserve_permissions: Option<bool>,
    /// As in [`Constraints`].
    pub verify_hashes: Option<bool>,
}

/// Where the actions of a plan stand in its text, by their places in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionPlaces(pub Vec<Place>);

/// The words for tiers (D-2).
const TIERS: [(&str, RiskTier); 4] = [
    ("LOW", RiskTier::R1),
    ("MEDIUM", RiskTier::R2),
    ("HIGH", RiskTier::R3),
    ("CRITICAL", RiskTier::R4),
];

/// Bytes that are no task plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task plan cannot be used: {0}")]
pub struct TaskPlanError(#[source] pub Mistakes);

impl TaskPlan {
    /// Reads a `task_plan.json`.
    ///
    /// # Errors
    /// [`TaskPlanError`] with everything that is wrong, up to
    /// [`PROBLEMS_MAX`](super::limits::PROBLEMS_MAX) problems; of text that is not JSON the first. Whether
    /// the actions fit each other, [`graph`](Self::graph) and [`lint`](super::lint) report.
    pub fn read(bytes: &[u8]) -> Result<Self, TaskPlanError> {
        read::plan(bytes).map(|(plan, _)| plan).map_err(TaskPlanError)
    }

    /// The same, and where each action stands.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_with_places(bytes: &[u8]) -> Result<(Self, ActionPlaces), TaskPlanError> {
        read::plan(bytes).map_err(TaskPlanError)
    }

    /// Lists the targets that the bytes of a plan name, also of one that cannot be read as a whole.
    pub fn named_targets(bytes: &[u8]) -> Vec<NamedTarget> {
        read::named(bytes)
    }

    /// Finds what is wrong with the order of the actions that the bytes of a plan name, also of one that cannot be read as a
    /// whole; nothing if an id or a dependency cannot be read. Each is returned with the place of its action.
    pub fn named_order_problems(bytes: &[u8]) -> Vec<(GraphProblem, Option<Place>)> {
        read::order_problems(bytes)
    }

    /// Orders its actions by their dependencies (EX-8).
    ///
    /// # Errors
    /// [`GraphError`] if two actions share an id, a dependency is not in the plan, or actions depend on each other.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let nodes =
            self.actions.iter().map(|Action { id, depends_on, .. }| Node { id, depends_on });
        Graph::new(&nodes.collect::<Vec<_>>())
    }

    /// Paths that its actions write, each with the place of its action.
    pub fn targets(&self) -> impl Iterator<Item = (usize, &RelPath)> {
        let actions = self.actions.iter().enumerate();
        actions.flat_map(|(at, action)| action.written().map(move |path| (at, path)))
    }

    /// The plan in JSON in the form that [`read`](Self::read) accepts.
    pub fn to_json(&self) -> String {
        write::plan(self)
    }

    /// The soft constraints that count: what the plan says, else what `defaults` say.
    pub fn constraints(&self, defaults: Constraints) -> Constraints {
        self.instructions.constraints.over(defaults)
    }
}

impl Default for Constraints {
    /// Those of the seed (7.2).
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
    /// What counts where others say what is not said here.
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
    /// Its type.
    pub fn action_type(&self) -> ActionType {
        self.work.action_type()
    }

    /// The files that it changes: the target, and where it is moved to.
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

    /// File that it may remove besides: the write-ahead log of a database, whose content is in the database afterwards.
    pub fn write_ahead_log(&self) -> Option<RelPath> {
        let Work::ExecuteSql(_) = &self.work else { return None };
        RelPath::new([self.target.as_bytes(), b".wal"].concat()).ok()
    }

    /// The files whose state it asks for and does not change.
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
    /// The type of an action that does this.
    /// The `type` of its operation.
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

    /// Its type.
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

    /// The pipeline that it runs, where it does.
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

    /// The whole content that it gives its target, where it does.
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
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::FileCreate,
        Self::FileModify,
        Self::FileDelete,
        Self::FileRename,
        Self::SchemaUpdate,
        Self::SqlExecute,
        Self::PipelineRun,
    ];

    /// The word for it.
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

    /// How long such an action may take (seed, 11.1).
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
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}
