//! Tasks that were cut off: whoever comes to the workspace next writes their reports (EX-13).

use std::path::Path;

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Status, Timestamp};
use actum_git::CommitId;
use actum_ledger::{Doing, TaskTurn, UnderWay};
use actum_record::ledger::WorkspaceId;
use actum_task::ErrorCode;
use actum_task::report::{
    ActionOutcome, CHANGE_LOG_FILE, ChangeLog, CleanText, ERROR_REPORT_FILE, EXECUTION_REPORT_FILE,
    ErrorReport, ErrorStatus, ExecutionReport, ReportName, ReportStatus, RollbackMethod,
    RunDetails, RunEnd, RunFacts, SkippedAction,
};
use actum_workspace::ErrorKind;
use serde::{Deserialize, Serialize};

use super::OutputError;
use super::alert::Alerts;
use super::documents::{ErrorFacts, Ids, clean};
use super::git::{Found, resumed_revert, resumed_run};
use super::outputs::{Ended, Outputs, ReportDirectory};
use super::problem::TaskProblem;
use super::rollback::told_late;
use crate::engine::Engine;
use crate::error::Result;
use crate::records::Records;

const FORMAT: &str = "actum.task-under-way/1";
const ROLLBACK_FORMAT: &str = "actum.rollback-under-way/1";

/// What is noted of a task while it is carried out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Notes {
    format: String,
    /// The name of the directory of its reports.
    report: String,
    report_id: PlainId,
    task: PlainId,
    plan: PlainId,
    started: Timestamp,
    archived_to: Option<String>,
    /// The ids of its actions, in their order.
    actions: Vec<CleanText>,
    /// What is to be written where its run is found done.
    prepared: Option<Prepared>,
    /// What is to be written in any case: it could not be.
    ended: Option<Ended>,
    /// Whether a person may not have been told of what is to be written.
    #[serde(default)]
    is_untold: bool,
}

/// What is noted while a task is taken back.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RollbackNotes {
    format: String,
    /// The name of the directory of its reports.
    report: String,
    /// The commit that is reverted, where the task was committed.
    reverts: Option<String>,
}

/// What was noted by a process that is no more.
enum Noted {
    Task(Box<Notes>),
    Rollback(RollbackNotes),
}

/// The documents of a task whose run is about to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Prepared {
    pub(super) run: RunId,
    pub(super) report: ExecutionReport,
    pub(super) log: ChangeLog,
    pub(super) error: Option<ErrorReport>,
}

/// A task whose reports were written by somebody else than its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTask {
    /// What it is called.
    pub task: PlainId,
    /// The directory of its reports.
    pub report: ReportName,
    /// How it ended; none where it was not begun.
    pub status: Option<ReportStatus>,
}

/// Writes the reports of the tasks that processes left in the workspace at `root` which are no more. A run, and whatever
/// takes a task back, does so first.
///
/// # Errors
/// As [`Engine::resume`]; `Output`: the task stays left then, and is found again.
pub fn finish(engine: &mut Engine, root: &Path) -> Result<Vec<FinishedTask>> {
    let turn = take_turn(engine, root)?;
    turn.reported.sync(&Outputs::of(root)?)?;
    Ok(turn.finished)
}

/// The turn to do something about the tasks of a workspace.
pub(super) struct Turn {
    pub(super) lock: TaskTurn,
    pub(super) workspace: WorkspaceId,
    /// Tasks that were cut off before, whose reports were written now.
    pub(super) finished: Vec<FinishedTask>,
    /// Tasks whose reports are there.
    pub(super) reported: Reported,
}

/// Tasks whose reports are there, and maybe not durable yet. What is noted of them stays until they are: the reports can
/// be written again.
#[derive(Debug, Default)]
#[must_use = "the reports are there, and not durable"]
pub(super) struct Reported(Vec<UnderWay>);

