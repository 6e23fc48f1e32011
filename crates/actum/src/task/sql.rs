//! Executes the SQL steps of a task (EX-9, EX-11). The statements run on a private copy of the database, and the result
//! becomes the new content of the database file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use actum_core::json::Value;
use actum_core::path_name::PathName;
use actum_core::{Digest, FileState, RelPath};
use actum_record::receipt::QueryRecord;
use actum_sandbox::Resource;
use actum_sql::{
    Done, Failure, KeptSql, Measured, Parameter, Problem, Report, ResultKey, SqlError, SqlLimits,
    Step, lock_holder,
};
use actum_task::report::{
    ActionDetails, ChangeWord, ConfinementDetails, DiffSummary, EngineDetails, SqlDetails,
    StatementDetails,
};
use actum_task::{Action, ErrorCode, SqlQuery};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, StagedDirectory, Transaction};

use super::documents::clean;
use super::problem::ActionProblem;
use super::rehearsal::ActionChange;
use super::staging::{Staged, check_writable};
use crate::sql_host::{SqlRunner, library_hint};

/// Maximum size of a query file, in bytes.
const QUERY_BYTES_MAX: u64 = 10 << 20;
/// Name of the file for the rows of the last statement, in the same directory as the copy of the database.
const RESULT: &str = "actum-result.parquet";

type Result<T> = std::result::Result<T, ActionProblem>;

/// Facts about an executed SQL step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRan {
    /// Report of the worker process that ran the statements.
    pub done: Done,
    /// Resources used by the worker process, and how it was confined.
    measured: Measured,
    /// Whether a stored result of an earlier execution was reused.
    was_kept: bool,
    /// Path of the database in the workspace.
    target: RelPath,
    /// SHA-256 digests of the database, before and after the step.
    database: [Digest; 2],
    library: Digest,
    query: Digest,
    parameters: Option<Digest>,
}

impl SqlRan {
    /// Returns the details of the step for the execution report.
    pub(super) fn details(&self) -> ActionDetails {
        let Self { done, measured, was_kept, database: [before, after], .. } = self;
        let statements = done.statements.iter();
        let statements =
            statements.map(|ran| StatementDetails { kind: clean(&ran.kind), rows: ran.rows });
        let (statements, statements_left_out) = StatementDetails::list(statements);
        ActionDetails::Sql(Box::new(SqlDetails {
            engine: EngineDetails { name: clean("DuckDB"), version: clean(&done.version) },
            library_sha256: self.library,
            query_sha256: self.query,
            parameters_sha256: self.parameters,
            database_sha256_before: *before,
            database_sha256_after: *after,
            statements,
            statements_left_out,
            rows_changed: done.rows_changed(),
            peak_memory_bytes: measured.peak_memory_bytes,
            process_ms: measured.wall_milliseconds,
            confinement: ConfinementDetails {
                tier: clean(&measured.tier),
                landlock: measured.landlock,
                is_root: measured.is_root,
            },
            was_kept: *was_kept,
        }))
    }

    /// Returns the record of the step for the receipt.
    pub(super) fn record(&self, action: &Action) -> QueryRecord {
        QueryRecord {
            action: action.id.to_string(),
            database: PathName(self.target.clone()),
            library: self.library,
            parameters: self.parameters,
            query: self.query,
        }
    }
}

/// SQL step that is ready to run, with its copy of the database staged.
pub(super) struct PreparedSql<D: Disk> {
    staged: StagedDirectory<D>,
    before: FileState,
    /// Write-ahead log next to the database. The staged copy includes it.
    log: Option<RelPath>,
    call: SqlCall,
}

/// Statements to run and the database copy to run them on. Needs no access to the transaction.
pub(super) struct SqlCall {
    directory: PathBuf,
    /// File name of the database, from which DuckDB derives the name of its catalog.
    name: String,
    target: RelPath,
    text: String,
    parameters: BTreeMap<String, Parameter>,
    saves_rows: bool,
    key: ResultKey,
    /// Stored result of an earlier execution. It was shown to the approver, so it is used instead of running the
    /// statements again.
    kept: Option<KeptSql>,
}

impl<D: Disk> PreparedSql<D> {
    pub(super) fn call(&self) -> &SqlCall {
        &self.call
    }
}

