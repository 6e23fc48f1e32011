//! Damage of the journal is detected and reported, and nothing is overwritten.

use actum_core::RelPath;
use actum_edit::Operation;
use actum_testkit::TestDir;
use actum_workspace::{ErrorKind, RunOptions, View, Workspace};

const JOURNAL: &str = ".actum/journal";
/// Size of the two copies of the head and of four records of one page each.
const USED: usize = 6 * 4096;

fn write(file: &str, content: &str) -> Operation {
    let path = RelPath::new(file).unwrap();
    Operation::Write { path, content: content.into(), expected: None }
}

/// Returns a workspace with two runs in its journal.
fn two_runs() -> TestDir {
    let dir = TestDir::new();
    dir.put("a", "one\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for content in ["two\n", "three\n"] {
        workspace.apply_operations(&[write("a", content)], RunOptions::default()).unwrap();
    }
    dir
}

fn is_damage(dir: &TestDir, what: &str) {
    let journal = dir.get(JOURNAL).unwrap();
    let tree = dir.tree();
    let error = Workspace::open(dir.path()).err().unwrap_or_else(|| panic!("{what}: not found"));
    assert!(matches!(error.kind, ErrorKind::Damaged { .. }), "{what}: {error}");
    let error = View::open(dir.path()).err().unwrap_or_else(|| panic!("{what}: not found"));
    assert!(matches!(error.kind, ErrorKind::Damaged { .. }), "{what}: {error}");
    assert!(dir.get(JOURNAL).unwrap() == journal, "{what}: the journal was written to");
    assert_eq!(dir.tree(), tree, "{what}: the tree was written to");
}

/// FO-2
#[test]
fn flipped_bit_anywhere_in_the_records_is_detected() {
    let dir = two_runs();
    let sound = dir.get(JOURNAL).unwrap();
    let used = sound.iter().rposition(|&b| b != 0).unwrap();
    assert!(used < USED && used > USED - 4096, "{used}");
    // Every byte of the first sector of each page, and one byte of each of the other sectors.
    for at in (0..USED).filter(|at| at % 4096 < 512 || at % 512 == 300) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        dir.put(JOURNAL, &damaged);
        is_damage(&dir, &format!("bit at byte {at}"));
    }
    dir.put(JOURNAL, &sound);
    Workspace::open(dir.path()).unwrap();
}

/// FO-2
#[test]
fn truncated_journal_is_detected() {
    let dir = two_runs();
    let sound = dir.get(JOURNAL).unwrap();
    for length in [0, 1, 511, 512, 4096, 8191, 8192, 12_288, USED, USED + 1, sound.len() - 1] {
        dir.put(JOURNAL, &sound[..length]);
        is_damage(&dir, &format!("{length} bytes"));
    }
}

/// FO-2
#[test]
fn missing_record_in_the_middle_is_detected_after_a_power_cut() {
    let dir = two_runs();
    let mut journal = dir.get(JOURNAL).unwrap();
    journal[3 * 4096..4 * 4096].fill(0);
    dir.put(JOURNAL, &journal);
    // The first INTENT record now has no end, but a later record follows.
    is_damage(&dir, "a missing record");
}

/// FO-2
#[test]
fn damaged_journal_can_be_set_aside_manually() {
    let dir = two_runs();
    let mut journal = dir.get(JOURNAL).unwrap();
    journal[2 * 4096 + 100] ^= 1;
    dir.put(JOURNAL, &journal);
    is_damage(&dir, "a bit");
    let aside = Workspace::set_aside_journal(dir.path()).unwrap();
    assert!(dir.get(aside.journal.unwrap()).unwrap() == journal);
    assert_eq!(aside.unfinished, None);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    assert_eq!(dir.get("a").unwrap(), b"three\n");
    let run = workspace.apply_operations(&[write("a", "four\n")], RunOptions::default()).unwrap();
    workspace.revert(run).unwrap();
    assert_eq!(dir.get("a").unwrap(), b"three\n");
}

