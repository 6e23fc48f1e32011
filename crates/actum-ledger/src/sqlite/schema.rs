//! The tables of a ledger, their versions, and how a database is known to be one.

use std::path::Path;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::fault::fault;
use super::link::Link;
use crate::error::LedgerError;

/// "actL", in the header of the file.
const APPLICATION: i32 = 0x6163_744c;
/// The version that this program writes.
const VERSION: u32 = 8;
/// Oldest version of this program that may read what it writes.
const READ_FROM: u32 = 8;

/// Definitions that came with each version. A definition makes either tables with their indexes, or
/// indexes of tables of an earlier version, or triggers.
const TABLES: [&[&str]; 8] = [
    &[include_str!("schema.sql")],
    &[include_str!("schema_plans.sql")],
    &[include_str!("schema_kinds.sql")],
    &[include_str!("schema_alerts.sql")],
    // Since then long bytes are stored as Zstandard frames, too (`packed.rs`).
    &[include_str!("schema_forgotten.sql")],
    // Since then the ground of a gate is an object (version 7 of the rules), which earlier programs take for damage.
    &[],
    // From here on ledgers have entries about leases and file tasks, which earlier programs take
    // for damage.
    &[
        include_str!("schema_leases.sql"),
        include_str!("schema_file_tasks.sql"),
        include_str!("schema_lease_entries.sql"),
    ],
    // From here on ledgers have entries of the agent core, which earlier programs take for damage.
    &[
        include_str!("schema_agent.sql"),
        include_str!("schema_agent_triggers.sql"),
        include_str!("schema_slo_waived.sql"),
    ],
];

/// Schema that SQLite makes of the tables up to each version.
static MADE: [OnceLock<Vec<[String; 4]>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];

/// Identity of a database. The lower half of `user_version` holds the version of the schema, the
/// upper half the oldest version of the program that may read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    application: i32,
    version: u32,
    read_from: u32,
}

/// Intended use of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    Read,
}

/// Makes the tables in an empty database.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    added(0).try_for_each(|tables| connection.execute_batch(tables))?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", (READ_FROM << 16) | VERSION)
}

/// Adds what came since a ledger was made, in one transaction. No other process writes meanwhile.
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

/// Adds the tables that an older ledger does not have to a connection that only reads: empty, and
/// of this connection alone. An index has no such stand-in: without it the table is looked through.
/// Nor has a trigger, which only a writer needs.
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

/// Returns true if the ledger has the index of that name.
pub(super) fn has_index(link: &Link, name: &str) -> Result<bool, LedgerError> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?";
    let count = link.connection.query_row(sql, [name], |row| row.get::<_, u64>(0));
    count.map(|count| count > 0).map_err(|error| fault("read", &link.path, error))
}

/// The tables that came after a version.
fn added(version: u32) -> impl Iterator<Item = &'static str> {
    let known = usize::try_from(version).unwrap_or(usize::MAX);
    TABLES.iter().skip(known).copied().flatten().copied()
}

/// Refuses a database that is no ledger, or that a later program made.
pub(super) fn check(
    connection: &Connection,
    path: &Path,
    purpose: Purpose,
) -> Result<(), LedgerError> {
    let found = Identity::read(connection).map_err(|error| fault("read", path, error))?;
    if found.application != APPLICATION || found.version == 0 {
        let message = "it is a database of something else".to_owned();
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

/// Reports tables, indexes and triggers that are not those of this version.
pub(super) fn check_whole(link: &Link, tell: &mut dyn FnMut(String)) -> Result<(), LedgerError> {
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
            tell(format!("the {kind} `{name}` is missing or changed"));
        }
    }
    for part in &found {
        if !made.contains(part) {
            let [_, kind, name, ..] = part;
            tell(format!("the {kind} `{name}` is none of a ledger's"));
        }
    }
    Ok(())
}

/// Returns all parts of a database, as text.
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
