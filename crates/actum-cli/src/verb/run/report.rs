//! Human-readable report of a task and its actions.

use std::io::{self, Write};

use actum::task::{Outcome, TaskEnd};
use actum_core::{ShellWord, path::Harmless};
use actum_record::receipt::RunResult;
use actum_sql::changes_rows;
use actum_task::ErrorCode;
use actum_task::report::{
    ActionDetails, ActionStatus, ChangeLog, ErrorObject, ErrorReport, ExecutionReport, SqlDetails,
    StatusUpdate,
};

use crate::failure::Failure;
use crate::output::{Form, Screen};

/// Line that reports the outcome of one action.
pub(super) struct ActionLine {
    word: &'static str,
    action: String,
    message: String,
    code: Option<ErrorCode>,
}

impl ActionLine {
    pub(super) fn new(update: &StatusUpdate) -> Option<Self> {
        let word = match update.action_status? {
            ActionStatus::Started => return None,
            ActionStatus::Success => "ok",
            ActionStatus::Failed => "failed",
            ActionStatus::Skipped => "skipped",
        };
        let text = |text: &Option<_>| text.as_ref().map(ToString::to_string).unwrap_or_default();
        Some(Self {
            word,
            action: text(&update.action_id),
            message: text(&update.message),
            code: update.error_code.and_then(ErrorCode::of_number),
        })
    }
}

impl ActionLine {
    /// Shows the line as text. In JSON mode, the status lines report the outcome instead.
    pub(super) fn show(&self, screen: &Screen) -> Result<(), Failure> {
        screen.show_text(|out| self.write(out))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (action, message) =
            (Harmless(self.action.as_bytes()), Harmless(self.message.as_bytes()));
        write!(out, "{:7}  {action}  {message}", self.word)?;
        match self.code {
            Some(code) => writeln!(out, " ({code})"),
            None => writeln!(out),
        }
    }
}

/// Shows the outcome of a task. In JSON mode only notes are printed, because the final status line was already written.
pub(super) fn show(screen: &Screen, ended: &TaskEnd) -> Result<(), Failure> {
    let report = match &ended.outcome {
        Outcome::Rejected(report) => Some(&**report),
        Outcome::Executed { error, .. } => error.as_deref(),
    };
    for ErrorObject { error_code, message, .. } in report.iter().flat_map(|report| report.alerts())
    {
        let message = Harmless(message.as_str().as_bytes());
        screen.note(format_args!("alert: {message} ({error_code})"));
    }
    match &ended.alert {
        Ok(None) => {}
        Ok(Some(alert)) => screen.note(format_args!("`actum queue` lists it as alert {alert}")),
        Err(error) => {
            screen.note(format_args!("the alert could not be recorded in the ledger: {error}"))
        }
    }
    if let (true, Some(receipt)) = (ended.is_repeated, &ended.receipt) {
        let run = receipt.statement.predicate.run;
        screen.note(format_args!("task already done by run {run}; nothing was changed"));
    }
    if let Some(unwritten) = &ended.unwritten {
        screen.note(format_args!("the reports are incomplete: {unwritten}"));
    }
    match screen.form {
        Form::Json(_) => Ok(()),
        Form::Text => screen.show_text(|out| write(out, ended)),
    }
}

fn write(out: &mut dyn Write, ended: &TaskEnd) -> io::Result<()> {
    let TaskEnd { task, directory, outcome, receipt, .. } = ended;
    let result = receipt.as_ref().map(|receipt| &receipt.statement.predicate);
    let error = match outcome {
        Outcome::Rejected(report) => {
            report.errors().try_for_each(|it| error(out, it))?;
            writeln!(out, "task {task}: REJECTED; nothing was changed")?;
            Some(&**report)
        }
        Outcome::Executed { report, log, error: error_report } => {
            let errors = error_report.iter().flat_map(|error_report| error_report.errors());
            let mut others = errors.filter(|it| !is_already_reported(report, it));
            others.try_for_each(|it| error(out, it))?;
            executed(out, (report, log), result)?;
            error_report.as_deref()
        }
    };
    if let Some(result) = result.filter(|result| !result.paths.is_empty()) {
        let task = ShellWord::operand(task.as_str().as_bytes());
        writeln!(out, "roll back with `actum rollback {task}` (run {})", result.run)?;
    }
    if let Some(ErrorReport { error, .. }) = error {
        writeln!(out, "run `actum explain {}` to see what to do", error.error_code)?;
    }
    match directory {
        Some(directory) => writeln!(out, "reports: {}", directory.directory()),
        None => Ok(()),
    }
}

