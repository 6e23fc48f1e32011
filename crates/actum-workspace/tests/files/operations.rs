//! Effects of a run on files of the real file system. Its undo reverts them byte for byte.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use crate::there_and_back::there_and_back;
use actum_core::{Digest, FileMode, RelPath};
use actum_edit::format::Reading;
use actum_edit::{ChangeSet, EmptyParents, Hunk, LineHunk, ModeChange, Operation, Patch, format};
use actum_testkit::TestDir;
use actum_workspace::{ChangeKind, ErrorKind, RunOptions, View, Workspace};

fn path(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(path).unwrap()
}

fn hunk(old: (u32, u32), new: (u32, u32), lines: &str) -> Hunk {
    Hunk {
        old_start: old.0,
        old_lines: old.1,
        new_start: new.0,
        new_lines: new.1,
        lines: lines.into(),
    }
}

fn patch(path: &str, hunks: Vec<Hunk>) -> Patch {
    Patch { path: path.into(), hunks, expected_prev_sha256: None }
}

fn create(file: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Operation {
    Operation::Create { path: path(file), content: content.as_ref().to_vec(), mode: None }
}

fn delete(file: &str) -> Operation {
    Operation::Delete { path: path(file), expected: None, parents: EmptyParents::Remove }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Remove }
}

fn write(file: &str, content: impl AsRef<[u8]>) -> Operation {
    let content = content.as_ref().to_vec();
    Operation::Write { path: path(file), content, expected: None }
}

/// FO-1, FO-5
#[test]
fn a_change_set_is_applied_and_reverted() {
    let dir = TestDir::new();
    dir.put("src/a.rs", "one\ntwo\nthree\n");
    dir.put("b", "1\n2\n");
    let before = dir.tree();
    let mut change_set = ChangeSet::new();
    change_set.patches.push(patch("src/a.rs", vec![hunk((2, 1), (2, 1), "-two\n+TWO\n")]));
    change_set.patches.push(patch("b", vec![hunk((2, 0), (3, 1), "+3\n")]));
    change_set.patches.push(patch("new/c", vec![hunk((0, 0), (1, 1), "+c\n")]));
    change_set.patches[0].expected_prev_sha256 = Some(Digest::of(b"one\ntwo\nthree\n").to_string());
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let id = workspace.apply(&change_set).unwrap();
    assert_eq!(dir.get("src/a.rs").unwrap(), b"one\nTWO\nthree\n");
    assert_eq!(dir.get("b").unwrap(), b"1\n2\n3\n");
    assert_eq!(dir.get("new/c").unwrap(), b"c\n");
    workspace.revert(id).unwrap();
    assert_eq!(dir.tree(), before);
}

/// FO-10: the lines that may follow distinguish an insertion from the creation of a file.
#[test]
fn insertion_at_the_top_of_a_file_round_trips() {
    let dir = TestDir::new();
    dir.put("a", "two\n");
    let hunk = |at_end: bool| {
        let body = b"+one\n".to_vec();
        LineHunk { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, body, at_end }
    };
    let patch = |file: &str, at_end: bool| Operation::Patch {
        path: path(file),
        hunks: vec![hunk(at_end)],
        expected: None,
    };
    there_and_back(&dir, &[patch("a", false), patch("new", true)], || {
        assert_eq!(dir.get("a").unwrap(), b"one\ntwo\n");
        assert_eq!(dir.get("new").unwrap(), b"one\n");
    });
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut refused = |operation: Operation| {
        let refused = workspace.apply_operations(&[operation], RunOptions::default());
        refused.unwrap_err().kind
    };
    assert!(matches!(refused(patch("a", true)), ErrorKind::Exists { .. }));
    assert!(matches!(refused(patch("missing", false)), ErrorKind::Missing { .. }));
}

