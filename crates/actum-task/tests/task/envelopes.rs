//! The envelope with which the protocol layer approves a task.

use actum_core::Digest;
use actum_task::{ErrorCode, TaskEnvelope, TaskEnvelopeError};

use crate::examples::path;

pub(crate) const ENVELOPE: &str = r#"{
  "format": "actum.task-envelope/1",
  "task_id": "task-7",
  "status": "APPROVED",
  "protocol_validation": true,
  "plan": {"file": "task_plan.json",
    "sha256": "a3a5e715f0cc574a73c3f9bebb6bc24f32ffd5b67b387244c2c909da779a1478"},
  "config": {"file": "in/system_config.yaml",
    "sha256": "b3a8e0e1f9ab1bfe3a36f231f676f78bb30a519d2b21e6c530c0eee8ebb4a5d0"},
  "approval": "approval.json"
}"#;

fn refused(text: &str) -> (ErrorCode, String) {
    let error = TaskEnvelope::read(text.as_bytes()).unwrap_err();
    (error.code(), error.to_string())
}

/// EX-1
#[test]
fn reads_an_approved_task() {
    let envelope = TaskEnvelope::read(ENVELOPE.as_bytes()).unwrap();
    assert_eq!(envelope.task.as_str(), "task-7");
    assert_eq!(envelope.plan.file, path("task_plan.json"));
    assert_eq!(envelope.config.file, path("in/system_config.yaml"));
    assert_eq!(envelope.approval, Some(path("approval.json")));
}

/// EX-1
#[test]
fn unapproved_or_unvalidated_task_is_rejected_with_its_own_code() {
    for status in ["REJECTED", "approved", "PENDING", ""] {
        let expected = format!(
            "the task is not approved: line 4, column 13: `status`: expected `APPROVED`, but found \
             `{status}`{}",
            if status == "approved" { " (did you mean `APPROVED`?)" } else { "" }
        );
        let text = ENVELOPE.replace("APPROVED", status);
        assert_eq!(refused(&text), (ErrorCode::NotApproved, expected));
        // The missing approval is reported before any other problem.
        let text = text.replace("task_id", "task").replace("true", "false");
        assert_eq!(refused(&text).0, ErrorCode::NotApproved);
    }
    assert_eq!(
        refused(&ENVELOPE.replace("true", "false")),
        (
            ErrorCode::NotValidated,
            "the protocol layer did not validate the task: line 5, column 26: \
             `protocol_validation`: expected `true`, but found `false`"
                .to_owned()
        )
    );
    let cases = [
        (
            ENVELOPE.replace("\"APPROVED\"", "true"),
            "the task envelope cannot be used: line 4, column 13: `status`: expected `APPROVED`, but \
             found a boolean",
        ),
        (
            ENVELOPE.replace("true", "\"true\""),
            "the task envelope cannot be used: line 5, column 26: `protocol_validation`: expected \
             `true`, but found a string",
        ),
        (
            ENVELOPE.replace("  \"protocol_validation\": true,\n", ""),
            "the task envelope cannot be used: line 1, column 1: `protocol_validation`: missing \
             field; expected `true`",
        ),
        (
            ENVELOPE.replace("envelope/1", "envelope/2"),
            "the task envelope cannot be used: line 2, column 13: `format`: expected \
             `actum.task-envelope/1`, but found `actum.task-envelope/2` (did you mean \
             `actum.task-envelope/1`?)",
        ),
        (
            ENVELOPE.replace("in/system", "../system"),
            "the task envelope cannot be used: line 8, column 22: `config.file`: the path \
             `../system_config.yaml` cannot be used: it contains `..`",
        ),
        (
            ENVELOPE.replace("\"task-7\"", "\"a/b\""),
            "the task envelope cannot be used: line 3, column 14: `task_id`: expected a string of \
             1 to 128 characters (letters, digits, `.`, `_` and `-`), but found `a/b`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refused(&text), (ErrorCode::EnvelopeInvalid, message.to_owned()));
    }
    let error = TaskEnvelope::read(b"{").unwrap_err();
    assert!(matches!(error, TaskEnvelopeError::Invalid(_)));
}

/// EX-1
#[test]
fn plan_or_config_changed_after_approval_is_rejected() {
    let mut envelope = TaskEnvelope::read(ENVELOPE.as_bytes()).unwrap();
    (envelope.plan.sha256, envelope.config.sha256) = (Digest::of(b"plan"), Digest::of(b"config"));
    assert_eq!(envelope.check_inputs(b"plan", b"config"), Ok(()));
    let error = envelope.check_inputs(b"plan ", b"config").unwrap_err();
    assert_eq!(error.code(), ErrorCode::PlanChanged);
    assert_eq!(
        error.to_string(),
        format!(
            "the task plan has changed since it was approved: its SHA-256 is {} instead of {}",
            Digest::of(b"plan "),
            Digest::of(b"plan")
        )
    );
    let error = envelope.check_inputs(b"plan", b"").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigChanged);
    assert_eq!(
        error.to_string(),
        format!(
            "the system config has changed since it was approved: its SHA-256 is {} instead of {}",
            Digest::of(b""),
            Digest::of(b"config")
        )
    );
}
