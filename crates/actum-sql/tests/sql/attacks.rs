//! Queries that try to reach past their database.

use actum_sql::Report;

use crate::world::World;

/// Statements with `{secret}`, a file that only this user reads, and `{out}`, a file outside of the directory that must stay absent.
const ATTACKS: &[&str] = &[
    // Reading files.
    "CREATE TABLE x AS SELECT * FROM read_text('{secret}')",
    "CREATE TABLE x AS SELECT * FROM read_blob('{secret}')",
    "CREATE TABLE x AS SELECT * FROM read_csv('{secret}')",
    "CREATE TABLE x AS SELECT * FROM read_csv_auto('{secret}')",
    "CREATE TABLE x AS SELECT * FROM sniff_csv('{secret}')",
    "CREATE TABLE x AS SELECT * FROM read_json('{secret}')",
    "CREATE TABLE x AS SELECT * FROM read_parquet('{secret}')",
    "CREATE TABLE x AS SELECT * FROM parquet_metadata('{secret}')",
    "CREATE TABLE x AS SELECT * FROM '{secret}'",
    "CREATE TABLE x AS SELECT * FROM glob('/etc/*')",
    "CREATE TABLE x AS FROM read_text('/etc/passwd')",
    "CREATE TABLE x AS FROM read_text('/proc/self/environ')",
    "CREATE TABLE x AS FROM read_text('/proc/self/cmdline')",
    "CREATE TABLE x AS FROM read_text('/proc/1/maps')",
    "CREATE VIEW x AS FROM read_text('{secret}'); SELECT * FROM x",
    "CREATE MACRO x() AS TABLE FROM read_text('{secret}'); FROM x()",
    "INSERT INTO customer SELECT 9, content, 0 FROM read_text('{secret}')",
    "COPY customer FROM '{secret}'",
    "SELECT getenv('HOME')",
    // Writing files.
    "COPY customer TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT parquet)",
    "COPY customer TO PROGRAM 'sh -c id'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '/etc'",
    // Other databases.
    "ATTACH '{out}' AS other",
    "ATTACH '{secret}' AS other (READ_ONLY)",
    "ATTACH ':memory:' AS other",
    "COPY FROM DATABASE shop TO memory",
    "DETACH shop",
    "USE memory",
    // Settings and extensions.
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET enable_external_access",
    "SET allowed_paths = ['{secret}']",
    "SET temp_directory = '/tmp'",
    "SET GLOBAL memory_limit = '100GB'",
    "SET custom_extension_repository = 'http://127.0.0.1'",
    "PRAGMA enable_external_access = true",
    "PRAGMA threads = 100",
    "PRAGMA enable_profiling = 'json'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "FORCE INSTALL spatial FROM 'http://127.0.0.1/'",
    "UPDATE EXTENSIONS",
    "CALL enable_logging()",
    "CALL pragma_version()",
    // Statements in statements.
    "PREPARE p AS SELECT 1",
    "PREPARE p AS COPY customer TO '{out}'; EXECUTE p",
    "EXECUTE p",
    "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "SELECT * FROM query('COPY customer TO ''{out}''')",
    "SELECT * FROM query_table('{secret}')",
    "EXPLAIN ANALYZE COPY customer TO '{out}'",
    "PIVOT customer ON name USING sum(balance); COPY customer TO '{out}'",
    "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
    "SELECT * FROM sqlite_scan('{secret}', 't')",
    "SELECT * FROM read_text('http://127.0.0.1:1/')",
    "SELECT * FROM read_csv('s3://bucket/key')",
];

/// EX-11, EX-20: no statement reads or writes anything but its database; each that tries is refused.
#[test]
fn no_statement_reaches_past_its_database() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (secret, out) = (outside.path().join("secret.csv"), outside.path().join("out"));
    std::fs::write(&secret, "canary,canary\ncanary,canary\n").unwrap();
    let world = World::new();
    for attack in ATTACKS {
        let attack = attack
            .replace("{secret}", secret.to_str().unwrap())
            .replace("{out}", out.to_str().unwrap());
        // An error of the host is one of ours.
        let report = world.run(&attack).unwrap_or_else(|error| panic!("{attack}: {error}")).report;
        let Report::Failed(failure) = report else { panic!("{attack} ran") };
        assert!(!failure.message.contains("canary"), "{attack}: {failure:?}");
        assert!(!out.exists(), "{attack}");
    }
    let inside: Vec<_> = std::fs::read_dir(world.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with(crate::world::DATABASE))
        .collect();
    assert_eq!(inside, [""; 0]);
    assert_eq!(world.rows("SELECT * FROM customer"), 3);
}