impl SqlRunner {
    /// Copies the database of an action to the directory in which the statements will run.
    pub(super) fn prepare<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        (action, query): (&Action, &SqlQuery),
    ) -> Result<PreparedSql<D>> {
        let target = &action.target;
        let text = self.query(transaction, &query.query_file)?;
        let parameters = parameters(query)?;
        let before = transaction.file_state(target)?;
        let bytes_max = self.settings.database_bytes_max();
        if before.size > bytes_max {
            return Err(too_large(target, before.size, bytes_max));
        }
        check_writable(target, &before)?;
        transaction.may_replace(target)?;
        self.check_unused(target)?;
        let name = String::from_utf8_lossy(target.name()).into_owned();
        let staged = transaction.stage_directory()?;
        let log = match action.write_ahead_log() {
            Some(log) if is_file(transaction, &log)? => {
                transaction.may_change(&log)?;
                Some(log)
            }
            Some(_) | None => None,
        };
        let directory = self.root.join(staged.path());
        let (copy, rows) = (directory.join(&name), directory.join(RESULT));
        let saves_rows = query.save_results_to.is_some();
        let log_digest = match &log {
            Some(log) => Some(transaction.file_state(log)?.sha256),
            None => None,
        };
        let key = ResultKey::new(
            "actum/sql-result/1",
            &[
                text.as_bytes(),
                query.parameters.as_ref().map_or("", |text| text.as_str()).as_bytes(),
                before.sha256.as_bytes(),
                log_digest.as_ref().map_or(&[], |digest| digest.as_bytes()),
                self.library.sha256().as_bytes(),
                name.as_bytes(),
                &[u8::from(saves_rows)],
            ],
        );
        let files = (copy.as_path(), saves_rows.then_some(rows.as_path()));
        let kept = KeptSql::find(&self.results, &key, files);
        if kept.is_none() {
            // An empty file stands for an empty database. DuckDB cannot open it, but creates a database if the file is
            // missing.
            if before.size > 0 {
                transaction.copy_into(&staged, &name, target)?;
            }
            if let Some(log) = &log {
                transaction.copy_into(&staged, &format!("{name}.wal"), log)?;
            }
        }
        let target = target.clone();
        let call = SqlCall { directory, name, target, text, parameters, saves_rows, key, kept };
        Ok(PreparedSql { staged, before, log, call })
    }

    /// Runs the statements on the copy of the database, for at most the given time.
    pub(super) fn execute(&self, call: &SqlCall, time: Duration) -> Result<(Done, Measured)> {
        if let Some(kept) = &call.kept {
            return Ok((kept.done.clone(), kept.measured.clone()));
        }
        let step = Step {
            library: &self.library,
            directory: &call.directory,
            database: &call.name,
            query: &call.text,
            parameters: &call.parameters,
            save_results_to: call.saves_rows.then_some(RESULT),
            compares: self.compares,
            limits: self.limits(time),
        };
        let host = (&self.host.helper, &self.report, self.host.program.as_path());
        let ran = actum_sql::run(host, &step, self.host.stop.as_ref());
        let copy = call.directory.join(&call.name);
        let ran = ran.map_err(|error| of_error(&error, time))?;
        let measured = Measured::from(&ran);
        let done = match ran.report {
            Report::Done(done) => done,
            Report::Failed(failure) => {
                return Err(self.explain_library(of_failure(failure, (&copy, &call.target))));
            }
        };
        if self.host.keeps_results {
            let rows = call.saves_rows.then(|| call.directory.join(RESULT));
            let files = (copy.as_path(), rows.as_deref());
            let kept = KeptSql::keep(&self.results, &call.key, files, (&done, &measured));
            kept.map_err(|error| {
                let message = format!("failed to store the result for approval: {error}");
                ActionProblem::new(ErrorCode::InputOutput, message)
            })?;
        }
        Ok((done, measured))
    }

    /// Extends an error about an unavailable library with a hint if the library is not the expected one.
    fn explain_library(&self, problem: ActionProblem) -> ActionProblem {
        if problem.code != ErrorCode::NotAvailable {
            return problem;
        }
        let Err(error) = self.library.check() else { return problem };
        let hint = library_hint(&error, &self.settings);
        ActionProblem { message: format!("{error}; {hint}"), ..problem }
    }

    /// Stages the copy as the new content of the database. If this fails, the caller must roll back the transaction.
    pub(super) fn take<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        query: &SqlQuery,
        (prepared, (done, measured)): (PreparedSql<D>, (Done, Measured)),
    ) -> Result<Staged> {
        let PreparedSql { staged, before, log, call } = prepared;
        let SqlCall { name, target, text, key, kept, .. } = call;
        let rows = done.statements.last().map_or(0, |last| last.rows);
        if query.expect_results && rows == 0 {
            let message =
                "the last statement returned no rows, but `expect_results` requires at least one";
            return Err(ActionProblem::new(ErrorCode::SqlNoRows, message));
        }
        let after = transaction.take_from(&staged, &name, &target)?;
        let bytes_max = self.settings.database_bytes_max();
        if after.size > bytes_max {
            return Err(too_large(&target, after.size, bytes_max));
        }
        let expected = kept.as_ref().map(|kept| kept.database);
        self.check_kept(&key, expected, &after)?;
        let database = [before.sha256, after.sha256];
        let mut did = vec![change(ChangeWord::Modify, &target, Some(before), Some(after))];
        if let Some(path) = &query.save_results_to {
            let before = match is_file(transaction, path)? {
                true => Some(transaction.file_state(path)?),
                false => None,
            };
            let after = transaction.take_from(&staged, RESULT, path)?;
            self.check_kept(&key, kept.as_ref().and_then(|kept| kept.rows), &after)?;
            let word = if before.is_some() { ChangeWord::Modify } else { ChangeWord::Create };
            did.push(change(word, path, before, Some(after)));
        }
        if let Some(log) = log {
            let before = transaction.file_state(&log)?;
            transaction.delete(&log, None, actum_edit::EmptyParents::Keep)?;
            did.push(change(ChangeWord::Delete, &log, Some(before), None));
        }
        transaction.discard(staged);
        let parameters = query.parameters.as_ref();
        let output = output(&target, &done);
        let ran = SqlRan {
            done,
            measured,
            was_kept: kept.is_some(),
            target,
            database,
            library: self.library.sha256(),
            query: Digest::of(text.as_bytes()),
            parameters: parameters.map(|text| Digest::of(text.as_str().as_bytes())),
        };
        Ok(Staged { sql: Some(Box::new(ran)), ..Staged::new(Vec::new(), output, did) })
    }

    fn limits(&self, time: Duration) -> SqlLimits {
        let processors = std::thread::available_parallelism();
        let processors = processors.map_or(1, std::num::NonZeroUsize::get);
        let threads_max = u32::try_from(self.settings.threads_max()).unwrap_or(1);
        SqlLimits {
            time,
            memory_bytes_max: self.settings.memory_bytes_max(),
            spill_bytes_max: self.settings.spill_bytes_max(),
            database_bytes_max: self.settings.database_bytes_max(),
            threads: u32::try_from(processors).unwrap_or(1).min(threads_max),
        }
    }

    /// Checks a file of a stored result against its expected digest. Removes the stored result if it is damaged.
    fn check_kept(&self, key: &ResultKey, expected: Option<Digest>, is: &FileState) -> Result<()> {
        if expected.is_none_or(|expected| expected == is.sha256) {
            return Ok(());
        }
        let removed = match self.results.remove(key) {
            Ok(()) => "and was removed; preview or approve the plan again".to_owned(),
            Err(error) => format!("and could not be removed: {error}"),
        };
        let message = format!("the stored result of the query is damaged {removed}");
        Err(ActionProblem::new(ErrorCode::HashMismatch, message))
    }

    /// Reads a query file. Returns an error if the file is missing, too large, or not UTF-8.
    fn query<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
    ) -> Result<String> {
        let size = match transaction.file_state(path) {
            Ok(state) => state.size,
            Err(error) if matches!(error.kind, ErrorKind::Missing { .. }) => {
                let message = format!("cannot read the query `{path}`: it does not exist");
                return Err(ActionProblem::new(ErrorCode::FileNotFound, message));
            }
            Err(error) => return Err(error.into()),
        };
        if size > QUERY_BYTES_MAX {
            let message =
                format!("the query `{path}` has {size} bytes, but the limit is {QUERY_BYTES_MAX}");
            return Err(ActionProblem::new(ErrorCode::FileTooLarge, message));
        }
        String::from_utf8(transaction.read(path)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!("the query `{path}` is not valid UTF-8 (at byte offset {at})");
            ActionProblem::new(ErrorCode::SqlSyntax, message)
        })
    }

    /// Checks that no process holds a lock on the database.
    fn check_unused(&self, target: &RelPath) -> Result<()> {
        let path = self.root.join(OsStr::from_bytes(target.as_bytes()));
        // If the file is not on disk yet, no other process can have it open.
        let Ok(Some(process)) = lock_holder(&path) else { return Ok(()) };
        let holder =
            if process > 0 { format!("process {process}") } else { "a process".to_owned() };
        let message = format!("{holder} has the database `{target}` open");
        Err(ActionProblem::new(ErrorCode::DatabaseInUse, message))
    }
}

