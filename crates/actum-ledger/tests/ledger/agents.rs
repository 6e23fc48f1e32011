//! Steps of the agent core in a ledger: lookup, migration of older ledgers, races, and verification.

use std::process::Stdio;

use actum_core::Digest;
use actum_gate::verify_slo_waived;
use actum_ledger::conformance::sample::{SampleStep, slo_waived};
use actum_ledger::verify::{Checks, Receipts, Subject, verify};
use actum_ledger::{
    AgentRefusal, Ledger, LedgerError, Log, NewEntry, Prepared, Refusal, Store, export,
};
use actum_record::agent::CorrelationId;
use actum_record::ledger::{
    AgentEventKind, AgentState, ConfirmationOutcome, EntryFacts, EntryKind,
};
use actum_record::merkle::leaf_hash;

use crate::grounds::{Grounds, WITHOUT_AGENT, child, fill, given_ledger};
use crate::memory::MemoryStore;

use AgentEventKind::{DispatchStarted, NoDispatch, Outcome, RetryStarted};
use AgentState::{AwaitingConfirm, Escalated, Failed, Reverted, Started, Succeeded};

pub(crate) fn put(ledger: &Ledger, entries: Vec<NewEntry>) {
    ledger.append(entries).wait().unwrap();
}

/// Requests for entries 1 to 15. One step waits, starts, is rolled back and succeeds; one escalation is resolved and another is
/// not. A failed step, an open step and a waiver follow.
fn requests() -> Vec<Vec<NewEntry>> {
    let event = |number, event, state| {
        let slow = SampleStep { dispatch_us: number * 1_250_000, ..SampleStep::numbered(number) };
        vec![slow.event(event, state).unwrap()]
    };
    let escalated = event(2, NoDispatch, Escalated);
    let leaf = leaf_hash(&escalated.first().unwrap().body);
    let harmless = SampleStep { impactful: false, ..SampleStep::numbered(4) };
    let started = harmless.event(DispatchStarted, Started).unwrap();
    let access = harmless.started().unwrap().remove(0);
    vec![
        event(1, NoDispatch, AwaitingConfirm),
        SampleStep::numbered(1).started().unwrap(),
        event(1, Outcome, Reverted),
        event(1, RetryStarted, Started),
        event(1, Outcome, Succeeded),
        escalated,
        vec![SampleStep::numbered(2).resolved(leaf).unwrap()],
        event(3, NoDispatch, Escalated),
        vec![access, started],
        vec![harmless.event(Outcome, Failed).unwrap()],
        SampleStep::numbered(5).started().unwrap(),
        vec![slo_waived().unwrap()],
    ]
}

/// Creates a settled ledger with these entries and small pages.
pub(crate) fn with_agents() -> Grounds {
    let grounds = Grounds::new();
    grounds.make_small();
    let ledger = grounds.ledger();
    requests().into_iter().for_each(|entries| put(&ledger, entries));
    drop(ledger);
    grounds.settle();
    grounds
}

fn goal(number: u64) -> CorrelationId {
    format!("goal-{number}").parse().unwrap()
}

