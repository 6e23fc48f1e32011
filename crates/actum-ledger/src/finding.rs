//! Findings of a verification of a log.

use std::fmt;

use actum_core::{Digest, RunId};
use actum_record::lease::{LeaseId, TaskName};

/// A difference from what the entries say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Subject of the finding.
    pub subject: Subject,
    /// Description of the difference.
    pub message: String,
}

/// Subject of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The log as a whole.
    Log,
    /// The tables of the database, or its indexes.
    Database,
    /// An entry, by its index.
    Entry(u64),
    /// Stored data of a run.
    Run(RunId),
    /// Stored data of a plan.
    Plan(RunId),
    /// Stored data of a block of a lease.
    Lease(LeaseId),
    /// Stored data of a file task.
    FileTask(TaskName),
    /// Row of a table of the agent core.
    Agent {
        /// Table.
        table: &'static str,
        /// Row, by its index or its names.
        row: String,
    },
    /// A document, by its digest.
    Document(Digest),
    /// A checkpoint, by the number of entries it is kept for.
    Checkpoint(u64),
    /// A line of an export, counted from 1.
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
