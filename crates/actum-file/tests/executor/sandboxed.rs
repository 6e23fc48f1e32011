//! Byte worker as a process: its work, its limits and its termination.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use actum_core::{Digest, Timestamp};
use actum_file::sandboxed::Sandboxed;
use actum_file::{Bounds, ByteWorker, ErrorCode, Quota, TaskStatus, WorkerError};
use actum_record::lease::Quotas;
use actum_sandbox::{Helper, Stop};
use actum_testkit::TestDir;

use crate::world::{World, failure};

fn worker(stop: Option<Stop>) -> Sandboxed {
    Sandboxed::new(Helper::at(env!("CARGO_BIN_EXE_file-worker")), stop)
}

fn bounds(quotas: Quotas) -> Bounds<'static> {
    Bounds {
        quotas,
        deadline: Timestamp::from_micros(60_000_000),
        now: &|| Timestamp::from_micros(0),
        is_cancelled: &|| false,
    }
}

fn new_file(directory: &TestDir, name: &str) -> OwnedFd {
    let path = directory.join(name);
    File::options().read(true).write(true).create_new(true).open(path).unwrap().into()
}

fn open(directory: &TestDir, name: &str) -> OwnedFd {
    File::open(directory.join(name)).unwrap().into()
}

/// FE-1: the child process carries out the entire task.
#[test]
fn tasks_run_in_a_sandboxed_process() {
    let world = World::new();
    world.directory.put("a/f", "content");
    world.directory.put("a/large", vec![9; 3 << 20]);
    for (task, capability, from, to) in [
        ("copy", "FILE_COPY", "a/f", "a/g"),
        ("large", "FILE_COPY", "a/large", "b/large"),
        ("move", "FILE_MOVE", "a/g", "a/h"),
        ("between", "FILE_MOVE", "a/h", "b/h"),
        ("delete", "FILE_DELETE", "b/h", ""),
    ] {
        let manifest = world.manifest(task, capability, from, to);
        let end = world.with_worker(&mut worker(None), |host| host.run(manifest.as_bytes()));
        let result = end.unwrap().result;
        assert_eq!(result.status, TaskStatus::Success, "{task}: {:?}", result.detail);
    }
    assert_eq!(world.directory.get("b/large").unwrap(), vec![9; 3 << 20]);
    assert_eq!(world.directory.get("b/h"), None);
}

/// FE-9: the file has holes at both ends and between its data.
#[test]
fn a_sparse_file_stays_sparse_and_is_copied_byte_for_byte() {
    let directory = TestDir::new();
    const SIZE: u64 = 64 << 20;
    let file = File::from(new_file(&directory, "sparse"));
    file.set_len(SIZE).unwrap();
    for at in [8 << 20, 9 << 20, 40 << 20] {
        file.write_all_at(b"data", at).unwrap();
    }
    for (name, size) in [("hole", SIZE), ("empty", 0)] {
        File::from(new_file(&directory, name)).set_len(size).unwrap();
    }
    for name in ["sparse", "hole", "empty"] {
        let copy = format!("{name}-copy");
        let staged = new_file(&directory, &copy);
        worker(None).copy(&open(&directory, name), &staged, &bounds(Quotas::default())).unwrap();
        assert!(directory.get(name) == directory.get(&copy), "{name}");
        let blocks = std::fs::metadata(directory.join(&copy)).unwrap().blocks();
        assert!(blocks * 512 < 1 << 20, "{name} takes {blocks} blocks");
    }
}

/// FE-1
#[test]
fn worker_and_host_compute_the_same_digest() {
    let directory = TestDir::new();
    for size in [0, 1, 1 << 20] {
        directory.put("f", vec![1; size]);
        let digest = worker(None).hash(&open(&directory, "f"), &bounds(Quotas::default()));
        assert_eq!(digest.unwrap(), Digest::of(&vec![1; size]));
    }
}