impl Reported {
    /// The reports are durable now: what is noted of the tasks goes.
    pub(super) fn end(self) -> std::result::Result<(), OutputError> {
        self.0.into_iter().try_for_each(UnderWay::end).map_err(OutputError::of_home)
    }

    /// The same, after making them so.
    pub(super) fn sync(self, outputs: &Outputs) -> std::result::Result<(), OutputError> {
        if !self.0.is_empty() {
            outputs.sync()?;
        }
        self.end()
    }
}

/// Takes the turn, and ends what was left. One process at a time is at the tasks of a workspace, from before anything is
/// looked at until the reports are written.
///
/// # Errors
/// `Workspace` with `Busy` where another one has the turn; as [`finish`].
pub(super) fn take_turn(engine: &mut Engine, root: &Path) -> Result<Turn> {
    let workspace = engine.resume()?;
    let Some(lock) = engine.records.marks().begin_tasks(workspace)? else {
        let holder = Some("a process that carries out a task".to_owned());
        return Err(actum_workspace::Error::from(ErrorKind::Busy { holder }).into());
    };
    let (finished, reported) = engine.records.finish_left_tasks(root, workspace)?;
    Ok(Turn { lock, workspace, finished, reported })
}

impl Notes {
    pub(super) fn new(
        report: &ReportName,
        (report_id, task, plan): (&PlainId, &PlainId, &PlainId),
        started: Timestamp,
        archived_to: Option<&str>,
        actions: Vec<CleanText>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            report: report.as_str().to_owned(),
            report_id: report_id.clone(),
            task: task.clone(),
            plan: plan.clone(),
            started,
            archived_to: archived_to.map(str::to_owned),
            actions,
            prepared: None,
            ended: None,
            is_untold: false,
        }
    }

    /// Takes in what is to be written where the run is found done.
    pub(super) fn prepare(&mut self, prepared: Prepared) -> &Self {
        self.prepared = Some(prepared);
        self
    }

    /// The same with what could not be written.
    pub(super) fn ended(mut self, ended: Ended) -> Self {
        self.ended = Some(ended);
        self
    }

    /// The same with what is about to be written, and of which a person is told then.
    pub(super) fn ending(mut self, ended: Ended) -> Self {
        (self.ended, self.is_untold) = (Some(ended), true);
        self
    }

    /// Keeps them, for as long as the machine runs.
    pub(super) fn keep(&self, mark: &UnderWay) -> Result<()> {
        Ok(mark.note(&self.to_vec()?)?)
    }

    /// Keeps them durably: those that take the place of others which are.
    pub(super) fn keep_durably(&self, mark: &UnderWay) -> Result<()> {
        Ok(mark.note_durably(&self.to_vec()?)?)
    }

    fn to_vec(&self) -> Result<Vec<u8>> {
        to_vec(self, &self.report)
    }
}

impl RollbackNotes {
    pub(super) fn new(report: &ReportName, reverts: Option<CommitId>) -> Self {
        let reverts = reverts.map(|commit| commit.to_string());
        Self { format: ROLLBACK_FORMAT.to_owned(), report: report.as_str().to_owned(), reverts }
    }

    /// Keeps them, for as long as the machine runs.
    pub(super) fn keep(&self, mark: &UnderWay) -> Result<()> {
        Ok(mark.note(&to_vec(self, &self.report)?)?)
    }
}

fn to_vec(notes: &impl Serialize, report: &str) -> Result<Vec<u8>> {
    let notes = serde_json::to_vec(notes).map_err(|error| OutputError {
        doing: "put together the notes on",
        path: report.to_owned(),
        source: error.into(),
    })?;
    Ok(notes)
}

