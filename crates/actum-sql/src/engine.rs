//! Settings of every engine, and statements of our own.

use crate::duckdb::Connection;
use crate::job::Job;

/// Settings of an engine.
pub(crate) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value)).collect()
    }
}

/// Returns the settings with which every database is opened.
pub(crate) fn settings(job: &Job, access_mode: &str) -> Settings {
    let forbidden = [
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "allow_community_extensions",
        "allow_unsigned_extensions",
        "allow_persistent_secrets",
    ];
    let limits = [
        ("access_mode", access_mode.to_owned()),
        ("memory_limit", bytes(job.memory_bytes_max)),
        ("threads", job.threads.to_string()),
        ("temp_directory", job.spill.to_string_lossy().into_owned()),
        ("max_temp_directory_size", bytes(job.spill_bytes_max)),
    ];
    let forbidden = forbidden.into_iter().map(|name| (name, "false".to_owned()));
    Settings(forbidden.chain(limits).collect())
}

fn bytes(count: u64) -> String {
    format!("{count}B")
}

/// Runs a statement of our own; returns its rows.
pub(crate) fn command(connection: &Connection<'_>, text: &str) -> std::result::Result<u64, String> {
    connection.extract(text)?.prepare(0)?.execute()?.count()
}

pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
