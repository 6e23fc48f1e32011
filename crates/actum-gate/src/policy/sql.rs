//! Reads the library and limits for SQL steps of task plans, as set under `[sql]` (EX-9, EX-11).

use actum_core::Digest;
use actum_core::canonical::COUNT_MAX;
use serde::Serialize;

use super::diagnostic::{Diagnostic, shown};
use super::file::absolute;
use super::written::{Secret, Table, Value};

/// Library and limits for SQL steps that a policy sets. A field is `None` if it is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SqlSettings {
    /// DuckDB library to load instead of the tested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<PinnedLibrary>,
    /// Maximum size of a database before and after a step, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Memory limit of the database engine, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Maximum size of the files that the database engine writes when its memory is full, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u64>,
    /// Number of threads that the database engine uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// DuckDB library that the operator chose, identified by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinnedLibrary {
    /// Absolute path of the library file.
    pub path: String,
    /// SHA-256 digest of the library file.
    pub sha256: Digest,
}

impl SqlSettings {
    /// Default for [`Self::max_bytes`], which is 2 GiB.
    pub const MAX_BYTES: u64 = 2 << 30;
    /// Default for [`Self::memory_bytes`], which is 512 MiB.
    pub const MEMORY_BYTES: u64 = 512 << 20;
    /// Minimum memory that DuckDB needs to open a database, which is 192 MiB.
    pub const MEMORY_BYTES_MIN: u64 = 192 << 20;
    /// Default for [`Self::spill_bytes`], which is 1 GiB.
    pub const SPILL_BYTES: u64 = 1 << 30;
    /// Maximum value of each limit in bytes, which is 64 TiB.
    pub const BYTES_MAX: u64 = 1 << 46;
    /// Default and maximum value of [`Self::threads`].
    pub const THREADS: u64 = 4;

    /// Returns true if no setting is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the effective maximum size of a database, in bytes.
    pub fn database_bytes_max(&self) -> u64 {
        self.max_bytes.unwrap_or(Self::MAX_BYTES)
    }

    /// Returns the effective memory limit of the database engine, in bytes.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes.unwrap_or(Self::MEMORY_BYTES)
    }

    /// Returns the effective maximum size of the spill files, in bytes.
    pub fn spill_bytes_max(&self) -> u64 {
        self.spill_bytes.unwrap_or(Self::SPILL_BYTES)
    }

    /// Returns the effective number of threads.
    pub fn threads_max(&self) -> u64 {
        self.threads.unwrap_or(Self::THREADS)
    }

    /// Returns true if these settings allow more than the defaults.
    pub fn loosens(&self) -> bool {
        self.library.is_some() || self.limits_held() != self.limits()
    }

    /// Combines the settings of two policies. The result has the smaller of each limit, and the library of
    /// either policy.
    #[must_use]
    pub fn tightened(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            library: self.library.or(other.library),
            max_bytes: least(self.max_bytes, other.max_bytes),
            memory_bytes: least(self.memory_bytes, other.memory_bytes),
            spill_bytes: least(self.spill_bytes, other.spill_bytes),
            threads: least(self.threads, other.threads),
        }
    }

    /// Returns these settings with each limit reduced to its default if it is higher, and without the library.
    #[must_use]
    pub fn held(&self) -> Self {
        self.limits_held()
    }

    fn limits(&self) -> Self {
        Self { library: None, ..self.clone() }
    }

    fn limits_held(&self) -> Self {
        let held = |limit: Option<u64>, default: u64| limit.map(|limit| limit.min(default));
        Self {
            library: None,
            max_bytes: held(self.max_bytes, Self::MAX_BYTES),
            memory_bytes: held(self.memory_bytes, Self::MEMORY_BYTES),
            spill_bytes: held(self.spill_bytes, Self::SPILL_BYTES),
            threads: held(self.threads, Self::THREADS),
        }
    }

    /// Reads the `[sql]` table. Also returns the number of rows above which a change needs an approval.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<(Self, Option<u64>), Diagnostic> {
        let Some(table) = table else { return Ok((Self::default(), None)) };
        table.only(
            &[
                "library",
                "sha256",
                "max_bytes",
                "memory_bytes",
                "spill_bytes",
                "threads",
                "ask_over_rows",
            ],
            Secret::No,
        )?;
        let number = |key, least: u64, most: u64| {
            let Some(value) = table.get(key) else { return Ok(None) };
            match value.count()? {
                count if (least..=most).contains(&count) => Ok(Some(count)),
                count => {
                    let expected = format!("a whole number from {least} to {most}");
                    Err(value.other_than(expected, count.to_string()))
                }
            }
        };
        let settings = Self {
            library: library(&table)?,
            max_bytes: number("max_bytes", 1, Self::BYTES_MAX)?,
            memory_bytes: number("memory_bytes", Self::MEMORY_BYTES_MIN, Self::BYTES_MAX)?,
            spill_bytes: number("spill_bytes", 0, Self::BYTES_MAX)?,
            threads: number("threads", 1, Self::THREADS)?,
        };
        Ok((settings, number("ask_over_rows", 0, COUNT_MAX)?))
    }
}

/// Reads the pinned library. Its path and its digest must be set together.
fn library(table: &Table<'_>) -> Result<Option<PinnedLibrary>, Diagnostic> {
    if table.get("library").is_none() && table.get("sha256").is_none() {
        return Ok(None);
    }
    let (path, digest) = (table.need("library")?, table.need("sha256")?);
    Ok(Some(PinnedLibrary { path: absolute(&path)?, sha256: sha256(&digest)? }))
}

fn sha256(value: &Value<'_>) -> Result<Digest, Diagnostic> {
    let text = value.text("a digest (a string)")?;
    text.parse().map_err(|_| {
        let expected = "a digest of 64 hexadecimal characters".to_owned();
        value.other_than(expected, format!("`{}`", shown(text)))
    })
}
