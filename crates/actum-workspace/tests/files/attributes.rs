//! Modes, owners, extended attributes, ACLs and hard links.

use std::os::unix::fs::{MetadataExt, chown};

use actum_core::{FileMode, RelPath};
use actum_edit::{ModeChange, Operation};
use actum_testkit::TestDir;
use actum_workspace::{ErrorKind, HardLinks, Limits, RunOptions, State, Workspace};
use rustix::fs::{XattrFlags, getxattr, setxattr};

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn write(file: &str, content: &str) -> Operation {
    Operation::Write { path: path(file), content: content.into(), expected: None }
}

fn create(file: &str) -> Operation {
    Operation::Create { path: path(file), content: b"new\n".to_vec(), mode: None }
}

fn xattr(dir: &TestDir, file: &str, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1024];
    let size = getxattr(dir.join(file), name, &mut value).ok()?;
    value.truncate(size);
    Some(value)
}

/// Encodes an ACL in the format of the extended attribute: the owner, user 1, the group, the mask and others.
fn acl(user: u16, named: u16, group: u16, mask: u16, other: u16) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0];
    let undefined = u32::MAX;
    for (tag, permissions, id) in [
        (1u16, user, undefined),
        (2, named, 1),
        (4, group, undefined),
        (0x10, mask, undefined),
        (0x20, other, undefined),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// FO-5
#[test]
fn mode_and_extended_attributes_survive_a_change_and_its_undo() {
    let dir = TestDir::new();
    dir.put("a", "old\n");
    dir.chmod("a", 0o4755);
    setxattr(dir.join("a"), "user.note", b"keep me", XattrFlags::empty()).unwrap();
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[write("a", "new\n")], RunOptions::default()).unwrap();
    assert_eq!(std::fs::metadata(dir.join("a")).unwrap().mode() & 0o7777, 0o4755);
    assert_eq!(xattr(&dir, "a", "user.note").unwrap(), b"keep me");
    workspace.revert(run).unwrap();
    assert_eq!(dir.tree(), before);
    assert_eq!(xattr(&dir, "a", "user.note").unwrap(), b"keep me");
}

/// FO-5
#[test]
fn acl_survives_a_change_and_new_files_inherit_the_default_acl() {
    let dir = TestDir::new();
    dir.put("a", "old\n");
    dir.mkdir("shared");
    let access = acl(6, 4, 4, 4, 0);
    let set = |file: &str, name, value: &[u8]| {
        setxattr(dir.join(file), name, value, XattrFlags::empty()).unwrap();
    };
    set("a", "system.posix_acl_access", &access);
    set("shared", "system.posix_acl_default", &acl(7, 7, 5, 7, 0));
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let operations = [write("a", "new\n"), create("shared/by-actum"), create("shared/d/f")];
    workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    assert_eq!(xattr(&dir, "a", "system.posix_acl_access").unwrap(), access);
    // The new file must have the attributes that the kernel gives to a file created there.
    std::fs::create_dir(dir.join("shared/kernel")).unwrap();
    dir.put("shared/by-kernel", "x");
    dir.put("shared/kernel/f", "x");
    for (ours, kernels) in [
        ("shared/by-actum", "shared/by-kernel"),
        ("shared/d", "shared/kernel"),
        ("shared/d/f", "shared/kernel/f"),
    ] {
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            assert_eq!(xattr(&dir, ours, name), xattr(&dir, kernels, name), "{ours} {name}");
        }
        let mode = |file| std::fs::metadata(dir.join(file)).unwrap().mode();
        assert_eq!(mode(ours), mode(kernels), "{ours}");
    }
}

/// FO-5
#[test]
fn setgid_directory_passes_its_group_to_new_entries() {
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    let dir = TestDir::new();
    dir.mkdir("team");
    chown(dir.join("team"), Some(1), Some(7)).unwrap();
    dir.chmod("team", 0o2775);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.apply_operations(&[create("team/sub/f")], RunOptions::default()).unwrap();
    let sub = std::fs::metadata(dir.join("team/sub")).unwrap();
    let file = std::fs::metadata(dir.join("team/sub/f")).unwrap();
    assert_eq!((sub.gid(), sub.mode() & 0o7777), (7, 0o2755));
    assert_eq!(file.gid(), 7);
}

/// FO-5
#[test]
fn owner_and_group_survive_a_change_and_its_undo() {
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    let dir = TestDir::new();
    dir.put("a", "old\n");
    chown(dir.join("a"), Some(12), Some(34)).unwrap();
    let owner = || {
        let metadata = std::fs::metadata(dir.join("a")).unwrap();
        (metadata.uid(), metadata.gid())
    };
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[write("a", "new\n")], RunOptions::default()).unwrap();
    assert_eq!(owner(), (12, 34));
    workspace.revert(run).unwrap();
    assert_eq!(owner(), (12, 34));
}

/// FO-10
#[test]
fn hard_link_is_broken_and_reported_or_rejected() {
    let dir = TestDir::new();
    dir.put("a", "old\n");
    std::fs::hard_link(dir.join("a"), dir.join("other")).unwrap();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let refuse = RunOptions {
        limits: Limits { hard_links: HardLinks::Refuse, ..Limits::default() },
        ..RunOptions::default()
    };
    let error = workspace.apply_operations(&[write("a", "new\n")], refuse).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::HardLink { links: 2, .. }), "{error}");
    assert_eq!(error.state, State::Unchanged);
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate(&write("a", "new\n")).unwrap();
    let done = transaction.commit().unwrap();
    assert_eq!(done.broken_links, [path("a")]);
    assert_eq!(dir.get("a").unwrap(), b"new\n");
    assert_eq!(dir.get("other").unwrap(), b"old\n");
}

/// FO-10
#[test]
fn mode_change_is_made_in_place_and_undone() {
    let dir = TestDir::new();
    dir.put("a", "x\n");
    dir.chmod("a", 0o640);
    let inode = std::fs::metadata(dir.join("a")).unwrap().ino();
    let mode = || std::fs::metadata(dir.join("a")).unwrap().mode() & 0o7777;
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let chmod = Operation::Chmod { path: path("a"), mode: ModeChange::Executable(true) };
    let run = workspace.apply_operations(&[chmod], RunOptions::default()).unwrap();
    assert_eq!(mode(), 0o750);
    assert_eq!(std::fs::metadata(dir.join("a")).unwrap().ino(), inode);
    workspace.revert(run).unwrap();
    assert_eq!(mode(), 0o640);
}

/// FO-10
#[test]
fn new_files_follow_the_umask_like_the_kernel() {
    let dir = TestDir::new();
    dir.put("by-kernel", "x");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let exact = Operation::Create {
        path: path("exact"),
        content: Vec::new(),
        mode: Some(ModeChange::Exact(FileMode::new(0o666))),
    };
    workspace.apply_operations(&[create("by-actum"), exact], RunOptions::default()).unwrap();
    let mode = |file| std::fs::metadata(dir.join(file)).unwrap().mode() & 0o7777;
    assert_eq!(mode("by-actum"), mode("by-kernel"));
    assert_eq!(mode("exact"), 0o666);
}
