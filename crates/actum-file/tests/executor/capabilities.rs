//! Move, copy and delete in one base directory.

use std::os::unix::fs::MetadataExt;

use actum_file::{ErrorCode, FileCapability, ResultSummary, UndoMetadata};

use crate::world::World;

fn inode(world: &World, path: &str) -> u64 {
    std::fs::metadata(world.path(path)).unwrap().ino()
}

/// FE-8, FE-13
#[test]
fn move_keeps_the_inode_and_reports_the_original_path() {
    let world = World::new();
    world.directory.put("a/f", "content");
    world.directory.chmod("a/f", 0o640);
    world.directory.mkdir("a/d");
    let before = inode(&world, "a/f");
    let end = world.succeed("t", "FILE_MOVE", "a/f", "a/d/g");
    assert_eq!(world.directory.get("a/f"), None);
    assert_eq!(world.directory.get("a/d/g").unwrap(), b"content");
    assert_eq!(inode(&world, "a/d/g"), before);
    let output = end.result.output.unwrap();
    assert_eq!(output.task_id.as_str(), "t");
    assert_eq!(output.capability_id, FileCapability::FileMove);
    let (source, destination) = (world.path("a/f"), Some(world.path("a/d/g")));
    assert_eq!(output.result_summary, ResultSummary { source: source.clone(), destination });
    assert_eq!(output.undo_metadata, UndoMetadata { original_path: Some(source), recovery: None });
    assert_eq!(end.result.runs.len(), 1);
}

/// FE-9, FE-13
#[test]
fn copy_contains_only_the_bytes_and_leaves_the_source_unchanged() {
    let world = World::new();
    world.directory.put("a/f", "content");
    world.directory.chmod("a/f", 0o755);
    let before = std::fs::metadata(world.path("a/f")).unwrap();
    let end = world.succeed("t", "FILE_COPY", "a/f", "a/g");
    let after = std::fs::metadata(world.path("a/f")).unwrap();
    let facts = |it: &std::fs::Metadata| (it.ino(), it.mode(), it.mtime_nsec(), it.ctime_nsec());
    assert_eq!(facts(&before), facts(&after));
    assert_eq!(world.directory.get("a/g").unwrap(), b"content");
    let copied = std::fs::metadata(world.path("a/g")).unwrap();
    assert_eq!(copied.mode() & 0o111, 0, "the mode is that of a new file");
    let undo = serde_json::to_string(&end.result.output.unwrap().undo_metadata).unwrap();
    assert_eq!(undo, "{}");
}

/// FE-9
#[test]
fn copies_of_every_size_are_byte_identical() {
    let world = World::new();
    let sizes =
        [0, 1, 4095, 4096, 4097, 256 << 10, (256 << 10) + 1, 1 << 20, (1 << 20) + 1, 5 << 20];
    for size in sizes {
        let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
        world.directory.put(format!("a/{size}"), &bytes);
        let from = format!("a/{size}");
        let to = format!("a/copy-{size}");
        world.succeed(&format!("t{size}"), "FILE_COPY", &from, &to);
        assert!(world.directory.get(&to).unwrap() == bytes, "{size}");
    }
}

/// FE-5, FE-10, FE-13
#[test]
fn deletion_returns_a_reference_that_restores_the_file() {
    let world = World::new();
    for (task, size) in [("small", 10), ("large", 3 << 20)] {
        let bytes = vec![7; size];
        world.directory.put("a/f", &bytes);
        world.directory.chmod("a/f", 0o604);
        let files = world.files();
        let end = world.succeed(task, "FILE_DELETE", "a/f", "");
        assert_eq!(world.directory.get("a/f"), None);
        let output = end.result.output.unwrap();
        assert_eq!(output.result_summary.destination, None);
        let reference = output.undo_metadata.recovery.unwrap().parse().unwrap();
        let mut worker = actum_file::InProcess(actum_workspace::LinuxDisk);
        world.with_worker(&mut worker, |host| host.restore(&reference)).unwrap();
        assert_eq!(world.files(), files);
        // FE-11: repeating the id of an undone deletion has no second effect.
        let again = world.succeed(task, "FILE_DELETE", "a/f", "");
        assert!(again.is_stored && world.files() == files);
        world.directory.remove("a/f");
    }
}