/// AEC-8, AEC-9: the chain of a goal is found through an index, regardless of the length of the log.
#[test]
fn steps_and_goals_are_found_without_a_log_scan() {
    let grounds = with_agents();
    let foreign = grounds.foreign();
    let plan = |sql: &str| -> Vec<String> {
        let mut statement = foreign.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map((), |row| row.get(3)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let key = "tenant_id = 'a' AND correlation_id = 'b'";
    for (sql, index) in [
        (
            format!("SELECT max(seq) FROM agent_execution_ledger WHERE {key} AND step_id = 'c'"),
            "agent_execution_ledger_idempotency",
        ),
        (
            format!(
                "SELECT seq FROM agent_execution_ledger WHERE {key} AND step_id = 'c' \
                 AND event = 'DISPATCH_STARTED'"
            ),
            "agent_execution_ledger_",
        ),
        (
            "SELECT seq FROM agent_execution_ledger WHERE tenant_id = 'a' AND plan_id = 'b' \
             AND step_id = 'c' ORDER BY seq DESC LIMIT 1"
                .to_owned(),
            "COVERING INDEX agent_execution_ledger_plan",
        ),
        (
            format!("SELECT seq FROM agent_execution_ledger WHERE {key} ORDER BY created_at"),
            "agent_execution_ledger_replay",
        ),
        (
            "SELECT seq FROM agent_execution_ledger WHERE state = 'ESCALATED'".to_owned(),
            "agent_execution_ledger_escalated",
        ),
        (
            "SELECT decision_key FROM agent_execution_ledger WHERE event = 'OUTCOME' \
             AND state = 'SUCCEEDED' GROUP BY decision_key HAVING count(*) > 1"
                .to_owned(),
            "COVERING INDEX agent_execution_ledger_effect",
        ),
        (
            format!("SELECT 1 FROM agent_execution_access_decision_ledger WHERE {key}"),
            "agent_execution_access_decision_ledger_replay",
        ),
        (
            format!("SELECT 1 FROM agent_execution_confirmation_ledger WHERE {key}"),
            "agent_execution_confirmation_ledger_replay",
        ),
        (
            format!("SELECT 1 FROM agent_intake_resolved_ledger WHERE {key}"),
            "agent_intake_resolved_ledger_replay",
        ),
        (
            "SELECT last_seq FROM agent_execution_current WHERE state = 'STARTED'".to_owned(),
            "agent_execution_current_open",
        ),
        (
            "SELECT seq FROM entry WHERE kind = 'SLO_WAIVED' AND seq < 9 ORDER BY seq DESC"
                .to_owned(),
            "entry_slo_waived",
        ),
    ] {
        let found = plan(&sql);
        assert!(found.iter().all(|step| step.contains(index)), "{sql}: {found:?}");
    }
    let view = grounds.view();
    assert_eq!(view.agent_entries(&goal(1)).unwrap(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(view.agent_entries(&goal(2)).unwrap(), [8, 9]);
    assert_eq!(view.open_agent_steps().unwrap().len(), 1);
    assert_eq!(view.unresolved_escalations().unwrap()[0].index, 10);
    assert_eq!(view.newest_of_kind(EntryKind::SloWaived, None, 9).unwrap(), [17]);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{result:?}");
}

/// AEC-8: a store in memory has the same rows as the database.
#[test]
fn memory_store_has_the_same_agent_steps_as_the_database() {
    let grounds = with_agents();
    let view = grounds.view();
    let mut store = MemoryStore::new();
    for entry in view.entries(0, 99).unwrap() {
        let facts = EntryFacts::parse(entry.kind, &entry.body).unwrap();
        let blobs = facts.blobs.iter().map(|digest| view.blob(digest).unwrap().unwrap()).collect();
        let new = NewEntry { kind: entry.kind, body: entry.body, blobs };
        store.append(&[vec![Prepared::new(new).unwrap()]]).unwrap().remove(0).unwrap();
    }
    let step = "step-1".parse().unwrap();
    for number in 0..7 {
        let plan = format!("plan-{number}").parse().unwrap();
        let goal = goal(number);
        assert_eq!(store.agent_step(&goal, &step).unwrap(), view.agent_step(&goal, &step).unwrap());
        assert_eq!(store.agent_entries(&goal).unwrap(), view.agent_entries(&goal).unwrap());
        let (here, there) = (store.agent_current(&plan, &step), view.agent_current(&plan, &step));
        assert_eq!(here.unwrap(), there.unwrap());
    }
    assert_eq!(store.open_agent_steps().unwrap(), view.open_agent_steps().unwrap());
    assert_eq!(store.unresolved_escalations().unwrap(), view.unresolved_escalations().unwrap());
    let time = SampleStep::numbered(0).time;
    assert_eq!(store.agent_slo(time).unwrap(), view.agent_slo(time).unwrap());
    assert_eq!(store.count_duplicate_effects().unwrap(), view.count_duplicate_effects().unwrap());
    assert_eq!(store.tenant().unwrap(), view.tenant().unwrap());
}

/// AEC-8: a ledger of schema 7 can be read unchanged, and its next entry adds the tables.
#[test]
fn ledger_without_agent_tables_is_read_and_migrated() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..2);
    let older = format!("{WITHOUT_AGENT} PRAGMA user_version = 458759");
    grounds.foreign().execute_batch(&older).unwrap();
    grounds.settle();
    let before = std::fs::read(grounds.database()).unwrap();
    let view = grounds.view();
    let (step, time) = ("step-1".parse().unwrap(), SampleStep::numbered(0).time);
    assert_eq!(view.agent_step(&goal(1), &step).unwrap(), None);
    assert_eq!(view.agent_current(&"plan-1".parse().unwrap(), &step).unwrap(), None);
    assert_eq!(view.agent_entries(&goal(1)).unwrap(), Vec::<u64>::new());
    assert_eq!(view.open_agent_steps().unwrap(), []);
    assert_eq!(view.unresolved_escalations().unwrap(), []);
    assert_eq!(view.agent_slo(time).unwrap().total, 0);
    assert_eq!(view.count_duplicate_effects().unwrap(), 0);
    assert_eq!(view.newest_of_kind(EntryKind::SloWaived, None, 9).unwrap(), Vec::<u64>::new());
    drop(view);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 5, "{result:?}");
    assert_eq!(std::fs::read(grounds.database()).unwrap(), before);
    put(&grounds.ledger(), SampleStep::numbered(1).started().unwrap());
    assert_eq!(grounds.view().open_agent_steps().unwrap().len(), 1);
    let version = "SELECT user_version FROM pragma_user_version";
    let version = grounds.foreign().query_row(version, (), |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(version, (8 << 16) | 8);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 8, "{result:?}");
}

/// AEC-7, AEC-8: an entry that no store would accept is detected, regardless of which program wrote the file.
#[test]
fn out_of_order_agent_core_entries_are_found() {
    for (index, message) in [
        (
            4,
            "the effect of step `step-1` of goal `goal-1` was already started in entry 4 with the same",
        ),
        (5, "OUTCOME cannot move step `step-1` of goal `goal-1` from SUCCEEDED to REVERTED"),
        (6, "RETRY_STARTED cannot move step `step-1` of goal `goal-1` from SUCCEEDED to STARTED"),
        (9, "was already resolved in entry 9"),
        (
            1,
            "NO_DISPATCH cannot move step `step-1` of goal `goal-1` from SUCCEEDED to AWAITING_CONFIRM",
        ),
    ] {
        let grounds = with_agents();
        let replay = format!(
            "INSERT INTO entry SELECT 18, kind, time, run, workspace, request, attempt, status, \
             nodes, body FROM entry WHERE seq = {index}"
        );
        grounds.foreign().execute_batch(&replay).unwrap();
        grounds.settle();
        let result = grounds.verify().unwrap();
        let findings: Vec<String> = result.findings.iter().map(ToString::to_string).collect();
        let is_reported = |line: &String| line.starts_with("entry 18: ") && line.contains(message);
        assert!(findings.iter().any(is_reported), "{index}: {findings:?}");
    }
}

/// AEC-17: the signature of a waiver is checked even under a checkpoint. No other entry of the agent core is signed.
#[test]
fn waiver_signatures_are_always_checked() {
    let grounds = with_agents();
    let ledger = grounds.ledger();
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    let mut checked = Vec::new();
    let note = &mut grounds.check();
    let entry = &mut |kind, body: &[u8]| {
        checked.push(kind);
        let verified = verify_slo_waived(body, grounds.keys.keyring());
        verified.map(drop).map_err(|problem| problem.to_string())
    };
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    let result = verify(&grounds.view(), &mut checks, &mut |_| {}).unwrap();
    let subjects: Vec<_> = result.findings.iter().map(|it| it.subject.clone()).collect();
    assert_eq!(subjects, [Subject::Entry(17)], "no key signed the sample");
    assert_eq!(checked, [EntryKind::SloWaived]);
}

/// AEC-9: an export contains the entries of the agent core with their documents.
#[test]
fn export_contains_agent_steps_with_their_documents() {
    let grounds = with_agents();
    let mut bytes = Vec::new();
    export::export(&grounds.view(), &mut bytes).unwrap();
    let (note, entry) = (&mut |_: &str| Ok(()), &mut |_, _: &[u8]| Ok(()));
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    let result = export::verify(&mut &*bytes, &mut checks, None, &mut |_| {}).unwrap();
    assert!(result.is_sound() && result.entries == 18, "{result:?}");
    assert_eq!(result.documents, 11);
}

/// AEC-8: a full log still accepts the outcome of a dispatch.
#[test]
fn full_log_accepts_step_outcomes_but_no_starts() {
    let grounds = with_agents();
    let ledger = grounds.ledger();
    let (open, new) = (SampleStep::numbered(5), SampleStep::numbered(9));
    let refused = |entries: Vec<NewEntry>| {
        let error = ledger.append(entries).wait().unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::LogFull { .. })), "{error}");
    };
    ledger.limit(1);
    refused(new.started().unwrap());
    refused(vec![new.answered(ConfirmationOutcome::Rejected).unwrap()]);
    refused(vec![new.event(NoDispatch, Escalated).unwrap()]);
    refused(vec![new.event(RetryStarted, Started).unwrap()]);
    let escalated = grounds.view().unresolved_escalations().unwrap().remove(0).leaf;
    for entry in [
        open.event(AgentEventKind::NoEffect, Started).unwrap(),
        open.event(AgentEventKind::ReplayMismatch, Started).unwrap(),
        open.event(Outcome, Succeeded).unwrap(),
        SampleStep::numbered(3).resolved(escalated).unwrap(),
        slo_waived().unwrap(),
    ] {
        put(&ledger, vec![entry]);
    }
    assert_eq!(grounds.view().open_agent_steps().unwrap(), []);
}

