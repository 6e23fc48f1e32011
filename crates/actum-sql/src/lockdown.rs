//! The locked engine, the second boundary: settings of a database when it is opened, and the statements that lock it.

use crate::job::Job;

/// Use of an opened database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
    /// The database has no file; others are attached to it.
    Memory,
}

/// Settings under which a database is opened.
pub(crate) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value)).collect()
    }
}

/// Returns DuckDB's memory limit in bytes: 15/16 of the step's memory. DuckDB does not count its
/// code, free lists of its allocator, and stacks of its threads.
fn duckdb_memory_limit(memory_bytes_max: u64) -> u64 {
    memory_bytes_max.saturating_sub(memory_bytes_max / 16)
}

/// Returns the settings under which a database is opened.
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

/// Returns the statements that lock an engine: from then on it reaches the database, its spill
/// directory and the result, and no statement can change that.
pub(crate) fn statements(job: &Job) -> [String; 3] {
    let result = job.save_results_to.iter().map(|path| quoted(&path.to_string_lossy()));
    let result = result.collect::<Vec<_>>().join(", ");
    [
        format!("SET allowed_paths = [{result}]::VARCHAR[]"),
        "SET enable_external_access = false".to_owned(),
        "SET lock_configuration = true".to_owned(),
    ]
}

/// Returns a text as a literal of SQL.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
