//! Database schema of a ledger, with its versions and the check that a database is a ledger.

use std::path::Path;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::fault::fault;
use super::link::Link;
use crate::error::LedgerError;

/// SQLite `application_id` of a ledger, which is `actL` in ASCII.
const APPLICATION: i32 = 0x6163_744c;
/// Schema version that this program writes.
const VERSION: u32 = 8;
/// Oldest schema version whose programs can read the ledgers that this program writes.
const READ_FROM: u32 = 8;

/// SQL definitions that each schema version has added.
///
/// A definition creates either tables with their indexes, or indexes for tables of an earlier version, or triggers.
const TABLES: [&[&str]; 8] = [
    &[include_str!("schema.sql")],
    &[include_str!("schema_plans.sql")],
    &[include_str!("schema_kinds.sql")],
    &[include_str!("schema_alerts.sql")],
    // Since this version, long values can be stored as Zstandard frames (see `packed.rs`).
    &[include_str!("schema_forgotten.sql")],
    // Since this version, the grounds of gates are objects (version 7 of the rules), which earlier programs report as damage.
    &[],
    // Since this version, ledgers can contain entries about leases and file tasks, which earlier programs report as damage.
    &[
        include_str!("schema_leases.sql"),
        include_str!("schema_file_tasks.sql"),
        include_str!("schema_lease_entries.sql"),
    ],
    // Since this version, ledgers can contain agent entries, which earlier programs report as damage.
    &[
        include_str!("schema_agent.sql"),
        include_str!("schema_agent_triggers.sql"),
        include_str!("schema_slo_waived.sql"),
    ],
];

/// Expected content of `sqlite_schema` for each schema version, computed on first use.
static MADE: [OnceLock<Vec<[String; 4]>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];

/// Identity of a database, as stored in its file header.
///
/// The lower half of `user_version` contains the schema version. The upper half contains the oldest version whose programs
/// can read the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    application: i32,
    version: u32,
    read_from: u32,
}

/// Intended use of a ledger, which determines the schema versions that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    Read,
}

/// Creates the schema in an empty database.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    added(0).try_for_each(|tables| connection.execute_batch(tables))?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", (READ_FROM << 16) | VERSION)
}

/// Upgrades the schema of an older ledger to the current version, in a transaction that blocks other writers.
pub(super) fn renew(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let renew = || {
        if Identity::read(connection)?.version == VERSION {
            return Ok(());
        }
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let renewed = added(Identity::read(connection)?.version)
            .try_for_each(|tables| connection.execute_batch(tables))
            .and_then(|()| {
                connection.pragma_update(None, "user_version", (READ_FROM << 16) | VERSION)
            });
        connection.execute_batch(if renewed.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        renewed
    };
    renew().map_err(|error| fault("append to", path, error))
}

/// Creates empty temporary tables on a read-only connection for the tables that an older ledger does not have.
///
/// Missing indexes are not replaced, because queries also work without them. Missing triggers are not replaced either,
/// because they are only needed for writing.
pub(super) fn stand_in(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let stand_in = || {
        let version = Identity::read(connection)?.version;
        for tables in added(version).filter(|tables| tables.contains("CREATE TABLE ")) {
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            let tables = tables.replace("CREATE TABLE ", "CREATE TABLE temp.");
            let tables = tables.replace("CREATE UNIQUE INDEX ", "CREATE UNIQUE INDEX temp.");
            connection.execute_batch(&tables.replace("CREATE INDEX ", "CREATE INDEX temp."))?;
        }
        Ok(())
    };
    stand_in().map_err(|error| fault("read", path, error))
}

/// Returns whether the database has an index with this name.
pub(super) fn has_index(link: &Link, name: &str) -> Result<bool, LedgerError> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?";
    let count = link.connection.query_row(sql, [name], |row| row.get::<_, u64>(0));
    count.map(|count| count > 0).map_err(|error| fault("read", &link.path, error))
}

/// Returns the definitions that were added after a schema version.
fn added(version: u32) -> impl Iterator<Item = &'static str> {
    let known = usize::try_from(version).unwrap_or(usize::MAX);
    TABLES.iter().skip(known).copied().flatten().copied()
}

/// Checks that the database is a ledger and that this program supports its schema version.
pub(super) fn check(
    connection: &Connection,
    path: &Path,
    purpose: Purpose,
) -> Result<(), LedgerError> {
    let found = Identity::read(connection).map_err(|error| fault("read", path, error))?;
    if found.application != APPLICATION || found.version == 0 {
        let message = "the database belongs to a different program".to_owned();
        return Err(LedgerError::NoLedger { store: path.into(), message });
    }
    let too_new = match purpose {
        Purpose::Write => found.version > VERSION,
        Purpose::Read => found.version > VERSION && found.read_from > VERSION,
    };
    if too_new {
        let store = path.into();
        return Err(LedgerError::NewerSchema { store, found: found.version, known: VERSION });
    }
    Ok(())
}

/// Compares the tables, indexes and triggers of the database with the definitions of its schema version, and reports
/// differences through `report`.
pub(super) fn check_whole(link: &Link, report: &mut dyn FnMut(String)) -> Result<(), LedgerError> {
    let failed = |error| fault("read", &link.path, error);
    let version = Identity::read(&link.connection).map_err(failed)?.version;
    let newest = MADE.len().saturating_sub(1);
    let version = usize::try_from(version).unwrap_or(0).saturating_sub(1).min(newest);
    let Some(kept) = MADE.get(version) else { return Ok(()) };
    let made = match kept.get() {
        Some(made) => made,
        None => {
            let made = Connection::open_in_memory().and_then(|fresh| {
                let tables = TABLES.iter().take(version + 1).copied().flatten();
                tables.copied().try_for_each(|it| fresh.execute_batch(it))?;
                parts(&fresh)
            });
            let made = made.map_err(failed)?;
            kept.get_or_init(|| made)
        }
    };
    let found = parts(&link.connection).map_err(failed)?;
    for part in made {
        if !found.contains(part) {
            let [_, kind, name, ..] = part;
            report(format!("the {kind} `{name}` is missing or changed"));
        }
    }
    for part in &found {
        if !made.contains(part) {
            let [_, kind, name, ..] = part;
            report(format!("the {kind} `{name}` does not belong to a ledger"));
        }
    }
    Ok(())
}

/// Returns the table name, type, name and SQL text of all tables, indexes and triggers of a database.
fn parts(connection: &Connection) -> rusqlite::Result<Vec<[String; 4]>> {
    let sql = "SELECT tbl_name, type, name, coalesce(sql, '') FROM sqlite_schema";
    let mut statement = connection.prepare(sql)?;
    let rows =
        statement.query_map((), |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    rows.collect()
}

impl Identity {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
        let (application, user): (i32, i32) = (number("application_id")?, number("user_version")?);
        let user = user.cast_unsigned();
        Ok(Self { application, version: user & 0xffff, read_from: user >> 16 })
    }
}
