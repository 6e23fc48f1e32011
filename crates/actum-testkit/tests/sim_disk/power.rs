//! The states that a power cut may leave.

use std::collections::BTreeSet;

use actum_core::{FileMode, RelPath};
use actum_testkit::SimDisk;
use actum_workspace::disk::{Barrier, Disk, Rename};

use crate::{ALL, contents, outcomes, root_of, write_new};

fn settled(files: &[(&str, &[u8])]) -> SimDisk {
    let disk = SimDisk::new();
    for (path, bytes) in files {
        disk.put(path, bytes);
    }
    disk.settle();
    assert_eq!(disk.crash_state_count(), 1);
    disk
}

#[test]
fn unsynced_writes_may_be_lost_in_any_combination() {
    let disk = settled(&[("a", b"1"), ("b", b"1")]);
    disk.overwrite("a", "2", 0);
    disk.overwrite("b", "2", 0);
    assert_eq!(outcomes(&disk, &["a", "b"]), ["1 1", "1 2", "2 1", "2 2"]);
    assert_eq!(disk.crash_state_count(), 4);
}

#[test]
fn each_block_may_have_any_value_since_the_last_sync() {
    let disk = settled(&[("a", &[b'1'; 8192])]);
    for version in [b'2', b'3'] {
        disk.overwrite("a", [version; 8192], 0);
    }
    let blocks: BTreeSet<(u8, u8)> =
        contents(&disk, "a").into_iter().flatten().map(|bytes| (bytes[0], bytes[4096])).collect();
    assert_eq!(blocks.len(), 9);
    assert_eq!(disk.crash_state_count(), 9);
}

#[test]
fn repeated_value_yields_one_crash_state() {
    let disk = settled(&[("a", b"1")]);
    for version in ["2", "1", "2", "1"] {
        disk.overwrite("a", version, 0);
    }
    assert_eq!(outcomes(&disk, &["a"]), ["1", "2"]);
}

#[test]
fn new_file_may_be_missing_empty_zeroed_or_complete() {
    let disk = SimDisk::new();
    write_new(&disk, &root_of(&disk), "a", b"12");
    assert_eq!(outcomes(&disk, &["a"]), ["", "-", "00", "12"]);
    assert_eq!(disk.crash_state_count(), 4);
}

#[test]
fn shorter_size_hides_later_bytes_of_the_block() {
    let disk = settled(&[("a", b"1")]);
    disk.overwrite("a", "23", 0);
    assert_eq!(outcomes(&disk, &["a"]), ["1", "10", "2", "23"]);
    // Only bytes beyond the old size differ, so the old size gives one state and not two.
    let disk = settled(&[("a", b"1")]);
    disk.overwrite("a", "2", 1);
    assert_eq!(outcomes(&disk, &["a"]), ["1", "10", "12"]);
    assert_eq!(disk.crash_state_count(), 3);
}

#[test]
fn sync_data_keeps_bytes_but_not_the_name() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let file = write_new(&disk, &root, "a", b"12");
    disk.sync_data(&file, Barrier::KeptImage).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["-", "12"]);
    disk.sync(&root, Barrier::KeptName).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["12"]);
}

#[test]
fn synced_name_of_an_unsynced_file_may_have_any_content() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    write_new(&disk, &root, "a", b"12");
    disk.sync(&root, Barrier::KeptName).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["", "00", "12"]);
}

#[test]
fn sync_data_skips_attributes_and_sync_persists_them() {
    let disk = settled(&[("a", b"1")]);
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    let modes = |disk: &SimDisk| -> BTreeSet<u32> {
        disk.crash_states(ALL).map(|state| state.stat_of("a").unwrap().mode.bits()).collect()
    };
    disk.set_mode(&file, FileMode::new(0o600)).unwrap();
    disk.sync_data(&file, Barrier::KeptImage).unwrap();
    assert_eq!(modes(&disk), BTreeSet::from([0o600, 0o644]));
    disk.sync(&file, Barrier::KeptImage).unwrap();
    assert_eq!(modes(&disk), BTreeSet::from([0o600]));
}

#[test]
fn initial_attributes_are_durable_with_the_name() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    drop(disk.create(&root, b"a", FileMode::new(0o666)).unwrap());
    disk.sync(&root, Barrier::KeptName).unwrap();
    let states: Vec<SimDisk> = disk.crash_states(ALL).collect();
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].stat_of("a").unwrap().mode, FileMode::REGULAR);
}

#[test]
fn half_of_a_rename_may_be_lost() {
    let disk = settled(&[("a", b"A")]);
    let root = root_of(&disk);
    disk.rename(&root, b"a", &root, b"b", Rename::NoReplace).unwrap();
    assert_eq!(outcomes(&disk, &["a", "b"]), ["- -", "- A", "A -", "A A"]);
}

#[test]
fn half_of_an_exchange_may_be_lost() {
    let disk = settled(&[("a", b"A"), ("b", b"B")]);
    let root = root_of(&disk);
    disk.rename(&root, b"a", &root, b"b", Rename::Exchange).unwrap();
    assert_eq!(outcomes(&disk, &["a", "b"]), ["A A", "A B", "B A", "B B"]);
}

