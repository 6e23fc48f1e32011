//! Leases and quotas as the host's port implements them, and the closed set of error codes.

use actum_file::{ErrorCode, LeaseRefusal};
use actum_record::lease::Quotas;

use crate::world::{World, failure};

fn invalid() -> LeaseRefusal {
    LeaseRefusal::Invalid { reason: "LEASE_INVALID", message: "no lease".to_owned() }
}

fn expired() -> LeaseRefusal {
    LeaseRefusal::Expired { reason: "LEASE_EXPIRED", message: "expired".to_owned() }
}

/// FE-2, FE-15, FE-17
#[test]
fn invalid_lease_has_no_effect_and_uses_no_task_id() {
    let world = World::new();
    world.directory.put("a/f", "f");
    for (refusal, code) in
        [(invalid(), ErrorCode::InvalidLease), (expired(), ErrorCode::LeaseExpired)]
    {
        world.lease.answers.borrow_mut().push(Err(refusal));
        let end = world.run(&world.manifest("t", "FILE_COPY", "a/f", "a/g"));
        assert_eq!(failure(&end).0, code);
        assert_eq!(end.result.task_id, None);
        assert_eq!(end.result.requested_task_id.unwrap().as_str(), "t");
    }
    assert_eq!(world.log.refusals.borrow().len(), 2);
    world.succeed("t", "FILE_COPY", "a/f", "a/g");
}

/// FE-2
#[test]
fn unsupported_capability_is_reported_before_the_lease_is_checked() {
    let world = World::new();
    world.lease.answers.borrow_mut().push(Err(invalid()));
    let end = world.run(&world.manifest("t", "FILE_CHMOD", "a/f", "a/g"));
    assert_eq!(
        failure(&end),
        (ErrorCode::UnsupportedCapability, "UNSUPPORTED_CAPABILITY".to_owned())
    );
    assert_eq!(world.lease.answers.borrow().len(), 1, "the lease was not asked");
}

/// FE-17
#[test]
fn lease_that_expires_during_the_copy_stops_the_change() {
    let world = World::new();
    world.directory.put("a/f", "f");
    *world.lease.answers.borrow_mut() = vec![Err(expired()), Ok(())];
    assert_eq!(world.fail("t", "FILE_COPY", "a/f", "a/g").0, ErrorCode::LeaseExpired);
}

/// FE-12, FE-15
#[test]
fn each_exceeded_quota_reports_exhausted_resources() {
    let world = World::new();
    world.directory.put("a/f", vec![1; 1000]);
    let exhausted = (ErrorCode::ResourceExhausted, "QUOTA_EXCEEDED".to_owned());
    let none = Quotas::default();
    for (number, (quotas, fits)) in [
        (Quotas { storage_bytes: Some(1999), ..none }, false),
        (Quotas { storage_bytes: Some(2000), ..none }, true),
        (Quotas { space_bytes: Some(999), ..none }, false),
        (Quotas { space_bytes: Some(1000), ..none }, true),
        (Quotas { files: Some(0), ..none }, false),
        (Quotas { files: Some(1), ..none }, true),
        (Quotas { wall_ms: Some(0), ..none }, false),
        (Quotas { wall_ms: Some(1000), ..none }, true),
    ]
    .into_iter()
    .enumerate()
    {
        world.lease.quotas.set(quotas);
        let (task, to) = (format!("t{number}"), format!("a/g{number}"));
        match fits {
            true => drop(world.succeed(&task, "FILE_COPY", "a/f", &to)),
            false => {
                assert_eq!(world.fail(&task, "FILE_COPY", "a/f", &to), exhausted, "{quotas:?}")
            }
        }
    }
    world.lease.quotas.set(Quotas { storage_bytes: Some(999), ..none });
    assert_eq!(world.fail("m", "FILE_MOVE", "a/f", "a/x"), exhausted);
    assert_eq!(world.fail("d", "FILE_DELETE", "a/f", ""), exhausted);
}

/// FE-12: a move affects one file, regardless of its destination.
#[test]
fn a_quota_of_one_file_allows_each_capability() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.lease.quotas.set(Quotas { files: Some(1), ..Quotas::default() });
    world.succeed("move", "FILE_MOVE", "a/f", "a/g");
    world.succeed("between", "FILE_MOVE", "a/g", "b/g");
    world.succeed("copy", "FILE_COPY", "b/g", "a/f");
    world.succeed("delete", "FILE_DELETE", "a/f", "");
}

/// FE-1
#[test]
fn cancelled_task_fails_and_reports_the_cancellation() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.is_cancelled.set(true);
    let failed = world.fail("t", "FILE_MOVE", "a/f", "a/g");
    assert_eq!(failed, (ErrorCode::ExecutionFailed, "CANCELLED".to_owned()));
}

/// FE-3, FE-15
#[test]
fn rejected_manifest_returns_a_signed_failure() {
    let world = World::new();
    for manifest in ["", "{}", "[]", "{\"task_id\":\"t\"}", "\u{0}"] {
        let end = world.run(manifest);
        let expected = (ErrorCode::ExecutionFailed, "TASK_MANIFEST_INVALID".to_owned());
        assert_eq!(failure(&end), expected, "{manifest}");
    }
    let irreversible = world.manifest("t", "FILE_DELETE", "a/f", "").replace("true", "false");
    assert_eq!(failure(&world.run(&irreversible)).1, "DELETE_IRREVERSIBLE");
}

/// FE-17: a task is one use of a lease, however many runs it takes.
#[test]
fn single_use_lease_allows_one_task() {
    for to in ["a/g", "b/g"] {
        let world = World::new();
        world.directory.put("a/f", "f");
        world.lease.uses.set(Some(1));
        world.succeed("first", "FILE_MOVE", "a/f", to);
        assert_eq!(world.fail("second", "FILE_DELETE", to, "").0, ErrorCode::InvalidLease);
    }
}
