//! Files that a caller fills through a handle and then adds to a transaction.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use actum_core::{Digest, FileMode, RelPath};
use actum_testkit::TestDir;
use actum_workspace::{
    Attributes, ErrorKind, HardLinks, Limits, LinuxDisk, RunOptions, SourceFile, StagedFile,
    TakenAttributes, Workspace,
};

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// Returns a file that shares the open file description of a handle.
fn file(handle: &OwnedFd) -> File {
    handle.try_clone().unwrap().into()
}

fn fill(source: &SourceFile<LinuxDisk>, staged: &StagedFile<LinuxDisk>) {
    let mut from = file(source.handle());
    std::io::copy(&mut from, &mut file(staged.handle())).unwrap();
}

/// FE-9, FO-1: a staged file is added unchanged, including its holes, and the change can be undone.
#[test]
fn staged_file_is_published_unchanged() {
    for size in [0, 100, 64 << 10, (1 << 20) + 1] {
        let dir = TestDir::new();
        dir.put("f", vec![3; size]);
        dir.chmod("f", 0o751);
        let before = dir.tree();
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        let source = transaction.open_source(&path("f")).unwrap();
        let staged = transaction.stage_file().unwrap();
        fill(&source, &staged);
        let taken = transaction.take_copy(&path("g"), staged, &source, TakenAttributes::New);
        let taken = taken.unwrap();
        assert_eq!((taken.sha256, taken.size), (Digest::of(&vec![3; size]), size as u64));
        let run = transaction.commit().unwrap().run;
        assert_eq!(dir.get("f"), dir.get("g"));
        assert_eq!(std::fs::metadata(dir.join("g")).unwrap().mode() & 0o111, 0);
        workspace.revert(run).unwrap();
        assert_eq!(dir.tree(), before);
    }
}

/// FE-9
#[test]
fn a_small_sparse_file_keeps_its_holes() {
    let dir = TestDir::new();
    File::create(dir.join("f")).unwrap().set_len(900 << 10).unwrap();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let source = transaction.open_source(&path("f")).unwrap();
    let staged = transaction.stage_file().unwrap();
    file(staged.handle()).set_len(900 << 10).unwrap();
    transaction.take_copy(&path("g"), staged, &source, TakenAttributes::New).unwrap();
    transaction.commit().unwrap();
    let copied = std::fs::metadata(dir.join("g")).unwrap();
    assert_eq!((copied.len(), copied.blocks()), (900 << 10, 0));
}

/// FE-1: the transaction does not trust the process that filled the file.
#[test]
fn a_staged_file_that_differs_from_its_source_is_rejected() {
    let changes: [fn(&File); 4] = [
        |staged| staged.set_len(99).unwrap(),
        |staged| staged.set_len(101).unwrap(),
        |staged| staged.write_all_at(b"x", 50).unwrap(),
        |staged| staged.set_len(0).unwrap(),
    ];
    for change in changes {
        let dir = TestDir::new();
        dir.put("f", vec![3; 100]);
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        let source = transaction.open_source(&path("f")).unwrap();
        let staged = transaction.stage_file().unwrap();
        fill(&source, &staged);
        change(&file(staged.handle()));
        let taken = transaction.take_copy(&path("g"), staged, &source, TakenAttributes::New);
        assert!(matches!(taken.unwrap_err().kind, ErrorKind::Conflict { .. }));
    }
}

/// FE-1: a write between the comparison and the commit is also detected.
#[test]
fn a_staged_file_that_is_changed_after_it_was_compared_is_rejected() {
    let dir = TestDir::new();
    dir.put("f", vec![3; 100]);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let source = transaction.open_source(&path("f")).unwrap();
    let staged = transaction.stage_file().unwrap();
    fill(&source, &staged);
    let kept = file(staged.handle());
    transaction.take_copy(&path("g"), staged, &source, TakenAttributes::New).unwrap();
    kept.write_all_at(b"x", 50).unwrap();
    assert!(matches!(transaction.commit().unwrap_err().kind, ErrorKind::Conflict { .. }));
    assert_eq!(dir.get("g"), None);
}

/// FE-4
#[test]
fn staged_file_replaces_no_file_and_creates_no_directory() {
    let dir = TestDir::new();
    dir.put("f", "f");
    dir.put("g", "g");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for (to, is_taken) in [("g", true), ("d/g", false), ("f/g", false)] {
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        let source = transaction.open_source(&path("f")).unwrap();
        let staged = transaction.stage_file().unwrap();
        fill(&source, &staged);
        let refused = transaction.take_copy(&path(to), staged, &source, TakenAttributes::New);
        let kind = refused.unwrap_err().kind;
        assert_eq!(matches!(kind, ErrorKind::Exists { .. }), is_taken, "{kind}");
    }
    let stage = std::fs::read_dir(dir.join(".actum/stage")).unwrap().count();
    assert_eq!((stage, dir.get("d/g")), (0, None), "nothing staged is left");
}

/// FE-8
#[test]
fn attributes_and_modification_time_are_kept_or_the_run_is_rejected() {
    let dir = TestDir::new();
    dir.put("f", "f");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let source = transaction.open_source(&path("f")).unwrap();
    let TakenAttributes::Kept(attributes, _) = source.attributes() else { panic!("new") };
    let kept = Attributes { mode: FileMode::new(0o604), ..attributes };
    let time = actum_workspace::disk::Time(1_500_000_000_123_456_789);
    let staged = transaction.stage_file().unwrap();
    fill(&source, &staged);
    let taken = TakenAttributes::Kept(kept, time);
    transaction.take_copy(&path("g"), staged, &source, taken).unwrap();
    transaction.commit().unwrap();
    let found = std::fs::metadata(dir.join("g")).unwrap();
    assert_eq!(found.mode() & 0o7777, 0o604);
    assert_eq!((found.mtime(), found.mtime_nsec()), (1_500_000_000, 123_456_789));
}

/// FE-16, D-5
#[test]
fn hard_linked_source_is_rejected_when_the_limits_require_it() {
    let dir = TestDir::new();
    dir.put("f", "f");
    std::fs::hard_link(dir.join("f"), dir.join("h")).unwrap();
    dir.symlink("l", "f");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let limits = Limits { hard_links: HardLinks::Refuse, ..Limits::default() };
    let mut transaction = workspace.begin(RunOptions { limits, ..RunOptions::default() }).unwrap();
    let mut kind = |of: &str| transaction.open_source(&path(of)).err().unwrap().kind;
    assert!(matches!(kind("h"), ErrorKind::HardLink { .. }));
    assert!(matches!(kind("l"), ErrorKind::NotAFile { .. }));
    assert!(matches!(kind("none"), ErrorKind::Missing { .. }));
}
