//! Calls that fail, and processes that are killed.

use std::io;

use actum_core::FileMode;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::disk::{Barrier, Disk, Rename};

use crate::{outcomes, root_of, write_new};

fn errno<T>(result: io::Result<T>) -> Option<Errno> {
    result.err().map(|error| Errno::from_io_error(&error).unwrap())
}

#[test]
fn injected_failure_affects_one_call_and_changes_nothing() {
    let disk = SimDisk::new();
    disk.fail_at(2, Errno::ACCESS);
    let root = root_of(&disk);
    let file = disk.create(&root, b"a", FileMode::REGULAR).unwrap();
    assert_eq!(errno(disk.write_at(&file, b"1", 0)), Some(Errno::ACCESS));
    assert_eq!(disk.get("a").unwrap(), b"");
    disk.write_at(&file, b"1", 0).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"1");
    assert_eq!(disk.calls(), 4);
    assert_eq!(
        disk.trace(),
        [
            "open_root ``",
            "create `a` 0644",
            "write_at `a` 1 bytes at 0: Permission denied (os error 13)",
            "write_at `a` 1 bytes at 0",
        ]
    );
}

#[test]
fn later_syncs_do_not_repair_a_failed_sync() {
    let disk = SimDisk::new();
    disk.put("a", "1");
    disk.settle();
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    disk.write_at(&file, b"2", 0).unwrap();
    disk.fail_at(0, Errno::IO);
    assert_eq!(errno(disk.sync_data(&file, Barrier::Intent)), Some(Errno::IO));
    assert_eq!(disk.get("a").unwrap(), b"2");
    disk.sync_data(&file, Barrier::Intent).unwrap();
    disk.sync_all(&file, Barrier::Checkpoint).unwrap();
    disk.settle();
    assert_eq!(outcomes(&disk, &["a"]), ["1", "2"]);
    // Writing again makes the block dirty, so it is written back.
    disk.write_at(&file, b"2", 0).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["1", "2"]);
    disk.sync_data(&file, Barrier::Intent).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["2"]);
}

#[test]
fn interrupted_sync_can_be_retried() {
    let disk = SimDisk::new();
    disk.put("a", "1");
    disk.settle();
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    disk.write_at(&file, b"2", 0).unwrap();
    disk.fail_at(0, Errno::INTR);
    assert_eq!(errno(disk.sync_data(&file, Barrier::Intent)), Some(Errno::INTR));
    disk.sync_data(&file, Barrier::Intent).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["2"]);
}

#[test]
fn full_disk_rejects_only_calls_that_need_space() {
    let disk = SimDisk::new();
    disk.put("a", "1");
    disk.put("b", "2");
    let root = root_of(&disk);
    let file = disk.open_own(&root, b"a").unwrap();
    disk.set_size(&file, 10_000).unwrap();
    disk.fail_from(0, Errno::NOSPC);
    disk.write_at(&file, b"3", 0).unwrap();
    assert_eq!(errno(disk.write_at(&file, b"3", 4096)), Some(Errno::NOSPC));
    assert_eq!(errno(disk.write_at(&file, b"3", 10_000)), Some(Errno::NOSPC));
    assert_eq!(errno(disk.create(&root, b"c", FileMode::REGULAR)), Some(Errno::NOSPC));
    assert_eq!(errno(disk.create(&root, b"a", FileMode::REGULAR)), Some(Errno::EXIST));
    assert_eq!(errno(disk.link(&root, b"a", &root, b"c")), Some(Errno::NOSPC));
    assert_eq!(errno(disk.make_directory(&root, b"c", FileMode::EXECUTABLE)), Some(Errno::NOSPC));
    assert_eq!(errno(disk.rename(&root, b"a", &root, b"c", Rename::NoReplace)), Some(Errno::NOSPC));
    disk.rename(&root, b"a", &root, b"b", Rename::Exchange).unwrap();
    disk.rename(&root, b"a", &root, b"b", Rename::Replace).unwrap();
    disk.sync(&file, Barrier::End).unwrap();
    disk.set_mode(&file, FileMode::EXECUTABLE).unwrap();
    disk.unlink(&root, b"b").unwrap();
    disk.clear_faults();
    drop(disk.create(&root, b"c", FileMode::REGULAR).unwrap());
}