impl Noted {
    /// Reads what was noted. None are what is left of notes that a stop of the machine cut off: those of a task of which nothing
    /// had become visible, since they are made durable before that.
    fn read(bytes: &[u8]) -> Result<Option<Self>> {
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return Ok(None);
        };
        let format = document.get("format").and_then(serde_json::Value::as_str);
        let read = match format {
            Some(FORMAT) => serde_json::from_value(document).map(Self::Task),
            Some(ROLLBACK_FORMAT) => serde_json::from_value(document).map(Self::Rollback),
            _other => Err(serde::de::Error::custom("of another version")),
        };
        let told = |error: serde_json::Error| OutputError {
            doing: "read the notes on a task in",
            path: "the home of the ledger".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        Ok(Some(read.map_err(told)?))
    }
}

impl Records {
    /// Writes the reports of the tasks that processes left in the workspace at `root` which are no more. The end of each
    /// run is recorded already.
    ///
    /// # Errors
    /// `Home`, `Ledger`; `Output` where the reports cannot be written: the task stays left then, and is found again.
    pub(super) fn finish_left_tasks(
        &self,
        root: &Path,
        workspace: WorkspaceId,
    ) -> Result<(Vec<FinishedTask>, Reported)> {
        let (mut finished, mut reported) = (Vec::new(), Reported::default());
        let marks = self.marks();
        for id in marks.marked(Doing::Task, workspace)? {
            let Some(left) = marks.left(Doing::Task, id, workspace)? else { continue };
            // Without notes it had not begun.
            let noted = left.noted()?.map(|notes| Noted::read(&notes)).transpose()?;
            let ended = match noted.flatten() {
                Some(Noted::Task(notes)) => self.finish((root, workspace), *notes)?,
                Some(Noted::Rollback(notes)) => finish_rollback(root, &notes)?,
                None => Left::Nothing,
            };
            match ended {
                Left::Nothing => left.end()?,
                Left::Reported => reported.0.push(left),
                Left::Finished(task) => {
                    finished.push(*task);
                    left.end()?;
                }
                // Somebody else records how its run ended.
                Left::Open => {}
            }
        }
        Ok((finished, reported))
    }

    fn finish(&self, (root, workspace): (&Path, WorkspaceId), mut notes: Notes) -> Result<Left> {
        let outputs = Outputs::of(root)?;
        let run_id = notes.prepared.as_ref().map(|it| it.run);
        let committed = || self.committed(root, run_id);
        let Some(name) = ReportName::read(notes.report.as_bytes()) else {
            return Ok(Left::Nothing);
        };
        let task = notes.task.clone();
        let alerts = Alerts::of(self, (workspace, root), None);
        if let (true, Some(error)) =
            (notes.is_untold, notes.ended.as_ref().and_then(|it| it.error.as_ref()))
        {
            alerts.raise(&task, error, Some(&name))?;
        }
        let directory = match outputs.reports_named(name.clone())? {
            Some(directory) => directory,
            // It was about to be made.
            None if notes.is_untold => outputs.report(name.clone())?,
            // What a person removed is not made again. What is left of it is in git's way all the same.
            None => {
                committed()?;
                return Ok(Left::Nothing);
            }
        };
        directory.remove_unfinished()?;
        let ended = match notes.ended.take() {
            Some(ended) => ended,
            None => {
                let told = told_before(&directory, notes.prepared.is_some())?;
                if matches!(told, Before::Whole) {
                    return Ok(Left::Reported);
                }
                let run = match &notes.prepared {
                    None => RunOf::None,
                    Some(prepared) => self.run_of(prepared.run)?,
                };
                let cut_off = match (&run, told) {
                    (RunOf::Open, _) => return Ok(Left::Open),
                    (RunOf::Ended(Status::Failed | Status::Queued, _), Before::Open(_)) => {
                        return Ok(Left::Reported);
                    }
                    (_, Before::Open(why)) => format!("{OPEN_BEFORE}: {why}"),
                    (_, Before::Whole | Before::Missing) => CUT_OFF.to_owned(),
                };
                let committed = committed()?;
                let ended = written(notes, (run, committed), &cut_off, self.clock.now())?;
                if let Some(error) = &ended.error {
                    alerts.raise(&task, error, Some(&name))?;
                }
                ended
            }
        };
        let status = ended.report.as_ref().map(ExecutionReport::status);
        directory.write_end(&ended)?;
        outputs.sync()?;
        Ok(Left::Finished(Box::new(FinishedTask { task, report: name, status })))
    }