/// FO-5
#[test]
fn patched_file_that_replaces_another_round_trips() {
    let dir = TestDir::new();
    dir.put("a", "one\ntwo\n");
    dir.put("b", "uno\ndos\n");
    let body = b"-uno\n+UNO\n".to_vec();
    let hunk =
        LineHunk { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, body, at_end: false };
    let patch = Operation::Patch { path: path("b"), hunks: vec![hunk], expected: None };
    there_and_back(&dir, &[patch, delete("a"), rename("b", "a")], || {
        assert_eq!(dir.get("a").unwrap(), b"UNO\ndos\n");
        assert_eq!(dir.get("b"), None);
    });
}

/// FO-10
#[test]
fn file_moves_below_its_own_path_and_to_the_path_of_its_directory() {
    let dir = TestDir::new();
    dir.put("x", "1\n");
    dir.put("d/f", "2\n");
    there_and_back(&dir, &[rename("x", "x/y"), rename("d/f", "d")], || {
        assert_eq!(dir.get("x/y").unwrap(), b"1\n");
        assert_eq!(dir.get("d").unwrap(), b"2\n");
    });
}

/// FO-10
#[test]
fn every_operation_type_round_trips() {
    let dir = TestDir::new();
    dir.put("edit", "one\ntwo\n");
    dir.put("only/child", "child\n");
    dir.put("move/me", "moved\n");
    dir.put("script", "#!/bin/sh\n");
    dir.chmod("script", 0o750);
    dir.put("whole", b"\x00\x01\xff binary");
    let operations = [
        write("edit", "one\nTWO\n"),
        delete("only/child"),
        rename("move/me", "to/here"),
        Operation::Copy { from: path("script"), to: path("bin/script") },
        Operation::Chmod { path: path("script"), mode: ModeChange::Exact(FileMode::new(0o600)) },
        write("whole", b"\xfe\x00"),
        create("empty", ""),
        create("no-newline", "text"),
    ];
    there_and_back(&dir, &operations, || {
        let tree = dir.tree();
        let names: Vec<_> = tree.keys().map(|p| p.display().to_string()).collect();
        assert_eq!(
            names,
            [
                "bin",
                "bin/script",
                "edit",
                "empty",
                "no-newline",
                "script",
                "to",
                "to/here",
                "whole"
            ]
        );
        assert_eq!(dir.get("edit").unwrap(), b"one\nTWO\n");
        assert_eq!(std::fs::metadata(dir.join("bin/script")).unwrap().mode() & 0o777, 0o750);
        assert_eq!(std::fs::metadata(dir.join("script")).unwrap().mode() & 0o777, 0o600);
    });
}

/// FO-6, FO-10: the patch has the format of `git diff --binary`.
#[test]
fn binary_patch_round_trips_and_leaves_other_contents_unchanged() {
    let diff = concat!(
        "diff --git a/new b/new\n",
        "new file mode 100644\n",
        "index 0000000000000000000000000000000000000000..87949ebb25c3c276252f7429844e36b0e51bf151\n",
        "GIT binary patch\n",
        "literal 2\n",
        "Jcmc~}0002q0B-;Q\n",
        "\n",
        "literal 0\n",
        "HcmV?d00001\n",
        "\n",
        "diff --git a/x b/x\n",
        "index 20b5be91886d0b6f26dc98a225c0dac05fe2c86e..88f37001cec36655decf891d4244853aaa51a00a 100644\n",
        "GIT binary patch\n",
        "literal 3\n",
        "KcmYdfNCp4_i2%g_\n",
        "\n",
        "literal 3\n",
        "KcmYdfNCE%>hycU@\n",
        "\n",
    );
    let operations = format::parse(diff.as_bytes(), &Reading::default()).unwrap();
    let dir = TestDir::new();
    dir.put("x", b"a\0b");
    there_and_back(&dir, &operations, || {
        assert_eq!(dir.get("x").unwrap(), b"a\0c");
        assert_eq!(dir.get("new").unwrap(), b"n\0");
    });
    let mut workspace = Workspace::open(dir.path()).unwrap();
    dir.put("x", b"a\0c");
    let before = dir.tree();
    let error = workspace.apply_operations(&operations, RunOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot edit `x`: the file already has the content that the binary patch produces (blob id \
         `88f37001cec36655decf891d4244853aaa51a00a`); nothing was changed"
    );
    assert_eq!(dir.tree(), before);
}

