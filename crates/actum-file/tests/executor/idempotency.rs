//! Task ids: each id has one effect and one result.

use actum_core::Digest;
use actum_file::{Bounds, ByteWorker, ErrorCode, InProcess, TaskStatus, WorkerError};
use actum_workspace::LinuxDisk;
use actum_workspace::disk::Disk;

use crate::world::{World, failure};

/// FE-11
#[test]
fn repeated_task_returns_the_stored_result_byte_for_byte() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let first = world.succeed("t", "FILE_COPY", "a/f", "a/g");
    world.directory.remove("a/g");
    let again = world.succeed("t", "FILE_COPY", "a/f", "a/g");
    assert_eq!(again.envelope, first.envelope);
    assert!(again.is_stored && world.directory.get("a/g").is_none());
}

/// FE-11
#[test]
fn a_failure_under_a_valid_lease_is_stored_too() {
    let world = World::new();
    let manifest = world.manifest("t", "FILE_COPY", "a/f", "a/g");
    let first = world.run(&manifest);
    assert_eq!(failure(&first).1, "FILE_MISSING");
    world.directory.put("a/f", "f");
    let again = world.run(&manifest);
    assert_eq!((again.envelope, world.directory.get("a/g")), (first.envelope, None));
}

/// FE-11
#[test]
fn different_manifest_with_a_used_id_is_rejected_and_not_stored() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let first = world.succeed("t", "FILE_COPY", "a/f", "a/g");
    let other = world.fail("t", "FILE_COPY", "a/f", "a/h");
    assert_eq!(other, (ErrorCode::ExecutionFailed, "TASK_ID_TAKEN".to_owned()));
    assert_eq!(world.succeed("t", "FILE_COPY", "a/f", "a/g").envelope, first.envelope);
    assert!(world.log.refusals.borrow().is_empty());
}

/// FE-11: if a task was killed after its effect, a retry returns the result of the recorded run.
#[test]
fn task_killed_after_its_effect_returns_its_result_on_retry() {
    let world = World::new();
    world.directory.put("a/f", "f");
    for (task, capability, from, to) in [
        ("m", "FILE_MOVE", "a/f", "a/g"),
        ("c", "FILE_COPY", "a/g", "a/h"),
        ("d", "FILE_DELETE", "a/h", ""),
    ] {
        let manifest = world.manifest(task, capability, from, to);
        world.log.loses_end.set(true);
        world.run_bytes(manifest.as_bytes()).unwrap_err();
        let files = world.files();
        let end = world.run(&manifest);
        assert_eq!(end.result.status, TaskStatus::Success);
        assert_eq!(world.files(), files);
        assert!(end.is_stored, "the request settled it first");
        if capability == "FILE_DELETE" {
            let recovery = end.result.output.unwrap().undo_metadata.recovery.unwrap();
            let reference = recovery.parse().unwrap();
            let restore = |host: &mut actum_file::Host<'_, LinuxDisk>| host.restore(&reference);
            world.with_worker(&mut InProcess(LinuxDisk), restore).unwrap();
            assert_eq!(world.directory.get("a/h").unwrap(), b"f");
        }
    }
}

/// FE-14
#[test]
fn unsigned_altered_or_unrelated_results_are_rejected() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let end = world.succeed("t", "FILE_COPY", "a/f", "a/g");
    let keyring = world.records.keyring();
    let task = |name: &str| name.parse().unwrap();
    assert!(actum_file::verify(&end.envelope, keyring, &task("t")).is_ok());
    let reason = |bytes: &[u8], of: &str| {
        actum_file::verify(bytes, keyring, &task(of)).unwrap_err().reason()
    };
    assert_eq!(reason(&end.envelope, "u"), "RESULT_INVALID");
    let envelope = actum_record::dsse::Envelope::read(&end.envelope).unwrap();
    let unsigned = actum_record::dsse::Envelope { signatures: Vec::new(), ..envelope.clone() };
    assert_eq!(reason(&unsigned.to_vec().unwrap(), "t"), "SIGNER_UNKNOWN");
    assert_eq!(reason(&envelope.payload, "t"), "RESULT_INVALID");
    let text = String::from_utf8(envelope.payload.clone()).unwrap();
    for (from, to) in
        [("SUCCESS", "FAILED"), ("FILE_COPY", "FILE_MOVE"), ("\"t\"", "\"u\""), ("/a/g", "/a/h")]
    {
        let payload = text.replace(from, to).into_bytes();
        assert_ne!(payload, envelope.payload);
        let changed = actum_record::dsse::Envelope { payload, ..envelope.clone() };
        assert_eq!(reason(&changed.to_vec().unwrap(), "t"), "SIGNATURE_WRONG", "{to}");
    }
    let receipt = world.records.recorded(end.result.runs[0]).unwrap().unwrap().receipt.unwrap().0;
    assert_eq!(reason(&receipt.envelope, "t"), "RESULT_INVALID", "a receipt is no result");
}

/// Worker that requests its own task again while it works.
struct AsksAgain<'w> {
    world: &'w World,
    manifest: &'w str,
}

impl ByteWorker<LinuxDisk> for AsksAgain<'_> {
    fn copy(
        &mut self,
        source: &<LinuxDisk as Disk>::Handle,
        staged: &<LinuxDisk as Disk>::Handle,
        bounds: &Bounds<'_>,
    ) -> Result<(), WorkerError> {
        let other = failure(&self.world.run(self.manifest));
        assert_eq!(other, (ErrorCode::ExecutionFailed, "TASK_UNDER_WAY".to_owned()));
        InProcess(LinuxDisk).copy(source, staged, bounds)
    }

    fn hash(
        &mut self,
        source: &<LinuxDisk as Disk>::Handle,
        bounds: &Bounds<'_>,
    ) -> Result<Digest, WorkerError> {
        InProcess(LinuxDisk).hash(source, bounds)
    }
}

/// FE-11: only the process that carries out a task records its end.
#[test]
fn task_requested_again_while_running_keeps_its_result() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let manifest = world.manifest("t", "FILE_COPY", "a/f", "a/g");
    let mut worker = AsksAgain { world: &world, manifest: &manifest };
    let first = world.with_worker(&mut worker, |host| host.run(manifest.as_bytes())).unwrap();
    assert_eq!(first.result.status, TaskStatus::Success);
    assert_eq!(world.run(&manifest).envelope, first.envelope);
}

/// FE-11: a task is not settled from its base directory if that has become another workspace.
#[test]
fn a_task_stays_open_while_its_base_directory_is_another_workspace() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.directory.put("b/f", "f");
    let manifest = world.manifest("t", "FILE_DELETE", "a/f", "");
    world.log.loses_end.set(true);
    world.run_bytes(manifest.as_bytes()).unwrap_err();
    let [base, aside] = ["a", "aside"].map(|name| world.path(name));
    std::fs::rename(&base, &aside).unwrap();
    world.directory.mkdir("a");
    assert_eq!((world.recover().ends.len(), world.recover().open.len()), (0, 1));
    world.succeed("other", "FILE_COPY", "b/f", "b/g");
    std::fs::remove_dir_all(&base).unwrap();
    std::fs::rename(&aside, &base).unwrap();
    assert_eq!(world.recover().ends[0].result.status, TaskStatus::Success);
}