fn too_large(target: &RelPath, size: u64, max: u64) -> ActionProblem {
    let message = format!(
        "`{target}` has {size} bytes, but the limit is {max} (`[sql] max_bytes` in the operator's policy)"
    );
    ActionProblem::new(ErrorCode::FileTooLarge, message)
}

fn is_file<D: Disk>(transaction: &mut Transaction<'_, D>, path: &RelPath) -> Result<bool> {
    match transaction.file_state(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind, ErrorKind::Missing { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Parses the query parameters from their JSON object.
fn parameters(query: &SqlQuery) -> Result<BTreeMap<String, Parameter>> {
    let wrong = |message: String| ActionProblem::new(ErrorCode::SqlParameter, message);
    let Some(text) = &query.parameters else { return Ok(BTreeMap::new()) };
    let value = Value::read(text.as_str().as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let members = value.members().iter().map(|member| {
        let name = member.name.clone().into_owned();
        let value = Parameter::from_json(&member.value)
            .map_err(|error| wrong(format!("the parameter `{name}` {error}")))?;
        Ok((name, value))
    });
    members.collect()
}

/// Describes the change of a database or its log. It has no diff, because these files are not text.
fn change(
    word: ChangeWord,
    path: &RelPath,
    before: Option<FileState>,
    after: Option<FileState>,
) -> ActionChange {
    ActionChange {
        word,
        path: path.clone(),
        new_path: None,
        before,
        after,
        diff: DiffSummary::new(None, None, &|_| Vec::new()),
    }
}

fn output(target: &RelPath, done: &Done) -> String {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for ran in &done.statements {
        let (count, rows) = kinds.entry(&ran.kind).or_default();
        *count = count.saturating_add(1);
        *rows = rows.saturating_add(ran.rows);
    }
    let counted = kinds.into_iter().map(|(kind, (count, rows))| match kind {
        "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" => {
            format!("{count} {kind} ({rows} row{})", if rows == 1 { "" } else { "s" })
        }
        _ => format!("{count} {kind}"),
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    format!("SQL on '{target}' with DuckDB {}: {counted}", done.version)
}

/// Converts the failure of a statement to an action problem. Its message names the database instead of the private
/// copy.
fn of_failure(failure: Failure, (copy, target): (&Path, &RelPath)) -> ActionProblem {
    let Failure { problem, statement, message } = failure;
    let message = message.replace(&*copy.to_string_lossy(), &target.to_string());
    let code = match problem {
        Problem::Library => ErrorCode::NotAvailable,
        Problem::Database | Problem::Unsound => ErrorCode::DatabaseUnreadable,
        Problem::Syntax => ErrorCode::SqlSyntax,
        Problem::Count => ErrorCode::SqlCount,
        Problem::NotAllowed => ErrorCode::SqlNotAllowed,
        Problem::Binding => ErrorCode::SqlBinding,
        Problem::Parameter => ErrorCode::SqlParameter,
        Problem::Resources => ErrorCode::SqlResources,
        Problem::DiskFull => ErrorCode::DiskFull,
        Problem::Execution => ErrorCode::SqlFailed,
        Problem::OpenTransaction => ErrorCode::SqlOpenTransaction,
        Problem::Result => ErrorCode::SqlResult,
    };
    let place = statement.map(|number| format!("statement {number}: ")).unwrap_or_default();
    ActionProblem::new(code, format!("{place}{message}"))
}

/// Converts the error of a step whose worker returned no report to an action problem.
fn of_error(error: &SqlError, time: Duration) -> ActionProblem {
    let (code, message) = match error {
        SqlError::Limit { resource: Resource::Wall | Resource::Cpu } => {
            let message = format!("the SQL step exceeded its time limit of {} s", time.as_secs());
            (ErrorCode::ActionTimeout, message)
        }
        SqlError::Limit { .. } => (ErrorCode::SqlResources, error.to_string()),
        SqlError::Cancelled => (ErrorCode::Cancelled, error.to_string()),
        SqlError::Library { .. } => (ErrorCode::NotAvailable, error.to_string()),
        SqlError::Start(_) | SqlError::Ended { .. } | SqlError::System { .. } => {
            (ErrorCode::InternalError, error.to_string())
        }
    };
    ActionProblem::new(code, message)
}