/// FO-5
#[test]
fn line_endings_missing_newlines_and_other_encodings_are_preserved() {
    let dir = TestDir::new();
    dir.put("crlf", "a\r\nb\r\n");
    dir.put("latin1", b"caf\xe9\nb\n");
    dir.put("open", "a\nb");
    let mut set = ChangeSet::new();
    set.patches.push(patch("crlf", vec![hunk((1, 1), (1, 1), "-a\r\n+A\r\n")]));
    set.patches.push(patch("latin1", vec![hunk((2, 1), (2, 1), "-b\n+B\n")]));
    set.patches.push(patch("open", vec![hunk((1, 1), (1, 1), "-a\n+A\n")]));
    there_and_back(&dir, &set.operations().unwrap(), || {
        assert_eq!(dir.get("crlf").unwrap(), b"A\r\nb\r\n");
        assert_eq!(dir.get("latin1").unwrap(), b"caf\xe9\nB\n");
        assert_eq!(dir.get("open").unwrap(), b"A\nb");
    });
}

/// FO-10
#[test]
fn non_utf8_names_round_trip() {
    let dir = TestDir::new();
    dir.put(b"caf\xe9/old\n", "x\n");
    let operations = [
        create(b"\xff\xfe/new", "y\n"),
        Operation::Rename {
            from: path(b"caf\xe9/old\n"),
            to: path(b"caf\xe9/\t new"),
            parents: EmptyParents::Keep,
        },
    ];
    there_and_back(&dir, &operations, || {
        assert_eq!(dir.get(b"caf\xe9/\t new").unwrap(), b"x\n");
        assert_eq!(dir.get(b"\xff\xfe/new").unwrap(), b"y\n");
    });
}

/// FO-10
#[test]
fn path_changes_from_file_to_directory_and_back() {
    let dir = TestDir::new();
    dir.put("x", "file\n");
    dir.put("y/z/deep", "deep\n");
    let operations =
        [delete("x"), create("x/y", "below\n"), delete("y/z/deep"), create("y", "file now\n")];
    there_and_back(&dir, &operations, || {
        assert_eq!(dir.get("x/y").unwrap(), b"below\n");
        assert_eq!(dir.get("y").unwrap(), b"file now\n");
    });
}

/// FO-10
#[test]
fn steps_see_the_effects_of_earlier_steps() {
    let dir = TestDir::new();
    dir.put("a", "a\n");
    dir.put("b", "b\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.rename(&path("a"), &path("t"), EmptyParents::Keep).unwrap();
    transaction.rename(&path("b"), &path("a"), EmptyParents::Keep).unwrap();
    transaction.rename(&path("t"), &path("b"), EmptyParents::Keep).unwrap();
    transaction.write(&path("b"), b"a, moved and edited\n", None).unwrap();
    assert_eq!(transaction.read(&path("b")).unwrap(), b"a, moved and edited\n");
    transaction.create(&path("n/e/w"), b"1", None).unwrap();
    transaction.write(&path("n/e/w"), b"2", None).unwrap();
    transaction.create(&path("gone"), b"", None).unwrap();
    transaction.delete(&path("gone"), None, EmptyParents::Keep).unwrap();
    assert_eq!(dir.get("a").unwrap(), b"a\n", "nothing is visible before the commit");
    let kinds: Vec<_> =
        transaction.changes().iter().map(|c| (c.path.to_string(), c.kind.clone())).collect();
    let done = transaction.commit().unwrap();
    assert_eq!(
        kinds,
        [
            ("a".into(), ChangeKind::Modified),
            ("b".into(), ChangeKind::Modified),
            ("n".into(), ChangeKind::DirectoryCreated),
            ("n/e".into(), ChangeKind::DirectoryCreated),
            ("n/e/w".into(), ChangeKind::Created),
        ]
    );
    assert_eq!(dir.get("a").unwrap(), b"b\n");
    assert_eq!(dir.get("b").unwrap(), b"a, moved and edited\n");
    assert_eq!(dir.get("n/e/w").unwrap(), b"2");
    assert!(dir.get("gone").is_none() && dir.get("t").is_none());
    workspace.revert(done.run).unwrap();
    assert_eq!(dir.get("a").unwrap(), b"a\n");
    assert_eq!(dir.get("b").unwrap(), b"b\n");
    assert!(!dir.join("n").exists());
}

/// FO-10
#[test]
fn moved_file_keeps_its_inode_and_a_single_link() {
    let dir = TestDir::new();
    dir.put("a", "a\n");
    let inode = std::fs::metadata(dir.join("a")).unwrap().ino();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[rename("a", "b")], RunOptions::default()).unwrap();
    let moved = std::fs::metadata(dir.join("b")).unwrap();
    assert_eq!((moved.ino(), moved.nlink()), (inode, 1));
    workspace.revert(run).unwrap();
    let back = std::fs::metadata(dir.join("a")).unwrap();
    assert_eq!((back.ino(), back.nlink()), (inode, 1));
}

