//! Executes a task, from reading its documents to writing its reports. [`run`] controls the sequence. The changes of a
//! task become visible together in one engine run, or not at all.

mod end;
mod external;
mod make;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use actum_core::plain_id::PlainId;
use actum_core::{PathRule, RelPath, RunId, Scope, Timestamp};
use actum_edit::Operation;
use actum_gate::GateName;
use actum_ledger::{Activity, ActivityMark};
use actum_record::ledger::{Actor, WorkspaceId};
use actum_record::receipt::{ExternalPipeline, PathEffect};
use actum_task::report::{
    CONFIG_FILE, ChangeLog, ErrorReport, ExecutionReport, PLAN_FILE, PROMPT_FILE, Phase,
    ReportName, SUMMARY_FILE, executor_prompt,
};
use actum_task::{Action, ErrorCode, TaskPlan};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, Limits, LinuxDisk, RunOptions, Transaction};

use self::make::Made;
use super::alert::Alerts;
use super::consent::Consent;
use super::documents::{Ids, new_id};
use super::input::{Here, Task, TaskInput, Unread};
use super::notes::Notes;
use super::outputs::{OutputError, Outputs, ReportDirectory};
use super::problem::{ActionProblem, TaskProblem};
use super::refused;
use super::rehearsal::{ActionEnd, Rehearsal, Rehearsed, Script, Verdict, commands, sql_rows};
use super::repeated::{Standing, Stored, request_key};
use super::resume::{FinishedTask, Reported, Turn, take_turn};
use super::status_writer::{ProgressObserver, StatusWriter};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::pipeline_host::{self, KeptUse, PipelineHost};
use crate::reason;
use crate::recorded::Receipt;
use crate::request::{EntryPoint, Request, TaskDocuments};
use crate::sql_host::SqlHost;

/// Name of the file with a signed approval, stored next to the plan and its configuration.
pub const APPROVAL_FILE: &str = "task_approval.json";

/// Result of handling a task.
pub struct TaskEnd {
    /// Id of the task.
    pub task: PlainId,
    /// Directory with the reports, or `None` if nothing could be written.
    pub directory: Option<ReportName>,
    /// Whether the task was executed or rejected, with its reports.
    pub outcome: Outcome,
    /// Receipt of the run that applied the change, if there was one.
    pub receipt: Option<Receipt>,
    /// Engine error that caused the outcome, if any.
    pub cause: Option<Error>,
    /// Index of the alert in the ledger if one was needed, or the error that occurred while raising it.
    pub alert: Result<Option<u64>>,
    /// Whether this is the stored result of an earlier execution of the same task, so that nothing was done now (D-8).
    pub is_repeated: bool,
    /// Error that occurred while writing the reports, if any.
    pub unwritten: Option<OutputError>,
    /// Interrupted tasks whose missing reports were written by this call.
    pub finished: Vec<FinishedTask>,
}

/// Outcome of a task, with the reports that describe it.
#[derive(Debug)]
pub enum Outcome {
    /// The task was executed, successfully or not.
    Executed {
        /// Execution report of the task.
        report: Box<ExecutionReport>,
        /// Log of the changes that the actions made.
        log: Box<ChangeLog>,
        /// Error report, if the task failed.
        error: Option<Box<ErrorReport>>,
    },
    /// The task was rejected before any action was executed.
    Rejected(Box<ErrorReport>),
}

/// Executes a task and writes its reports. Unless the constraints of the plan allow partial success, either all actions
/// take effect or none.
///
/// # Errors
/// Returns `Workspace` if the workspace cannot be opened or is in use, `Policy`, `Home` or `Ledger`. In these cases
/// nothing was started, and no report is written. All other errors are stated in the reports.
pub fn run(
    engine: &mut Engine,
    root: &Path,
    (input, actor): (std::result::Result<TaskInput, Unread>, Actor),
    progress: &mut dyn ProgressObserver,
) -> Result<TaskEnd> {
    // Read the documents first, because the task lock has to wait until the ledger is open anyway.
    let read = input.and_then(Task::read);
    let Turn { lock: _lock, workspace, finished, reported } = take_turn(engine, root)?;
    let records = engine.records.clone();
    let started = records.clock.now();
    let id = match &read {
        Ok(task) => task.id.clone(),
        Err(unread) => unread.task(),
    };
    let mut desk = TaskContext {
        outputs: Outputs::new(root)?,
        alerts: Alerts::new(&records, (workspace, root), Some(actor.clone())),
        status: StatusWriter::new(progress, records.clock.clone(), id),
        ids: Ids::new()?,
        started,
        report_id: new_id()?,
        finished,
        reported,
        mark: records.marks().begin(Activity::Task, RunId::from_random(random()?), workspace)?,
        unfilled: None,
        is_noted: false,
        manifest: None,
        archived_to: None,
    };
    let ended = desk.handle(engine, (root, workspace), (read, actor))?;
    // If reports are missing or not yet durable, keep the mark so that the next process completes them.
    Ok(match ended.unwritten.is_none() && !desk.is_noted {
        true => TaskEnd { unwritten: desk.mark.end().err().map(OutputError::of_home), ..ended },
        false => ended,
    })
}

