//! Moves and copies between two base directories.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use actum_file::{ErrorCode, TaskLog, TaskStatus, WorkspaceState};

use crate::world::World;

/// FE-6, FE-8
#[test]
fn a_move_between_base_directories_keeps_bytes_mode_and_time() {
    let world = World::new();
    for (task, size) in [("small", 100), ("large", 2 << 20)] {
        let bytes = vec![5; size];
        world.directory.put("a/f", &bytes);
        let path = world.path("a/f");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o641)).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_600_000_000_123_456_789);
        file.set_modified(modified).unwrap();
        let to = format!("b/{task}");
        let end = world.succeed(task, "FILE_MOVE", "a/f", &to);
        assert_eq!((world.directory.get("a/f"), end.result.runs.len()), (None, 2));
        assert_eq!(world.directory.get(&to).unwrap(), bytes);
        let moved = std::fs::metadata(world.path(&to)).unwrap();
        assert_eq!(moved.mode() & 0o7777, 0o641);
        assert_eq!(moved.modified().unwrap(), modified);
        assert_eq!(end.result.output.unwrap().undo_metadata.original_path, Some(path));
    }
}

/// FE-6, FE-9
#[test]
fn a_copy_between_base_directories_is_one_run_in_the_destination() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let end = world.succeed("t", "FILE_COPY", "a/f", "b/g");
    assert_eq!(end.result.runs.len(), 1);
    assert_eq!(world.directory.get("a/f"), world.directory.get("b/g"));
}

/// FE-4, FE-6
#[test]
fn failed_move_between_base_directories_changes_neither() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.directory.put("b/g", "g");
    let failed = |reason: &str| (ErrorCode::ExecutionFailed, reason.to_owned());
    assert_eq!(world.fail("1", "FILE_MOVE", "a/f", "b/g"), failed("PATH_EXISTS"));
    assert_eq!(world.fail("2", "FILE_MOVE", "a/none", "b/x"), failed("FILE_MISSING"));
    assert_eq!(world.fail("3", "FILE_MOVE", "a/f", "b/none/x"), failed("FILE_MISSING"));
    assert_eq!(world.fail("4", "FILE_COPY", "a/none", "b/x"), failed("FILE_MISSING"));
}

/// FE-6, FE-8: the source determines the outcome. If it is not removed, the published destination is undone.
#[test]
fn move_is_undone_at_the_destination_if_the_source_is_not_removed() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let expired = actum_file::LeaseRefusal::Expired {
        reason: "LEASE_EXPIRED",
        message: "expired".to_owned(),
    };
    // The lease is checked when the request arrives, and before, during and after the work on the destination.
    *world.lease.answers.borrow_mut() = vec![Err(expired), Ok(()), Ok(()), Ok(())];
    let failed = world.fail("t", "FILE_MOVE", "a/f", "b/g");
    assert_eq!(failed.0, ErrorCode::LeaseExpired);
}

/// FE-8, FE-11: the process is killed after either half of the move.
#[test]
fn killed_move_between_base_directories_is_settled_from_the_source() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let files = world.files();
    // The process is killed after the source was removed.
    world.log.loses_end.set(true);
    let manifest = world.manifest("t", "FILE_MOVE", "a/f", "b/g");
    world.run_bytes(manifest.as_bytes()).unwrap_err();
    let settled = world.recover();
    assert_eq!(settled.ends[0].result.status, TaskStatus::Success);
    assert_eq!(world.run(&manifest).envelope, settled.ends[0].envelope);
    // The process is killed after the destination was published: the log has the start of the task, but the ledger has no run for
    // the source.
    world.succeed("back", "FILE_MOVE", "b/g", "a/f");
    assert_eq!(world.files(), files);
    let mut start = world.log.find(&"t".parse().unwrap()).unwrap().unwrap().start.unwrap();
    world.directory.put("a/other", "f");
    let copied = world.succeed("half", "FILE_COPY", "a/other", "b/g");
    world.directory.remove("a/other");
    start.task = "killed".parse().unwrap();
    start.roots[0].run = actum_core::RunId::from_random(99);
    start.roots[1].run = copied.result.runs[0];
    let ledger = world.records.ledger();
    let blocks = ledger.read(|log| log.blob(&start.lease.document)).unwrap().unwrap();
    ledger.append(world.log.start(&start, &blocks).unwrap()).wait().unwrap();
    let settled = world.recover();
    assert_eq!(settled.ends[0].result.status, TaskStatus::Failed);
    assert_eq!(settled.ends[0].result.detail.as_ref().unwrap().reason, "INTERRUPTED");
    assert_eq!(world.files(), files);
    assert!(world.recover().ends.is_empty(), "recovering twice equals once");
}

/// FE-4, FE-11: a move needs attention if its source is missing and the ledger has no record of the destination.
#[test]
fn move_with_only_its_removal_recorded_needs_attention() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.succeed("t", "FILE_MOVE", "a/f", "b/g");
    let mut start = world.log.find(&"t".parse().unwrap()).unwrap().unwrap().start.unwrap();
    start.task = "lost".parse().unwrap();
    start.roots[1].run = actum_core::RunId::from_random(98);
    let ledger = world.records.ledger();
    let blocks = ledger.read(|log| log.blob(&start.lease.document)).unwrap().unwrap();
    ledger.append(world.log.start(&start, &blocks).unwrap()).wait().unwrap();
    let settled = world.recover();
    let result = &settled.ends[0].result;
    let detail = result.detail.as_ref().unwrap();
    assert_eq!((result.status, &*detail.reason), (TaskStatus::Failed, "OUTCOME_UNKNOWN"));
    assert_eq!(detail.workspace, WorkspaceState::NeedsAttention);
    assert_eq!(world.directory.get("b/g").unwrap(), b"f");
}

/// FE-4, FE-8: recovery of a killed move does not undo the destination if the source has disappeared in the meantime.
#[test]
fn killed_move_keeps_the_only_copy() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.succeed("t", "FILE_MOVE", "a/f", "b/g");
    let mut start = world.log.find(&"t".parse().unwrap()).unwrap().unwrap().start.unwrap();
    for (number, source) in [None, Some("other")].into_iter().enumerate() {
        source.into_iter().for_each(|content| world.directory.put("a/f", content));
        start.task = format!("killed-{number}").parse().unwrap();
        start.roots[0].run = actum_core::RunId::from_random(99);
        let ledger = world.records.ledger();
        let blocks = ledger.read(|log| log.blob(&start.lease.document)).unwrap().unwrap();
        ledger.append(world.log.start(&start, &blocks).unwrap()).wait().unwrap();
        let settled = world.recover();
        let detail = settled.ends[0].result.detail.as_ref().unwrap();
        assert_eq!(detail.workspace, WorkspaceState::NeedsAttention, "{detail:?}");
        assert_eq!(world.directory.get("b/g").unwrap(), b"f");
    }
}
