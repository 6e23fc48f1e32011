//! Runs on large files record only the changed blocks, and can be undone and redone.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use actum_core::{Digest, RelPath, RunId};
use actum_edit::{EmptyParents, Operation};
use actum_testkit::{Random, TestDir};
use actum_workspace::disk::Disk;
use actum_workspace::path_change::{Content, State};
use actum_workspace::{
    BlockDelta, ErrorKind, GcOptions, Image, LinuxDisk, RunOptions, View, Workspace,
};
use proptest::prelude::*;

const BLOCK: usize = 4096;
/// Size that does not fit into a journal record.
const LARGE: usize = (1 << 20) + 70_000;

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn write(content: &[u8]) -> Operation {
    Operation::Write { path: path("db"), content: content.to_vec(), expected: None }
}

fn apply(dir: &TestDir, operation: Operation) -> RunId {
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.apply_operations(&[operation], RunOptions::default()).unwrap()
}

fn undo(dir: &TestDir, run: RunId) -> RunId {
    Workspace::open(dir.path()).unwrap().revert(run).unwrap()
}

fn collect(dir: &TestDir) {
    Workspace::open(dir.path()).unwrap().gc(&GcOptions::default()).unwrap();
}

/// Returns content without repetitions.
fn content(size: usize, seed: u64) -> Vec<u8> {
    let words = (0u64..).map(|at| (at ^ (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_be_bytes).take(size).collect()
}

/// Returns the content with `count` random blocks overwritten and one block appended.
fn updated(mut content: Vec<u8>, random: &mut Random, count: usize) -> Vec<u8> {
    for _ in 0..count {
        let start = random.below(content.len() / BLOCK) * BLOCK;
        let end = (start + BLOCK).min(content.len());
        content[start..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }
    content.extend_from_slice(&[7; BLOCK]);
    content
}

/// Returns the bytes used on disk below a directory. Each inode is counted once, and files with a link outside the
/// directory are not counted.
fn stored(directory: &Path) -> u64 {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let facts = entry.metadata().unwrap();
            if facts.is_dir() { stored(&entry.path()) } else { facts.blocks() * 512 }
        })
        .sum()
}

fn kept(dir: &TestDir) -> Vec<String> {
    let names = fs::read_dir(dir.join(".actum/keep")).unwrap();
    let mut names: Vec<_> =
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// FO-5, FO-9
#[test]
fn twenty_updates_of_a_large_file_store_little_beyond_changed_blocks() {
    let dir = TestDir::in_memory();
    let mut random = Random::new(5);
    let mut contents = vec![content(40 << 20, 1)];
    dir.put("db", &contents[0]);
    drop(Workspace::open(dir.path()).unwrap());
    let before = stored(&dir.join(".actum"));
    let mut runs = Vec::new();
    for _ in 0..20 {
        let next = updated(contents.last().unwrap().clone(), &mut random, 50);
        runs.push(apply(&dir, write(&next)));
        contents.push(next);
    }
    // The total is 20 × 50 blocks and none of the 20 × 40 MiB, even without a collection.
    let stored = stored(&dir.join(".actum")) - before;
    assert!(stored < 6 << 20, "{stored} bytes");
    assert_eq!(fs::metadata(dir.join("db")).unwrap().nlink(), 1);
    for (run, before) in runs.into_iter().zip(contents).rev() {
        undo(&dir, run);
        assert!(dir.get("db").unwrap() == before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// FO-5, FO-9
    #[test]
    fn random_block_edits_undo_and_redo_exactly(
        edits in proptest::collection::vec(
            (proptest::collection::vec((0usize..LARGE, 1usize..9000), 0..9), -30_000isize..30_000),
            1..5,
        ),
        collects in any::<bool>(),
    ) {
        let dir = TestDir::in_memory();
        let mut contents = vec![content(LARGE, 1)];
        dir.put("db", &contents[0]);
        let mut runs = Vec::new();
        for (number, (edits, grown)) in (1u8..).zip(edits) {
            let mut next = contents.last().unwrap().clone();
            next.resize(next.len().saturating_add_signed(grown), 9);
            for (at, count) in edits {
                let start = at.min(next.len());
                let end = (start + count).min(next.len());
                next[start..end].fill(number);
            }
            if next == *contents.last().unwrap() {
                continue;
            }
            runs.push(apply(&dir, write(&next)));
            contents.push(next);
            if collects {
                collect(&dir);
            }
        }
        collect(&dir);
        prop_assert!(kept(&dir).iter().all(|name| name.ends_with(".blocks")), "{:?}", kept(&dir));
        let mut undos = Vec::new();
        for (run, before) in runs.iter().zip(&contents).rev() {
            undos.push(undo(&dir, *run));
            prop_assert!(dir.get("db").unwrap() == *before, "undo");
        }
        for (redo, after) in undos.into_iter().rev().zip(&contents[1..]) {
            undo(&dir, redo);
            prop_assert!(dir.get("db").unwrap() == *after, "redo");
        }
        // Each run can be shown with its content, however many runs followed.
        for (index, run) in runs.iter().enumerate() {
            let changes = View::open(dir.path()).unwrap().diff(*run).unwrap();
            prop_assert!(is_known(&changes[0].before, &contents[index]));
            prop_assert!(is_known(&changes[0].after, &contents[index + 1]));
        }
    }
}

fn is_known(state: &State, wanted: &[u8]) -> bool {
    matches!(state, State::File { content: Content::Known(bytes), .. } if **bytes == wanted)
}

/// Returns a workspace with a large file that one run has changed, and whose record is in the history.
fn updated_once() -> (TestDir, RunId, Vec<u8>, Vec<u8>) {
    let dir = TestDir::in_memory();
    let before = content(LARGE, 1);
    let after = updated(before.clone(), &mut Random::new(3), 5);
    dir.put("db", &before);
    let run = apply(&dir, write(&after));
    collect(&dir);
    (dir, run, before, after)
}

/// FO-5: the earlier bytes are computed from the current content and compared with the recorded digest.
#[test]
fn undo_with_missing_or_damaged_blocks_is_rejected() {
    let (dir, run, before, after) = updated_once();
    let name = format!(".actum/keep/{run}.0.blocks");
    let sound = dir.get(&name).unwrap();
    let mut damaged = sound.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for bytes in [Some(damaged), Some(sound[..sound.len() - 1].to_vec()), None] {
        fs::remove_file(dir.join(&name)).unwrap();
        if let Some(bytes) = &bytes {
            dir.put(&name, bytes);
        }
        let error = Workspace::open(dir.path()).unwrap().revert(run).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::LostImage { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot undo run {run}: the saved content of `db` is damaged or missing; nothing was \
                 changed"
            )
        );
        assert!(dir.get("db").unwrap() == after);
        let changes = View::open(dir.path()).unwrap().diff(run).unwrap();
        let unknown = matches!(changes[0].before, State::File { content: Content::Unknown, .. });
        assert!(unknown);
        if bytes.is_none() {
            dir.put(&name, &sound);
        }
    }
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-5
#[test]
fn file_written_in_place_is_undone_only_after_it_is_restored() {
    let (dir, run, before, after) = updated_once();
    let mut edited = after.clone();
    edited[17] ^= 1;
    dir.put("db", &edited);
    let error = Workspace::open(dir.path()).unwrap().revert(run).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::ChangedSince { .. }), "{error}");
    assert!(dir.get("db").unwrap() == edited);
    dir.put("db", &after);
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-9: blocks apply only to the content that a run left, which is lost once another program writes to the file.
#[test]
fn file_written_by_another_process_between_runs_is_kept_whole() {
    let (dir, first, ..) = updated_once();
    let mut edited = dir.get("db").unwrap();
    edited[17] ^= 1;
    dir.put("db", &edited);
    let next = updated(edited.clone(), &mut Random::new(4), 5);
    let second = apply(&dir, write(&next));
    let third = apply(&dir, write(&updated(next.clone(), &mut Random::new(6), 5)));
    collect(&dir);
    let names =
        [format!("{first}.0.blocks"), format!("{second}.0.pre"), format!("{third}.0.blocks")];
    let mut names = names.to_vec();
    names.sort();
    assert_eq!(kept(&dir), names);
    undo(&dir, third);
    undo(&dir, second);
    assert!(dir.get("db").unwrap() == edited);
}

fn create(file: &str, content: &[u8]) -> Operation {
    Operation::Create { path: path(file), content: content.to_vec(), mode: None }
}

/// Returns true if the next run keeps the entire file, after another program wrote to it and `runs` other runs were
/// made.
fn is_kept_whole(dir: &TestDir, runs: usize) -> bool {
    let mut edited = dir.get("db").unwrap();
    edited[17] ^= 1;
    dir.put("db", &edited);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for run in 0..runs {
        let other = [create(&format!("other{run}"), b"other\n")];
        workspace.apply_operations(&other, RunOptions::default()).unwrap();
    }
    drop(workspace);
    let run = apply(dir, write(&updated(edited, &mut Random::new(4), 5)));
    collect(dir);
    kept(dir).contains(&format!("{run}.0.pre"))
}

/// FO-9
#[test]
fn foreign_writes_are_detected_after_one_of_the_newest_32_runs() {
    assert!(is_kept_whole(&updated_once().0, 31));
    assert!(!is_kept_whole(&updated_once().0, 32));
}

/// FO-9: the content that a run left is read only from records of at most 1 MiB.
#[test]
fn foreign_writes_after_a_run_with_a_very_large_record_go_undetected() {
    for (size, is_noticed) in [(400 << 10, true), (600 << 10, false)] {
        let dir = TestDir::in_memory();
        dir.put("db", content(LARGE, 1));
        for file in ["a", "b"] {
            dir.put(file, content(size, 2));
        }
        let (expected, parents) = (None, EmptyParents::Remove);
        let delete = |file| Operation::Delete { path: path(file), expected, parents };
        let after = updated(content(LARGE, 1), &mut Random::new(3), 5);
        let change = [write(&after), delete("a"), delete("b")];
        let mut workspace = Workspace::open(dir.path()).unwrap();
        workspace.apply_operations(&change, RunOptions::default()).unwrap();
        drop(workspace);
        collect(&dir);
        assert_eq!(is_kept_whole(&dir, 0), is_noticed, "{size}");
    }
}

/// FO-9
#[test]
fn blocks_totalling_over_a_quarter_of_a_file_are_not_recorded() {
    for (blocks, ending) in [(511, "blocks"), (512, "pre")] {
        let dir = TestDir::in_memory();
        let before = content(8 << 20, 1);
        let mut after = before.clone();
        after[..blocks * BLOCK].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        dir.put("db", &before);
        let run = apply(&dir, write(&after));
        collect(&dir);
        assert_eq!(kept(&dir), [format!("{run}.0.{ending}")]);
        undo(&dir, run);
        assert!(dir.get("db").unwrap() == before);
    }
}

/// FO-5, FO-9
#[test]
fn delete_rename_and_update_of_a_file_are_all_undone() {
    let (dir, run, before, after) = updated_once();
    let parents = EmptyParents::Remove;
    let renamed = apply(&dir, Operation::Rename { from: path("db"), to: path("d/moved"), parents });
    let expected = None;
    let deleted = apply(&dir, Operation::Delete { path: path("d/moved"), expected, parents });
    collect(&dir);
    assert_eq!(kept(&dir).len(), 2);
    undo(&dir, deleted);
    undo(&dir, renamed);
    assert!(dir.get("db").unwrap() == after);
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-9
#[test]
fn gc_counts_blocks_and_removes_them_with_their_run() {
    let (dir, run, ..) = updated_once();
    let size = fs::metadata(dir.join(format!(".actum/keep/{run}.0.blocks"))).unwrap().len();
    let collect = |options: GcOptions| Workspace::open(dir.path()).unwrap().gc(&options).unwrap();
    let report = collect(GcOptions::default());
    assert!(report.kept_bytes >= size && report.kept_bytes <= size + 4096 * 2, "{report:?}");
    let report = collect(GcOptions { bytes_max: size, dry_run: true, ..GcOptions::default() });
    assert_eq!(report.removed_runs, [run]);
    let report = collect(GcOptions { bytes_max: size, ..GcOptions::default() });
    assert_eq!((report.removed_runs, report.kept_bytes), (vec![run], 0));
    assert!(kept(&dir).is_empty());
}

/// FO-9
#[test]
fn gc_removes_whole_images_left_beside_their_blocks_by_a_kill() {
    let (dir, run, before, _) = updated_once();
    dir.put(format!(".actum/keep/{run}.0.pre"), &before);
    fs::hard_link(dir.join("db"), dir.join(format!(".actum/keep/{run}.0.post"))).unwrap();
    collect(&dir);
    assert_eq!(kept(&dir), [format!("{run}.0.blocks")]);
    // Without its blocks, nothing shows that the image is superfluous.
    fs::remove_file(dir.join(format!(".actum/keep/{run}.0.blocks"))).unwrap();
    dir.put(format!(".actum/keep/{run}.0.pre"), &before);
    collect(&dir);
    assert_eq!(kept(&dir), [format!("{run}.0.pre")]);
}

/// FO-5: after `cp -al`, both workspaces share the same inodes.
#[test]
fn workspace_copied_with_hard_links_undoes_only_its_own_file() {
    let (dir, run, before, after) = updated_once();
    let copy = TestDir::in_memory();
    let mut program = std::process::Command::new("cp");
    let copied = program.arg("-al").arg(dir.join(".")).arg(copy.path()).status();
    assert!(copied.unwrap().success());
    undo(&copy, run);
    assert!(copy.get("db").unwrap() == before);
    assert!(dir.get("db").unwrap() == after);
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-2, FO-5
#[test]
fn runs_in_the_history_can_be_undone_after_the_journal_was_set_aside() {
    let (dir, run, before, after) = updated_once();
    apply(&dir, create("x", b"x"));
    let mut journal = dir.get(".actum/journal").unwrap();
    journal[2 * 4096 + 100] ^= 1;
    dir.put(".actum/journal", &journal);
    assert!(Workspace::open(dir.path()).is_err());
    Workspace::set_aside_journal(dir.path()).unwrap();
    assert!(dir.get("db").unwrap() == after);
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-5: a file in which most blocks change is kept completely, because recording the blocks would save nothing.
#[test]
fn completely_rewritten_file_is_kept_whole() {
    let dir = TestDir::in_memory();
    let (before, after) = (content(LARGE, 1), content(LARGE, 2));
    dir.put("db", &before);
    let run = apply(&dir, write(&after));
    collect(&dir);
    assert_eq!(kept(&dir), [format!("{run}.0.pre")]);
    undo(&dir, run);
    assert!(dir.get("db").unwrap() == before);
}

/// FO-9: a diff holds the contents that it reads in memory.
#[test]
fn diff_shows_content_derived_from_at_most_64_mib() {
    for (size, is_shown) in [(64 << 20, true), ((64 << 20) + 1, false)] {
        let dir = TestDir::in_memory();
        let before = content(LARGE, 1);
        let mut after = before.clone();
        after.resize(size, 0);
        dir.put("db", &before);
        let run = apply(&dir, write(&after));
        collect(&dir);
        let change = View::open(dir.path()).unwrap().diff(run).unwrap().remove(0);
        assert_eq!(is_known(&change.before, &before), is_shown);
        let is_too_large =
            |held: &State| matches!(held, State::File { content: Content::TooLarge, .. });
        assert_eq!((is_too_large(&change.before), is_too_large(&change.after)), (!is_shown, true));
        undo(&dir, run);
        assert!(dir.get("db").unwrap() == before);
    }
}

/// FO-9: the record contains the digests of the complete contents, however these are stored.
#[test]
fn run_report_shows_digests_of_the_whole_contents() {
    let (dir, run, before, after) = updated_once();
    let report = View::open(dir.path()).unwrap().show(run).unwrap();
    let digests = [&report.changes[0].before, &report.changes[0].after];
    let digests = digests.map(|image| match image {
        Image::File(file) => Some(file.digest),
        Image::Absent | Image::Directory(_) => None,
    });
    assert_eq!(digests, [Some(Digest::of(&before)), Some(Digest::of(&after))]);
}

/// Returns a transaction with the new content, its delta beside the workspace, and the details of the delta.
fn with_delta(
    dir: &TestDir,
    next: &[u8],
    between: impl FnOnce(&Path),
) -> (Option<BlockDelta>, Result<RunId, ErrorKind>) {
    let outside = TestDir::in_memory();
    let target = LinuxDisk.open_root(outside.path()).unwrap();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate(&write(next)).unwrap();
    let delta = transaction.write_delta(&path("db"), (&target, "delta")).unwrap();
    assert_eq!(delta.map(|delta| delta.size), outside.get("delta").map(|it| it.len() as u64));
    if let Some(delta) = delta {
        assert_eq!(Digest::of(&outside.get("delta").unwrap()), delta.sha256);
        between(&outside.join("delta"));
    }
    let committed = transaction.commit().map_err(|error| error.kind);
    (delta, committed.map(|committed| committed.run))
}

/// EX-21, FO-5: the history reuses a delta that was written elsewhere, and computes the delta itself if that one is
/// damaged.
#[test]
fn history_reuses_an_existing_delta_or_recomputes_a_damaged_one() {
    for is_damaged in [false, true] {
        let dir = TestDir::in_memory();
        let before = content(LARGE, 1);
        dir.put("db", &before);
        let next = updated(before.clone(), &mut Random::new(3), 9);
        let (delta, run) = with_delta(&dir, &next, |delta| {
            if is_damaged {
                fs::write(delta, b"damaged").unwrap();
            }
        });
        let (delta, run) = (delta.unwrap(), run.unwrap());
        collect(&dir);
        assert_eq!(kept(&dir), [format!("{run}.0.blocks")]);
        let stored = dir.get(format!(".actum/keep/{run}.0.blocks")).unwrap();
        assert_eq!(Digest::of(&stored), delta.sha256);
        undo(&dir, run);
        assert!(dir.get("db").unwrap() == before);
    }
}

/// EX-21
#[test]
fn delta_is_written_only_when_it_saves_space() {
    let large = content(8 << 20, 1);
    let most = content(8 << 20, 2);
    let mut few = large.clone();
    few[5] ^= 1;
    for (before, next, is_written) in [
        (&large[..1 << 20], &few[..1 << 20], false),
        (&large[..(1 << 20) + 1], &few[..(1 << 20) + 1], true),
        (&large[..], &most[..], false),
        (&large[..], &few[..4], false),
        (&large[..], &few[..], true),
    ] {
        let dir = TestDir::in_memory();
        dir.put("db", before);
        let (delta, run) = with_delta(&dir, next, |_| {});
        assert_eq!(delta.is_some(), is_written, "{} {}", before.len(), next.len());
        undo(&dir, run.unwrap());
        assert!(dir.get("db").unwrap() == before);
    }
}

/// Returns the start and end offsets of the windows of the new content.
fn windows(dir: &TestDir, next: &[u8]) -> Vec<(usize, usize)> {
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate(&write(next)).unwrap();
    let mut windows = Vec::new();
    let read = transaction.each_window(&path("db"), (16, 16), |window| {
        let offset = usize::try_from(window.offset).unwrap();
        assert!(next[offset..].starts_with(window.bytes));
        windows.push((offset + window.range.start, offset + window.range.end));
        ControlFlow::Continue(())
    });
    read.unwrap();
    windows
}

/// EX-20: the earlier content of a large file is not new, so it is not scanned.
#[test]
fn scan_windows_of_a_large_file_cover_new_blocks_and_their_neighbours() {
    const WINDOW: usize = 16 << 10;
    let size = (17 << 20) + 100;
    let before = vec![b'a'; size];
    let mut inside = before.clone();
    inside[100 * WINDOW + 5] = b'b';
    let mut first = before.clone();
    first[0] = b'b';
    let longer = [&before[..], b"more"].concat();
    let last = size - 100;
    for (next, wanted) in [
        (&inside, vec![(99 * WINDOW, 102 * WINDOW)]),
        (&first, vec![(0, 2 * WINDOW)]),
        (&longer, vec![(last - WINDOW, size + 4)]),
    ] {
        let dir = TestDir::in_memory();
        dir.put("db", &before);
        assert_eq!(windows(&dir, next), wanted);
    }
    let dir = TestDir::in_memory();
    dir.put("db", b"another");
    let all = windows(&dir, &before);
    assert_eq!((all.first().unwrap().0, all.last().unwrap().1), (0, size));
    assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0));
}