/// Returns whether the line of a failed action has already reported this error.
fn is_already_reported(report: &ExecutionReport, error: &ErrorObject) -> bool {
    report.failed().iter().any(|failed| {
        error.details.action_id.as_ref() == Some(&failed.action_id)
            && (error.error_code, &error.message) == (failed.error_code, &failed.error_message)
    })
}

/// Writes the outcome of an executed task, with the totals of the change log.
fn executed(
    out: &mut dyn Write,
    (report, log): (&ExecutionReport, &ChangeLog),
    result: Option<&RunResult>,
) -> io::Result<()> {
    let summary = report.summary();
    let task = report.facts().more.task_id.as_ref().map(ToString::to_string).unwrap_or_default();
    write!(
        out,
        "task {task}: {}: {} of {} actions",
        report.status().as_str(),
        summary.completed(),
        summary.total()
    )?;
    for (count, word) in [(summary.failed(), "failed"), (summary.skipped(), "skipped")] {
        if count > 0 {
            write!(out, ", {count} {word}")?;
        }
    }
    if report.rollback_performed() {
        return writeln!(out, "; the workspace is as before");
    }
    if result.is_none() && report.facts().more.run.is_some() {
        return writeln!(
            out,
            "; some files may have changed; run `actum status` to see what is left"
        );
    }
    let (files, lines) = (log.files_affected_count(), log.total_lines_changed());
    let changed = [(files, "file"), (lines, "line")].into_iter();
    let changed = changed.chain(sql_rows(report).map(|rows| (rows, "row")));
    let counted = changed.map(|(count, what)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    });
    let counted: Vec<_> = counted.collect();
    if let Some((last, before)) = counted.split_last() {
        writeln!(out, "; {} and {last} changed", before.join(", "))?;
    }
    let more = &report.facts().more;
    if let Some(commit) = &more.commit {
        writeln!(out, "committed as {commit}")?;
    }
    more.notes.iter().try_for_each(|note| writeln!(out, "{}", Harmless(note.as_str().as_bytes())))
}

/// Adds up the rows that the statements of all SQL steps changed. Returns `None` if there is no SQL step, or if a step does
/// not list all of its statements. The details can state more rows, because they count all rows of a table that is too
/// large to compare.
fn sql_rows(report: &ExecutionReport) -> Option<u64> {
    let steps = report.completed().iter().filter_map(|action| match &action.details {
        Some(ActionDetails::Sql(sql)) => Some(sql),
        Some(ActionDetails::Pipeline(_)) | None => None,
    });
    let counted = |sql: &SqlDetails| {
        let changing = sql.statements.iter().filter(|it| changes_rows(it.kind.as_str()));
        let rows = changing.map(|it| it.rows).fold(0, u64::saturating_add);
        (sql.statements_left_out == 0).then_some(rows)
    };
    steps.map(|sql| counted(sql)).reduce(|all, rows| Some(all?.saturating_add(rows?))).flatten()
}

fn error(out: &mut dyn Write, error: &ErrorObject) -> io::Result<()> {
    let ErrorObject { error_code, error_type, message, details, .. } = error;
    if let (Some(line), Some(column)) = (details.line, details.column) {
        write!(out, "line {line}, column {column}: ")?;
    }
    if let (Some(path), None) = (&details.json_path, &details.action_id) {
        write!(out, "`{}`: ", Harmless(path.as_str().as_bytes()))?;
    }
    if let Some(action) = &details.action_id {
        write!(out, "{}: ", Harmless(action.as_str().as_bytes()))?;
    }
    let message = Harmless(message.as_str().as_bytes());
    writeln!(out, "{message} ({error_code} {error_type})")?;
    details.violations.iter().try_for_each(|violation| {
        let action = Harmless(violation.action_id.as_str().as_bytes());
        let reason = Harmless(violation.reason.as_str().as_bytes());
        writeln!(out, "  {action}: {reason}")
    })
}
