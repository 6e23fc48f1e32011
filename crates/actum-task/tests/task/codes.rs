//! The table of error codes, compared with section 8 of the specification.

use actum_task::{ErrorCategory, ErrorCode, RecoveryAction, Response};
use std::collections::BTreeSet;

/// EX-18: section 8.1
#[test]
fn error_codes_are_unique_and_in_their_category_range() {
    let numbers: Vec<u16> = ErrorCode::ALL.into_iter().map(ErrorCode::number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let types: BTreeSet<&str> = ErrorCode::ALL.into_iter().map(ErrorCode::error_type).collect();
    assert_eq!(types.len(), ErrorCode::ALL.len());
    for code in ErrorCode::ALL {
        let range = match code.category() {
            ErrorCategory::Validation => 1000..=1999,
            ErrorCategory::FileSystem => 2000..=2999,
            ErrorCategory::Permission => 3000..=3099,
            ErrorCategory::ProtectedFile => 3100..=3199,
            ErrorCategory::Dependency => 4000..=4999,
            ErrorCategory::Internal => 5000..=5999,
        };
        assert!(range.contains(&code.number()), "{code}");
        assert_eq!(ErrorCode::of_number(code.number()), Some(code));
        let word = code.error_type();
        assert!(word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{word}");
        assert!(code.about().ends_with('.') && code.about().len() > 10, "{code}");
        assert_eq!(serde_json::to_string(&code).unwrap(), code.number().to_string());
    }
    assert_eq!(ErrorCode::of_number(1), None);
    let words: Vec<&str> = ErrorCategory::ALL.into_iter().map(ErrorCategory::as_str).collect();
    assert_eq!(
        words,
        [
            "VALIDATION_ERROR",
            "FILE_SYSTEM_ERROR",
            "PERMISSION_ERROR",
            "PROTECTED_FILE_ERROR",
            "DEPENDENCY_ERROR",
            "INTERNAL_ERROR",
        ]
    );
    let words: Vec<&str> = RecoveryAction::ALL.into_iter().map(RecoveryAction::as_str).collect();
    assert_eq!(words, ["REJECTED", "SKIPPED", "ROLLED_BACK", "MANUAL_REQUIRED"]);
}

/// EX-18: section 8.3, row by row, and the codes that the seed names itself
#[test]
fn recovery_matrix_matches_the_seed() {
    for (code, number, word, response) in [
        (ErrorCode::FileNotFound, 2001, "FILE_NOT_FOUND", Response::SkipAction),
        (ErrorCode::PermissionDenied, 3001, "PERMISSION_DENIED", Response::SkipAction),
        (
            ErrorCode::ProtectedFileViolation,
            3100,
            "PROTECTED_FILE_VIOLATION",
            Response::RejectAndAlert,
        ),
        (ErrorCode::DiskFull, 2005, "DISK_FULL", Response::StopAndRollBack),
        (ErrorCode::HashMismatch, 2004, "HASH_MISMATCH", Response::StopAndRollBack),
        (ErrorCode::ChangedAfterRun, 2010, "CHANGED_AFTER_RUN", Response::Escalate),
        (ErrorCode::DependencyFailed, 4001, "DEPENDENCY_FAILED", Response::SkipDependents),
        (ErrorCode::InternalError, 5000, "INTERNAL_ERROR", Response::StopRollBackAndEscalate),
    ] {
        assert_eq!((code.number(), code.error_type(), code.response()), (number, word, response));
        assert_eq!(code.to_string(), format!("{number} {word}"));
    }
}

/// EX-18
#[test]
fn response_determines_recovery_action_and_escalation() {
    for (response, recovery, is_forced, alerts) in [
        (Response::Reject, RecoveryAction::Rejected, true, false),
        (Response::RejectAndAlert, RecoveryAction::Rejected, true, true),
        (Response::SkipAction, RecoveryAction::Skipped, false, false),
        (Response::SkipDependents, RecoveryAction::Skipped, false, false),
        (Response::UseCheckpoint, RecoveryAction::Skipped, false, false),
        (Response::StopAndRollBack, RecoveryAction::RolledBack, true, false),
        (Response::StopRollBackAndEscalate, RecoveryAction::RolledBack, true, true),
        (Response::Escalate, RecoveryAction::ManualRequired, false, true),
    ] {
        let codes: Vec<ErrorCode> =
            ErrorCode::ALL.into_iter().filter(|code| code.response() == response).collect();
        assert!(!codes.is_empty(), "{response:?}");
        assert!(codes.iter().all(|code| code.recovery_action() == recovery));
        assert_eq!(response.overrides_constraints(), is_forced);
        assert_eq!(response.alerts_operator(), alerts);
    }
}

/// EX-18: every code describes its meaning, the response and the advice.
#[test]
fn every_error_code_has_meaning_response_and_advice() {
    for code in ErrorCode::ALL {
        for text in [code.about(), code.response().about(), code.to_do()] {
            assert!(text.ends_with('.') && text.len() > 10, "{code}: {text}");
        }
    }
}

/// EX-18: problems in the documents reject the whole task, and a protected file in them also raises an alert.
#[test]
fn document_errors_reject_the_task_but_file_errors_do_not() {
    for code in ErrorCode::ALL {
        match code.number() {
            1000..=1099 => assert_eq!(code.response(), Response::Reject, "{code}"),
            1100..=1199 => assert_ne!(code.response(), Response::Reject, "{code}"),
            3100..=3199 => assert_eq!(code.response(), Response::RejectAndAlert, "{code}"),
            4000..=4999 => assert_eq!(code.response(), Response::SkipDependents, "{code}"),
            _ => {}
        }
    }
}
