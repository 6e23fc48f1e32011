//! Results of SQL steps that a person was shown. DuckDB writes another file each time, so what was approved cannot be computed again:
//! it is kept, and published as it is.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use actum_core::Digest;
use serde::{Deserialize, Serialize};

use crate::host::Measured;
use crate::job::Done;
use crate::library::digest;

/// How long a result is kept: as long as an approval counts.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of all results together; the oldest go first.
const BYTES_MAX: u64 = 4 << 30;
/// Name of the database in the directory of a result.
const DATABASE: &str = "database";
/// Name of the rows of the last statement there.
const ROWS: &str = "rows.parquet";
/// Name of the report there. It is written last.
const REPORT: &str = "report.json";

/// Results that are kept, in a directory of the home.
#[derive(Debug, Clone)]
pub struct SqlResults {
    directory: PathBuf,
}

/// What a result follows from: the statements, the values of their parameters, and the digests of database, write-ahead log and
/// library.
#[derive(Debug)]
pub struct ResultKey(Digest);

/// A result that is kept. The digests tell whether its files are what they were: nothing here is flushed to the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptResult {
    /// Report of the worker.
    pub done: Done,
    /// What it used, and what confined it.
    pub measured: Measured,
    /// SHA-256 of the database.
    pub database: Digest,
    /// SHA-256 of the rows of the last statement, where they are saved.
    pub rows: Option<Digest>,
}

impl ResultKey {
    /// Returns the key of these parts, in this order.
    pub fn new(parts: &[&[u8]]) -> Self {
        Self(Digest::tagged("actum/sql-result/1", parts))
    }
}

impl SqlResults {
    /// Results below the home of actum.
    pub fn below(home: &Path) -> Self {
        Self { directory: home.join("sql").join("results") }
    }

    fn place(&self, ResultKey(key): &ResultKey) -> PathBuf {
        self.directory.join(key.to_string())
    }

    /// Copies a result to the new files `database` and `rows`; none where none is kept, or it is too old. Where it cannot be copied
    /// whole, nothing is left of it. Its digests are for the caller to compare with what was copied.
    pub fn find(
        &self,
        key: &ResultKey,
        database: &Path,
        rows: Option<&Path>,
    ) -> Option<KeptResult> {
        let place = self.place(key);
        let report = fs::metadata(place.join(REPORT)).ok()?;
        if is_old(&report) {
            return None;
        }
        let kept = serde_json::from_slice(&fs::read(place.join(REPORT)).ok()?).ok()?;
        let copied = fs::copy(place.join(DATABASE), database)
            .and_then(|_| rows.map_or(Ok(0), |rows| fs::copy(place.join(ROWS), rows)));
        if copied.is_err() {
            for copy in [Some(database), rows].into_iter().flatten() {
                drop(fs::remove_file(copy)); // a file that stays is in the way of the next copy, which says so
            }
            return None;
        }
        Some(kept)
    }

    /// Keeps a result, and removes those that are too old or too many.
    ///
    /// # Errors
    /// What the system says. The result is not kept then.
    pub fn keep(
        &self,
        key: &ResultKey,
        (database, rows): (&Path, Option<&Path>),
        (done, measured): (&Done, &Measured),
    ) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let size = fs::metadata(database)?.len();
        self.sweep(BYTES_MAX.saturating_sub(size))?;
        let new = tempfile::tempdir_in(&self.directory)?;
        fs::copy(database, new.path().join(DATABASE))?;
        if let Some(rows) = rows {
            fs::copy(rows, new.path().join(ROWS))?;
        }
        let kept = KeptResult {
            done: done.clone(),
            measured: measured.clone(),
            database: digest(database)?,
            rows: rows.map(digest).transpose()?,
        };
        fs::write(new.path().join(REPORT), serde_json::to_vec(&kept)?)?;
        let place = self.place(key);
        match fs::rename(new.path(), &place) {
            // Another process kept the same.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            renamed => renamed.map(|()| drop(new.keep())),
        }
    }

    /// Removes a result, so that it is computed again.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, key: &ResultKey) -> io::Result<()> {
        fs::remove_dir_all(self.place(key))
    }

    /// Removes what is too old, and then the oldest, until all together have at most `bytes_max` bytes.
    fn sweep(&self, bytes_max: u64) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let (report, size) =
                (fs::metadata(path.join(REPORT)), fs::metadata(path.join(DATABASE)));
            match report {
                Ok(report) if !is_old(&report) => {
                    kept.push((report.modified()?, size.map_or(0, |size| size.len()), path));
                }
                // One that another process is just making is younger than its directory is old.
                Ok(_) => fs::remove_dir_all(path)?,
                Err(_) if fs::metadata(&path).is_ok_and(|made| is_old(&made)) => {
                    fs::remove_dir_all(path)?;
                }
                Err(_) => {}
            }
        }
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in kept {
            if bytes <= bytes_max {
                break;
            }
            fs::remove_dir_all(path)?;
            bytes = bytes.saturating_sub(size);
        }
        Ok(())
    }
}

fn is_old(file: &fs::Metadata) -> bool {
    let age = file.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}
