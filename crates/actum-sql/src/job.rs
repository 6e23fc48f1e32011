//! Job of the worker, and its answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use actum_core::Digest;
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::message::on_one_line;
use crate::parameter::Parameter;

/// Work of the worker, as it reads it from standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Work {
    /// Runs a step, and answers with a [`Report`].
    Step(Job),
    /// Loads a library, and answers with its version, or the reason why it cannot be loaded.
    Version {
        /// DuckDB library.
        library: PathBuf,
        /// SHA-256 that it must have.
        sha256: Digest,
    },
}

/// One SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// DuckDB library.
    pub(crate) library: PathBuf,
    /// SHA-256 that the library must have.
    pub(crate) library_sha256: Digest,
    /// Private copy of the database.
    pub(crate) database: PathBuf,
    /// Statements.
    pub(crate) query: String,
    /// Values of the named parameters.
    pub(crate) parameters: BTreeMap<String, Parameter>,
    /// New file for the rows of the last statement, as Parquet.
    pub(crate) save_results_to: Option<PathBuf>,
    /// Directory for data that does not fit into memory.
    pub(crate) spill: PathBuf,
    /// Size of that directory, in bytes, at most.
    pub(crate) spill_bytes_max: u64,
    /// Memory of the engine, in bytes, at most.
    pub(crate) memory_bytes_max: u64,
    /// Threads, at most.
    pub(crate) threads: u32,
    /// Time of the step, in milliseconds, after which the host ends it.
    pub(crate) time_milliseconds: u64,
    /// True if the tables before and after are compared.
    pub(crate) compares: bool,
}

/// Answer of the worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Report {
    /// All statements ran; the copy of the database is their result, in one file.
    Done(Done),
    /// A statement or the set-up failed; the copy is of no use.
    Failed(Failure),
}

/// Result of the statements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Version of the library, from the library itself.
    pub version: String,
    /// The statements, in their order.
    pub statements: Vec<RanStatement>,
    /// Tables that were read after the last statement.
    pub tables: u64,
    /// Rows in them.
    pub rows: u64,
    /// Differences between the tables before and after, if they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Compared>,
}

/// Differences between the tables before and after, or the reason why they are not known, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Compared {
    /// Differences.
    Differences(Comparison),
    /// The tables could not be compared.
    Unknown(String),
}

/// A statement that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RanStatement {
    /// Its kind, such as `UPDATE`.
    pub kind: String,
    /// Rows that it changed; of a query the rows that it gave.
    pub rows: u64,
}

/// Reason why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Kind of the failure.
    pub problem: Problem,
    /// Number of the statement, counted from 1; `None` if it is not about one.
    pub statement: Option<u64>,
    /// Message; of DuckDB, in its words.
    pub message: String,
}

/// Kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// The library cannot be loaded, or is another file than it was.
    Library,
    /// The database cannot be opened.
    Database,
    /// The query is not SQL.
    Syntax,
    /// There is no statement, or there are too many.
    Count,
    /// A statement of this kind is not allowed.
    NotAllowed,
    /// A statement names a missing object, or has wrong types.
    Binding,
    /// A parameter is missing, not used, or of a type that the statement cannot take.
    Parameter,
    /// A statement failed while it ran.
    Execution,
    /// A transaction is open after the last statement.
    OpenTransaction,
    /// The rows of the last statement cannot be saved.
    Result,
    /// The statements need more memory, or room for spilled data, than a step has.
    Resources,
    /// The disk is full.
    DiskFull,
    /// The database is damaged after the last statement, or could not be written.
    Unsound,
}

impl Done {
    /// Returns the number of rows that the statements changed: their own counts or, if the tables
    /// were compared and more rows differ, that number. A statement may change more rows than it
    /// counts, such as a `SELECT` with a `DELETE` in it.
    pub fn rows_changed(&self) -> u64 {
        let counted = self.statements.iter().map(RanStatement::rows_changed);
        let counted = counted.fold(0u64, u64::saturating_add);
        match &self.comparison {
            Some(Compared::Differences(comparison)) => counted.max(comparison.rows_changed),
            Some(Compared::Unknown(_)) => counted.max(self.rows),
            None => counted,
        }
    }
}

impl RanStatement {
    /// Returns the rows that the statement changed, as it counted them.
    pub fn rows_changed(&self) -> u64 {
        match changes_rows(&self.kind) {
            true => self.rows,
            false => 0,
        }
    }
}

/// Tests whether the count of a statement of this kind is that of changed rows, and not of returned ones.
pub fn changes_rows(kind: &str) -> bool {
    !matches!(kind, "SELECT" | "EXPLAIN")
}

impl Failure {
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, statement: None, message: on_one_line(&message.into()) }
    }

    pub(crate) fn of_statement(
        problem: Problem,
        number: usize,
        message: impl Into<String>,
    ) -> Self {
        let statement = u64::try_from(number).ok();
        Self { statement, ..Self::new(problem, message) }
    }

    /// Returns a failure with a message of the engine, behind the attempted step. The interface
    /// gives no code with it, so its words are compared.
    pub(crate) fn of_engine(
        problem: Problem,
        (number, tried): (Option<usize>, &str),
        message: String,
    ) -> Self {
        let problem = if message.starts_with("Out of Memory Error") {
            Problem::Resources
        } else if message.contains("No space left on device") {
            Problem::DiskFull
        } else if message.starts_with("Permission Error")
            || message.contains("the configuration has been locked")
        {
            Problem::NotAllowed
        } else if message.starts_with("IO Error") && problem != Problem::Result {
            // The locked engine opens no file but the database.
            Problem::Database
        } else {
            problem
        };
        // The engine proposes settings, which no step can change.
        let message = match message.split_once("Possible solutions:") {
            Some((before, _)) if problem == Problem::Resources => {
                format!(
                    "{}; let the statements read or keep fewer rows at a time",
                    before.trim_end()
                )
            }
            Some(_) | None => message,
        };
        let message = format!("{tried}{message}");
        match number {
            Some(number) => Self::of_statement(problem, number, message),
            None => Self::new(problem, message),
        }
    }
}