pub(super) fn options(script: Script<'_>, task: &PlainId) -> RunOptions {
    RunOptions { limits: limits(script), label: label(task), wait: true }
}

/// Builds the engine request of a task from its documents, and from the operations and results of its actions.
pub fn request(
    (script, task): (Script<'_>, &PlainId),
    documents: TaskDocuments,
    (operations, actions): (Vec<Operation>, &[Rehearsed]),
    actor: Actor,
) -> Request {
    let declared = script.plan.actions.iter().filter_map(|action| action.declared_tier).max();
    let (key, task_of) = (request_key(task), Some(documents));
    Request {
        actor,
        entry_point: EntryPoint::TaskPlan,
        declared,
        key,
        task: task_of,
        commands: commands(actions),
        sql_rows: sql_rows(actions),
        wait: true,
        ..Request::apply(operations)
    }
    .labelled(label(task))
    .within(limits(script))
}

/// Task being executed, with its workspace, report directory and approval.
struct Place<'t> {
    task: &'t Task,
    directory: ReportDirectory,
    root: &'t Path,
    actor: Actor,
    /// Number of this attempt at the task, starting at 1.
    attempt: u32,
    /// Change that was approved for this task, if an approval is required.
    consent: Consent,
}

/// Results of rehearsing the actions of a task.
pub(super) struct TaskActions {
    actions: Vec<Rehearsed>,
    operations: Vec<Operation>,
    pub(super) effects: Arc<[PathEffect]>,
    pub(super) problems: Vec<TaskProblem>,
    /// Modification times that the targets had before the task.
    modified: BTreeMap<RelPath, Timestamp>,
    verdict: Verdict,
}

impl TaskActions {
    /// Checks whether there is a change to publish, an empty change to confirm, or an external pipeline to run.
    fn has_work(&self) -> bool {
        !self.operations.is_empty() || !self.effects.is_empty() || self.deferred().next().is_some()
    }

    /// Replaces the deferred actions with the results of their external pipelines and collects their problems.
    fn take_external(&mut self, ended: Vec<Rehearsed>) {
        for action in ended {
            let problem = match &action.end {
                ActionEnd::Failed(problem) => Some(problem.clone()),
                ActionEnd::Skipped { reason } if self.problems.is_empty() => {
                    Some(ActionProblem::new(ErrorCode::PipelineNotStarted, reason))
                }
                ActionEnd::Completed { .. }
                | ActionEnd::Skipped { .. }
                | ActionEnd::Deferred(_) => None,
            };
            self.problems.extend(problem.map(|it| TaskProblem::of_action(action.action, it)));
            if let Some(place) = self.actions.iter_mut().find(|it| it.action == action.action) {
                *place = action;
            }
        }
    }

    /// Returns the external pipelines that have to run after the change is published.
    fn deferred(&self) -> impl Iterator<Item = &ExternalPipeline> {
        self.actions.iter().filter_map(|it| match &it.end {
            ActionEnd::Deferred(pipeline) => Some(pipeline),
            ActionEnd::Completed { .. } | ActionEnd::Failed(_) | ActionEnd::Skipped { .. } => None,
        })
    }
}

struct TaskContext<'o> {
    outputs: Outputs,
    alerts: Alerts,
    status: StatusWriter<'o>,
    ids: Ids,
    started: Timestamp,
    report_id: PlainId,
    finished: Vec<FinishedTask>,
    /// Earlier tasks whose reports exist but may not be durable yet.
    reported: Reported,
    /// Mark that stores the notes on this task, so that another process can finish its reports if this one is killed.
    mark: ActivityMark,
    /// Report directory that was created but could not be filled.
    unfilled: Option<ReportDirectory>,
    /// Whether the notes contain everything that the reports contain. If so, the notes are kept until the reports are
    /// durable.
    is_noted: bool,
    /// Id of the rollback manifest, once the manifest is written.
    manifest: Option<PlainId>,
    /// Directory that the previous active plan was archived to, once that happened.
    archived_to: Option<String>,
}

