//! Alerts in a ledger: lookup, migration of older ledgers, and detection of outside changes.

use crate::grounds::{Grounds, WITHOUT_AGENT, fill};
use actum_ledger::Log;
use actum_ledger::conformance::sample::{alert_raised, alert_seen};
use actum_ledger::verify::Subject;
use actum_record::ledger::EntryKind;

const KINDS: [EntryKind; 2] = [EntryKind::AlertRaised, EntryKind::AlertSeen];

/// Creates a ledger with a run and two alerts, one of which was marked as seen.
fn with_alerts() -> Grounds {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let raised = vec![alert_raised(1).unwrap(), alert_raised(2).unwrap()];
    let raised = ledger.append(raised).wait().unwrap().pop().unwrap();
    let seen = alert_seen((raised.index, raised.leaf)).unwrap();
    ledger.append(vec![seen]).wait().unwrap();
    drop(ledger);
    grounds.settle();
    grounds
}

/// EX-18: the lookup uses only the index, regardless of the length of the log.
#[test]
fn newest_alerts_are_found_by_index_alone() {
    let grounds = with_alerts();
    let foreign = grounds.foreign();
    for kind in KINDS {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT seq FROM entry WHERE kind = '{}' AND seq < ? ORDER BY seq DESC LIMIT ?",
            kind.as_str()
        );
        let plan: String = foreign.query_row(&sql, [9, 9], |row| row.get(3)).unwrap();
        assert!(plan.contains("COVERING INDEX entry_alert (kind=?"), "{plan}");
    }
    drop(foreign);
    let view = grounds.view();
    assert_eq!(view.newest_of_kind(EntryKind::AlertRaised, None, 9).unwrap(), [4, 3]);
    assert_eq!(view.newest_of_kind(EntryKind::AlertSeen, None, 9).unwrap(), [5]);
    assert!(grounds.verify().unwrap().is_sound());
}

/// EX-18: a ledger without alerts can be read unchanged, and the first write adds the index.
#[test]
fn ledger_without_the_alert_index_is_read_and_migrated() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..2);
    let older = "DROP INDEX entry_alert; DROP INDEX entry_forgotten; DROP INDEX entry_lease; DROP TABLE lease; DROP TABLE file_task; PRAGMA user_version = 196611";
    grounds.foreign().execute_batch(&format!("{WITHOUT_AGENT} {older}")).unwrap();
    grounds.settle();
    let before = std::fs::read(grounds.database()).unwrap();
    for kind in KINDS {
        assert_eq!(grounds.view().newest_of_kind(kind, None, 9).unwrap(), Vec::<u64>::new());
    }
    assert!(grounds.verify().unwrap().is_sound());
    assert_eq!(std::fs::read(grounds.database()).unwrap(), before);
    grounds.ledger().append(vec![alert_raised(1).unwrap()]).wait().unwrap();
    assert_eq!(grounds.view().newest_of_kind(EntryKind::AlertRaised, None, 9).unwrap(), [5]);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 6, "{result:?}");
}

/// EX-18, AEC-8: a change of an alert by another program is detected.
#[test]
fn alert_rows_are_verified_against_their_entries() {
    let after = |change: &str| {
        let grounds = with_alerts();
        let change = format!(
            "DROP TRIGGER entry_update; {change}; {}",
            "CREATE TRIGGER entry_update BEFORE UPDATE ON entry\n\
             BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
        );
        grounds.foreign().execute_batch(&change).unwrap();
        grounds.settle();
        grounds.verify().unwrap()
    };
    for change in [
        "UPDATE entry SET kind = 'ALERT_SEEN' WHERE seq = 3",
        "UPDATE entry SET kind = 'PLAN_REFUSED' WHERE seq = 4",
        "UPDATE entry SET workspace = NULL WHERE seq = 3",
        "UPDATE entry SET body = CAST(replace(body, 'number 1', 'number 9') AS BLOB) WHERE seq = 3",
    ] {
        let result = after(change);
        let is_reported = |subject: &Subject| matches!(subject, Subject::Entry(3..=5));
        assert!(result.findings.iter().any(|it| is_reported(&it.subject)), "{change}: {result:?}");
    }
}
