//! Findings that the verification of a log reports.

use std::fmt;

use actum_core::{Digest, RunId};
use actum_record::lease::{LeaseId, TaskName};

/// Inconsistency that was found in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Part of the ledger or export in which the inconsistency was found.
    pub subject: Subject,
    /// Description of the inconsistency.
    pub message: String,
}

/// Part of a ledger or export to which a finding refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The entire log.
    Log,
    /// The tables or indexes of the database.
    Database,
    /// Entry with this index.
    Entry(u64),
    /// Stored data about a run.
    Run(RunId),
    /// Stored data about a plan.
    Plan(RunId),
    /// Stored data about a block of a lease.
    Lease(LeaseId),
    /// Stored data about a file task.
    FileTask(TaskName),
    /// Row in a table of the Agent Execution Core.
    Agent {
        /// Name of the table.
        table: &'static str,
        /// Index or key by which the row is identified.
        row: String,
    },
    /// Document with this digest.
    Document(Digest),
    /// Checkpoint that is stored for this number of entries.
    Checkpoint(u64),
    /// Line of an export, counted from 1.
    Line(u64),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, message } = self;
        match subject {
            Subject::Log => write!(f, "the log: {message}"),
            Subject::Database => write!(f, "the database: {message}"),
            Subject::Entry(index) => write!(f, "entry {index}: {message}"),
            Subject::Run(run) => write!(f, "run {run}: {message}"),
            Subject::Plan(plan) => write!(f, "plan {plan}: {message}"),
            Subject::Lease(lease) => write!(f, "lease {lease}: {message}"),
            Subject::FileTask(task) => write!(f, "file task `{}`: {message}", task.as_str()),
            Subject::Agent { table, row } => write!(f, "`{table}`, {row}: {message}"),
            Subject::Document(digest) => write!(f, "document {digest}: {message}"),
            Subject::Checkpoint(size) => write!(f, "checkpoint of {size} entries: {message}"),
            Subject::Line(line) => write!(f, "line {line}: {message}"),
        }
    }
}