impl TaskContext<'_> {
    /// Handles a task from start to end: first performs every check that can reject it, then executes it.
    fn handle(
        &mut self,
        engine: &mut Engine,
        (root, workspace): (&Path, WorkspaceId),
        (read, actor): (std::result::Result<Task, Unread>, Actor),
    ) -> Result<TaskEnd> {
        self.status.phase(Phase::Received);
        let task = match read {
            Ok(task) => task,
            Err(unread) => {
                let unread = unread
                    .with_violations(&engine.rules.in_force(root, &engine.records.ledger)?)?;
                return Ok(self.reject(None, unread, None));
            }
        };
        self.status.set_task(&task);
        self.status.phase(Phase::Validating);
        if let Err(problem) = task.check_workspace(workspace) {
            return Ok(self.reject(Some(&task), task.refusal(vec![problem]), None));
        }
        let records = engine.records.clone();
        let in_force = engine.rules.in_force(root, &records.ledger)?;
        let sql = SqlHost::open_for(engine.sql.clone(), &task.plan, &in_force);
        let kept_use = if task.is_signed() { KeptUse::Publish } else { KeptUse::None };
        let host = engine.pipelines.clone().map(|host| PipelineHost { kept_use, ..host });
        let pipelines = PipelineHost::open_for(host, &task.plan, &in_force);
        let script = task.script(&sql, &pipelines);
        let asked = task.documents(script)?.digest()?;
        let attempt = match task.standing(&records, &self.outputs, (root, workspace, asked))? {
            Standing::Attempt(attempt) => attempt,
            Standing::Stored(stored) => return Ok(self.repeat(&task, *stored)),
            Standing::Taken(problem) => {
                return Ok(self.reject(Some(&task), task.refusal(vec![problem]), None));
            }
        };
        let here = Here {
            tenant: &records.tenant,
            workspace,
            envelopes: in_force.task_envelopes,
            keyring: records.keyring(),
            now: records.clock.now(),
        };
        let consent = match task.check_approved(&here) {
            Ok(consent) => consent,
            Err(problem) => {
                return Ok(self.reject(Some(&task), task.refusal(vec![problem]), None));
            }
        };
        let refused = task.refused(&mut engine.workspace, &self.outputs, (&in_force, script))?;
        if !refused.is_empty() {
            let protected: Vec<_> = refused.iter().filter_map(|it| it.target.clone()).collect();
            if !protected.is_empty() {
                let plan = (RunId::from_random(random()?), workspace);
                let asked = (&task, &limits(script), &actor);
                refused::record(&records, &in_force, asked, plan, &protected)?;
            }
            return Ok(self.reject(Some(&task), task.refusal(refused), None));
        }
        Ok(match self.prepare(&task, (root, actor), (attempt, consent)) {
            Err(error) => {
                let problem = TaskProblem::of_error(&error);
                // If the reports cannot be written, the task is rejected as for any other error.
                let cause = (!matches!(error, Error::Output(_))).then_some(error);
                self.reject(Some(&task), task.refusal(vec![problem]), cause)
            }
            Ok((place, notes)) => self.carry_out(engine, place, (notes, script)),
        })
    }

    /// Creates the report directory, after recording it in the notes. Does not replace the active plan.
    fn prepare<'t>(
        &mut self,
        task: &'t Task,
        (root, actor): (&'t Path, Actor),
        (attempt, consent): (u32, Consent),
    ) -> Result<(Place<'t>, Notes)> {
        let name = self.outputs.report_name(self.started, &task.id)?;
        let ids = (&self.report_id, &task.id, &task.plan_id);
        let actions = self.status.actions().to_vec();
        let notes = Notes::new(&name, ids, self.started, actions);
        notes.keep(&self.mark)?;
        let directory = self.outputs.report(name)?;
        if let Err(error) = fill(&directory, task) {
            self.unfilled = Some(directory);
            return Err(error.into());
        }
        Ok((Place { task, directory, root, actor, attempt, consent }, notes))
    }

    /// Archives the previous active plan and activates this one, which has passed all gates (EX-6).
    fn activate(&mut self, task: &Task) -> std::result::Result<(), Box<TaskProblem>> {
        self.status.phase(Phase::Archiving);
        let activated = self.outputs.archive(self.started).and_then(|archived_to| {
            if let Some(to) = &archived_to {
                self.status
                    .note(Phase::Archiving, &format!("The previous plan was archived to `{to}`"));
            }
            self.archived_to = archived_to;
            self.outputs.activate(&task.inputs())
        });
        activated.map_err(|error| Box::new(TaskProblem::of_error(&error.into())))
    }

    fn carry_out(
        &mut self,
        engine: &mut Engine,
        place: Place<'_>,
        (notes, script): (Notes, Script<'_>),
    ) -> TaskEnd {
        let task = place.task;
        self.status.phase(Phase::Executing);
        let mut begun = match engine.begin(options(script, &task.id)) {
            Ok(begun) => begun.under_umask(place.consent.umask()),
            Err(error) => {
                let problem = TaskProblem::of_error(&error);
                let refusal = task.refusal(vec![problem]);
                return self.reject_in(place.directory, Some(task), (refusal, Some(error)));
            }
        };
        let mut rehearsed = self.rehearse(&mut begun.transaction, (task, script));
        let mut made = match rehearsed.verdict {
            Verdict::Keep if rehearsed.has_work() => {
                Some(self.make(begun, (&place, script), &rehearsed, notes))
            }
            Verdict::Keep => None,
            Verdict::TakeBack | Verdict::Cancel => {
                drop(begun);
                self.status.phase(Phase::RollingBack);
                None
            }
        };
        // A published change already has its manifest. Without a published change, write an empty manifest.
        if matches!(made, None | Some(Made::Nothing)) {
            let kept = self.keep_checkpoint(&place, &rehearsed.effects, None);
            match (kept.and_then(|_digests| self.activate(task)), rehearsed.verdict) {
                (Ok(()), _) => {}
                (Err(problem), Verdict::Keep) => made = Some(Made::Not(*problem, None)),
                // Nothing became visible, so the missing manifest does not change the outcome.
                (Err(problem), Verdict::TakeBack | Verdict::Cancel) => {
                    rehearsed.problems.push(*problem);
                }
            }
        }
        self.ended(place, rehearsed, made)
    }

    /// Runs the actions on a private copy of the workspace, where no other process can see their changes.
    fn rehearse(
        &mut self,
        transaction: &mut Transaction<'_, LinuxDisk>,
        (task, script): (&Task, Script<'_>),
    ) -> TaskActions {
        let constraints = task.plan.constraints(task.config.constraints);
        let rehearsal = Rehearsal::on(transaction, script, &mut self.status);
        let verdict = rehearsal.verdict(constraints);
        let Rehearsal { actions, operations, broken_rules, broken_off } = rehearsal;
        let effects = transaction.effects();
        let failed = actions.iter().filter_map(|rehearsed| match &rehearsed.end {
            ActionEnd::Failed(problem) => {
                Some(TaskProblem::of_action(rehearsed.action, problem.clone()))
            }
            ActionEnd::Completed { .. } | ActionEnd::Skipped { .. } | ActionEnd::Deferred(_) => {
                None
            }
        });
        let mut problems: Vec<_> = failed.collect();
        problems.extend(broken_rules.into_iter().map(TaskProblem::of_late));
        let broken = broken_off.map(|code| TaskProblem::new(code, code.about()));
        problems.splice(0..0, broken);
        let targets = task.plan.actions.iter().map(|action| &action.target);
        let modified = |path: &RelPath| Some((path.clone(), self.outputs.modified(path)?));
        let modified = targets.filter_map(modified).collect();
        let mut acted = TaskActions { actions, operations, effects, problems, modified, verdict };
        self.attribute(&task.plan, &mut acted);
        acted
    }

    /// Attributes each late problem to the last completed action that wrote the affected path. If there is no such
    /// action, or the problem has no path, attributes it to the last completed action. This keeps the counts in the
    /// report consistent.
    fn attribute(&mut self, plan: &TaskPlan, acted: &mut TaskActions) {
        let TaskActions { actions, problems, .. } = acted;
        let is_done = |it: &&Rehearsed| matches!(it.end, ActionEnd::Completed { .. });
        let done: Vec<usize> = actions.iter().filter(is_done).map(|it| it.action).collect();
        for problem in problems.iter_mut().filter(|it| it.action.is_none() && it.is_of_action()) {
            let target = problem.target.as_ref();
            let is_of = |action: &Action| action.written().any(|path| Some(path) == target);
            let wrote = |index: &&usize| plan.actions.get(**index).is_some_and(is_of);
            problem.action = done.iter().rev().find(wrote).or(done.last()).copied();
            if let Some(action) = problem.action {
                self.status.failed_late(action, problem);
            }
        }
    }
}

impl Task {
    /// Returns the documents of the task together with the file names that they are stored under.
    fn inputs(&self) -> Vec<(&'static str, &[u8])> {
        let TaskInput { plan, config, approval, .. } = &self.input;
        let mut files: Vec<(_, &[u8])> = vec![(PLAN_FILE, plan), (CONFIG_FILE, config)];
        files.extend(approval.iter().map(|bytes| (APPROVAL_FILE, bytes.as_slice())));
        files
    }

    /// Checks whether the task comes with a signed approval. Its signature is verified before anything is executed.
    fn is_signed(&self) -> bool {
        self.input.approval.is_some()
    }

    /// Builds the rejection of the task for the given problems.
    fn refusal(&self, problems: Vec<TaskProblem>) -> Unread {
        let plan_id = Some(self.plan_id.clone());
        Unread { plan_id, problems, ..Unread::new(Some(self.id.clone())) }
    }
}

/// Writes the documents of the task and its summary into the report directory.
fn fill(directory: &ReportDirectory, task: &Task) -> std::result::Result<(), OutputError> {
    for (name, bytes) in task.inputs() {
        directory.write_private(name, bytes)?;
    }
    directory.write(SUMMARY_FILE, task.summary().as_bytes())?;
    directory.write(PROMPT_FILE, executor_prompt(|file| directory.name.file(file)).as_bytes())
}

/// Returns the limits of the change, which allow only the targets of the plan and the outputs of its pipelines (7.1,
/// FILE_WHITELIST).
pub fn limits(script: Script<'_>) -> Limits {
    let Script { plan, pipelines, .. } = script;
    let written = plan.actions.iter().flat_map(Action::written).cloned();
    let logs = plan.actions.iter().filter_map(Action::write_ahead_log);
    let written: BTreeSet<_> = written.chain(logs).collect();
    let allow = written.iter().filter_map(PathRule::exactly);
    let allow = allow.chain(pipeline_host::outputs(pipelines, plan)).collect();
    Limits { scope: Scope { allow: Some(allow), deny: Vec::new() }, ..Limits::default() }
}

/// Returns the label that the log shows for the run of a task.
pub fn label(task: &PlainId) -> String {
    format!("task {task}")
}

pub(super) fn random() -> Result<u64> {
    LinuxDisk.random().map_err(|source| {
        let kind = ErrorKind::Io { action: "generate the id of a task".to_owned(), source };
        actum_workspace::Error::from(kind).into()
    })
}

impl TaskProblem {
    /// Creates the problem for a run that may be neither published nor rolled back, so that the operator must inspect
    /// it.
    pub(super) fn of_open_run(error: &Error) -> Self {
        Self { code: ErrorCode::RollbackFailed, ..Self::of_error(error) }
    }

    /// Converts an engine error to a problem for the error report.
    pub(super) fn of_error(error: &Error) -> Self {
        if let Error::Workspace(error) = error {
            let problem = ActionProblem::from_kind(&error.kind);
            return Self {
                reason: Some(reason::from_error_kind(&error.kind).name()),
                ..Self::of_late(problem)
            };
        }
        if let Error::Queued { plan, tier, gates, .. } = error {
            let why: Vec<_> = gates.iter().map(|gate| gate.ground.to_string()).collect();
            let message = format!(
                "approval required ({tier}), but no unused approval covers exactly this change; it is \
                 pending as plan {plan}, run `actum plan approve` to approve it: {}",
                why.join("; ")
            );
            let reason = Some(reason::of_engine(error).name());
            return Self { reason, ..Self::new(ErrorCode::ApprovalMissing, message) };
        }
        if let Error::Output(error) = error {
            return Self::new(ErrorCode::ReportUnwritable, error.to_string());
        }
        let code = if let Error::Denied { gates } = error {
            let is_by = |name: GateName| gates.iter().any(|gate| gate.gate == name);
            match (is_by(GateName::Protected), is_by(GateName::Credentials)) {
                (true, _) => ErrorCode::ProtectedFileViolation,
                (false, true) => ErrorCode::SecretInContent,
                (false, false) => ErrorCode::PolicyDenied,
            }
        } else {
            ErrorCode::InternalError
        };
        let problem = Self::new(code, error.to_string()).because_of(error);
        Self { reason: Some(reason::of_engine(error).name()), ..problem }
    }
}
