//! The other documents of a task record the run, are consistent, and round-trip (EX-15, EX-16, EX-24).

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, Status, Timestamp};
use actum_task::report::{
    ActionStatus, Change, ChangeLog, ChangeWord, Checkpoint, DiffSummary, FileAt, FileChange,
    FilePath, LineFacts, ManifestEvent, ManifestFacts, ManifestStatus, NewPath, Phase, Rollback,
    RollbackManifest, RunEnd, StatusEnvelope, StatusUpdate, TaskStatus, TaskStatusFormat,
};
use serde_json::{Value, json};

use crate::examples::{clean, completed, facts, failed, id, rejection, skipped};
use crate::tree::{path, report_name};

fn time() -> Timestamp {
    "2026-02-03T15:03:22.000000Z".parse().unwrap()
}

pub(crate) fn state(content: &[u8], mode: u32) -> FileState {
    let size = u64::try_from(content.len()).unwrap();
    FileState { sha256: Digest::of(content), size, mode: FileMode::new(mode) }
}

fn change(
    number: u8,
    file: &[u8],
    operation: ChangeWord,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Change {
    let at = |content: Option<&[u8]>| match content {
        None => FileAt::ABSENT,
        Some(content) => FileAt::present(state(content, 0o644), time()),
    };
    Change {
        change_id: PlainId::random([number; 16]),
        action_id: clean("a001"),
        file_path: FilePath(path(file)),
        new_path: None,
        operation,
        before_state: at(before),
        after_state: at(after),
        diff_summary: DiffSummary::new(before, after, &|_| Vec::new()),
        timestamp: time(),
    }
}

pub(crate) fn log() -> ChangeLog {
    let mut renamed = change(2, b"a\xff", ChangeWord::Rename, Some(b"1\n"), Some(b"1\n"));
    renamed.new_path = Some(NewPath(path(b"b")));
    ChangeLog {
        log_id: id("log-1"),
        plan_id: id("plan-001"),
        execution_report_id: id("report-001"),
        created_at: time(),
        changes: vec![
            change(1, b"new", ChangeWord::Create, None, Some(b"1\n2\n")),
            renamed,
            change(3, b"b", ChangeWord::Modify, Some(b"1\n"), Some(b"2\n")),
            change(4, b"gone", ChangeWord::Delete, Some(b"1\n"), None),
        ],
    }
}

pub(crate) fn manifest() -> RollbackManifest {
    let checkpoint =
        |name: &str, file: &[u8], change| Checkpoint { id: id(name), path: path(file), change };
    let (kept, left) = (state(b"kept", 0o640), state(b"left", 0o644));
    let checkpoints = vec![
        checkpoint("c1", b"a\xff", FileChange::Modified { kept, left }),
        checkpoint("c2", b"b", FileChange::Created { left }),
        checkpoint("c3", b"c", FileChange::Deleted { kept }),
        checkpoint("c4", b"d", FileChange::Renamed { to: path(b"e"), kept, left: kept }),
        checkpoint("c5", b"f", FileChange::Renamed { to: path(b"g"), kept, left }),
    ];
    let facts = ManifestFacts {
        manifest_id: id("manifest-003"),
        plan_id: id("plan-001"),
        created_at: time(),
        expires_at: Some("2026-03-03T15:03:22.000000Z".parse().unwrap()),
        notes: clean("Stop the server first."),
        run: None,
    };
    RollbackManifest::new(facts, &Rollback::new(checkpoints, Vec::new()).unwrap(), &report_name())
}

pub(crate) fn lines() -> [TaskStatus; 3] {
    let update = StatusUpdate {
        format: TaskStatusFormat::V1,
        sequence: 3,
        task_id: id("task-1"),
        plan_id: Some(id("plan-001")),
        time: time(),
        phase: Phase::Executing,
        action_id: Some(clean("a001")),
        action_status: Some(ActionStatus::Failed),
        error_code: Some(2001),
        actions_done: 0,
        actions_total: 2,
        message: None,
    };
    let line = || LineFacts {
        sequence: 4,
        task_id: id("task-1"),
        time: time(),
        report_directory: Some(report_name().directory()),
    };
    let actions = vec![completed("a", ""), failed("b", 2001, "File not found"), skipped("c")];
    let report =
        actum_task::report::ExecutionReport::new(facts("r", "p"), actions, RunEnd::Finished);
    let error = rejection();
    [
        TaskStatus::Update(update),
        TaskStatus::Final(Box::new(StatusEnvelope::of_report(
            line(),
            &report,
            Some(error.error.clone()),
        ))),
        TaskStatus::Final(Box::new(StatusEnvelope::of_rejection(line(), &error))),
    ]
}

/// EX-15
#[test]
fn change_log_totals_are_correct_and_it_round_trips() {
    let log = log();
    let written = log.write().unwrap();
    assert_eq!(ChangeLog::read(&written).unwrap(), log);
    let value: Value = serde_json::from_slice(&written).unwrap();
    // A file that was both renamed and changed counts once.
    assert_eq!(
        (&value["files_affected_count"], &value["total_lines_changed"]),
        (&json!(3), &json!(5))
    );
    let created = &value["changes"][0];
    assert_eq!(
        created["before_state"],
        json!({"exists": false, "hash": null, "size_bytes": null, "last_modified": null})
    );
    assert_eq!(created["diff_summary"]["preview"], "@@ -0,0 +1,2 @@\n+1\n+2\n");
    let renamed = &value["changes"][1];
    assert_eq!(renamed["operation"], "RENAME");
    assert_eq!(
        (&renamed["file_path"], &renamed["file_path_hex"]),
        (&json!("a\\377"), &json!("61ff"))
    );
    assert_eq!((&renamed["new_path"], &renamed["new_path_hex"]), (&json!("b"), &Value::Null));
    assert_eq!(value["changes"][3]["after_state"]["exists"], false);
}

/// EX-16
#[test]
fn manifest_lists_files_in_script_order() {
    let manifest = manifest();
    let written = manifest.write().unwrap();
    assert_eq!(RollbackManifest::read(&written).unwrap(), manifest);
    let value: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(value["rollback_order"], json!(["c2", "c4", "c1", "c3", "c5"]));
    let directory = "agent/agent_outputs/reports/20260203_150322_plan-001+2";
    assert_eq!(value["auto_rollback_script"], format!("{directory}/rollback.sh"));
    let modified = &value["checkpoints"][2];
    assert_eq!(
        *modified,
        json!({
            "checkpoint_id": "c1",
            "file_path": "a\\377",
            "file_path_hex": "61ff",
            "backup_location": format!("{directory}/backups/a%FF.bak"),
            "original_hash": Digest::of(b"kept"),
            "original_size": 4,
            "original_mode": "0640",
            "left_hash": Digest::of(b"left"),
            "left_mode": "0644",
            "operation_to_reverse": "MODIFY",
            "restore_command": "Replace the file with its backup and set its mode to 0640.",
        })
    );
    let backups: Vec<bool> =
        manifest.checkpoints().iter().map(|it| it.backup_location.is_some()).collect();
    assert_eq!(backups, [false, false, true, true, true]);
}

/// EX-16
#[test]
fn manifest_executes_once_and_expires_only_while_active() {
    let early = ManifestEvent::Reached("2026-03-03T15:03:21.999999Z".parse().unwrap());
    let late = ManifestEvent::Reached("2026-03-03T15:03:22.000000Z".parse().unwrap());
    let back = ManifestEvent::RolledBack;
    let after = |events: &[ManifestEvent]| {
        let manifest = events.iter().fold(manifest(), |manifest, event| manifest.after(*event));
        (manifest.status(), manifest.may_be_collected())
    };
    assert_eq!(after(&[]), (ManifestStatus::Active, false));
    assert_eq!(after(&[early]), (ManifestStatus::Active, false));
    assert_eq!(after(&[late]), (ManifestStatus::Expired, true));
    assert_eq!(after(&[back, late]), (ManifestStatus::Executed, true));
    assert_eq!(after(&[late, back]), (ManifestStatus::Expired, true));
}

/// EX-24, D-1
#[test]
fn each_status_record_is_one_line_and_round_trips() {
    for line in lines() {
        let written = line.write().unwrap();
        assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(written.ends_with(b"\n"));
        assert_eq!(TaskStatus::read(&written).unwrap(), line);
    }
    let [_, partial, rejected] = lines();
    let (TaskStatus::Final(partial), TaskStatus::Final(rejected)) = (partial, rejected) else {
        panic!("two final lines")
    };
    assert_eq!((partial.outcome, rejected.outcome), (Status::Failed, Status::Rejected));
}

/// EX-24
#[test]
fn status_without_phase_status_or_outcome_is_rejected() {
    for (line, name) in lines().into_iter().zip(["phase", "status", "outcome"]) {
        let mut value: Value = serde_json::from_slice(&line.write().unwrap()).unwrap();
        value.as_object_mut().unwrap().remove(name).unwrap();
        assert!(TaskStatus::read(value.to_string().as_bytes()).is_err(), "{name}");
    }
}
