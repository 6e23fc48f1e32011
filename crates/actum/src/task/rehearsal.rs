//! Rehearses a plan: runs its actions in order against a staged change that no other process can see (EX-3, EX-8,
//! EX-12).

use std::collections::BTreeMap;
use std::time::Duration;

use actum_core::canonical::CanonicalError;
use actum_core::{FileState, RelPath, Timestamp};
use actum_edit::Operation;
use actum_record::receipt::ExternalPipeline;
use actum_task::report::{ChangeWord, DiffSummary};
use actum_task::{Action, Constraints, ErrorCode, Graph, Response, SystemConfig, TaskPlan};
use actum_workspace::disk::Disk;
use actum_workspace::{Change as WorkspaceChange, ChangeKind, Transaction};

use super::allowance::{Allowance, too_late};
use super::external;
use super::isolated::{self, Ran, are_independent, at_once, is_isolated};
use super::pipeline::PipelineRan;
use super::problem::ActionProblem;
use super::sql::SqlRan;
use super::staging::{Staged, broken, broken_postcondition, check_preconditions, stage};
use crate::pipeline_host::PipelineSteps;
use crate::request::Commands;
use crate::sql_host::SqlSteps;

/// Result of rehearsing a plan. The transaction then contains the changes of the successful actions.
pub struct Rehearsal {
    /// Results of the actions, in the order in which they were executed.
    pub actions: Vec<Rehearsed>,
    /// Operations that make up the change, in the order of execution.
    pub operations: Vec<Operation>,
    /// Problems for the plan's validation rules that are not met at the end.
    pub broken_rules: Vec<ActionProblem>,
    /// Reason why the rehearsal ended early, which is `Cancelled` or `TaskTimeout`.
    pub broken_off: Option<ErrorCode>,
}

/// Decision about what happens to a rehearsed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Keep the change, so that it can be published.
    Keep,
    /// Discard the change.
    TakeBack,
    /// Discard the change because the task was cancelled.
    Cancel,
}

/// Plan with everything that is needed to rehearse it.
#[derive(Debug, Clone, Copy)]
pub struct Script<'p> {
    /// Plan to rehearse.
    pub plan: &'p TaskPlan,
    /// Dependency graph of the actions, which determines their order.
    pub graph: &'p Graph,
    /// System config with the project's settings for tasks.
    pub config: &'p SystemConfig,
    /// Runner for the SQL steps of the plan.
    pub sql: &'p SqlSteps,
    /// Runner for the pipelines of the plan.
    pub pipelines: &'p PipelineSteps,
}

/// Observes the progress of a rehearsal, and provides its clock and cancellation.
pub trait RehearsalObserver {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Returns whether the task was cancelled. If so, no further action is started.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// Called when an action is started.
    fn began(&mut self, _action: usize) {}
    /// Called when the result of an action is available.
    fn ended(&mut self, _rehearsed: &Rehearsed) {}
}

/// Result of rehearsing one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// Zero-based index of the action in the plan.
    pub action: usize,
    /// Time at which the action was started.
    pub started: Timestamp,
    /// Time at which the action ended.
    pub completed: Timestamp,
    /// Outcome of the action.
    pub end: ActionEnd,
    /// Changes that a failed action left behind, because its broken postcondition does not roll it back.
    pub left: Vec<ActionChange>,
    /// Record of the SQL step, if its effects are staged.
    pub sql: Option<Box<SqlRan>>,
    /// Record of the pipeline run, if the action ran a pipeline.
    pub pipeline: Option<Box<PipelineRan>>,
}

impl Rehearsed {
    /// Returns the changes to files that remain staged after the action.
    pub fn did(&self) -> &[ActionChange] {
        match &self.end {
            ActionEnd::Completed { did, .. } => did,
            ActionEnd::Failed(_) | ActionEnd::Skipped { .. } | ActionEnd::Deferred(_) => &self.left,
        }
    }
}

/// Returns the total number of rows that SQL steps change, or `None` if there is no SQL step.
pub fn sql_rows(actions: &[Rehearsed]) -> Option<u64> {
    let changed = actions.iter().filter_map(|it| it.sql.as_ref());
    changed.map(|ran| ran.done.rows_changed()).reduce(u64::saturating_add)
}

/// Collects the commands of all pipelines whose effects remain staged.
pub(super) fn commands(actions: &[Rehearsed]) -> Commands {
    let ran = || actions.iter().filter_map(|it| it.pipeline.as_ref());
    let made = ran().flat_map(|ran| ran.commands.iter().cloned()).collect();
    let sandbox = ran().next_back().and_then(|ran| ran.sandbox.clone());
    Commands { made, sandbox, ..Commands::default() }
}