/// FO-2, issue 22 (claims)
#[test]
fn open_handle_writes_to_the_new_journal_after_the_old_is_set_aside() {
    let dir = two_runs();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut journal = dir.get(JOURNAL).unwrap();
    journal[2 * 4096 + 100] ^= 1;
    dir.put(JOURNAL, &journal);
    let aside = Workspace::set_aside_journal(dir.path()).unwrap().journal.unwrap();
    let run = workspace.apply_operations(&[write("a", "four\n")], RunOptions::default()).unwrap();
    assert!(dir.get(aside).unwrap() == journal);
    let runs = View::open(dir.path()).unwrap().runs().unwrap();
    assert_eq!(runs.iter().map(|known| known.run).collect::<Vec<_>>(), [run]);
    Workspace::open(dir.path()).unwrap().revert(run).unwrap();
    assert_eq!(dir.get("a").unwrap(), b"three\n");
}

/// FO-2, issue 22 (claims)
#[test]
fn handle_is_rejected_when_its_state_directory_was_replaced() {
    let dir = two_runs();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    std::fs::rename(dir.join(".actum"), dir.join("old")).unwrap();
    drop(Workspace::open(dir.path()).unwrap());
    let error =
        workspace.apply_operations(&[write("a", "four\n")], RunOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state directory `.actum` cannot be used: it was moved or replaced while in use; \
         try again; nothing was changed"
    );
    assert_eq!(dir.get("a").unwrap(), b"three\n");
}

/// Offsets of the format field in both copies of the head, after the sector's head, the length and the magic.
const FORMATS: [usize; 2] = [16 + 8 + 16, 4096 + 16 + 8 + 16];

/// Sets a different format number in the head of a journal.
fn set_format(dir: &TestDir, format: u8) {
    let mut journal = dir.get(JOURNAL).unwrap();
    for at in FORMATS {
        journal[at] = format;
        let sector = &mut journal[at - (16 + 8 + 16)..][..512];
        let checksum = crc32c(&sector[4..]);
        sector[..4].copy_from_slice(&checksum.to_le_bytes());
    }
    dir.put(JOURNAL, &journal);
}

/// FO-2
#[test]
fn journal_of_a_newer_format_is_rejected_and_not_written() {
    let dir = two_runs();
    set_format(&dir, 7);
    let journal = dir.get(JOURNAL).unwrap();
    let error = Workspace::open(dir.path()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the state in `.actum` has format 7, but this version of actum supports 6; use a newer version; \
         nothing was changed"
    );
    assert!(dir.get(JOURNAL).unwrap() == journal);
}

/// A program without support for block deltas sees the new format before the first of them.
///
/// FO-2, FO-5
#[test]
fn older_journal_is_upgraded_before_a_run_records_blocks() {
    let dir = two_runs();
    let before = vec![b'x'; 2 << 20];
    let mut after = before.clone();
    after[5000] = b'y';
    dir.put("large", &before);
    set_format(&dir, 3);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let first = workspace.apply_operations(&[write("a", "four\n")], RunOptions::default()).unwrap();
    let formats = |dir: &TestDir| FORMATS.map(|at| dir.get(JOURNAL).unwrap()[at]);
    assert_eq!(formats(&dir), [3, 3]);
    let path = RelPath::new("large").unwrap();
    let change = Operation::Write { path, content: after, expected: None };
    let run = workspace.apply_operations(&[change], RunOptions::default()).unwrap();
    assert!(formats(&dir).contains(&6));
    drop(workspace);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.revert(run).unwrap();
    workspace.revert(first).unwrap();
    assert!(dir.get("large").unwrap() == before);
    assert_eq!(dir.get("a").unwrap(), b"three\n");
}

/// A program without support for symbolic links sees the new format before the first of them.
///
/// FO-2, D-6
#[test]
fn older_journal_is_upgraded_before_a_run_records_a_symlink() {
    let dir = two_runs();
    set_format(&dir, 5);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let target = b"a".to_vec();
    let link = Operation::Link { path: RelPath::new("l").unwrap(), target, expected: None };
    let run = workspace.apply_operations(&[link], RunOptions::default()).unwrap();
    assert!(FORMATS.map(|at| dir.get(JOURNAL).unwrap()[at]).contains(&6));
    workspace.revert(run).unwrap();
}

/// Computes a CRC-32C bit by bit, as an independent check of the format.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    !crc
}
