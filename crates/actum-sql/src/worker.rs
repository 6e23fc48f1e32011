//! Worker of an SQL step, which loads the library, runs the statements, and prints one line. It runs in the sandbox on
//! a copy of the database.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use actum_core::Digest;

use crate::compare::Before;
use crate::duckdb::{Connection, Database, DuckDb, Prepared};
use crate::job::{Compared, Done, Failure, Job, Problem, RanStatement, Report, Work};
use crate::library::digest;
use crate::lockdown::{self, Access, quoted, settings};
use crate::message::on_one_line;
use crate::statement::Kind;

/// First argument that makes this program run as a worker.
pub(crate) const NAME: &str = "actum-sql-worker";
/// Maximum number of statements in a step.
const STATEMENTS_MAX: usize = 10_000;

type Result<T> = std::result::Result<T, Failure>;

/// Does the work of an SQL worker and exits, if this process was started as one. A program that uses [`crate::run`]
/// must call this function at the start of `main`, after `actum_sandbox::inside::enter`.
pub fn enter() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == NAME) {
        // If the worker prints no line, the host detects that.
        std::process::exit(i32::from(serve().is_err()));
    }
}

/// Reads a job from standard input, and writes the report to standard output.
fn serve() -> std::io::Result<()> {
    let started = Instant::now();
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut line = match serde_json::from_slice(&input)? {
        Work::Step(job) => {
            let report = match work(&job, started) {
                Ok(done) => Report::Done(done),
                Err(failure) => Report::Failed(failure),
            };
            serde_json::to_vec(&report)?
        }
        Work::Version { library, sha256 } => {
            let version = load(&library, sha256).map(|duckdb| duckdb.version());
            serde_json::to_vec(&version.map_err(|failure| failure.message))?
        }
    };
    line.push(b'\n');
    std::io::stdout().write_all(&line)?;
    std::io::stdout().flush()
}

/// Loads the library at `path` after checking that it has the given digest.
fn load(path: &Path, sha256: Digest) -> Result<DuckDb> {
    let failure = |why: String| {
        let path = path.display();
        let message = format!("cannot load the DuckDB library `{path}`: {why}");
        Failure::new(Problem::Library, message)
    };
    let found = digest(path).map_err(|error| failure(error.to_string()))?;
    if found != sha256 {
        return Err(failure(format!("its SHA-256 is {found} instead of {sha256}")));
    }
    DuckDb::load(path).map_err(failure)
}

/// Runs all statements, writes a checkpoint, and reads the entire database back. Compares the tables if the job
/// requires it.
fn work(job: &Job, started: Instant) -> Result<Done> {
    let duckdb = load(&job.library, job.library_sha256)?;
    let before = job.compares.then(|| Before::keep(job)).transpose().map_err(|error| {
        Failure::new(
            Problem::Database,
            format!("failed to copy the database for the comparison: {error}"),
        )
    })?;
    let statements = {
        let database = open(&duckdb, job, Access::Write)?;
        let connection = connect(&database)?;
        lock(&connection, job)?;
        let statements = run(&connection, job)?;
        check_closed(&connection)?;
        connection.command("CHECKPOINT").map_err(|why| {
            Failure::of_engine(Problem::Unsound, (None, "failed to write the database: "), why)
        })?;
        statements
    };
    let (tables, rows) = scan(&duckdb, job)?;
    let end = started + Duration::from_millis(job.time_milliseconds);
    let comparison = before.map(|before| match before.compare(&duckdb, job, end) {
        Ok(comparison) => Compared::Differences(comparison),
        Err(why) => Compared::Unknown(on_one_line(&why)),
    });
    Ok(Done { version: duckdb.version(), statements, tables, rows, comparison })
}

fn open<'d>(duckdb: &'d DuckDb, job: &Job, access: Access) -> Result<Database<'d>> {
    duckdb.open(&job.database, &settings(job, access).pairs()).map_err(|why| {
        let tried = format!("DuckDB {} cannot open the database: ", duckdb.version());
        Failure::of_engine(Problem::Database, (None, &tried), why)
    })
}

fn connect<'d>(database: &'d Database<'d>) -> Result<Connection<'d>> {
    database.connect().map_err(|why| Failure::new(Problem::Database, why))
}

/// Locks the engine before the first statement of the query.
fn lock(connection: &Connection<'_>, job: &Job) -> Result<()> {
    for text in lockdown::statements(job) {
        connection.command(&text).map_err(|why| {
            Failure::new(Problem::Library, format!("failed to lock the engine: {why}"))
        })?;
    }
    Ok(())
}

