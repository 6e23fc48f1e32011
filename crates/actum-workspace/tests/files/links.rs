//! Symbolic links as objects of a run: created, retargeted, renamed and removed, but never followed (FO-7, D-6).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_testkit::TestDir;
use actum_workspace::path_change::{Content, State};
use actum_workspace::{ErrorKind, NotAFile, RunOptions, View, Workspace};

use crate::there_and_back::there_and_back;

fn path(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(path).unwrap()
}

fn link(at: &str, target: impl AsRef<[u8]>) -> Operation {
    Operation::Link { path: path(at), target: target.as_ref().to_vec(), expected: None }
}

fn retarget(at: &str, old: &[u8], new: &[u8]) -> Operation {
    let expected = Some(Digest::of(old));
    Operation::Link { path: path(at), target: new.to_vec(), expected }
}

fn delete(at: &str) -> Operation {
    Operation::Delete { path: path(at), expected: None, parents: EmptyParents::Keep }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Keep }
}

/// FO-5, D-6: the target may be non-UTF-8, of maximum length, missing, the link itself, or outside the workspace.
#[test]
fn symlinks_are_created_retargeted_renamed_removed_and_undone() {
    let dir = TestDir::new();
    dir.put("file", "content\n");
    for (name, target) in
        [("old", "file"), ("gone", "nowhere"), ("dir-link", "."), ("moved", "x/y")]
    {
        dir.symlink(name, target);
    }
    let longest = vec![b'l'; 4095];
    let strange: &[u8] = b"\xff\xfe/\n\x1b[31m";
    let operations = [
        link("new/link", "../file"),
        link("loop", "loop"),
        link("longest", &longest),
        link("strange", strange),
        link("absolute", "/etc/passwd"),
        link("out", "../../out"),
        retarget("old", b"file", b"other"),
        retarget("old", b"other", b"dir-link"),
        delete("gone"),
        delete("dir-link"),
        rename("moved", "new/moved"),
        rename("file", "file2"),
        link("file", "file2"),
        Operation::Copy { from: path("new/moved"), to: path("copy") },
    ];
    there_and_back(&dir, &operations, || {
        let target = |name: &str| fs::read_link(dir.join(name)).unwrap();
        assert_eq!(target("new/link").as_os_str(), "../file");
        assert_eq!(target("longest").as_os_str().as_bytes(), longest);
        assert_eq!(target("strange").as_os_str().as_bytes(), strange);
        assert_eq!(target("old").as_os_str(), "dir-link");
        assert_eq!(target("new/moved").as_os_str(), "x/y");
        assert_eq!(fs::read(dir.join("file")).unwrap(), b"content\n");
        assert_eq!(target("copy").as_os_str(), "x/y");
        assert!(dir.join("gone").symlink_metadata().is_err());
    });
}

/// FO-7: a run neither reads nor writes through a link, or through a path below one.
#[test]
fn symlink_is_never_followed() {
    let dir = TestDir::new();
    dir.put("real/file", "content\n");
    dir.symlink("way", "real");
    dir.symlink("to-file", "real/file");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let write =
        |at: &str| Operation::Write { path: path(at), content: b"x".to_vec(), expected: None };
    let chmod =
        |at: &str| Operation::Chmod { path: path(at), mode: ModeChange::Exact(FileMode::PRIVATE) };
    let create = |at: &str| Operation::Create { path: path(at), content: Vec::new(), mode: None };
    for operation in [write("to-file"), chmod("to-file"), write("way")] {
        let error = workspace.apply_operations(&[operation], RunOptions::default()).unwrap_err();
        let is_link = matches!(error.kind, ErrorKind::NotAFile { found: NotAFile::Symlink, .. });
        assert!(is_link && error.state == actum_workspace::State::Unchanged, "{error}");
    }
    for operation in [write("way/file"), create("way/new"), link("way/l", "x"), delete("way/file")]
    {
        let error = workspace.apply_operations(&[operation], RunOptions::default()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Component { .. }), "{error}");
    }
    // This also applies to a link that the same change creates.
    let both = [link("fresh", "real"), create("fresh/new")];
    let error = workspace.apply_operations(&both, RunOptions::default()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Component { .. }), "{error}");
    assert_eq!(fs::read(dir.join("real/file")).unwrap(), b"content\n");
}