/// Outcome of rehearsing an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// The action was completed, and its postcondition is met.
    Completed {
        /// Description of the result for the report.
        output: String,
        /// Changes that the action made to files.
        did: Vec<ActionChange>,
    },
    /// The action failed.
    Failed(ActionProblem),
    /// The action was not attempted.
    Skipped {
        /// Reason why the action was skipped.
        reason: String,
    },
    /// The action runs an external pipeline, which starts only after the change is published.
    Deferred(ExternalPipeline),
}

/// Change that an action made to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionChange {
    /// Kind of change, as named in the change log.
    pub word: ChangeWord,
    /// Path of the file, which is the old path if the file was renamed.
    pub path: RelPath,
    /// New path of the file, if it was renamed.
    pub new_path: Option<RelPath>,
    /// State of the file before the change, if it existed.
    pub before: Option<FileState>,
    /// State of the file after the change, if it still exists.
    pub after: Option<FileState>,
    /// Summary of the difference, from which credentials are removed.
    pub diff: DiffSummary,
}

impl ActionChange {
    /// Returns the path of the file after the change, which is the new path if the file was renamed.
    pub fn left_at(&self) -> &RelPath {
        self.new_path.as_ref().unwrap_or(&self.path)
    }

    /// Returns whether the state or the path of the file actually changed.
    pub fn is_change(&self) -> bool {
        self.new_path.is_some() || self.before != self.after
    }
}

impl Rehearsal {
    /// Executes the actions of a plan in the order of its graph, on a transaction without changes.
    ///
    /// A failed action leaves no changes, unless the plan keeps changes despite a broken postcondition (EX-12). Actions that
    /// depend on a failed action are skipped, and so are all further actions if the plan stops on errors.
    pub fn on<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        script: Script<'_>,
        watch: &mut dyn RehearsalObserver,
    ) -> Self {
        let plan = script.plan;
        let mut stage = Stage {
            script,
            constraints: plan.constraints(script.config.constraints),
            deadline: later(watch.now(), script.config.timeouts.task),
            watch,
            ends: Vec::new(),
            stopped_by: None,
            broken_off: None,
        };
        let mut operations = stage.carry_out(transaction);
        remove_emptied(transaction, &mut operations);
        let broken_rules = stage.broken_rules(transaction);
        let Stage { ends: actions, broken_off, .. } = stage;
        Self { actions, operations, broken_rules, broken_off }
    }

    /// Decides whether to keep the change. The decision follows the soft constraints of the plan, unless the code of an
    /// error overrides them (EX-18).
    pub fn verdict(&self, constraints: Constraints) -> Verdict {
        let failed = self.actions.iter().filter_map(|rehearsed| match &rehearsed.end {
            ActionEnd::Failed(problem) => Some(problem.code),
            ActionEnd::Completed { .. } | ActionEnd::Skipped { .. } | ActionEnd::Deferred(_) => {
                None
            }
        });
        let has_failed = failed.clone().next().is_some();
        let rolls_back = has_failed && constraints.stop_on_error && constraints.rollback_on_failure;
        let codes = failed.chain(self.broken_rules.iter().map(|problem| problem.code));
        let overrides = codes.map(ErrorCode::response).any(Response::overrides_constraints);
        match self.broken_off {
            Some(ErrorCode::Cancelled) => Verdict::Cancel,
            Some(_) => Verdict::TakeBack,
            None if overrides || rolls_back => Verdict::TakeBack,
            None => Verdict::Keep,
        }
    }
}

/// Removes directories that one action created for a file and that are empty because a later action moved or deleted the
/// file.
fn remove_emptied<D: Disk>(transaction: &mut Transaction<'_, D>, operations: &mut Vec<Operation>) {
    let changes = transaction.changes();
    let is_needed = |directory: &RelPath| {
        changes.iter().any(|it| it.kind.is_of_file() && it.path.starts_with(directory))
    };
    let made = changes.iter().filter(|it| it.kind == ChangeKind::DirectoryCreated);
    let emptied: Vec<_> = made.filter(|it| !is_needed(&it.path)).collect();
    // Changes list parent directories first, so removal goes in reverse order.
    for WorkspaceChange { path, .. } in emptied.into_iter().rev() {
        let operation = Operation::RemoveDirectory { path: path.clone() };
        if transaction.operate(&operation).is_ok() {
            operations.push(operation);
        }
    }
}

