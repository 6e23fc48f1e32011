//! Task execution, from the documents to the reports. [`run`] is the sequence; all changes become visible in one run of
//! the engine, or not at all.

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
use actum_ledger::{Activity, UnderWay};
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

/// File with a signed approval, beside plan and config.
pub const APPROVAL_FILE: &str = "task_approval.json";

/// Result of a task.
pub struct TaskEnd {
    /// Id of the task.
    pub task: PlainId,
    /// Directory of its reports; `None` if nothing could be written.
    pub directory: Option<ReportName>,
    /// Outcome.
    pub outcome: Outcome,
    /// Receipt of the run that made its change, if any.
    pub receipt: Option<Receipt>,
    /// Error of the engine that caused the outcome, if any.
    pub cause: Option<Error>,
    /// Index of the alert in the ledger, if one was required, or the error in raising it.
    pub alert: Result<Option<u64>>,
    /// True if the task was executed before, so that this is the stored result and nothing was done now (D-8).
    pub is_repeated: bool,
    /// Error in writing the reports, if any.
    pub unwritten: Option<OutputError>,
    /// Interrupted tasks whose reports were written now.
    pub finished: Vec<FinishedTask>,
}

/// Outcome of a task.
#[derive(Debug)]
pub enum Outcome {
    /// Executed, successfully or not.
    Executed {
        /// Execution report.
        report: Box<ExecutionReport>,
        /// Changes of its actions.
        log: Box<ChangeLog>,
        /// Error report, if any.
        error: Option<Box<ErrorReport>>,
    },
    /// Rejected before it began.
    Rejected(Box<ErrorReport>),
}

/// Executes a task: all of its plan or nothing, as its constraints require; and writes the reports.
///
/// # Errors
/// `Workspace` if it cannot be opened or is in use, `Policy`, `Home`, `Ledger`: nothing was begun, and no report is
/// written. The reports state all other errors.
pub fn run(
    engine: &mut Engine,
    root: &Path,
    (input, actor): (std::result::Result<TaskInput, Unread>, Actor),
    progress: &mut dyn ProgressObserver,
) -> Result<TaskEnd> {
    // The documents are read while the ledger is being opened, for which the task lock waits.
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
    // The next process reports what could not be reported, and makes all of it durable.
    Ok(match ended.unwritten.is_none() && !desk.is_noted {
        true => TaskEnd { unwritten: desk.mark.end().err().map(OutputError::of_home), ..ended },
        false => ended,
    })
}

pub(super) fn options(script: Script<'_>, task: &PlainId) -> RunOptions {
    RunOptions { limits: limits(script), label: label(task), wait: true }
}

/// Builds the request of a task with these documents, and the operations of its actions.
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
        door: EntryPoint::TaskPlan,
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

/// Execution of a task: its workspace, reports and approval.
struct Place<'t> {
    task: &'t Task,
    directory: ReportDirectory,
    root: &'t Path,
    actor: Actor,
    /// Number of the attempt at the task, counted from 1.
    attempt: u32,
    /// Approved change.
    consent: Consent,
}

/// Result of the actions.
pub(super) struct TaskActions {
    actions: Vec<Rehearsed>,
    operations: Vec<Operation>,
    pub(super) effects: Arc<[PathEffect]>,
    pub(super) problems: Vec<TaskProblem>,
    /// Modification times of the targets before the task.
    modified: BTreeMap<RelPath, Timestamp>,
    verdict: Verdict,
}

impl TaskActions {
    /// Returns true if there is a change to publish, or an empty one to confirm.
    fn has_work(&self) -> bool {
        !self.operations.is_empty() || !self.effects.is_empty() || self.deferred().next().is_some()
    }

    /// Adds the results of the external pipelines.
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

    /// Returns the external pipelines that are to run.
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
    /// Earlier tasks whose reports exist, but may not be durable.
    reported: Reported,
    /// Mark with the notes on the task, for the process that finds it after a kill.
    mark: UnderWay,
    /// Directory of its reports, if it exists and could not be filled.
    unfilled: Option<ReportDirectory>,
    /// True if the notes on the task contain as much as its reports, or more; the notes stay then.
    is_noted: bool,
    /// Id of the rollback manifest, once it is written.
    manifest: Option<PlainId>,
    /// Archive directory of the previous plan in force, once it was archived.
    archived_to: Option<String>,
}