/// FE-12
#[test]
fn each_exceeded_quota_ends_the_process() {
    let directory = TestDir::new();
    directory.put("f", vec![1; 1 << 20]);
    let none = Quotas::default();
    let copied = |name: &str, quotas: Quotas| {
        let staged = new_file(&directory, name);
        match worker(None).copy(&open(&directory, "f"), &staged, &bounds(quotas)) {
            Ok(()) => None,
            Err(WorkerError::Exceeded { quota }) => Some(quota),
            Err(error) => panic!("{error}"),
        }
    };
    let storage = |bytes| Quotas { storage_bytes: Some(bytes), ..none };
    assert_eq!(copied("1", storage(2 << 20)), None);
    assert_eq!(copied("2", storage((2 << 20) - 1)), Some(Quota::Storage));
    let space = |bytes| Quotas { space_bytes: Some(bytes), ..none };
    assert_eq!(copied("3", space(1 << 20)), None);
    assert_eq!(copied("4", space((1 << 20) - 1)), Some(Quota::Space));
    let memory = |bytes| Quotas { memory_bytes: Some(bytes), ..none };
    assert_eq!(copied("5", memory(1 << 30)), None);
    assert_eq!(copied("6", memory(4096)), Some(Quota::Memory));
}

/// FE-12: the child uses less than 32 MiB of memory, regardless of the file size.
#[test]
fn worker_memory_does_not_grow_with_the_file_size() {
    let directory = TestDir::new();
    File::from(new_file(&directory, "f")).set_len(1 << 40).unwrap_or(());
    let staged = new_file(&directory, "g");
    let quotas = Quotas { memory_bytes: Some(32 << 20), ..Quotas::default() };
    worker(None).copy(&open(&directory, "f"), &staged, &bounds(quotas)).unwrap();
    assert_eq!(
        std::fs::metadata(directory.join("f")).unwrap().len(),
        std::fs::metadata(directory.join("g")).unwrap().len()
    );
}

/// FE-1: the process ends within 100 ms, and no process remains that could write.
#[test]
fn stop_ends_the_process_immediately() {
    let directory = TestDir::new();
    let (readable, writer) = rustix::pipe::pipe().unwrap();
    // The worker waits for data from a pipe that never provides any.
    let (source, _kept) = rustix::pipe::pipe().unwrap();
    let mut waiting = worker(Some(Stop::when_readable(readable)));
    let stopped = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        rustix::io::write(&writer, b"x").unwrap();
        (Instant::now(), writer)
    });
    let ended = waiting.hash(&source, &bounds(Quotas::default()));
    let (asked, _writer) = stopped.join().unwrap();
    assert!(matches!(ended, Err(WorkerError::Cancelled)), "{ended:?}");
    assert!(asked.elapsed() < Duration::from_millis(100));
    drop(directory);
}

/// FE-12
#[test]
fn process_is_killed_at_its_deadline() {
    let (source, _kept) = rustix::pipe::pipe().unwrap();
    let late = Bounds { deadline: Timestamp::from_micros(20_000), ..bounds(Quotas::default()) };
    let ended = worker(None).hash(&source, &late);
    assert!(matches!(ended, Err(WorkerError::Exceeded { quota: Quota::Wall })), "{ended:?}");
}

/// FE-1, FE-15
#[test]
fn unusable_worker_fails_the_task() {
    let world = World::new();
    world.directory.put("a/f", "f");
    let mut missing = Sandboxed::new(Helper::at("/nonexistent/worker"), None);
    let mut useless = Sandboxed::new(Helper::at("/bin/true"), None);
    for (task, worker) in [("missing", &mut missing), ("useless", &mut useless)] {
        let manifest = world.manifest(task, "FILE_COPY", "a/f", "a/g");
        let end = world.with_worker(worker, |host| host.run(manifest.as_bytes())).unwrap();
        assert_eq!(failure(&end), (ErrorCode::ExecutionFailed, "FILE_WORKER_FAILED".to_owned()));
        assert_eq!(world.directory.get("a/g"), None);
    }
}
