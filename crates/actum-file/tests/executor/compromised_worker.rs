//! Compromised workers: the host trusts none of their answers and publishes only the content that the manifest asks for.

use actum_core::Digest;
use actum_file::{Bounds, ByteWorker, ErrorCode, InProcess, WorkerError};
use actum_workspace::LinuxDisk;
use actum_workspace::disk::Disk;

use crate::world::{World, failure};

type Handle = <LinuxDisk as Disk>::Handle;

/// Worker that does its task and then something else.
struct TakenOver {
    after_copy: fn(&Handle),
    digest: Option<Digest>,
}

impl ByteWorker<LinuxDisk> for TakenOver {
    fn copy(
        &mut self,
        source: &Handle,
        staged: &Handle,
        bounds: &Bounds<'_>,
    ) -> Result<(), WorkerError> {
        InProcess(LinuxDisk).copy(source, staged, bounds)?;
        (self.after_copy)(staged);
        Ok(())
    }

    fn hash(&mut self, source: &Handle, bounds: &Bounds<'_>) -> Result<Digest, WorkerError> {
        let own = InProcess(LinuxDisk).hash(source, bounds)?;
        Ok(self.digest.unwrap_or(own))
    }
}

/// FE-1, FE-16
#[test]
fn altered_staged_bytes_are_not_published() {
    let world = World::new();
    // Larger than the comparison buffer, so that only the last part differs.
    world.directory.put("a/f", vec![7; (5 << 20) + 3]);
    let others: [fn(&Handle); 5] = [
        |staged| LinuxDisk.write_at(staged, b"!", 0).unwrap(),
        |staged| LinuxDisk.write_at(staged, b"!", (5 << 20) + 2).unwrap(),
        |staged| LinuxDisk.write_at(staged, b"!", (5 << 20) + 3).unwrap(),
        |staged| rustix::fs::ftruncate(staged, 5 << 20).unwrap(),
        |staged| rustix::fs::ftruncate(staged, 6 << 20).unwrap(),
    ];
    for (number, after_copy) in others.into_iter().enumerate() {
        for (capability, to) in [("FILE_COPY", "a/g"), ("FILE_MOVE", "b/g")] {
            let manifest = world.manifest(&format!("{capability}-{number}"), capability, "a/f", to);
            let mut worker = TakenOver { after_copy, digest: None };
            let files = world.files();
            let end = world.with_worker(&mut worker, |host| host.run(manifest.as_bytes())).unwrap();
            assert_eq!(failure(&end), (ErrorCode::ExecutionFailed, "CHANGED_MEANWHILE".to_owned()));
            assert_eq!(world.files(), files);
        }
    }
}

/// FE-1, FE-16
#[test]
fn wrong_digest_from_the_worker_fails_the_task() {
    let world = World::new();
    world.directory.put("a/f", "f");
    for (task, capability, to) in [("m", "FILE_MOVE", "a/g"), ("d", "FILE_DELETE", "")] {
        let mut worker = TakenOver { after_copy: |_| {}, digest: Some(Digest::of(b"other")) };
        let manifest = world.manifest(task, capability, "a/f", to);
        let end = world.with_worker(&mut worker, |host| host.run(manifest.as_bytes())).unwrap();
        assert_eq!(failure(&end), (ErrorCode::ExecutionFailed, "FILE_WORKER_FAILED".to_owned()));
        assert_eq!(world.directory.get("a/f").unwrap(), b"f");
    }
}
