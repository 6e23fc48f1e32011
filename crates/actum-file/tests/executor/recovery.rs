//! References to recovery data, and the runs that garbage collection keeps.

use actum_file::{InProcess, RecoveryReference, pinned_runs};
use actum_workspace::{GcOptions, LinuxDisk, Workspace};

use crate::world::World;

/// FE-10
#[test]
fn garbage_collection_keeps_content_of_recovery_references() {
    let world = World::new();
    world.directory.put("a/f", vec![3; 2 << 20]);
    let end = world.succeed("t", "FILE_DELETE", "a/f", "");
    let recovery = end.result.output.unwrap().undo_metadata.recovery.unwrap();
    let reference: RecoveryReference = recovery.parse().unwrap();
    let protected = pinned_runs(&world.log, reference.workspace).unwrap();
    assert!(protected.contains(&reference.run));
    let mut workspace = Workspace::open_existing(world.path("a")).unwrap();
    let none = GcOptions { runs_max: 0, bytes_max: 0, ..GcOptions::default() };
    let report = workspace.gc(&GcOptions { protected, ..none }).unwrap();
    assert!(!report.removed_runs.contains(&reference.run));
    drop(workspace);
    world.with_worker(&mut InProcess(LinuxDisk), |host| host.restore(&reference)).unwrap();
    assert_eq!(world.directory.get("a/f").unwrap(), vec![3; 2 << 20]);
}

/// FE-10
#[test]
fn reference_to_other_content_or_another_run_restores_nothing() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let end = world.succeed("t", "FILE_DELETE", "a/f", "");
    let recovery = end.result.output.unwrap().undo_metadata.recovery.unwrap();
    let reference: RecoveryReference = recovery.parse().unwrap();
    world.directory.put("a/g", "g");
    let copy = world.succeed("c", "FILE_COPY", "a/g", "a/h").result.runs[0];
    let other = actum_core::Digest::of(b"other");
    for wrong in [
        RecoveryReference { content: other, ..reference.clone() },
        RecoveryReference { run: copy, ..reference.clone() },
        RecoveryReference {
            workspace: actum_record::ledger::WorkspaceId::from_random(5),
            ..reference.clone()
        },
    ] {
        let restored =
            world.with_worker(&mut InProcess(LinuxDisk), |host| host.restore(&wrong).is_ok());
        assert!(!restored, "{wrong}");
    }
    assert_eq!(world.directory.get("a/f"), None);
}