/// Number of steps for which the processes compete.
const STEPS: u64 = 30;

/// Starts each step with a key of its own, and prints how many steps it started.
#[test]
#[ignore = "a child runs it"]
fn child_that_starts_steps() {
    let process: u64 = std::env::var("ACTUM_TEST_FIRST").unwrap().parse().unwrap();
    let ledger = given_ledger();
    let mut started = 0;
    for number in 0..STEPS {
        let step = SampleStep::numbered(number);
        let step = match process {
            0 | 1 => step,
            _ => SampleStep { key: Digest::of(&process.to_be_bytes()), ..step },
        };
        match ledger.append(step.started().unwrap()).wait() {
            Ok(_) => started += 1,
            Err(LedgerError::Refused {
                refusal: Refusal::Agent(AgentRefusal::StepClaimed { .. }),
            }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    println!("\nstarted {started}");
}

/// AEC-7: only one process starts the effect of a step, even if each uses a different key.
#[test]
fn racing_processes_start_a_step_once() {
    let grounds = Grounds::new();
    drop(grounds.ledger().origin().unwrap());
    let children: Vec<_> = (0..4u64)
        .map(|process| {
            child("agents::child_that_starts_steps", grounds.home.path())
                .env("ACTUM_TEST_FIRST", process.to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let started = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let stdout = String::from_utf8(output.stdout).unwrap();
        let started = stdout.lines().find_map(|line| line.strip_prefix("started ")).unwrap();
        started.parse::<u64>().unwrap()
    });
    assert_eq!(started.sum::<u64>(), STEPS);
    assert_eq!(grounds.view().open_agent_steps().unwrap().len() as u64, STEPS);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 3 * STEPS + 1, "{result:?}");
}

/// AEC-7: two handles within one process compete for one step.
#[test]
fn racing_handles_in_one_process_start_a_step_once() {
    let grounds = Grounds::new();
    let handles = [grounds.ledger(), grounds.ledger()];
    drop(handles[0].origin().unwrap());
    let start = |ledger: &Ledger| {
        (0..STEPS)
            .filter(|number| {
                let step = SampleStep::numbered(*number);
                ledger.append(step.started().unwrap()).wait().is_ok()
            })
            .count()
    };
    let started: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            handles.iter().map(|ledger| scope.spawn(move || start(ledger))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(started as u64, STEPS);
}
