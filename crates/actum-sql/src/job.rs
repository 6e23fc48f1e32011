//! Job that the host sends to a worker, and the report that the worker sends back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use actum_core::Digest;
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::message::on_one_line;
use crate::parameter::Parameter;

/// Work that a worker reads from standard input as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Work {
    /// Run an SQL step and answer with a [`Report`].
    Step(Job),
    /// Load a library and answer with its version, or with the reason why it cannot be loaded.
    Version {
        /// Path of the DuckDB library.
        library: PathBuf,
        /// Expected SHA-256 of the library.
        sha256: Digest,
    },
}

/// SQL step with everything that the worker needs to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// Path of the DuckDB library.
    pub(crate) library: PathBuf,
    /// Expected SHA-256 of the library.
    pub(crate) library_sha256: Digest,
    /// Private copy of the database.
    pub(crate) database: PathBuf,
    /// SQL text with one or more statements.
    pub(crate) query: String,
    /// Values of the named parameters of the query.
    pub(crate) parameters: BTreeMap<String, Parameter>,
    /// New Parquet file for the rows of the last statement.
    pub(crate) save_results_to: Option<PathBuf>,
    /// Directory to which the engine spills data that does not fit into memory.
    pub(crate) spill: PathBuf,
    /// Maximum size of the spill directory, in bytes.
    pub(crate) spill_bytes_max: u64,
    /// Maximum memory of the engine, in bytes.
    pub(crate) memory_bytes_max: u64,
    /// Maximum number of threads of the engine.
    pub(crate) threads: u32,
    /// Time limit of the step, in milliseconds. The host kills the worker when it is exceeded.
    pub(crate) time_milliseconds: u64,
    /// Whether the tables before and after the step are compared.
    pub(crate) compares: bool,
}

/// Report of a worker on an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Report {
    /// All statements were executed, and the copy of the database contains their result in a single file.
    Done(Done),
    /// A statement or the preparation failed, so the copy of the database must be discarded.
    Failed(Failure),
}

/// Result of a step whose statements were all executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Version of DuckDB, as the library reports it.
    pub version: String,
    /// Executed statements, in order.
    pub statements: Vec<RanStatement>,
    /// Number of tables that were read back after the last statement.
    pub tables: u64,
    /// Total number of rows in these tables.
    pub rows: u64,
    /// Comparison of the tables before and after the step, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Compared>,
}

/// Result of comparing the tables before and after a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Compared {
    /// The tables were compared, with these differences.
    Differences(Comparison),
    /// The tables could not be compared, for the reason stated by this sentence.
    Unknown(String),
}

/// Statement that was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RanStatement {
    /// Kind of the statement, such as `UPDATE`.
    pub kind: String,
    /// Number of rows that the statement changed or, for a query, returned.
    pub rows: u64,
}

/// Failure of an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Kind of the failure.
    pub problem: Problem,
    /// Number of the statement that failed, starting at 1, or `None` if the failure does not concern a single
    /// statement.
    pub statement: Option<u64>,
    /// Error message on one line. If it comes from DuckDB, it keeps DuckDB's wording.
    pub message: String,
}

/// Kind of failure of an SQL step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// The DuckDB library cannot be loaded, or its digest has changed.
    Library,
    /// The database cannot be opened.
    Database,
    /// The query is not valid SQL.
    Syntax,
    /// The query contains no statement or too many.
    Count,
    /// A statement of this kind is not allowed.
    NotAllowed,
    /// A statement refers to a missing object or has wrong types.
    Binding,
    /// A parameter is missing, unused, or of a type that the statement does not accept.
    Parameter,
    /// A statement failed during its execution.
    Execution,
    /// A transaction is still open after the last statement.
    OpenTransaction,
    /// The rows of the last statement cannot be saved.
    Result,
    /// The statements need more memory or spill space than the limits allow.
    Resources,
    /// The disk is full.
    DiskFull,
    /// The database could not be written, or is damaged after the last statement.
    Unsound,
}

impl Done {
    /// Returns the number of rows that the statements changed. A statement may change more rows than it counts, such as
    /// a `SELECT` that contains a `DELETE`. If the comparison found more differing rows than the statements counted,
    /// that number is returned.
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
    /// Returns the number of rows that the statement changed, according to its own count.
    pub fn rows_changed(&self) -> u64 {
        match changes_rows(&self.kind) {
            true => self.rows,
            false => 0,
        }
    }
}

/// Returns whether a statement of this kind counts the rows that it changed, and not those that it returned.
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

    /// Creates a failure from an error message of DuckDB, prefixed with the attempted step. DuckDB's C API returns no
    /// error code, so the kind of the failure is derived from the text of the message.
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
            // The locked engine opens only the database, so the error must concern that file.
            Problem::Database
        } else {
            problem
        };
        // DuckDB suggests changing settings, which a step cannot do, so the suggestion is replaced.
        let message = match message.split_once("Possible solutions:") {
            Some((before, _)) if problem == Problem::Resources => {
                format!(
                    "{}; change the statements to process fewer rows at a time",
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
