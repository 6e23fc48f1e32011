//! A worker whose boundaries can be turned off. The first line of its query lists those that are on.

use std::io::{Read, Write};

use crate::job::{Done, Failure, Job, Problem, RanStatement, Report, Work};
use crate::real::duckdb::{Connection, DuckDb};
use crate::real::lockdown::{self, Access};
use crate::real::statement::Kind;

/// Boundaries that are on. To turn off the sandbox, this program is started without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walls {
    /// The list of allowed statements.
    pub(crate) list: bool,
    /// The settings of the engine and their lock.
    pub(crate) lock: bool,
}

impl Walls {
    /// Returns a query whose first line lists the boundaries that are on.
    pub(crate) fn header(self, query: &str) -> String {
        let Self { list, lock } = self;
        format!("{} {}\n{query}", u8::from(list), u8::from(lock))
    }

    fn parse(query: &str) -> (Self, &str) {
        let (first, query) = query.split_once('\n').unwrap();
        let (list, lock) = first.split_once(' ').unwrap();
        (Self { list: list == "1", lock: lock == "1" }, query)
    }
}

/// Reads a job from standard input and writes its report. The version in the report is replaced by the content of all tables.
pub(crate) fn serve() {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).unwrap();
    let Work::Step(job) = serde_json::from_slice(&input).unwrap() else { panic!("it is no step") };
    let report = match work(&job) {
        Ok(done) => Report::Done(done),
        Err(failure) => Report::Failed(failure),
    };
    let line = serde_json::to_vec(&report).unwrap();
    std::io::stdout().write_all(&line).unwrap();
}

fn work(job: &Job) -> Result<Done, Failure> {
    let failure =
        |problem: Problem| move |why: String| Failure::of_engine(problem, (None, ""), why);
    let (walls, query) = Walls::parse(&job.query);
    let duckdb = DuckDb::load(&job.library).map_err(failure(Problem::Library))?;
    let settings = lockdown::settings(job, Access::Write);
    let settings = if walls.lock { settings.pairs() } else { Vec::new() };
    let database = duckdb.open(&job.database, &settings).map_err(failure(Problem::Database))?;
    let connection = database.connect().map_err(failure(Problem::Database))?;
    if walls.lock {
        for text in lockdown::statements(job) {
            connection.command(&text).map_err(failure(Problem::Library))?;
        }
    }
    let statements = connection.extract(query).map_err(failure(Problem::Syntax))?;
    let mut ran = Vec::new();
    for index in 0..statements.count() {
        let prepared = statements.prepare(index).map_err(failure(Problem::Binding))?;
        let kind = Kind::allowed(prepared.kind());
        if walls.list {
            let refused = |kind| format!("{kind} is not allowed");
            kind.as_ref().map_err(|kind| {
                Failure::of_engine(Problem::NotAllowed, (None, ""), refused(kind))
            })?;
        }
        let rows = prepared.execute().and_then(crate::real::duckdb::Rows::count);
        let rows = rows.map_err(failure(Problem::Execution))?;
        let kind = kind.map_or_else(|kind| kind, |kind| kind.name.to_owned());
        ran.push(RanStatement { kind, rows });
    }
    let version = content(&connection).map_err(failure(Problem::Unsound))?;
    Ok(Done { version, statements: ran, tables: 0, rows: 0, comparison: None })
}

/// Returns the rows of all tables as text.
fn content(connection: &Connection<'_>) -> Result<String, String> {
    let names = texts(
        connection,
        "SELECT format('\"{}\".\"{}\".\"{}\"', database_name, schema_name, table_name) \
         FROM system.main.duckdb_tables() WHERE NOT internal",
    )?;
    let mut content = String::new();
    for name in names {
        let rows = texts(connection, &format!("SELECT coalesce(t::VARCHAR, '') FROM {name} AS t"))?;
        content += &rows.join("\n");
        content += "\n";
    }
    Ok(content)
}

fn texts(connection: &Connection<'_>, text: &str) -> Result<Vec<String>, String> {
    let rows = connection.extract(text)?.prepare(0)?.execute()?.rows()?;
    Ok(rows.into_iter().flatten().flatten().collect())
}
