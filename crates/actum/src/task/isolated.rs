//! Runs SQL steps and pipelines in separate processes, several at the same time if the plan allows it (EX-8).
//!
//! Each step has three phases: its files are copied out of the transaction, it runs without access to the transaction,
//! and its result is staged. Only the second phase runs in parallel, so parallel execution does not affect the result.

use std::time::{Duration, Instant};

use actum_core::{RelPath, Timestamp};
use actum_sql::{Done, Measured};
use actum_task::{
    Action, ActionType, ErrorCode, ExecutionOrder, Finding, Pipeline, SqlQuery, Work, unavailable,
};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::allowance::Allowance;
use super::external;
use super::pipeline::{PipelineCall, PipelineEnd};
use super::problem::ActionProblem;
use super::rehearsal::{Script, later};
use super::sql::{PreparedSql, SqlCall};
use super::staging::{Staged, check_preconditions};
use crate::pipeline_host::PipelineRunner;
use crate::sql_host::SqlRunner;

type Result<T> = std::result::Result<T, ActionProblem>;

/// Kind of work that runs in a separate process.
#[derive(Clone, Copy)]
enum Isolated<'s> {
    Sql(&'s SqlRunner, &'s SqlQuery),
    Pipeline(&'s PipelineRunner, &'s Pipeline),
}

/// Step whose files were copied out of the transaction, so that it can run.
enum Prepared<'s, D: Disk> {
    Sql(&'s SqlRunner, Box<PreparedSql<D>>),
    Pipeline(&'s PipelineRunner, Box<PipelineCall>),
}

/// Phase of a step that runs without access to the transaction.
enum Call<'c> {
    Sql(&'c SqlRunner, &'c SqlCall),
    Pipeline(&'c PipelineRunner, &'c PipelineCall),
}

/// Result that a separate process returned.
enum Answer {
    Sql(Box<(Done, Measured)>),
    Pipeline(PipelineEnd),
}

/// Step that has run, with a result that may not be staged yet.
pub(super) struct Ran<D: Disk> {
    /// Time at which the step was started.
    pub(super) started: Timestamp,
    /// Time at which the step ended.
    pub(super) completed: Timestamp,
    left: Result<Left<D>>,
}

/// Result of a step before it is staged.
enum Left<D: Disk> {
    Sql(Box<PreparedSql<D>>, Box<(Done, Measured)>),
    Pipeline(PipelineEnd),
}

/// Returns whether an action runs in a separate process.
pub(super) fn is_isolated(action: &Action) -> bool {
    match &action.work {
        Work::ExecuteSql(_) | Work::RunPipeline(_) => true,
        Work::Create { .. }
        | Work::Modify(_)
        | Work::Delete
        | Work::Rename { .. }
        | Work::UpdateSchema(_) => false,
    }
}

impl<'s> Isolated<'s> {
    fn new(script: Script<'s>, action: &'s Action) -> Result<Self> {
        let missing = |why: &str| ActionProblem::new(ErrorCode::NotAvailable, why);
        match &action.work {
            Work::ExecuteSql(query) => {
                let sql = script.sql.as_ref().map_err(|why| missing(why))?;
                let sql = sql.as_ref().ok_or_else(|| missing("no SQL runner is configured"))?;
                Ok(Self::Sql(sql, query))
            }
            Work::RunPipeline(pipeline) => {
                let runner = script.pipelines.as_ref().map_err(|why| missing(why))?;
                let runner =
                    runner.as_ref().ok_or_else(|| missing("no pipeline runner is configured"))?;
                Ok(Self::Pipeline(runner, pipeline))
            }
            Work::Create { .. }
            | Work::Modify(_)
            | Work::Delete
            | Work::Rename { .. }
            | Work::UpdateSchema(_) => {
                Err(missing("the action does not run in a separate process"))
            }
        }
    }

    fn prepare<D: Disk>(
        self,
        transaction: &mut Transaction<'_, D>,
        action: &Action,
        allowance: &Allowance<'_>,
    ) -> Result<Prepared<'s, D>> {
        check_preconditions(transaction, action, allowance)?;
        for path in action.written() {
            transaction.may_change(path)?;
        }
        Ok(match self {
            Self::Sql(sql, query) => {
                Prepared::Sql(sql, Box::new(sql.prepare(transaction, (action, query))?))
            }
            Self::Pipeline(runner, pipeline) => {
                Prepared::Pipeline(runner, Box::new(runner.prepare(transaction, pipeline)?))
            }
        })
    }
}

impl<D: Disk> Prepared<'_, D> {
    fn call(&self) -> Call<'_> {
        match self {
            Self::Sql(sql, prepared) => Call::Sql(sql, prepared.call()),
            Self::Pipeline(runner, call) => Call::Pipeline(runner, call),
        }
    }
}

impl Call<'_> {
    fn run(self, time: Duration) -> Result<Answer> {
        match self {
            Self::Sql(sql, call) => sql.execute(call, time).map(Box::new).map(Answer::Sql),
            Self::Pipeline(runner, call) => runner.execute(call, time).map(Answer::Pipeline),
        }
    }
}

