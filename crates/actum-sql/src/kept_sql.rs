//! Kept results of SQL steps: DuckDB writes another file each time, so an approved one cannot be
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

/// Name of the database in the directory of a result.
const DATABASE: &str = "database";
/// Name of the rows of the last statement there.
const ROWS: &str = "rows.parquet";

/// Result of an SQL step that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptSql {
    /// Report of the worker.
    pub done: Done,
    /// Resources that it used, and its confinement.
    pub measured: Measured,
    /// SHA-256 of the database.
    pub database: Digest,
    /// SHA-256 of the rows of the last statement, if they are saved.
    pub rows: Option<Digest>,
}

impl KeptSql {
    /// Copies a result to the new files `database` and `rows`; `None` if none is kept. If it cannot
    /// be copied whole, nothing is left of it. The caller compares its digests with the copies.
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
                drop(fs::remove_file(copy)); // a file that stays blocks the next copy, which reports it
            }
            return None;
        }
        Some(kept)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// As [`KeptResults::keep`].
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
