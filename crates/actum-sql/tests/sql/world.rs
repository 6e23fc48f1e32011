//! Test fixture: a library, a directory, and functions that run SQL steps in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use actum_core::json::Value;
use actum_sandbox::{Helper, HostReport};
use actum_sql::{
    Done, Failure, Library, LibraryError, Parameter, Problem, Ran, Report, SqlError, SqlLimits,
    Step, run,
};

/// File name of the database.
pub(crate) const DATABASE: &str = "shop.duckdb";

/// Returns the home of the shared library that `cargo xtask test` installs.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools")
}

pub(crate) fn helper() -> Helper {
    Helper::at(program())
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_actum-sql-worker"))
}

pub(crate) fn host() -> &'static HostReport {
    static HOST: OnceLock<HostReport> = OnceLock::new();
    HOST.get_or_init(|| HostReport::probe(&helper()))
}

/// A directory with a private copy of a database.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) library: Library,
    pub(crate) limits: SqlLimits,
    pub(crate) parameters: BTreeMap<String, Parameter>,
    pub(crate) save_results_to: Option<&'static str>,
    pub(crate) compares: bool,
}

impl World {
    /// Creates a fixture with an empty directory.
    pub(crate) fn empty() -> Self {
        let library = match Library::find(&home(), None) {
            Ok(library) => library,
            Err(error @ LibraryError::Missing { .. }) => {
                panic!("{error}; `cargo xtask test` installs it")
            }
            Err(error) => panic!("{error}"),
        };
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            library,
            limits: SqlLimits {
                time: Duration::from_secs(60),
                memory_bytes_max: 256 << 20,
                spill_bytes_max: 256 << 20,
                database_bytes_max: 256 << 20,
                threads: 2,
            },
            parameters: BTreeMap::new(),
            save_results_to: None,
            compares: false,
        }
    }

    /// Creates a fixture whose database has three customers.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.done(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, balance DECIMAL(9,2));
             INSERT INTO customer VALUES (1, 'Ada', 10.50), (2, 'Bo', 0), (3, 'Cy', NULL);",
        );
        world
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let value = Value::read(value.as_bytes()).unwrap();
        self.parameters.insert(name.to_owned(), Parameter::from_json(&value).unwrap());
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a step.
    pub(crate) fn run(&self, query: &str) -> Result<Ran, SqlError> {
        let step = Step {
            library: &self.library,
            directory: self.directory.path(),
            database: DATABASE,
            query,
            parameters: &self.parameters,
            save_results_to: self.save_results_to,
            compares: self.compares,
            limits: self.limits,
        };
        run((&helper(), host(), program()), &step, None)
    }

    /// Runs a step and asserts that it completes.
    pub(crate) fn done(&self, query: &str) -> Done {
        match self.run(query).unwrap().report {
            Report::Done(done) => done,
            Report::Failed(failure) => panic!("{query}: {failure:?}"),
        }
    }

    /// Runs a step and asserts that it fails.
    pub(crate) fn failed(&self, query: &str) -> Failure {
        match self.run(query).unwrap().report {
            Report::Done(done) => panic!("{query}: {done:?}"),
            Report::Failed(failure) => failure,
        }
    }

    pub(crate) fn problem(&self, query: &str) -> Problem {
        self.failed(query).problem
    }

    /// Returns the number of rows of the last statement.
    pub(crate) fn rows(&self, query: &str) -> u64 {
        self.done(query).statements.last().unwrap().rows
    }
}

impl World {
    /// Leaves a fourth customer in the write-ahead log, by stopping a step after the commit. Returns the path of the log.
    pub(crate) fn with_a_write_ahead_log(&mut self) -> PathBuf {
        let (time, compares) = (self.limits.time, self.compares);
        self.compares = false;
        let query = "INSERT INTO customer VALUES (4, 'Di', 1); SELECT sum(hash(a.i + b.i))
            FROM range(10000000) a(i), range(10000000) b(i)";
        let log = self.path(&format!("{DATABASE}.wal"));
        // On a slow machine, the first time limits expire before the row is committed.
        for seconds in [1, 4, 16] {
            self.limits.time = Duration::from_secs(seconds);
            assert!(matches!(self.run(query), Err(SqlError::Limit { .. })));
            if log.exists() {
                break;
            }
        }
        (self.limits.time, self.compares) = (time, compares);
        assert!(log.exists());
        log
    }
}
