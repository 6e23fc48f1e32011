//! The shortened examples of the specification, section 12, are subsets of the written documents (EX-13).

use actum_core::Digest;
use actum_core::plain_id::PlainId;
use actum_task::report::{
    ActionDetails, ActionOutcome, CleanText, CompletedAction, CompletedWord, ConfinementDetails,
    EngineDetails, ErrorDetails, ErrorObject, ErrorReport, ErrorStatus, ExecutionReport,
    FailedAction, FailedWord, RunDetails, RunEnd, RunFacts, SkippedAction, SqlDetails,
    StatementDetails, Violation,
};
use actum_task::{ErrorCategory, RecoveryAction};
use serde_json::Value;

pub(crate) fn clean(text: &str) -> CleanText {
    CleanText::new(text, &|_| Vec::new())
}

pub(crate) fn id(text: &str) -> PlainId {
    text.parse().unwrap()
}

pub(crate) fn facts(report: &str, plan: &str) -> RunFacts {
    RunFacts {
        report_id: id(report),
        plan_id: id(plan),
        started_at: "2026-02-03T15:03:22.000000Z".parse().unwrap(),
        completed_at: "2026-02-03T15:03:23.234567Z".parse().unwrap(),
        rollback_manifest_id: Some(id("manifest-003")),
        more: RunDetails::default(),
    }
}

pub(crate) fn completed(action: &str, output: &str) -> ActionOutcome {
    ActionOutcome::Completed(CompletedAction {
        action_id: clean(action),
        status: CompletedWord::Success,
        started_at: "2026-02-03T15:03:22.000000Z".parse().unwrap(),
        completed_at: "2026-02-03T15:03:22.500000Z".parse().unwrap(),
        output: clean(output),
        details: None,
    })
}

pub(crate) fn failed(action: &str, code: u16, message: &str) -> ActionOutcome {
    ActionOutcome::Failed(FailedAction {
        action_id: clean(action),
        status: FailedWord::Failed,
        error_code: code,
        error_message: clean(message),
        stack_trace: None,
        details: None,
    })
}

pub(crate) fn skipped(action: &str) -> ActionOutcome {
    let reason = clean("Dependency failed");
    ActionOutcome::Skipped(SkippedAction { action_id: clean(action), reason })
}

pub(crate) fn rejection() -> ErrorReport {
    let violation = Violation {
        action_id: clean("a001"),
        target: clean("agent/agent_rules.md"),
        reason: clean("Protected file: agent system documentation"),
    };
    ErrorReport {
        report_id: id("report-002"),
        plan_id: Some(id("plan-002")),
        status: ErrorStatus::Rejected,
        error: ErrorObject {
            error_id: PlainId::random([7; 16]),
            error_code: 3100,
            error_category: ErrorCategory::ProtectedFile,
            error_type: "PROTECTED_FILE_VIOLATION".to_owned(),
            message: clean("Plan contains protected file modifications"),
            details: ErrorDetails { violations: vec![violation], ..ErrorDetails::default() },
            recovery_action: RecoveryAction::Rejected,
            timestamp: "2026-02-03T15:03:22.000000Z".parse().unwrap(),
        },
        other_errors: Vec::new(),
        run: None,
    }
}

/// Returns whether `whole` contains all of `part` at the same paths.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|whole| is_part(value, whole))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len()
                && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (part, whole) => part == whole,
    }
}

fn assert_part(part: &str, whole: &[u8]) {
    let part: Value = serde_json::from_str(part).unwrap();
    let whole: Value = serde_json::from_slice(whole).unwrap();
    assert!(is_part(&part, &whole), "{part:#}\nis not in\n{whole:#}");
}