#[test]
fn link_count_matches_the_surviving_names() {
    let disk = settled(&[("a", b"A"), ("b", b"B")]);
    let root = root_of(&disk);
    disk.rename(&root, b"a", &root, b"b", Rename::Exchange).unwrap();
    let twice = disk.crash_states(ALL).find(|state| state.get("a") == state.get("b")).unwrap();
    assert_eq!(twice.stat_of("a").unwrap().links, 2);
    twice.remove("a");
    assert_eq!(twice.stat_of("b").unwrap().links, 1);
}

#[test]
fn a_directory_with_a_durable_name_may_be_empty() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    disk.make_directory(&root, b"d", FileMode::EXECUTABLE).unwrap();
    let directory = disk.open_directory(&root, b"d").unwrap();
    let file = write_new(&disk, &directory, "a", b"1");
    disk.sync(&file, Barrier::KeptImage).unwrap();
    disk.sync(&root, Barrier::KeptName).unwrap();
    assert_eq!(outcomes(&disk, &["d/a"]), ["-", "1"]);
    assert!(disk.crash_states(ALL).all(|state| state.stat_of("d").is_some()));
    disk.sync(&directory, Barrier::KeptName).unwrap();
    assert_eq!(outcomes(&disk, &["d/a"]), ["1"]);
}

#[test]
fn sync_all_leaves_one_state() {
    let disk = settled(&[("a", b"A"), ("b", b"B")]);
    let root = root_of(&disk);
    write_new(&disk, &root, "c", &[7; 9000]);
    disk.rename(&root, b"a", &root, b"b", Rename::Exchange).unwrap();
    disk.chmod("c", 0o600);
    disk.mkdir_p("d/e");
    disk.remove("b");
    assert!(disk.crash_state_count() > 100);
    disk.sync_all(&root, Barrier::Checkpoint).unwrap();
    let states: Vec<SimDisk> = disk.crash_states(ALL).collect();
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].snapshot(), disk.snapshot());
    assert_eq!(disk.crash_state_count(), 1);
}

#[test]
fn an_ignored_barrier_makes_nothing_durable() {
    let disk = settled(&[("a", b"1")]);
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    disk.ignore(Barrier::End);
    disk.write_at(&file, b"2", 0).unwrap();
    disk.sync(&file, Barrier::End).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["1", "2"]);
    disk.sync(&file, Barrier::Intent).unwrap();
    assert_eq!(outcomes(&disk, &["a"]), ["2"]);
    assert_eq!((disk.syncs(Barrier::End), disk.syncs(Barrier::Intent)), (1, 1));
    // The barrier is still ignored after a power cut.
    let next = disk.crash_states(ALL).next().unwrap();
    let file = next.open_own(&root_of(&next), b"a").unwrap();
    next.write_at(&file, b"3", 0).unwrap();
    next.sync(&file, Barrier::End).unwrap();
    assert_eq!(next.crash_state_count(), 2);
}

#[test]
fn unreachable_content_adds_no_crash_states() {
    let disk = SimDisk::new();
    let root = root_of(&disk);
    let file = write_new(&disk, &root, "a", &[1; 40_960]);
    disk.unlink(&root, b"a").unwrap();
    // The name may persist, together with any part of the file content.
    assert_eq!(disk.crash_state_count(), 1 + 1 + 1024);
    disk.sync(&root, Barrier::KeptName).unwrap();
    assert_eq!(disk.crash_state_count(), 1);
    let mut bytes = [0; 2];
    assert_eq!(disk.read_at(&file, &mut bytes, 0).unwrap(), 2);
    assert_eq!((bytes, disk.stat(&file).unwrap().links), ([1, 1], 0));
}

#[test]
fn crash_states_are_distinct_and_match_their_count() {
    let disk = settled(&[("a", b"A"), ("b", b"B"), ("d/c", &[b'C'; 5000])]);
    let root = root_of(&disk);
    disk.rename(&root, b"a", &root, b"b", Rename::Exchange).unwrap();
    disk.overwrite("d/c", [b'X'; 5000], 0);
    disk.chmod("d/c", 0o600);
    disk.hard_link("d/c", "e");
    let states: Vec<_> = disk.crash_states(ALL).map(|state| state.snapshot()).collect();
    // Two names, two blocks, the mode and the new name are each either old or new.
    assert_eq!(states.len(), 64);
    assert_eq!(disk.crash_state_count(), 64);
    for (at, state) in states.iter().enumerate() {
        assert!(!states[..at].contains(state), "found twice: {state:?}");
    }
}

