//! Copies that a process modifies in a directory of its own and that are then added to a transaction.

use std::os::unix::fs::{MetadataExt, symlink};

use actum_core::{Digest, RelPath};
use actum_edit::{EmptyParents, Operation};
use actum_testkit::TestDir;
use actum_workspace::{ErrorKind, RunOptions, Workspace};

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// EX-11, FO-1: a modified copy becomes the content of its file, and the change can be undone.
#[test]
fn a_changed_copy_is_published_and_undone() {
    for size in [0, 100, 64 << 10, (5 << 20) + 1] {
        let dir = TestDir::new();
        dir.put("d/f", vec![3; size]);
        dir.chmod("d/f", 0o640);
        let before = dir.tree();
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        let staged = transaction.stage_directory().unwrap();
        let copied = transaction.copy_into(&staged, "copy", &path("d/f")).unwrap();
        assert_eq!((copied.sha256, copied.size), (Digest::of(&vec![3; size]), size as u64));
        let place = dir.path().join(staged.path());
        assert_eq!(std::fs::metadata(&place).unwrap().mode() & 0o7777, 0o700);
        let copy = place.join("copy");
        assert_eq!(std::fs::read(&copy).unwrap(), vec![3; size]);
        std::fs::write(&copy, vec![4; size + 1]).unwrap();
        std::fs::create_dir_all(place.join("spill/more")).unwrap();
        std::fs::write(place.join("spill/more/x"), b"x").unwrap();
        let taken = transaction.take_from(&staged, "copy", &path("d/f")).unwrap();
        assert_eq!((taken.sha256, taken.mode), (Digest::of(&vec![4; size + 1]), copied.mode));
        std::fs::write(place.join("new"), b"new").unwrap();
        transaction.take_from(&staged, "new", &path("e/g")).unwrap();
        transaction.discard(staged);
        assert!(!place.exists(), "it is removed with all that is in it");
        let run = transaction.commit().unwrap().run;
        assert_eq!(dir.get("d/f"), Some(vec![4; size + 1]));
        assert_eq!(dir.get("e/g"), Some(b"new".to_vec()));
        workspace.revert(run).unwrap();
        assert_eq!(dir.tree(), before);
    }
}

/// EX-11, EX-21: content that later steps replaced is removed from the stage directory, unless another path needs it.
#[test]
fn content_replaced_by_later_steps_uses_no_space() {
    let dir = TestDir::new();
    dir.put("f", vec![0; 1000]);
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let stage = dir.path().join(".actum/stage");
    let staged_files = || {
        let names = std::fs::read_dir(&stage).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.is_file()).count()
    };
    for round in 1..=5u8 {
        let content = vec![round; 5 << 20];
        let done: Result<(), actum_workspace::Error> = transaction.attempt(|it| {
            let staged = it.stage_directory()?;
            std::fs::write(dir.path().join(staged.path()).join("copy"), &content).unwrap();
            it.take_from(&staged, "copy", &path("f"))?;
            it.discard(staged);
            if round == 3 {
                let from = path("f");
                it.operate(&Operation::Rename {
                    from,
                    to: path("g"),
                    parents: EmptyParents::Keep,
                })?;
                it.operate(&Operation::Create {
                    path: path("f"),
                    content: b"f".to_vec(),
                    mode: None,
                })?;
            }
            Ok(())
        });
        done.unwrap();
        assert_eq!(staged_files(), if round < 4 { 1 } else { 2 }, "{round}");
    }
    let run = transaction.commit().unwrap().run;
    assert_eq!(dir.get("f"), Some(vec![5; 5 << 20]));
    assert_eq!(dir.get("g"), Some(vec![3; 5 << 20]));
    workspace.revert(run).unwrap();
    assert_eq!(dir.tree(), before);
}

/// EX-11: the copy is rejected if the process replaced it with any other kind of object.
#[test]
fn staged_links_directories_and_missing_files_are_rejected() {
    let dir = TestDir::new();
    dir.put("f", "f");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let staged = transaction.stage_directory().unwrap();
    let place = dir.path().join(staged.path());
    symlink("/etc/passwd", place.join("link")).unwrap();
    std::fs::create_dir(place.join("directory")).unwrap();
    std::fs::write(place.join("one"), b"one").unwrap();
    std::fs::hard_link(place.join("one"), place.join("two")).unwrap();
    for name in ["link", "directory"] {
        let error = transaction.take_from(&staged, name, &path("f")).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::NotAFile { .. }), "{error}");
    }
    let error = transaction.take_from(&staged, "one", &path("f")).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::HardLink { links: 2, .. }), "{error}");
    let error = transaction.take_from(&staged, "nothing", &path("f")).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Missing { .. }), "{error}");
    drop(transaction);
    assert!(!place.exists());
    assert_eq!(dir.get("f"), Some(b"f".to_vec()));
}

/// EX-11: a copy has the content that earlier steps left, and later steps see the content that was added.
#[test]
fn staged_copy_reflects_earlier_steps() {
    let dir = TestDir::new();
    dir.put("f", "first");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.write(&path("f"), b"second", None).unwrap();
    let staged = transaction.stage_directory().unwrap();
    transaction.copy_into(&staged, "f", &path("f")).unwrap();
    let copy = dir.path().join(staged.path()).join("f");
    assert_eq!(std::fs::read(&copy).unwrap(), b"second");
    std::fs::write(&copy, b"third").unwrap();
    transaction.take_from(&staged, "f", &path("f")).unwrap();
    assert_eq!(transaction.read(&path("f")).unwrap(), b"third");
}