#[test]
fn read_only_disk_rejects_writes_and_allows_reads() {
    let disk = SimDisk::new();
    disk.put("a", "1");
    let root = root_of(&disk);
    let file = disk.open_own(&root, b"a").unwrap();
    disk.fail_from(1, Errno::ROFS);
    disk.write_at(&file, b"2", 0).unwrap();
    assert_eq!(errno(disk.write_at(&file, b"3", 0)), Some(Errno::ROFS));
    assert_eq!(errno(disk.set_size(&file, 0)), Some(Errno::ROFS));
    assert_eq!(errno(disk.set_mode(&file, FileMode::EXECUTABLE)), Some(Errno::ROFS));
    assert_eq!(errno(disk.unlink(&root, b"a")), Some(Errno::ROFS));
    assert_eq!(errno(disk.open_own(&root, b"a")), Some(Errno::ROFS));
    assert_eq!(disk.stat(&file).unwrap().size, 1);
    assert_eq!(disk.list(&root).unwrap(), [b"a"]);
    disk.sync(&file, Barrier::End).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"2");
}

#[test]
fn killed_process_does_nothing_until_revived() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let file = write_new(&disk, &root, "a", b"1");
    assert!(disk.lock(&file, false).unwrap());
    let epoch = disk.epoch(&root).unwrap();
    disk.kill_at(1);
    disk.write_at(&file, b"2", 0).unwrap();
    assert!(!disk.killed());
    let calls = disk.calls();
    for _ in 0..2 {
        let error = disk.write_at(&file, b"3", 0).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::Other, "killed".into()));
    }
    assert!(disk.unlink(&root, b"a").is_err());
    assert!(disk.killed());
    assert_eq!(disk.calls(), calls + 1);
    assert_eq!(disk.get("a").unwrap(), b"2");

    disk.revive();
    assert!(!disk.killed());
    assert_eq!(errno(disk.stat(&file)), Some(Errno::BADF));
    let root = root_of(&disk);
    assert_eq!(disk.epoch(&root).unwrap(), epoch);
    let again = disk.open_own(&root, b"a").unwrap();
    assert!(disk.lock(&again, false).unwrap());
    // The handle of a dead process has no lock to release.
    drop(file);
    let other = disk.open_own(&root, b"a").unwrap();
    assert!(!disk.lock(&other, false).unwrap());
}

#[test]
fn write_can_be_torn_at_every_block() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let file = write_new(&disk, &root, "a", &[1; 12_288]);
    assert_eq!(disk.writes(), [(2, 3)]);
    drop(file);
    for blocks in 0..=3 {
        let disk = disk.clone_deep();
        let file = disk.open_own(&root_of(&disk), b"a").unwrap();
        disk.kill_in_write(0, blocks as u64);
        assert!(disk.write_at(&file, &[2; 10_000], 100).is_err());
        let bytes = disk.get("a").unwrap();
        let end = [100, 4096, 8192, 10_100][blocks];
        let wanted = [vec![1; 100], vec![2; end - 100], vec![1; 12_288 - end]].concat();
        assert_eq!(bytes, wanted, "{blocks}");
    }
}

#[test]
fn write_can_run_out_of_space_midway() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let file = disk.create(&root, b"a", FileMode::REGULAR).unwrap();
    disk.fail_in_write(0, Errno::NOSPC, 1);
    assert_eq!(errno(disk.write_at(&file, &[1; 9000], 0)), Some(Errno::NOSPC));
    assert_eq!(disk.get("a").unwrap(), [1; 4096]);
}

#[test]
fn another_process_can_act_just_before_a_call() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    write_new(&disk, &root, "a", b"1");
    disk.before_call(1, |disk| {
        disk.replace("a", "2");
        // Their own calls work as well.
        let root = root_of(disk);
        drop(write_new(disk, &root, "b", b"3"));
    });
    let read = |disk: &SimDisk| {
        let mut bytes = [0];
        let file = disk.open_file(&root, b"a").unwrap();
        disk.read_at(&file, &mut bytes, 0).unwrap();
        bytes
    };
    // The action runs between the two calls, so the first call reads the old inode and the second the new one.
    assert_eq!(read(&disk), *b"1");
    assert_eq!(read(&disk), *b"2");
    assert_eq!(disk.get("b").unwrap(), b"3");
}

#[test]
fn lock_is_released_with_its_handle() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let first = write_new(&disk, &root, "lock", b"");
    let second = disk.open_own(&root, b"lock").unwrap();
    assert!(disk.lock(&first, true).unwrap());
    assert!(disk.lock(&first, false).unwrap());
    assert!(!disk.lock(&second, false).unwrap());
    drop(first);
    assert!(disk.lock(&second, false).unwrap());
}

#[test]
#[should_panic(expected = "waiting for the lock would block forever")]
fn waiting_for_a_busy_lock_panics() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let first = write_new(&disk, &root, "lock", b"");
    let second = disk.open_own(&root, b"lock").unwrap();
    assert!(disk.lock(&first, true).unwrap());
    drop(disk.lock(&second, true));
}

#[test]
#[should_panic(expected = "the handle belongs to another disk")]
fn handle_of_another_disk_panics() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    drop(disk.clone_deep().stat(&root));
}