/// FO-2: an impossible link is rejected, and the error names the problem.
#[test]
fn impossible_symlink_is_rejected() {
    let dir = TestDir::new();
    dir.put("file", "target");
    dir.symlink("old", "target");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for target in [&b""[..], b"a\0b", &[b'x'; 4096]] {
        let refused = workspace.apply_operations(&[link("l", target)], RunOptions::default());
        assert!(matches!(refused.unwrap_err().kind, ErrorKind::LinkTarget { .. }));
    }
    let mut refuse =
        |operation| workspace.apply_operations(&[operation], RunOptions::default()).unwrap_err();
    assert!(matches!(refuse(link("old", "x")).kind, ErrorKind::Exists { .. }));
    assert!(matches!(refuse(link("file", "x")).kind, ErrorKind::Exists { .. }));
    // A regular file that contains the target's bytes is not a link.
    assert!(matches!(refuse(retarget("file", b"target", b"x")).kind, ErrorKind::Exists { .. }));
    assert!(matches!(refuse(retarget("old", b"other", b"x")).kind, ErrorKind::Expected { .. }));
    assert!(matches!(refuse(retarget("none", b"x", b"y")).kind, ErrorKind::Expected { .. }));
}

/// FO-5: the error names a link that another program changed or replaced with a file.
#[test]
fn undo_is_rejected_when_a_symlink_changed_since() {
    let dir = TestDir::new();
    dir.symlink("l", "one");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let options = RunOptions::default;
    let run = workspace.apply_operations(&[retarget("l", b"one", b"two")], options()).unwrap();
    for change in [
        &|| symlink("three", dir.join("l")).unwrap(),
        &|| fs::write(dir.join("l"), "two").unwrap(),
        &|| fs::create_dir(dir.join("l")).unwrap(),
    ] as [&dyn Fn(); 3]
    {
        fs::remove_file(dir.join("l")).unwrap();
        change();
        let error = workspace.revert(run).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::ChangedSince { .. }), "{error}");
        if dir.join("l").is_dir() {
            fs::remove_dir(dir.join("l")).unwrap();
        } else {
            continue;
        }
        symlink("two", dir.join("l")).unwrap();
    }
    workspace.revert(run).unwrap();
    assert_eq!(fs::read_link(dir.join("l")).unwrap().as_os_str(), "one");
}

/// FO-9: a run reports the mode and target of a link before and after the change, including runs in the history.
#[test]
fn run_reports_symlinks_with_their_targets() {
    let dir = TestDir::new();
    dir.symlink("l", "one");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let operations = [retarget("l", b"one", b"two"), link("n", "new")];
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    drop(workspace);
    let view = View::open(dir.path()).unwrap();
    let changes = view.diff(run).unwrap();
    let content = |state: &State| match state {
        State::File { mode, content, .. } => {
            let Content::Known(bytes) = content else { panic!() };
            (*mode, String::from_utf8(bytes.to_vec()).unwrap())
        }
        State::Absent | State::Directory { .. } => panic!("{state:?}"),
    };
    let target = |text: &str| (FileMode::LINK, text.to_owned());
    assert_eq!(content(&changes[0].before), target("one"));
    assert_eq!(content(&changes[0].after), target("two"));
    assert_eq!(content(&changes[1].after), target("new"));
}

/// FO-5: the owner of a link is restored (lchown(2)).
#[test]
fn undo_restores_the_owner_of_a_symlink() {
    let dir = TestDir::new();
    dir.symlink("l", "one");
    if std::os::unix::fs::lchown(dir.join("l"), Some(4321), Some(4321)).is_err() {
        return; // only root can give files away
    }
    there_and_back(&dir, &[delete("l")], || {});
    assert_eq!(dir.join("l").symlink_metadata().unwrap().uid(), 4321);
    let moved = [rename("l", "m"), retarget("m", b"one", b"two")];
    there_and_back(&dir, &moved, || {
        assert_eq!(dir.join("m").symlink_metadata().unwrap().uid(), 4321);
    });
}