    /// What git knows of a run that succeeded.
    fn committed(&self, root: &Path, run: Option<RunId>) -> Result<Found> {
        let Some(run) = run else { return Ok(Found::default()) };
        let receipt = self.recorded(run)?.and_then(|recorded| recorded.receipt);
        let done = receipt.filter(|(receipt, _)| receipt.status() == Status::Succeeded);
        let found =
            done.map(|(receipt, _)| resumed_run(root, run, &receipt.statement.predicate.paths));
        Ok(found.unwrap_or_default())
    }

    /// What the ledger knows of a run.
    fn run_of(&self, run: RunId) -> Result<RunOf> {
        Ok(match self.recorded(run)? {
            None => RunOf::None,
            Some(run) => match run.receipt {
                None => RunOf::Open,
                Some((receipt, _)) => RunOf::Ended(receipt.status(), receipt.index),
            },
        })
    }
}

/// Writes the reports of a task that was taken back by a process that could not tell: where every file is as before, or a
/// commit reverts it.
fn finish_rollback(root: &Path, notes: &RollbackNotes) -> Result<Left> {
    let outputs = Outputs::of(root)?;
    let reverts = notes.reverts.as_deref().and_then(|commit| commit.parse().ok());
    let reverted = reverts.map(|commit| resumed_revert(root, commit));
    let Some(name) = ReportName::read(notes.report.as_bytes()) else { return Ok(Left::Nothing) };
    let Some(directory) = outputs.reports_named(name.clone())? else { return Ok(Left::Nothing) };
    directory.remove_unfinished()?;
    let reverted = reverted.unwrap_or_default();
    let Some(report) = told_late(&outputs, &directory, reverted)? else { return Ok(Left::Nothing) };
    let Some(task) = report.facts().more.task_id.clone() else { return Ok(Left::Nothing) };
    let status = Some(report.status());
    Ok(Left::Finished(Box::new(FinishedTask { task, report: name, status })))
}

/// What the reports of a task say.
enum Before {
    /// All that is to be said.
    Whole,
    /// That its run was neither made nor taken back, and why.
    Open(String),
    /// Not all of it.
    Missing,
}

/// What the reports of a task say. None of them is durable before all are: after a stop of the machine any may be missing,
/// or cut short. Those of a run that had not ended yet say so, and are written anew.
fn told_before(directory: &ReportDirectory, had_run: bool) -> Result<Before> {
    let error = directory.read(ERROR_REPORT_FILE)?;
    let error = error.and_then(|bytes| ErrorReport::read(&bytes).ok());
    if error.as_ref().is_some_and(|it| it.status == ErrorStatus::Rejected) {
        return Ok(Before::Whole);
    }
    let report = directory.read(EXECUTION_REPORT_FILE)?;
    let Some(report) = report.and_then(|bytes| ExecutionReport::read(&bytes).ok()) else {
        return Ok(Before::Missing);
    };
    let log = directory.read(CHANGE_LOG_FILE)?;
    let has_log = log.is_some_and(|bytes| ChangeLog::read(&bytes).is_ok());
    let is_whole = has_log && (ErrorStatus::of(report.status()).is_none() || error.is_some());
    let is_open = report.status() == ReportStatus::Failed && had_run;
    Ok(match error {
        Some(error) if is_whole && is_open => Before::Open(error.error.message.as_str().to_owned()),
        _ if is_whole => Before::Whole,
        _ => Before::Missing,
    })
}

/// What was found of a task that was left.
enum Left {
    /// There is nothing to be told of it.
    Nothing,
    /// It was told.
    Reported,
    /// It is told now.
    Finished(Box<FinishedTask>),
    /// How its run ended is not known yet.
    Open,
}