#[test]
fn sample_has_both_extremes_all_prefixes_and_single_changes() {
    let paths: Vec<String> = (0..24).map(|n| format!("f{n:02}")).collect();
    let disk = SimDisk::new();
    for path in &paths {
        disk.put(path, "1");
    }
    disk.settle();
    for path in &paths {
        disk.overwrite(path, "2", 0);
    }
    assert_eq!(disk.crash_state_count(), 1 << 24);
    let states = disk.crash_states(500);
    assert!(!states.is_exhaustive());
    let found: Vec<String> = states
        .map(|state| {
            paths.iter().flat_map(|path| state.get(path).unwrap()).map(char::from).collect()
        })
        .collect();
    assert_eq!(found.len(), 500);
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert_eq!(distinct.len(), 500);
    assert_eq!(found[0], "2".repeat(24));
    assert_eq!(found[1], "1".repeat(24));
    for at in 0..24 {
        let (before, after) = (at, 24 - at - 1);
        let prefix = "2".repeat(at) + &"1".repeat(24 - at);
        let alone = "1".repeat(before) + "2" + &"1".repeat(after);
        let but_one = "2".repeat(before) + "1" + &"2".repeat(after);
        for wanted in [prefix, alone, but_one] {
            assert!(distinct.contains(&wanted), "{wanted}");
        }
    }
    let again: Vec<_> = disk.crash_states(500).map(|state| state.snapshot()).collect();
    let first: Vec<_> = disk.crash_states(500).map(|state| state.snapshot()).collect();
    assert_eq!(again, first);
}

#[test]
fn crash_state_limit_is_exact() {
    let disk = settled(&[("a", b"1"), ("b", b"1")]);
    disk.overwrite("a", "2", 0);
    disk.overwrite("b", "2", 0);
    assert!(disk.crash_states(4).is_exhaustive());
    assert!(!disk.crash_states(3).is_exhaustive());
}

#[test]
fn crash_states_are_independent_and_in_the_next_epoch() {
    let disk = settled(&[("a", b"1")]);
    let root = root_of(&disk);
    let lock = disk.open_own(&root, b"a").unwrap();
    assert!(disk.lock(&lock, false).unwrap());
    disk.overwrite("a", "2", 0);
    let states: Vec<SimDisk> = disk.crash_states(ALL).collect();
    states[0].put("a", "3");
    assert_eq!(disk.get("a").unwrap(), b"2");
    assert_eq!(states[1].get("a").unwrap(), b"2");
    let next_root = root_of(&states[1]);
    assert_ne!(states[1].epoch(&next_root).unwrap(), disk.epoch(&root).unwrap());
    assert!(states[1].clock().0 - disk.clock().0 >= 60_000_000_000);
    assert!(states[1].now() > states[1].stat_of("a").unwrap().changed);
    assert_ne!(states[1].random().unwrap(), disk.random().unwrap());
    let file = states[1].open_own(&next_root, b"a").unwrap();
    assert!(states[1].lock(&file, false).unwrap());
}

#[test]
fn deep_copy_keeps_pending_writes_and_is_independent() {
    let disk = settled(&[("a", b"1")]);
    disk.overwrite("a", "2", 0);
    let copy = disk.clone_deep();
    disk.settle();
    assert_eq!(outcomes(&copy, &["a"]), ["1", "2"]);
    assert_eq!(outcomes(&disk, &["a"]), ["2"]);
}

#[test]
fn timestamps_add_crash_states_only_on_request() {
    let disk = settled(&[("a", b"1")]);
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    disk.write_at(&file, b"2", 0).unwrap();
    disk.sync_data(&file, Barrier::KeptImage).unwrap();
    assert_eq!(disk.crash_state_count(), 1);
    disk.vary_times();
    disk.write_at(&file, b"3", 0).unwrap();
    disk.sync_data(&file, Barrier::KeptImage).unwrap();
    assert_eq!(disk.crash_state_count(), 2);
}

#[test]
fn a_moved_directory_may_have_two_names_or_none() {
    let disk = settled(&[("a/x/f", b"1"), ("b/y", b"2")]);
    disk.rename_path("a/x", "b/x");
    assert_eq!(outcomes(&disk, &["a/x/f", "b/x/f"]), ["- -", "- 1", "1 -", "1 1"]);
    // A directory may even appear below itself, and readers must survive this.
    disk.rename_path("b/x", "x");
    disk.rename_path("b", "x/b");
    let mut loops = 0;
    for state in disk.crash_states(ALL) {
        loops += usize::from(state.stat_of("b/x/b/x").is_some());
        assert!(state.snapshot().len() < 20);
        state.mkdir_p("z");
        let root = root_of(&state);
        if let Ok(parent) = state.open_parent(&root, &RelPath::new("b/x/b").unwrap()) {
            drop(state.rename(&root, b"z", &parent, b"z", Rename::NoReplace));
        }
    }
    assert!(loops > 0);
}

#[test]
fn lost_changes_are_named() {
    let disk = settled(&[("d/a", b"1")]);
    disk.overwrite("d/a", "2", 0);
    disk.rename_path("d/a", "d/b");
    let oldest =
        disk.crash_states(ALL).find(|state| state.get("d/a") == Some(b"1".into())).unwrap();
    assert_eq!(
        oldest.lost(),
        [
            "name `a` in `/d` (inode 2): value 1 of 2",
            "name `b` in `/d` (inode 2): value 1 of 2",
            "block 0 of `/d/b` (inode 3): value 1 of 2",
        ]
    );
}