/// FO-10
#[test]
fn moved_large_file_has_one_link_after_gc_and_moves_back() {
    let dir = TestDir::new();
    dir.put("a", vec![b'x'; (1 << 20) + 1]);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[rename("a", "b")], RunOptions::default()).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    let links = |file| std::fs::metadata(dir.join(file)).unwrap().nlink();
    assert_eq!(links("b"), 1);
    workspace.revert(run).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    assert_eq!(links("a"), 1);
}

/// FO-2
#[test]
fn files_from_empty_to_large_round_trip() {
    let line = b"a line of some length, so that there are not too many of them\n";
    for size in [0usize, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 9 << 20] {
        let content: Vec<u8> = line.iter().copied().cycle().take(size).collect();
        let dir = TestDir::new();
        dir.put("patched", [&content[..], b"\nlast\n"].concat());
        dir.put("deleted", &content);
        dir.put("moved", &content);
        let lines = u32::try_from(content.iter().filter(|&&b| b == b'\n').count()).unwrap() + 2;
        let mut set = ChangeSet::new();
        let edit = hunk((lines, 1), (lines, 1), "-last\n+LAST\n");
        set.patches.push(patch("patched", vec![edit]));
        let mut operations = set.operations().unwrap();
        operations.extend([delete("deleted"), rename("moved", "m/oved"), create("new", &content)]);
        there_and_back(&dir, &operations, || {
            assert_eq!(dir.get("patched").unwrap(), [&content[..], b"\nLAST\n"].concat());
            assert_eq!(dir.get("m/oved").unwrap(), content);
            assert_eq!(dir.get("new").unwrap(), content);
        });
    }
}

/// FO-2
#[test]
fn data_beyond_the_journal_capacity_is_kept_beside_it() {
    let dir = TestDir::new();
    let content = vec![b'x'; 700 << 10];
    for file in 0..30 {
        dir.put(format!("old{file}"), &content);
    }
    let mut operations: Vec<_> = (0..30).map(|file| delete(&format!("old{file}"))).collect();
    operations.extend((0..30).map(|file| create(format!("new{file}"), &content)));
    there_and_back(&dir, &operations, || assert_eq!(dir.tree().len(), 30));
}

/// FO-2
#[test]
fn a_sparse_file_of_a_gibibyte_is_patched_with_little_memory() {
    let dir = TestDir::new();
    dir.put("huge", "first\n");
    let file = std::fs::OpenOptions::new().write(true).open(dir.join("huge")).unwrap();
    let size =
        if std::env::var_os("ACTUM_TEST_GIBIBYTE").is_some() { 1u64 << 30 } else { 64 << 20 };
    file.write_at(b"\nlast\n", size).unwrap();
    let mut set = ChangeSet::new();
    set.patches.push(patch("huge", vec![hunk((1, 1), (1, 1), "-first\n+FIRST\n")]));
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let id = workspace.apply(&set).unwrap();
    assert_eq!(std::fs::metadata(dir.join("huge")).unwrap().len(), size + 6);
    workspace.revert(id).unwrap();
    let mut start = [0; 6];
    let file = std::fs::File::open(dir.join("huge")).unwrap();
    file.read_exact_at(&mut start, 0).unwrap();
    assert_eq!(&start, b"first\n");
}

