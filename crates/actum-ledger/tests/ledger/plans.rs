//! Plans in a ledger: their table is rebuilt for older ledgers and after outside changes.

use crate::grounds::{Grounds, WITHOUT_AGENT, fill};
use actum_core::RunId;
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::verify::Subject;
use actum_ledger::{Appended, Ledger, Log, NewEntry};
use actum_record::ledger::Answer;

fn put(ledger: &Ledger, entry: NewEntry) -> (u64, actum_core::Digest) {
    let Appended { index, leaf } = ledger.append(vec![entry]).wait().unwrap().remove(0);
    (index, leaf)
}

/// Creates a ledger with four plans: carried out, denied, approved and waiting.
fn with_plans() -> Grounds {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let answers = [Some(Answer::Approved), Some(Answer::Denied), Some(Answer::Approved), None];
    for (number, answer) in (10..).zip(answers) {
        let plan = SampleRun::numbered(number, 0);
        let queued = put(&ledger, plan.queued().unwrap());
        let Some(answer) = answer else { continue };
        let answered = put(&ledger, plan.answered(answer, queued).unwrap());
        if number == 10 {
            let run = plan.approved(RunId::from_random(99), answered);
            put(&ledger, run.started().unwrap());
        }
    }
    drop(ledger);
    grounds.settle();
    grounds
}

/// AA-5, AEC-8
#[test]
fn plan_rows_are_verified_against_their_entries() {
    let grounds = with_plans();
    let sound = grounds.verify().unwrap();
    assert!(sound.is_sound(), "{sound:?}");
    let plan = SampleRun::numbered(10, 0).run;
    for (column, value) in [
        ("workspace", "1"),
        ("queued", "4"),
        ("answer", "'denied'"),
        ("answer", "NULL"),
        ("answer", "'perhaps'"),
        ("answered", "1"),
        ("started", "NULL"),
        ("open", "1"),
        ("open", "2"),
        ("plan", "plan + 1"),
    ] {
        let grounds = with_plans();
        let change = format!("UPDATE plan SET {column} = {value} WHERE queued = 3");
        grounds.foreign().execute_batch(&change).unwrap();
        grounds.settle();
        let result = grounds.verify().unwrap();
        let is_reported = |subject: &Subject| matches!(subject, Subject::Plan(found) if *found == plan || column == "plan");
        assert!(result.findings.iter().any(|it| is_reported(&it.subject)), "{change}: {result:?}");
    }
    for change in [
        "DELETE FROM plan WHERE queued = 3",
        "DELETE FROM plan",
        "INSERT INTO plan SELECT plan + 1, workspace, queued, NULL, NULL, NULL, 1 FROM plan LIMIT 1",
        "DROP INDEX plan_open; CREATE INDEX plan_open ON plan (workspace) WHERE open = 1",
    ] {
        let grounds = with_plans();
        grounds.foreign().execute_batch(change).unwrap();
        grounds.settle();
        assert!(!grounds.verify().unwrap().is_sound(), "{change}");
    }
}

/// A ledger without the plan table can be read as it is, and the table is added on the first write.
#[test]
fn ledger_without_the_plan_table_is_migrated_on_first_write() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..2);
    let older = "DROP TABLE plan; DROP INDEX entry_kind; DROP INDEX entry_alert; DROP INDEX entry_forgotten; \
                 DROP INDEX entry_lease; DROP TABLE lease; DROP TABLE file_task; PRAGMA user_version = 65537";
    grounds.foreign().execute_batch(&format!("{WITHOUT_AGENT} {older}")).unwrap();
    grounds.settle();
    let before = std::fs::read(grounds.database()).unwrap();
    let view = grounds.view();
    assert_eq!(view.open_plans().unwrap(), []);
    assert_eq!(view.plan(SampleRun::numbered(1, 0).run).unwrap(), None);
    drop(view);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 5, "{result:?}");
    assert_eq!(std::fs::read(grounds.database()).unwrap(), before);
    let (one, two) = (grounds.ledger(), grounds.ledger());
    put(&one, SampleRun::numbered(8, 0).queued().unwrap());
    put(&two, SampleRun::numbered(9, 0).queued().unwrap());
    assert_eq!(grounds.view().open_plans().unwrap().len(), 2);
    let version = "SELECT user_version FROM pragma_user_version";
    let version = grounds.foreign().query_row(version, (), |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(version, (8 << 16) | 8);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 7, "{result:?}");
}