/// State of a rehearsal while the actions of a plan are executed.
struct Stage<'p> {
    script: Script<'p>,
    constraints: Constraints,
    /// Deadline of the entire task.
    deadline: Timestamp,
    watch: &'p mut dyn RehearsalObserver,
    ends: Vec<Rehearsed>,
    /// Index of the failed action after which no further action is attempted.
    stopped_by: Option<usize>,
    broken_off: Option<ErrorCode>,
}

impl Stage<'_> {
    /// Executes the actions in order, and returns the operations whose effects remain staged.
    fn carry_out<D: Disk>(&mut self, transaction: &mut Transaction<'_, D>) -> Vec<Operation> {
        let Script { plan, graph, .. } = self.script;
        let (mut operations, mut ahead) = (Vec::new(), BTreeMap::new());
        for (place, &index) in graph.order().iter().enumerate() {
            let Some(action) = plan.actions.get(index) else { continue };
            let mut started = self.watch.now();
            self.break_off(started);
            let (mut left, mut completed) = (Vec::new(), None);
            let (mut sql, mut pipeline) = (None, None);
            let end = match self.reason_to_skip(index) {
                Some(reason) => ActionEnd::Skipped { reason },
                None if external::declaration(self.script, action).is_some() => {
                    self.defer(transaction, action)
                }
                None => {
                    if !is_isolated(action) {
                        self.watch.began(index);
                    } else if !ahead.contains_key(&index) {
                        self.run_ahead(transaction, place, &mut ahead);
                    }
                    let ran = ahead.remove(&index);
                    if let Some(Ran { started: began, completed: ended, .. }) = &ran {
                        (started, completed) = (*began, Some(*ended));
                    }
                    match self.carry_out_one(transaction, action, (started, ran)) {
                        Ok(staged) => {
                            let Staged { output, did, broken, .. } = staged;
                            operations.extend(staged.operations);
                            (sql, pipeline) = (staged.sql, staged.pipeline);
                            match broken {
                                None => ActionEnd::Completed { output, did },
                                Some(problem) => {
                                    left = did;
                                    ActionEnd::Failed(problem)
                                }
                            }
                        }
                        Err(problem) => ActionEnd::Failed(problem),
                    }
                }
            };
            if let ActionEnd::Failed(problem) = &end {
                let response = problem.code.response();
                // If an action is refused, the others are still attempted, so that all refusals are reported together.
                let goes_on = !response.overrides_constraints() || response.is_refusal();
                if self.constraints.stop_on_error || !goes_on {
                    self.stopped_by = Some(index);
                }
            }
            let completed = completed.unwrap_or_else(|| self.watch.now());
            let rehearsed =
                Rehearsed { action: index, started, completed, end, left, sql, pipeline };
            if !matches!(rehearsed.end, ActionEnd::Deferred(_)) {
                self.watch.ended(&rehearsed);
            }
            self.ends.push(rehearsed);
        }
        self.break_off(self.watch.now());
        operations
    }

    /// Checks the validation rules of the plan until the task is cancelled or its time is over, and returns the broken ones.
    fn broken_rules<D: Disk>(
        &mut self,
        transaction: &mut Transaction<'_, D>,
    ) -> Vec<ActionProblem> {
        let mut problems = Vec::new();
        for rule in &self.script.plan.instructions.validation_rules {
            if self.broken_off.is_some() {
                break;
            }
            match broken(transaction, rule, &self.allowance(None)) {
                Ok(None) => {}
                Ok(Some(what)) => {
                    let problem = ActionProblem::new(ErrorCode::ValidationRuleFailed, what);
                    problems.push(ActionProblem { path: Some(rule.path.clone()), ..problem });
                }
                Err(end) => self.broken_off = Some(end.code),
            }
        }
        problems
    }

    /// Returns the time allowance of an action with the given start time and limit. `None` stands for work without its own
    /// limit.
    fn allowance(&self, action: Option<(Timestamp, Duration)>) -> Allowance<'_> {
        Allowance { watch: &*self.watch, action, task_end: self.deadline }
    }

    /// Checks the conditions of an external pipeline, and defers its execution until the change is published.
    fn defer<D: Disk>(&self, transaction: &mut Transaction<'_, D>, action: &Action) -> ActionEnd {
        let allowance = self.allowance(None);
        let conditions = check_preconditions(transaction, action, &allowance)
            .and_then(|()| broken_postcondition(transaction, action, self.constraints, &allowance));
        let written =
            |error: CanonicalError| ActionProblem::new(ErrorCode::InternalError, error.to_string());
        match (conditions, external::pipeline(self.script, action).map_err(written)) {
            (Ok(None), Ok(Some(pipeline))) => ActionEnd::Deferred(pipeline),
            (Ok(None), Ok(None)) => {
                let message = "the pipeline's parameters do not match its declaration";
                ActionEnd::Failed(ActionProblem::new(ErrorCode::PipelineParameter, message))
            }
            (Ok(Some(problem)) | Err(problem), _) | (_, Err(problem)) => ActionEnd::Failed(problem),
        }
    }

    /// Runs the isolated step at position `place` of the order. A later step runs in parallel with it if its dependencies
    /// are done and it is independent of all earlier actions that have not finished.
    fn run_ahead<D: Disk>(
        &mut self,
        transaction: &mut Transaction<'_, D>,
        place: usize,
        ahead: &mut BTreeMap<usize, Ran<D>>,
    ) {
        let Script { plan, graph, config, .. } = self.script;
        let (mut wave, mut before): (Vec<(usize, &Action)>, Vec<&Action>) =
            (Vec::new(), Vec::new());
        for &index in graph.order().get(place..).unwrap_or_default() {
            if wave.len() >= at_once(self.script) {
                break;
            }
            let Some(action) = plan.actions.get(index) else { continue };
            let is_free = is_isolated(action)
                && external::declaration(self.script, action).is_none()
                && !ahead.contains_key(&index)
                && graph.waits_for(index).iter().all(|before| self.is_done(*before))
                && before.iter().all(|earlier| are_independent(self.script, earlier, action));
            if is_free {
                wave.push((index, action));
            }
            before.push(action);
        }
        let now = self.watch.now();
        let left = self.deadline.micros().saturating_sub(now.micros());
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let time = |action: &Action| config.timeout(action).min(left).max(Duration::from_millis(1));
        let steps: Vec<_> = wave.iter().map(|(_, action)| (*action, time(action))).collect();
        for (index, _) in &wave {
            self.watch.began(*index);
        }
        let ran = isolated::run(transaction, self.script, &steps, &self.allowance(None));
        ahead.extend(wave.into_iter().map(|(index, _)| index).zip(ran));
    }

    /// Executes one action within its time limit, or stages its result if it has already run. A failed action leaves no
    /// changes, unless the plan keeps changes despite a broken postcondition.
    fn carry_out_one<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        action: &Action,
        (started, ran): (Timestamp, Option<Ran<D>>),
    ) -> std::result::Result<Staged, ActionProblem> {
        let (config, constraints) = (self.script.config, self.constraints);
        let limit = config.timeout(action);
        transaction.attempt(|transaction| match ran {
            Some(ran) => {
                let (completed, allowance) = (ran.completed, self.allowance(None));
                let staged = ran.take(transaction, self.script, action)?;
                if completed > later(started, limit) {
                    return Err(too_late(limit));
                }
                let broken = broken_postcondition(transaction, action, constraints, &allowance)?;
                Ok(Staged { broken, ..staged })
            }
            None => {
                let allowance = self.allowance(Some((started, limit)));
                let limits = (config.limits.file_bytes_max, constraints);
                stage(transaction, action, limits, &allowance)
            }
        })
    }

    /// Returns whether an action was completed or deferred, so that actions that depend on it can run.
    fn is_done(&self, action: usize) -> bool {
        self.ends.iter().any(|rehearsed| {
            rehearsed.action == action
                && matches!(rehearsed.end, ActionEnd::Completed { .. } | ActionEnd::Deferred(_))
        })
    }

    /// Marks the rehearsal as broken off if the task was cancelled or has exceeded its time limit.
    fn break_off(&mut self, now: Timestamp) {
        if self.broken_off.is_none() {
            self.broken_off = match (self.watch.is_cancelled(), now > self.deadline) {
                (true, _) => Some(ErrorCode::Cancelled),
                (false, true) => Some(ErrorCode::TaskTimeout),
                (false, false) => None,
            };
        }
    }

    fn reason_to_skip(&self, index: usize) -> Option<String> {
        if let Some(code) = self.broken_off {
            return Some(code.about().to_owned());
        }
        let name = |index: usize| {
            self.script
                .plan
                .actions
                .get(index)
                .map(|action| action.id.to_string())
                .unwrap_or_default()
        };
        let mut waits_for = self.script.graph.waits_for(index).iter();
        let failed = waits_for.find(|before| !self.is_done(**before));
        match (failed, self.stopped_by) {
            (Some(before), _) => Some(format!("Dependency failed: `{}`", name(*before))),
            (None, Some(by)) => Some(format!("Stopped after the action `{}` failed", name(by))),
            (None, None) => None,
        }
    }
}

pub(super) fn later(time: Timestamp, by: Duration) -> Timestamp {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.micros().saturating_add(micros))
}
