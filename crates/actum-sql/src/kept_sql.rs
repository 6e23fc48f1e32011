//! Stored results of SQL steps. DuckDB writes a different file on each execution, so an approved result cannot be
//! computed again (EX-1, EX-11).

use std::fs;
use std::io;
use std::path::Path;

use actum_core::Digest;
use serde::{Deserialize, Serialize};

use crate::host::Measured;
use crate::job::Done;
use crate::kept_results::{KeptResults, ResultKey};
use crate::library::digest;

/// Name of the database file in the directory of a result.
const DATABASE: &str = "database";
/// Name of the file with the rows of the last statement in the directory of a result.
const ROWS: &str = "rows.parquet";

/// Stored result of an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptSql {
    /// Report of the worker on the statements.
    pub done: Done,
    /// Resource usage and confinement of the worker.
    pub measured: Measured,
    /// SHA-256 of the database after the step.
    pub database: Digest,
    /// SHA-256 of the file with the rows of the last statement, if they were saved.
    pub rows: Option<Digest>,
}

impl KeptSql {
    /// Copies a stored result to the new files `database` and `rows`. Returns `None` if no result is stored or it
    /// cannot be copied completely, in which case the partial copies are removed. The caller must compare the copies
    /// with the digests of the result.
    pub fn find(
        results: &KeptResults,
        key: &ResultKey,
        (database, rows): (&Path, Option<&Path>),
    ) -> Option<Self> {
        let found = results.find(key)?;
        let kept = serde_json::from_slice(&found.report).ok()?;
        let copied = fs::copy(found.directory.join(DATABASE), database)
            .and_then(|_| rows.map_or(Ok(0), |rows| fs::copy(found.directory.join(ROWS), rows)));
        if copied.is_err() {
            for copy in [Some(database), rows].into_iter().flatten() {
                drop(fs::remove_file(copy)); // if this fails, the next copy fails and reports it
            }
            return None;
        }
        Some(kept)
    }

    /// Stores the result of an SQL step.
    ///
    /// # Errors
    /// Returns the errors of [`KeptResults::keep`].
    pub fn keep(
        results: &KeptResults,
        key: &ResultKey,
        (database, rows): (&Path, Option<&Path>),
        (done, measured): (&Done, &Measured),
    ) -> io::Result<()> {
        results.keep(key, fs::metadata(database)?.len(), |directory| {
            fs::copy(database, directory.join(DATABASE))?;
            if let Some(rows) = rows {
                fs::copy(rows, directory.join(ROWS))?;
            }
            let kept = Self {
                done: done.clone(),
                measured: measured.clone(),
                database: digest(database)?,
                rows: rows.map(digest).transpose()?,
            };
            Ok(serde_json::to_vec(&kept)?)
        })
    }
}