/// FE-4
#[test]
fn missing_source_and_existing_destination_are_rejected() {
    let world = World::new();
    world.directory.put("a/f", "f");
    world.directory.put("a/g", "g");
    world.directory.mkdir("a/d");
    let failed = |reason: &str| (ErrorCode::ExecutionFailed, reason.to_owned());
    for (task, capability) in [("m", "FILE_MOVE"), ("c", "FILE_COPY")] {
        let fail = |name: &str, from: &str, to: &str| {
            world.fail(&format!("{task}-{name}"), capability, from, to)
        };
        assert_eq!(fail("missing", "a/none", "a/x"), failed("FILE_MISSING"));
        assert_eq!(fail("exists", "a/f", "a/g"), failed("PATH_EXISTS"));
        assert_eq!(fail("directory", "a/f", "a/d"), failed("PATH_EXISTS"));
        assert_eq!(fail("no-parent", "a/f", "a/none/x"), failed("FILE_MISSING"));
        assert_eq!(fail("below-file", "a/f", "a/g/x"), failed("WAY_IS_A_FILE"));
        assert_eq!(fail("source-directory", "a/d", "a/x"), failed("NOT_A_REGULAR_FILE"));
    }
    assert_eq!(world.fail("d", "FILE_DELETE", "a/none", ""), failed("FILE_MISSING"));
    assert_eq!(world.fail("dd", "FILE_DELETE", "a/d", ""), failed("NOT_A_REGULAR_FILE"));
}

/// EX-20: the binary parts of a large file are skipped, but no secret is missed.
#[test]
fn secret_in_a_large_file_is_found_at_any_position() {
    const SIZE: usize = 17 << 20;
    let world = World::new();
    // Split in two so that secret scanners do not report this file.
    let secret =
        ["\nAWS_SECRET_ACCESS_KEY=", "q8Zr3vKp1TfXw6Lc0BnYd7MhUo2JsEi5Ga4RtNxQ", "\n"].concat();
    let places = [0, (4 << 20) - 30, (16 << 20) + 77, SIZE - secret.len()];
    for (number, at) in places.into_iter().enumerate() {
        let mut bytes: Vec<u8> = b"\x01\x82\x03\xf0\0".iter().copied().cycle().take(SIZE).collect();
        let from = format!("a/{number}");
        world.directory.put(&from, &bytes);
        world.succeed(&format!("clean-{number}"), "FILE_COPY", &from, &format!("a/clean-{number}"));
        assert!(world.directory.get(format!("a/clean-{number}")).unwrap() == bytes);
        bytes[at..at + secret.len()].copy_from_slice(secret.as_bytes());
        world.directory.put(&from, &bytes);
        let failed =
            world.fail(&format!("t{number}"), "FILE_COPY", &from, &format!("a/copy-{number}"));
        assert_eq!(failed, (ErrorCode::ExecutionFailed, "CHANGE_DENIED".to_owned()), "at {at}");
    }
}

/// EX-20: the file is larger than any key store, so its content remains unknown and the task is denied.
#[test]
fn large_file_named_like_a_key_store_is_denied() {
    let world = World::new();
    world.directory.put("a/f", vec![0; 17 << 20]);
    let failed = world.fail("t", "FILE_COPY", "a/f", "a/f.p12");
    assert_eq!(failed, (ErrorCode::ExecutionFailed, "CHANGE_DENIED".to_owned()));
}

/// FE-16, D-3: this entry point does not queue a change that needs an approval.
#[test]
fn a_change_that_needs_an_approval_fails_and_is_not_queued() {
    let world = World::new();
    world.directory.mkdir("a/.github/workflows");
    world.directory.put("a/ci.yml", "on: push\n");
    let failed = world.fail("t", "FILE_COPY", "a/ci.yml", "a/.github/workflows/ci.yml");
    assert_eq!(failed, (ErrorCode::ExecutionFailed, "NEEDS_APPROVAL".to_owned()));
}
