//! Queries that try to leave their database with features that this engine lacks. Attacks on features it has are in `hostile_sql`.

use actum_sql::Report;

use crate::world::World;

/// Statements in which `{secret}` is a file that only this user can read, and `{out}` is an outside path that must stay absent.
const ATTEMPTS: &[&str] = &[
    "SELECT getenv('HOME')",
    "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
    "SELECT * FROM sqlite_scan('{secret}', 't')",
    "SELECT * FROM read_text('http://127.0.0.1:1/')",
    "SELECT * FROM read_csv('s3://bucket/key')",
    "COPY customer TO PROGRAM 'sh -c id'",
    "COPY FROM DATABASE shop TO memory",
    "VACUUM INTO '{out}'",
    "DETACH shop",
    "USE memory",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "PRAGMA enable_external_access = true",
    "SET allow_unsigned_extensions = true",
    "LOAD httpfs",
    "UPDATE EXTENSIONS",
    "CALL pragma_version()",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "SELECT * FROM query('COPY customer TO ''{out}''')",
    "PIVOT customer ON name USING sum(balance)",
    "WITH x AS (COPY customer TO '{out}') SELECT 1",
    "CREATE TABLE x (a VARCHAR DEFAULT (SELECT content FROM read_text('{secret}')))",
    "CREATE TABLE x (a INTEGER, b VARCHAR AS ((SELECT content FROM read_text('{secret}'))))",
    "CREATE FUNCTION f AS 'sh'",
    "CREATE DATABASE '{out}'",
];

/// EX-11, EX-20: no statement can read or write anything outside its database, and each attempt is rejected.
#[test]
fn no_statement_accesses_anything_outside_its_database() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (secret, out) = (outside.path().join("secret.csv"), outside.path().join("out"));
    std::fs::write(&secret, "canary,canary\ncanary,canary\n").unwrap();
    let world = World::new();
    for attack in ATTEMPTS {
        let attack = attack
            .replace("{secret}", secret.to_str().unwrap())
            .replace("{out}", out.to_str().unwrap());
        // An error on the host side would be a bug in actum.
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