/// Runs the statements of the query in order. Each one is bound to the state of the database that the previous ones
/// left.
fn run(connection: &Connection<'_>, job: &Job) -> Result<Vec<RanStatement>> {
    let statements = connection
        .extract(&job.query)
        .map_err(|why| Failure::of_engine(Problem::Syntax, (None, ""), why))?;
    let count = statements.count();
    if count == 0 || count > STATEMENTS_MAX {
        let message =
            format!("the query has {count} statements, but must have 1 to {STATEMENTS_MAX}");
        return Err(Failure::new(Problem::Count, message));
    }
    let saved = match &job.save_results_to {
        Some(path) => Some((path, last_statement(connection, &job.query, count)?)),
        None => None,
    };
    let (mut ran, mut used) = (Vec::new(), BTreeSet::new());
    for index in 0..count {
        let number = index + 1;
        let failure = |problem, why: String| Failure::of_engine(problem, (Some(number), ""), why);
        let prepared = statements.prepare(index).map_err(|why| failure(Problem::Binding, why))?;
        let kind = Kind::allowed(prepared.kind())
            .map_err(|what| failure(Problem::NotAllowed, format!("{what} is not allowed")))?;
        bind(&prepared, job, &mut used).map_err(|why| failure(Problem::Parameter, why))?;
        let rows = match saved.as_ref().filter(|_| number == count) {
            Some((path, text)) => {
                if !kind.is_query() {
                    let why = format!(
                        "the last statement is `{}`, but only rows of a `SELECT` can be saved",
                        kind.name
                    );
                    return Err(failure(Problem::Result, why));
                }
                drop(prepared);
                save(connection, text, path, job).map_err(|why| failure(Problem::Result, why))?
            }
            None => {
                let rows = prepared.execute().and_then(super::duckdb::Rows::count);
                rows.map_err(|why| failure(Problem::Execution, why))?
            }
        };
        ran.push(RanStatement { kind: kind.name.to_owned(), rows });
    }
    match job.parameters.keys().find(|name| !used.contains(*name)) {
        Some(name) => {
            let message = format!("no statement uses the parameter `{name}`");
            Err(Failure::new(Problem::Parameter, message))
        }
        None => Ok(ran),
    }
}

/// Binds the parameters of a statement, and adds their names to `used`.
fn bind(
    prepared: &Prepared<'_>,
    job: &Job,
    used: &mut BTreeSet<String>,
) -> std::result::Result<(), String> {
    for (name, index) in prepared.parameters().into_iter().zip(1..) {
        let Some(value) = job.parameters.get(&name) else {
            return Err(match name.parse::<u64>() {
                Ok(_) => "a parameter has no name; write `$name` and set its value in `parameters`"
                    .to_owned(),
                Err(_) => format!("`parameters` has no value for `${name}`"),
            });
        };
        if !prepared.bind(index, value) {
            return Err(format!("DuckDB rejected the value of `${name}`"));
        }
        used.insert(name);
    }
    Ok(())
}

/// Returns the text of the last statement without a trailing semicolon. DuckDB does not report positions. Therefore,
/// its parser counts the statements before and after each semicolon, starting with the last one.
fn last_statement<'q>(
    connection: &Connection<'_>,
    query: &'q str,
    count: usize,
) -> Result<&'q str> {
    let parsed = |text: &str| connection.extract(text).map(|statements| statements.count()).ok();
    let (mut begin, mut end) = (None, query.len());
    for (place, semicolon) in query.rmatch_indices(';') {
        let (before, behind) = query.split_at(place);
        let behind = behind.strip_prefix(semicolon).unwrap_or(behind);
        match (parsed(before), parsed(behind)) {
            (Some(all), Some(0)) if all == count => end = place,
            (Some(others), Some(1)) if others + 1 == count => {
                begin = Some(place + semicolon.len());
                break;
            }
            _ => {}
        }
    }
    let begin = begin.or((count == 1).then_some(0));
    let text = begin.and_then(|begin| query.get(begin..end));
    text.ok_or_else(|| {
        let message = "cannot find the beginning of the last statement";
        Failure::of_statement(Problem::Result, count, message)
    })
}

/// Saves the rows of a query as Parquet, and returns the number of rows.
fn save(
    connection: &Connection<'_>,
    query: &str,
    path: &Path,
    job: &Job,
) -> std::result::Result<u64, String> {
    // The line break ends a line comment at the end of the query.
    let text = format!(
        "COPY (\n{query}\n) TO {} (FORMAT parquet, COMPRESSION zstd)",
        quoted(&path.to_string_lossy())
    );
    let statements = connection.extract(&text)?;
    let prepared = statements.prepare(0)?;
    bind(&prepared, job, &mut BTreeSet::new())?;
    prepared.execute()?.count()
}

/// Checks that no transaction is open by beginning one, which fails within another transaction.
fn check_closed(connection: &Connection<'_>) -> Result<()> {
    let begun = connection.command("BEGIN").and_then(|_| connection.command("ROLLBACK"));
    begun.map(drop).map_err(|_| {
        let message = "a transaction is still open after the last statement; end it with `COMMIT`";
        Failure::new(Problem::OpenTransaction, message)
    })
}

/// Opens the database again for reading, and reads every column of every table. Returns the number of tables and the
/// total number of their rows.
fn scan(duckdb: &DuckDb, job: &Job) -> Result<(u64, u64)> {
    let unsound = |why: String| {
        Failure::new(
            Problem::Unsound,
            format!("the database is unreadable after the last statement: {why}"),
        )
    };
    let database = open(duckdb, job, Access::Read).map_err(|failure| unsound(failure.message))?;
    let connection = connect(&database)?;
    let names = texts(
        &connection,
        "SELECT '\"' || replace(schema_name, '\"', '\"\"') || '\".\"' || replace(table_name, '\"', '\"\"') || '\"' \
         FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() ORDER BY ALL",
    )
    .map_err(unsound)?;
    let (mut tables, mut rows) = (0u64, 0u64);
    for name in names {
        // The hash makes DuckDB read every column, and is otherwise unused.
        let read = format!(
            "SELECT count(*)::VARCHAR || ' ' || coalesce(bit_xor(hash(t)), 0)::VARCHAR FROM {name} AS t"
        );
        let read = texts(&connection, &read).map_err(unsound)?;
        let count = read.first().and_then(|read| read.split(' ').next()?.parse::<u64>().ok());
        tables = tables.saturating_add(1);
        rows = rows.saturating_add(count.unwrap_or(0));
    }
    Ok((tables, rows))
}

fn texts(connection: &Connection<'_>, text: &str) -> std::result::Result<Vec<String>, String> {
    let rows = connection.extract(text)?.prepare(0)?.execute()?.rows()?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}