/// What the ledger knows of the run of a task.
enum RunOf {
    /// It was not begun.
    None,
    /// It was begun.
    Open,
    /// It ended so, which is in that entry.
    Ended(Status, u64),
}

const CUT_OFF: &str = "the process of the task ended before the task did";
const COMMITTED: &str =
    "the process of the task ended after the run was committed and before it could report";
const MAYBE_COMMITTED: &str = "the process of the task ended after the run and before it could report; whether the run was \
                               committed to a repository is not known";
const OPEN_BEFORE: &str = "its run was open when the task was reported, and was ended since";

/// What is written of a task that was cut off.
fn written(
    notes: Notes,
    (run_of, (commit, more)): (RunOf, Found),
    cut_off: &str,
    now: Timestamp,
) -> Result<Ended> {
    let mut ids = Ids::new()?;
    let Notes { report_id, task, plan, started, archived_to, actions, prepared, .. } = notes;
    let run = prepared.as_ref().map(|prepared| prepared.run);
    let (end, report_status) = match run_of {
        RunOf::Ended(Status::Succeeded, index) => {
            if let Some(Prepared { report, log, error, .. }) = prepared {
                let receipt = clean(&format!("entry {index} of the ledger"));
                let told = if commit.is_some() { COMMITTED } else { MAYBE_COMMITTED };
                let report = report.ended(now).recorded(receipt, commit.map(|id| clean(&id)));
                let report = report.noted(CleanText::fixed(told), None);
                let noted =
                    |report: ExecutionReport, note: String| report.noted(clean(&note), None);
                let report = Some(more.into_iter().fold(report, noted));
                return Ok(Ended { is_as_before: false, report, log: Some(log), error });
            }
            (RunEnd::RollbackFailed, ErrorStatus::Failed)
        }
        RunOf::Ended(Status::Failed | Status::Queued, _) | RunOf::Open => {
            (RunEnd::RollbackFailed, ErrorStatus::Failed)
        }
        RunOf::Ended(Status::Reverted | Status::Rejected, _) | RunOf::None => {
            (RunEnd::RolledBack, ErrorStatus::RolledBack)
        }
    };
    let code = match end {
        RunEnd::RollbackFailed => ErrorCode::RollbackFailed,
        RunEnd::Finished | RunEnd::RolledBack | RunEnd::Cancelled => ErrorCode::InternalError,
    };
    let problem = TaskProblem { reason: Some("INTERRUPTED"), ..TaskProblem::new(code, cut_off) };
    let facts = ErrorFacts {
        report_id: report_id.clone(),
        plan_id: Some(plan.clone()),
        status: report_status,
        run,
        time: now,
        task: None,
        named: &[],
    };
    let error = Some(facts.report(&[problem], &mut ids));
    let (report, log) = match prepared {
        Some(Prepared { report, log, .. }) => (report.ended_as(end, now), Some(log)),
        None => {
            let skipped = |action_id| {
                let reason = clean(cut_off);
                ActionOutcome::Skipped(SkippedAction { action_id, reason })
            };
            let facts = RunFacts {
                report_id: report_id.clone(),
                plan_id: plan.clone(),
                started_at: started,
                completed_at: now.max(started),
                rollback_manifest_id: None,
                more: RunDetails {
                    task_id: Some(task),
                    archived_to: archived_to.as_deref().map(clean),
                    ..RunDetails::default()
                },
            };
            let actions = actions.into_iter().map(skipped).collect();
            let log = ChangeLog {
                log_id: ids.next(),
                plan_id: plan,
                execution_report_id: report_id,
                created_at: now,
                changes: Vec::new(),
            };
            (ExecutionReport::new(facts, actions, end), Some(log))
        }
    };
    let report = report.noted(clean(cut_off), Some(RollbackMethod::Checkpoint));
    Ok(Ended { is_as_before: report.is_as_before(), report: Some(report), log, error })
}