/// FO-9
#[test]
fn older_run_can_be_undone_after_later_runs_on_other_files() {
    let dir = TestDir::new();
    for file in 0..20 {
        dir.put(format!("f{file}"), "old\n");
    }
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let runs: Vec<_> = (0..20)
        .map(|file| {
            let operation = write(&format!("f{file}"), "new\n");
            workspace.apply_operations(&[operation], RunOptions::default()).unwrap()
        })
        .collect();
    workspace.revert(runs[7]).unwrap();
    for file in 0..20 {
        let wanted: &[u8] = if file == 7 { b"old\n" } else { b"new\n" };
        assert_eq!(dir.get(format!("f{file}")).unwrap(), wanted);
    }
    assert_eq!(View::open(dir.path()).unwrap().runs().unwrap().len(), 21);
}

/// FO-5
#[test]
fn undo_keeps_a_created_directory_that_gained_other_files() {
    let dir = TestDir::new();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let operations = [create("made/here", "x\n")];
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    dir.put("made/mine", "mine\n");
    workspace.revert(run).unwrap();
    assert_eq!(dir.get("made/mine").unwrap(), b"mine\n");
    assert!(dir.get("made/here").is_none());
}

/// FO-9
#[test]
fn undo_is_reversed_although_its_directory_was_removed() {
    let dir = TestDir::new();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = [create("a/b/c", "c\n")];
    let run = workspace.apply_operations(&run, RunOptions::default()).unwrap();
    dir.put("a/mine", "mine\n");
    let undo = workspace.revert(run).unwrap();
    dir.remove("a/mine");
    std::fs::remove_dir(dir.join("a")).unwrap();
    workspace.revert(undo).unwrap();
    assert_eq!(dir.get("a/b/c").unwrap(), b"c\n");
}

/// FO-9
#[test]
fn redo_restores_the_latest_undo_and_never_reverts_a_change() {
    let dir = TestDir::new();
    dir.put("f", "0\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let redo = |workspace: &mut Workspace| {
        let (_, transaction) = workspace.begin_redo_newest(RunOptions::default()).ok()?;
        Some(transaction.commit().unwrap().run)
    };
    let first = [write("f", "1\n")];
    let first = workspace.apply_operations(&first, RunOptions::default()).unwrap();
    let second = [write("f", "2\n")];
    let second = workspace.apply_operations(&second, RunOptions::default()).unwrap();
    assert_eq!(redo(&mut workspace), None);
    workspace.revert(second).unwrap();
    workspace.revert(first).unwrap();
    for wanted in ["1\n", "2\n"] {
        assert!(redo(&mut workspace).is_some());
        assert_eq!(dir.get("f").unwrap(), wanted.as_bytes());
    }
    assert_eq!(redo(&mut workspace), None);
    // Once the changes are removed from the history, the direction of the undos is unknown.
    let options = actum_workspace::GcOptions { runs_max: 1, ..Default::default() };
    workspace.gc(&options).unwrap();
    assert_eq!(redo(&mut workspace), None);
    assert_eq!(dir.get("f").unwrap(), b"2\n");
}

