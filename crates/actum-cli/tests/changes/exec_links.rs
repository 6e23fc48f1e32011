//! `actum exec` with symbolic links and permissions of directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::program::{Ended, actum, workspace};
use crate::trees::{plainly, tree};

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["exec"], options, &["--", "sh", "-c", script]].concat())
}

/// AA-6, D-6: links and permissions of directories are kept as they are, seen by checks, and undone.
#[test]
fn links_and_permissions_of_directories_are_kept_and_undone() {
    let (_directory, root) = workspace();
    symlink("a.txt", root.join("link")).unwrap();
    symlink("../a.txt", root.join("sub/up")).unwrap();
    for script in [
        "ln -s a.txt other; ln -s nowhere dangling; ln -s loop loop; mkdir new; ln -s .. new/root",
        "rm link; rm sub/up",
        "ln -sfn sub link; mv sub/up sub/moved",
        "rm link; echo x > link; rm a.txt; ln -s sub a.txt",
        "rm -r sub; ln -s a.txt sub; rm link; mkdir link; touch link/x",
        "chmod 700 sub",
        "chmod 555 sub; ln -s a.txt b; mkdir -m 700 d",
        "chmod 2755 sub || true; chmod 1777 sub",
    ] {
        let before = tree(&root);
        let after = plainly(&root, script);
        let ended = exec(&root, &["--verify", "true"], script);
        // What every user may write waits for a person.
        if script.contains("1777") {
            assert_eq!(ended.code, 116, "{script}: {ended:?}");
            assert!(ended.stderr.contains("every user may write `sub` afterwards"), "{ended:?}");
            continue;
        }
        assert_eq!(ended.code, 0, "{script}: {ended:?}");
        assert_eq!(tree(&root), after, "{script}");
        assert_eq!(actum(&root, &["undo"]).code, 0, "{script}");
        assert_eq!(tree(&root), before, "{script}");
        assert_eq!(actum(&root, &["redo"]).code, 0, "{script}");
        assert_eq!(tree(&root), after, "{script}");
        assert_eq!(actum(&root, &["undo"]).code, 0, "{script}");
    }
    let script = "ln -s sub to; ln -sfn sub link";
    let check = "test -L to && test $(readlink link) = sub && test -L sub/up";
    fs::write(root.join("check.sh"), check).unwrap();
    assert_eq!(exec(&root, &["--verify", "sh check.sh"], script).code, 0);
}

/// D-6, D-5: a link that leads out of the workspace waits for a person, and one to a protected or forbidden path is refused.
#[test]
fn where_a_link_leads_is_judged() {
    let (_directory, root) = workspace();
    fs::create_dir_all(root.join("deep/er")).unwrap();
    symlink("../../x", root.join("deep/er/moves")).unwrap();
    let outside = "leads out of the workspace, or its target is absolute";
    let protected = "which is protected by `**/.env*`";
    let before = tree(&root);
    for (script, code, told) in [
        ("ln -s /etc/passwd l", 116, outside),
        ("ln -s ../x l", 116, outside),
        ("ln -s sub/../../x l", 116, outside),
        ("ln -s .git/config l", 116, outside),
        ("mv deep/er/moves deep/moves", 116, outside),
        ("ln -s .env l", 111, protected),
        ("ln -s ../sub/.ENV.local sub/l", 111, protected),
        ("ln -s sub .env", 111, "the path `.env` is protected"),
        ("ln -s x package.json", 116, "has other lifecycle scripts"),
    ] {
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, code, "{script}: {ended:?}");
        assert!(ended.stderr.contains(told), "{script}: {}", ended.stderr);
        assert_eq!(tree(&root), before, "{script}");
    }
    let ended = exec(&root, &["--scope", "sub/"], "ln -s ../a.txt sub/l");
    assert!(ended.code == 111 && ended.stderr.contains("`a.txt`"), "{ended:?}");
    assert_eq!(exec(&root, &["--scope", "sub/"], "ln -s b.txt sub/l").code, 0);
    // What stays as it is is not judged, and an undo brings back what was there.
    symlink("/etc/passwd", root.join("before")).unwrap();
    assert_eq!(exec(&root, &[], "rm before; echo x > new").code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(fs::read_link(root.join("before")).unwrap(), Path::new("/etc/passwd"));
}

/// FO-10, D-6: the diff of a run with links is applied elsewhere.
#[test]
fn the_diff_of_a_run_with_links_is_applied_elsewhere() {
    let (_directory, root) = workspace();
    let (_other, other) = workspace();
    for root in [&root, &other] {
        symlink("a.txt", root.join("link")).unwrap();
        symlink("a.txt", root.join("file")).unwrap();
    }
    let script = "ln -sfn sub link; rm file; echo text > file; ln -s link new; rm sub/*; rmdir sub; ln -s new sub";
    assert_eq!(exec(&root, &[], script).code, 0);
    let diff = actum(&root, &["diff", "--no-pager"]);
    fs::write(other.join("../change.diff"), &diff.stdout).unwrap();
    let applied = actum(&other, &["apply", "../change.diff"]);
    assert_eq!(applied.code, 0, "{applied:?}\n{}", diff.stdout);
    assert_eq!(tree(&other), tree(&root));
}
