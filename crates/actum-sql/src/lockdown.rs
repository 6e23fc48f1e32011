//! Locked engine, which is the second boundary around a query: settings with which a database is opened, and statements
//! that lock the engine.

use crate::job::Job;

/// Mode in which a database is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
    /// The database is in memory, and other databases are attached to it.
    Memory,
}

/// Names and values of the settings with which a database is opened.
pub(crate) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value)).collect()
    }
}

/// Returns DuckDB's memory limit in bytes, which is 15/16 of the step's memory. The rest covers memory that DuckDB does
/// not count: its code, the free lists of its allocator, and the stacks of its threads.
fn duckdb_memory_limit(memory_bytes_max: u64) -> u64 {
    memory_bytes_max.saturating_sub(memory_bytes_max / 16)
}

/// Returns the settings with which a database is opened for a job.
pub(crate) fn settings(job: &Job, access: Access) -> Settings {
    let mode = match access {
        Access::Write => "READ_WRITE",
        Access::Read => "READ_ONLY",
        Access::Memory => "AUTOMATIC",
    };
    let forbidden = [
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "allow_community_extensions",
        "allow_unsigned_extensions",
        "allow_persistent_secrets",
    ];
    let limits = [
        ("access_mode", mode.to_owned()),
        ("memory_limit", format!("{}B", duckdb_memory_limit(job.memory_bytes_max))),
        ("threads", job.threads.to_string()),
        ("temp_directory", job.spill.to_string_lossy().into_owned()),
        ("max_temp_directory_size", format!("{}B", job.spill_bytes_max)),
    ];
    let forbidden = forbidden.into_iter().map(|name| (name, "false".to_owned()));
    Settings(forbidden.chain(limits).collect())
}

/// Returns the statements that lock an engine. Once they have run, the engine can access only the database, its spill
/// directory and the result file. No statement can change that.
pub(crate) fn statements(job: &Job) -> [String; 3] {
    let result = job.save_results_to.iter().map(|path| quoted(&path.to_string_lossy()));
    let result = result.collect::<Vec<_>>().join(", ");
    [
        format!("SET allowed_paths = [{result}]::VARCHAR[]"),
        "SET enable_external_access = false".to_owned(),
        "SET lock_configuration = true".to_owned(),
    ]
}

/// Returns a text as an SQL string literal.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
