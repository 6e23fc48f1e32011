//! Attacks that write a file of this user, or reach another database.

use crate::attack::{ABSENT, Attack, Boundary, CANARY, DENIED, Harm, attack, bound, listed, read};

const fn copy(text: &'static str) -> Attack {
    bound("COPY", text, Harm::Writes)
}

const fn attach(text: &'static str, harm: Harm) -> Attack {
    listed("ATTACH", text, harm, DENIED)
}

/// An export creates its directory during binding, before its kind is known.
const fn export(text: &'static str) -> Attack {
    attack(text, Harm::Writes, Boundary::Lock(DENIED), Boundary::Sandbox(ABSENT))
}

pub(crate) const ATTACKS: &[Attack] = &[
    copy("COPY customer TO '{out}'"),
    copy("COPY customer TO '{out}' (FORMAT parquet)"),
    copy("COPY customer TO '{out}' (FORMAT json)"),
    copy("COPY customer (id, name) TO '{out}' WITH (FORMAT csv, HEADER false, DELIMITER '|')"),
    copy("COPY (SELECT 1 AS a) TO '{out}' (FORMAT csv)"),
    copy("COPY (SELECT id, name FROM customer) TO '{out}' (FORMAT csv, PARTITION_BY (id))"),
    copy("COPY customer TO '{out}' (FORMAT csv, PER_THREAD_OUTPUT true)"),
    listed(
        "COPY",
        "COPY (FROM customer) TO '{out}' (FORMAT csv, USE_TMP_FILE false)",
        Harm::Writes,
        DENIED,
    ),
    copy("COPY customer TO 'file://{out}'"),
    copy("COPY customer TO '{outside}/./out.json'"),
    copy("/* a SELECT */ COPY customer TO '{out}'"),
    copy("-- SELECT 1;\ncOpY customer tO '{out}'"),
    copy(";; COPY customer TO '{out}'"),
    copy("\u{feff}COPY customer TO '{out}'"),
    copy("\u{a0}COPY\u{2003}customer TO '{out}'"),
    copy("SELECT 1; COPY customer TO '{out}'"),
    copy("BEGIN; COPY customer TO '{out}'; COMMIT"),
    copy("SELECT ';'; SELECT $$;$$; COPY customer TO '{out}'"),
    copy("COPY (WITH d AS (SELECT 1 AS a) FROM d) TO '{out}' (FORMAT csv)"),
    copy("FROM query('SELECT 1'); COPY customer TO '{out}'"),
    attack(
        "EXPLAIN ANALYZE COPY customer TO '{out}'",
        Harm::Writes,
        Boundary::Lock(DENIED),
        Boundary::Sandbox(ABSENT),
    ),
    bound("PREPARE", "PREPARE p AS COPY customer TO '{out}'; EXECUTE p", Harm::Writes),
    export("EXPORT DATABASE '{out}'"),
    export("EXPORT DATABASE '{out}' (FORMAT parquet)"),
    read("IMPORT DATABASE '{exported}'"),
    read("CREATE TABLE loot (a VARCHAR, b VARCHAR); COPY loot FROM '{secret}'"),
    read("CREATE TABLE loot (a VARCHAR); COPY loot FROM '{parquet}' (FORMAT parquet)"),
    read("CREATE TABLE loot (a VARCHAR); COPY loot FROM '{json}' (FORMAT json)"),
    attach("ATTACH '{out}' AS other", Harm::Writes),
    attach("ATTACH IF NOT EXISTS '{out}' AS other", Harm::Writes),
    attach("ATTACH OR REPLACE DATABASE '{out}' AS other", Harm::Writes),
    attach("ATTACH 'duckdb:{out}' AS other", Harm::Writes),
    attach("ATTACH '{out}' AS other (TYPE duckdb, BLOCK_SIZE 16384)", Harm::Writes),
    attach("ATTACH '{foreign}' AS other (READ_ONLY)", Harm::Shows(CANARY)),
    attach(
        "ATTACH '{foreign}' AS other (READ_ONLY); CREATE TABLE loot AS FROM other.t",
        Harm::Shows(CANARY),
    ),
    attach(
        "ATTACH '{foreign}' (READ_ONLY); COPY FROM DATABASE \"foreign\" TO shop",
        Harm::Shows(CANARY),
    ),
    // This statement is harmless but still rejected.
    attack(
        "ATTACH ':memory:' AS other; CREATE TABLE other.loot AS SELECT 'reached'",
        Harm::Sets("reached"),
        Boundary::List("ATTACH"),
        Boundary::Harmless,
    ),
];