/// FO-9
#[test]
fn conflict_names_a_later_run_but_no_undo_or_manual_edit() {
    let dir = TestDir::new();
    dir.put("f", "0\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut change = |content: &str| {
        let operations = [write("f", content)];
        workspace.apply_operations(&operations, RunOptions::default()).unwrap()
    };
    let (first, second) = (change("1\n"), change("2\n"));
    let by = |workspace: &mut Workspace| {
        let error = workspace.revert(first).unwrap_err();
        let ErrorKind::ChangedSince { conflicts, .. } = error.kind else { panic!("{error}") };
        conflicts[0].by
    };
    assert_eq!(by(&mut workspace), Some(second));
    dir.put("f", "by hand\n");
    assert_eq!(by(&mut workspace), None);
    let operations = [write("f", "3\n")];
    let third = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    assert_eq!(by(&mut workspace), Some(third));
    workspace.revert(third).unwrap();
    assert_eq!(by(&mut workspace), None);
}

/// EX-12
#[test]
fn failed_attempt_leaves_nothing_and_other_steps_are_committed() {
    let dir = TestDir::new();
    dir.put("a.txt", "one\n");
    dir.put("linked.txt", "linked\n");
    std::fs::hard_link(dir.path().join("linked.txt"), dir.path().join("other.txt")).unwrap();
    // The content exceeds the limit for memory, so it is staged.
    let large = vec![b'x'; 8 << 20];
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate(&create("first.bin", &large)).unwrap();
    transaction.operate(&write("a.txt", "two\n")).unwrap();
    let before = transaction.effects();
    let staged = || std::fs::read_dir(dir.path().join(".actum/stage")).unwrap().count();
    let failed = transaction.attempt(|transaction| {
        for step in [
            create("new/deep/large.bin", &large),
            rename("first.bin", "new/first.bin"),
            rename("a.txt", "new/a.txt"),
            write("new/a.txt", "three\n"),
            delete("new/a.txt"),
            write("linked.txt", "edited\n"),
        ] {
            transaction.operate(&step)?;
        }
        assert_eq!(transaction.broken_links(), [path("linked.txt")]);
        assert_eq!(staged(), 2);
        transaction.operate(&delete("missing.txt"))
    });
    assert!(matches!(failed.unwrap_err().kind, ErrorKind::Missing { .. }));
    assert_eq!(transaction.effects(), before);
    assert_eq!((staged(), transaction.broken_links()), (1, &[][..]));
    // Changes by other programs to a file that only the failed steps read are detected.
    dir.put("other.txt", "three\n");
    assert_eq!(transaction.read(&path("linked.txt")).unwrap(), b"three\n");
    let missing = transaction.read(&path("new/a.txt")).unwrap_err().kind;
    assert!(matches!(missing, ErrorKind::Missing { .. }), "{missing:?}");
    transaction.attempt(|transaction| transaction.operate(&create("new/b.txt", "b\n"))).unwrap();
    transaction.commit().unwrap();
    let names: Vec<_> = dir.tree().into_keys().collect();
    assert_eq!(
        names,
        ["a.txt", "first.bin", "linked.txt", "new", "new/b.txt", "other.txt"].map(PathBuf::from)
    );
    assert_eq!(std::fs::read(dir.path().join("first.bin")).unwrap(), large);
    assert_eq!(std::fs::read(dir.path().join("a.txt")).unwrap(), b"two\n");
}

/// EX-12
#[test]
fn failed_attempt_rolls_back_its_nested_successful_steps() {
    let dir = TestDir::new();
    dir.put("d/only.txt", "one\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let failed: Result<(), &str> = transaction.attempt(|transaction| {
        // The directory is removed together with its last file.
        let deleted = transaction.attempt(|transaction| transaction.operate(&delete("d/only.txt")));
        deleted.map_err(|_| "not deleted")?;
        let refused =
            transaction.attempt(|transaction| transaction.operate(&delete("missing.txt")));
        assert!(refused.is_err());
        assert_eq!(transaction.changes().len(), 2, "{:?}", transaction.changes());
        Err("given up")
    });
    assert_eq!(failed, Err("given up"));
    assert_eq!(*transaction.changes(), []);
    transaction.operate(&rename("d/only.txt", "d/moved.txt")).unwrap();
    transaction.commit().unwrap();
    assert_eq!(std::fs::read(dir.path().join("d/moved.txt")).unwrap(), b"one\n");
}