impl TaskContext<'_> {
    /// Handles the task from its documents to its end: first all checks that can reject it, then the execution.
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
                // A failure to write the reports rejects the task like any other.
                let cause = (!matches!(error, Error::Output(_))).then_some(error);
                self.reject(Some(&task), task.refusal(vec![problem]), cause)
            }
            Ok((place, notes)) => self.carry_out(engine, place, (notes, script)),
        })
    }

    /// Creates the directory of the reports, which is noted first. The plan in force stays unchanged.
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

    /// Archives the previous plan in force and replaces it by this one, which no gate has rejected (EX-6).
    fn activate(&mut self, task: &Task) -> std::result::Result<(), Box<TaskProblem>> {
        self.status.phase(Phase::Archiving);
        let activated = self.outputs.archive(self.started).and_then(|archived_to| {
            if let Some(to) = &archived_to {
                self.status.note(Phase::Archiving, &format!("The plan before went to `{to}`"));
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
        // A visible change has its manifest already. A run without effects has an empty one.
        if matches!(made, None | Some(Made::Nothing)) {
            let kept = self.keep_checkpoint(&place, &rehearsed.effects, None);
            match (kept.and_then(|_digests| self.activate(task)), rehearsed.verdict) {
                (Ok(()), _) => {}
                (Err(problem), Verdict::Keep) => made = Some(Made::Not(*problem, None)),
                // Nothing became visible, so the manifest is not needed.
                (Err(problem), Verdict::TakeBack | Verdict::Cancel) => {
                    rehearsed.problems.push(*problem);
                }
            }
        }
        self.ended(place, rehearsed, made)
    }

    /// Runs the actions where no other process sees the changes.
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

    /// Attributes each late error to the last action that wrote its path. If no action did, or the system named no
    /// path, it is attributed to the last action. So the counts of the report add up.
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
    /// Returns the documents of the task, with the names under which they are kept.
    fn inputs(&self) -> Vec<(&'static str, &[u8])> {
        let TaskInput { plan, config, approval, .. } = &self.input;
        let mut files: Vec<(_, &[u8])> = vec![(PLAN_FILE, plan), (CONFIG_FILE, config)];
        files.extend(approval.iter().map(|bytes| (APPROVAL_FILE, bytes.as_slice())));
        files
    }

    /// Returns true if its envelope names a signed approval, which is verified before anything is done.
    fn is_signed(&self) -> bool {
        self.input.approval.is_some()
    }

    /// Creates the rejection of the task for these reasons.
    fn refusal(&self, problems: Vec<TaskProblem>) -> Unread {
        let plan_id = Some(self.plan_id.clone());
        Unread { plan_id, problems, ..Unread::new(Some(self.id.clone())) }
    }
}

/// Writes the documents of the task into the directory of its reports.
fn fill(directory: &ReportDirectory, task: &Task) -> std::result::Result<(), OutputError> {
    for (name, bytes) in task.inputs() {
        directory.write_private(name, bytes)?;
    }
    directory.write(SUMMARY_FILE, task.summary().as_bytes())?;
    directory.write(PROMPT_FILE, executor_prompt(|file| directory.name.file(file)).as_bytes())
}

/// Returns the limits of the change: the targets of the plan and the outputs of its pipelines (7.1, FILE_WHITELIST).
pub fn limits(script: Script<'_>) -> Limits {
    let Script { plan, pipelines, .. } = script;
    let written = plan.actions.iter().flat_map(Action::written).cloned();
    let logs = plan.actions.iter().filter_map(Action::write_ahead_log);
    let written: BTreeSet<_> = written.chain(logs).collect();
    let allow = written.iter().filter_map(PathRule::exactly);
    let allow = allow.chain(pipeline_host::outputs(pipelines, plan)).collect();
    Limits { scope: Scope { allow: Some(allow), deny: Vec::new() }, ..Limits::default() }
}

/// Returns the label of a task in the log.
pub fn label(task: &PlainId) -> String {
    format!("task {task}")
}

pub(super) fn random() -> Result<u64> {
    LinuxDisk.random().map_err(|source| {
        let kind = ErrorKind::Io { action: "name a task".to_owned(), source };
        actum_workspace::Error::from(kind).into()
    })
}

impl TaskProblem {
    /// Creates the problem of a run that is neither published nor rolled back, as far as known: the operator must
    /// inspect it.
    pub(super) fn of_open_run(error: &Error) -> Self {
        Self { code: ErrorCode::RollbackFailed, ..Self::of_error(error) }
    }

    /// Creates the problem of an engine error.
    pub(super) fn of_error(error: &Error) -> Self {
        if let Error::Workspace(error) = error {
            let problem = ActionProblem::from_kind(&error.kind);
            return Self { reason: Some(reason::of(&error.kind).name()), ..Self::of_late(problem) };
        }
        if let Error::Queued { plan, tier, gates, .. } = error {
            let why: Vec<_> = gates.iter().map(|gate| gate.ground.to_string()).collect();
            let message = format!(
                "approval required ({tier}), and there is no approval of exactly this change that was not \
                 used; it waits as plan {plan}, and `actum plan approve` asks for an approval: {}",
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