/// EX-11, EX-14: a report round-trips with and without the details of an SQL step.
#[test]
fn report_round_trips_with_sql_step_details() {
    let digest = Digest::of(b"x");
    let statement = || StatementDetails { kind: clean("INSERT"), rows: 2 };
    let (statements, statements_left_out) = StatementDetails::list(
        std::iter::repeat_with(statement).take(1002).collect::<Vec<_>>().into_iter(),
    );
    let details = ActionDetails::Sql(Box::new(SqlDetails {
        engine: EngineDetails { name: clean("DuckDB"), version: clean("v2.0.1") },
        library_sha256: digest,
        query_sha256: digest,
        parameters_sha256: None,
        database_sha256_before: digest,
        database_sha256_after: digest,
        statements,
        statements_left_out,
        rows_changed: 2004,
        peak_memory_bytes: 1 << 25,
        process_ms: 40,
        confinement: ConfinementDetails { tier: clean("N"), landlock: Some(6), is_root: true },
        was_kept: false,
    }));
    let ActionOutcome::Completed(action) = completed("a001", "SQL") else { panic!() };
    let with =
        ActionOutcome::Completed(CompletedAction { details: Some(details), ..action.clone() });
    let report = |action| {
        ExecutionReport::new(facts("report-001", "plan-001"), vec![action], RunEnd::Finished)
    };
    let (with, without) = (report(with), report(ActionOutcome::Completed(action)));
    let written = with.write().unwrap();
    assert_eq!(ExecutionReport::read(&written).unwrap(), with);
    let value: Value = serde_json::from_slice(&written).unwrap();
    let sql = &value["actions_completed"][0]["details"]["sql"];
    assert_eq!(
        (sql["statements"].as_array().unwrap().len(), &sql["statements_left_out"]),
        (1000, &2.into())
    );
    assert!(!String::from_utf8(without.write().unwrap()).unwrap().contains("details"));
    // The signature covers the details of an action together with its outcome.
    let none = std::collections::BTreeSet::new();
    assert_ne!(with.outcomes_digest(&none).unwrap(), without.outcomes_digest(&none).unwrap());
}

/// EX-14
#[test]
fn report_contains_the_success_example() {
    let action = completed("a001", "Property 'new_field' added successfully");
    let report =
        ExecutionReport::new(facts("report-001", "plan-001"), vec![action], RunEnd::Finished);
    let example = r#"{
        "report_id": "report-001",
        "plan_id": "plan-001",
        "status": "SUCCESS",
        "actions_summary": {"total": 1, "completed": 1, "failed": 0},
        "actions_completed": [{
            "action_id": "a001",
            "status": "SUCCESS",
            "output": "Property 'new_field' added successfully"
        }]
    }"#;
    assert_part(example, &report.write().unwrap());
}

/// EX-18
#[test]
fn error_report_contains_the_rejection_example() {
    let example = r#"{
        "report_id": "report-002",
        "plan_id": "plan-002",
        "status": "REJECTED",
        "error_code": 3100,
        "error_category": "PROTECTED_FILE_ERROR",
        "error_type": "PROTECTED_FILE_VIOLATION",
        "message": "Plan contains protected file modifications",
        "details": {"violations": [{
            "action_id": "a001",
            "target": "agent/agent_rules.md",
            "reason": "Protected file: agent system documentation"
        }]},
        "recovery_action": "REJECTED"
    }"#;
    assert_part(example, &rejection().write().unwrap());
}

/// EX-14
#[test]
fn report_contains_the_rollback_example() {
    let actions =
        vec![completed("a001", "done"), failed("a002", 2001, "File not found"), skipped("a003")];
    let report = ExecutionReport::new(facts("report-003", "plan-003"), actions, RunEnd::RolledBack);
    let example = r#"{
        "report_id": "report-003",
        "status": "ROLLED_BACK",
        "actions_summary": {"total": 3, "completed": 1, "failed": 1, "skipped": 1},
        "actions_failed": [{
            "action_id": "a002", "error_code": 2001, "error_message": "File not found"
        }],
        "rollback_performed": true,
        "rollback_manifest_id": "manifest-003"
    }"#;
    assert_part(example, &report.write().unwrap());
}

/// EX-14, EX-22
#[test]
fn status_follows_from_action_outcomes_and_run_end() {
    let (done, wrong, left) = (|| completed("a", ""), || failed("b", 2001, ""), || skipped("c"));
    let status = |actions, end| {
        let report = ExecutionReport::new(facts("r", "p"), actions, end);
        let again = ExecutionReport::read(&report.write().unwrap()).unwrap();
        assert_eq!(again, report);
        (report.status().as_str(), report.rollback_performed())
    };
    assert_eq!(status(vec![], RunEnd::Finished), ("SUCCESS", false));
    assert_eq!(status(vec![done()], RunEnd::Finished), ("SUCCESS", false));
    assert_eq!(status(vec![done(), wrong(), left()], RunEnd::Finished), ("PARTIAL", false));
    assert_eq!(status(vec![wrong(), left()], RunEnd::Finished), ("FAILED", false));
    assert_eq!(status(vec![done(), wrong()], RunEnd::RollbackFailed), ("FAILED", false));
    assert_eq!(status(vec![done(), wrong()], RunEnd::RolledBack), ("ROLLED_BACK", true));
    assert_eq!(status(vec![done(), left()], RunEnd::Cancelled), ("CANCELLED", true));
    assert_eq!(status(vec![left()], RunEnd::Cancelled), ("CANCELLED", false));
}