/// Runs the given steps in parallel, each within its own time limit. Their preparation counts only against the time of
/// the task.
pub(super) fn run<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    script: Script<'_>,
    steps: &[(&Action, Duration)],
    allowance: &Allowance<'_>,
) -> Vec<Ran<D>> {
    let started = allowance.watch.now();
    let prepared: Vec<Result<Prepared<'_, D>>> = steps
        .iter()
        .map(|(action, _)| {
            transaction.attempt(|it| Isolated::new(script, action)?.prepare(it, action, allowance))
        })
        .collect();
    let calls = prepared.iter().zip(steps);
    let calls = calls.map(|(prepared, (_, time))| match prepared {
        Ok(prepared) => Ok((prepared.call(), *time)),
        Err(problem) => Err(problem.clone()),
    });
    let answers = answers(calls.collect());
    let completed = allowance.watch.now();
    let ran = prepared.into_iter().zip(answers).map(|(prepared, (took, answer))| {
        let left = prepared.and_then(|prepared| {
            Ok(match (prepared, answer?) {
                (Prepared::Sql(_, prepared), Answer::Sql(done)) => Left::Sql(prepared, done),
                (Prepared::Pipeline(..), Answer::Pipeline(end)) => Left::Pipeline(end),
                (Prepared::Sql(..), Answer::Pipeline(_))
                | (Prepared::Pipeline(..), Answer::Sql(_)) => {
                    let message = "the worker returned the result of a different kind of step";
                    return Err(ActionProblem::new(ErrorCode::InternalError, message));
                }
            })
        });
        let completed = if steps.len() == 1 { completed } else { later(started, took) };
        Ran { started, completed, left }
    });
    ran.collect()
}

type Calls<'c> = Vec<Result<(Call<'c>, Duration)>>;

/// Runs the calls, in one thread per call if there are several. Returns each result with the time from the common start
/// to the end of the call.
#[expect(clippy::disallowed_methods, reason = "the duration of each call is limited and reported")]
fn answers(calls: Calls<'_>) -> Vec<(Duration, Result<Answer>)> {
    let begun = Instant::now();
    let run = |call: Result<(Call<'_>, Duration)>| {
        let answer = call.and_then(|(call, time)| call.run(time));
        (begun.elapsed(), answer)
    };
    if calls.len() == 1 {
        return calls.into_iter().map(run).collect();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            calls.into_iter().map(|call| scope.spawn(move || run(call))).collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| {
                let problem =
                    ActionProblem::new(ErrorCode::InternalError, "the step's thread panicked");
                (begun.elapsed(), Err(problem))
            })
        });
        ended.collect()
    })
}

impl<D: Disk> Ran<D> {
    /// Stages the result of the step. If this fails, the caller must roll back what was staged.
    pub(super) fn take(
        self,
        transaction: &mut Transaction<'_, D>,
        script: Script<'_>,
        action: &Action,
    ) -> Result<Staged> {
        let left = self.left?;
        match (Isolated::new(script, action)?, left) {
            (Isolated::Sql(sql, query), Left::Sql(prepared, done)) => {
                sql.take(transaction, query, (*prepared, *done))
            }
            (Isolated::Pipeline(runner, pipeline), Left::Pipeline(end)) => {
                runner.take(transaction, pipeline, (end, script.config.limits.files_max))
            }
            (Isolated::Sql(..) | Isolated::Pipeline(..), Left::Sql(..) | Left::Pipeline(_)) => {
                let message = "the result belongs to a different kind of step";
                Err(ActionProblem::new(ErrorCode::InternalError, message))
            }
        }
    }
}

/// Reports the SQL steps and pipelines of a plan that cannot run on this host or do not match their declarations.
pub fn findings(script: Script<'_>) -> Vec<Finding> {
    let Script { plan, sql, pipelines, .. } = script;
    let without = |action_type, why: &String| unavailable(plan, action_type, why);
    let mut findings =
        sql.as_ref().err().map_or_else(Vec::new, |why| without(ActionType::SqlExecute, why));
    match pipelines {
        Err(why) => findings.extend(without(ActionType::PipelineRun, why)),
        Ok(None) => {}
        Ok(Some(runner)) => {
            let runs = plan.actions.iter().enumerate();
            findings.extend(runs.filter_map(|(index, action)| {
                let problem = runner.resolve(action.work.pipeline()?).err()?;
                let (id, code, why) = (action.id.clone(), problem.code, problem.message);
                Some(Finding::Pipeline { action: index, id, code, why })
            }));
            findings.extend(external::external_findings(script));
        }
    }
    findings
}

/// Returns the maximum number of steps of the plan that may run at the same time.
pub(super) fn at_once(script: Script<'_>) -> usize {
    match script.plan.instructions.order {
        ExecutionOrder::Sequential => 1,
        ExecutionOrder::Parallel => {
            usize::try_from(script.config.limits.parallel_max).unwrap_or(1).max(1)
        }
    }
}

/// Returns whether two actions of a plan can run in any order, because neither may change a file that the other reads or
/// changes. Actions that name the same path are not considered here, because a lint rejects them.
pub(super) fn are_independent(script: Script<'_>, one: &Action, other: &Action) -> bool {
    let declared = |action: &Action| {
        let Ok(Some(runner)) = script.pipelines else { return None };
        runner.resolve(action.work.pipeline()?).ok().map(|(declared, _)| declared)
    };
    let touches = |pipeline: &actum_gate::policy::DeclaredPipeline, action: &Action| {
        let log = action.write_ahead_log();
        let changed: Vec<&RelPath> = action.written().chain(&log).collect();
        changed.iter().any(|path| pipeline.depends_on(path) || pipeline.may_change(path))
            || action.read_only().any(|path| pipeline.may_change(path))
    };
    match (declared(one), declared(other)) {
        (None, None) => true,
        (Some(pipeline), None) => !touches(pipeline, other),
        (None, Some(pipeline)) => !touches(pipeline, one),
        (Some(first), Some(second)) => {
            first.is_independent_of(second) && !touches(first, other) && !touches(second, one)
        }
    }
}
