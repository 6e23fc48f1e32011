//! The database rejects every change that is not an append.

use crate::grounds::{Grounds, fill};
use actum_ledger::Log;
use rusqlite::Connection;

/// AEC-8
#[test]
fn database_rejects_every_update_delete_and_replace() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..5);
    ledger.checkpoint().wait().unwrap().unwrap();
    drop(ledger);
    let before = grounds.verify().unwrap();
    let connection = grounds.foreign();
    let columns = "seq, kind, time, run, workspace, request, attempt, status, nodes, body";
    let entry = |verb: &str, seq: &str| {
        format!(
            "{verb} INTO entry SELECT {seq}, kind, time, run, workspace, request, attempt, \
                 status, nodes, body FROM entry WHERE seq = 1"
        )
    };
    let statements = [
        "UPDATE entry SET time = 0 WHERE seq = 1".to_owned(),
        "UPDATE OR REPLACE entry SET seq = 2 WHERE seq = 1".to_owned(),
        "UPDATE entry SET rowid = 100 WHERE seq = 1".to_owned(),
        "DELETE FROM entry WHERE seq = 10".to_owned(),
        "DELETE FROM entry".to_owned(),
        entry("INSERT OR REPLACE", "seq"),
        entry("REPLACE", "10"),
        entry("INSERT", "12"),
        entry("INSERT", "-1"),
        entry("INSERT", "NULL"),
        format!(
            "INSERT INTO entry ({columns}) SELECT {columns} FROM entry WHERE seq = 1 \
                 ON CONFLICT (seq) DO UPDATE SET time = 0"
        ),
        "UPDATE blob SET bytes = x'00' WHERE number = 0".to_owned(),
        "DELETE FROM blob".to_owned(),
        "REPLACE INTO blob SELECT * FROM blob WHERE number = 0".to_owned(),
        "INSERT OR REPLACE INTO blob SELECT 5, digest, x'00' FROM blob WHERE number = 0".to_owned(),
        "INSERT OR REPLACE INTO blob VALUES (0, x'00', x'00')".to_owned(),
        "INSERT INTO blob VALUES (7, x'00', x'00')".to_owned(),
        "UPDATE checkpoint SET note = ''".to_owned(),
        "DELETE FROM checkpoint".to_owned(),
        "REPLACE INTO checkpoint SELECT size, '' FROM checkpoint".to_owned(),
        "INSERT INTO checkpoint VALUES (3, '')".to_owned(),
        "INSERT INTO checkpoint VALUES (12, '')".to_owned(),
    ];
    for triggers in [true, false] {
        connection.pragma_update(None, "recursive_triggers", triggers).unwrap();
        for statement in &statements {
            let error = connection.execute_batch(statement).unwrap_err();
            let code = error.sqlite_error_code();
            assert_eq!(
                code,
                Some(rusqlite::ErrorCode::ConstraintViolation),
                "{statement}: {error}"
            );
        }
    }
    assert_eq!(grounds.verify().unwrap(), before);
    assert!(before.is_sound());
}

/// Changes made while the triggers are missing are detected.
#[test]
fn dropped_trigger_is_found() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..2);
    let drop_one = |connection: &Connection| {
        connection.execute_batch("DROP TRIGGER entry_update; CREATE TABLE more (x)").unwrap();
    };
    drop_one(&grounds.foreign());
    let found: Vec<String> =
        grounds.verify().unwrap().findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "the database: the trigger `entry_update` is missing or changed",
            "the database: the table `more` does not belong to a ledger"
        ]
    );
    assert_eq!(grounds.view().size().unwrap(), 5);
}
