//! A command's changes to a large file are stored as blocks.

use std::fs;
use std::path::Path;

use crate::program::{actum, workspace};

const BLOCK: usize = 4096;

/// Returns the files below `.actum/keep` with their sizes in bytes.
fn kept(root: &Path) -> Vec<(String, u64)> {
    let names = fs::read_dir(root.join(".actum/keep")).unwrap();
    let facts = names.map(|name| {
        let name = name.unwrap();
        (name.file_name().into_string().unwrap(), name.metadata().unwrap().len())
    });
    facts.collect()
}

fn succeeds(root: &Path, arguments: &[&str]) {
    let ended = actum(root, arguments);
    assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
}

/// FO-5, FO-9
#[test]
fn block_changes_of_a_large_file_are_undone_and_redone() {
    let (_directory, root) = workspace();
    let words = (0u64..(3 << 20) / 8).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let before: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    fs::write(root.join("db"), &before).unwrap();
    let script = "dd if=/dev/zero of=db bs=4096 count=2 seek=100 conv=notrunc 2>/dev/null; \
                  printf more >> db";
    succeeds(&root, &["exec", "--", "sh", "-c", script]);
    let mut after = before.clone();
    after[100 * BLOCK..102 * BLOCK].fill(0);
    after.extend_from_slice(b"more");
    assert!(fs::read(root.join("db")).unwrap() == after);
    succeeds(&root, &["gc"]);
    let stored = kept(&root);
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(stored[0].0.ends_with(".blocks") && stored[0].1 < 9_000, "{stored:?}");
    succeeds(&root, &["undo"]);
    assert!(fs::read(root.join("db")).unwrap() == before);
    succeeds(&root, &["redo"]);
    assert!(fs::read(root.join("db")).unwrap() == after);
    succeeds(&root, &["gc"]);
    // The appended bytes are stored as a separate block.
    let is_small = |(name, size): &(String, u64)| name.ends_with(".blocks") && *size < 13_000;
    assert!(kept(&root).iter().all(is_small), "{:?}", kept(&root));
}
