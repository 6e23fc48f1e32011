//! `actum exec` with symbolic links and permissions of directories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::meanwhile::started;
use crate::program::{Ended, actum, workspace};
use crate::trees::{plain_run, tree};

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["exec"], options, &["--", "sh", "-c", script]].concat())
}

/// AA-6, D-6: links and directory permissions are preserved, visible to checks, and restored by undo.
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
        let after = plain_run(&root, script);
        let ended = exec(&root, &["--verify", "true"], script);
        // World-writable paths need an approval.
        if script.contains("1777") {
            assert_eq!(ended.code, 116, "{script}: {ended:?}");
            assert!(
                ended.stderr.contains("every user could write to `sub` after the change"),
                "{ended:?}"
            );
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

/// D-6, D-5: a link to a target outside the workspace needs approval, and one to a protected or forbidden path is rejected.
#[test]
fn symlink_targets_are_judged_by_the_gates() {
    let (_directory, root) = workspace();
    fs::create_dir_all(root.join("deep/er")).unwrap();
    symlink("../../x", root.join("deep/er/moves")).unwrap();
    let outside = "points outside the workspace, or its target is absolute";
    let protected = "which is protected by `**/.env*`";
    let before = tree(&root);
    for (script, code, expected) in [
        ("ln -s /etc/passwd l", 116, outside),
        ("ln -s ../x l", 116, outside),
        ("ln -s sub/../../x l", 116, outside),
        ("mkdir -p a/b; ln -s ../.. a/b/up; ln -s a/b/up/../../../etc/passwd l", 116, outside),
        ("ln -s .git/config l", 111, "points to the state of git or actum"),
        ("ln -s deep/../.ACTUM l", 116, outside),
        ("ln -s .ACTUM/journal l", 111, "points to the state of git or actum"),
        ("ln -s sub .claude", 111, "/.claude` is protected by"),
        ("ln -s sub .github", 116, "/.github`: continuous integration"),
        ("ln -s sub .venv", 116, "/.venv`"),
        ("mv deep/er/moves deep/moves", 116, outside),
        ("ln -s .env l", 111, protected),
        ("ln -s .claude l", 111, "which is protected by"),
        ("ln -s ../sub/.ENV.local sub/l", 111, protected),
        ("ln -s sub .env", 111, "the path `.env` is protected"),
        ("ln -s x package.json", 116, "may change lifecycle scripts"),
    ] {
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, code, "{script}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{script}: {}", ended.stderr);
        assert_eq!(tree(&root), before, "{script}");
    }
    let ended = exec(&root, &["--scope", "sub/"], "ln -s ../a.txt sub/l");
    assert!(ended.code == 111 && ended.stderr.contains("`a.txt`"), "{ended:?}");
    for (options, script) in [
        (["--scope", "sub/"], "ln -s .. sub/q"),
        (["--deny", "deep"], "ln -s . q"),
        (["--deny", "deep/er/"], "ln -s deep q"),
        (["--deny", "deep/"], "ln -s deep q"),
    ] {
        assert_eq!(exec(&root, &options, script).code, 111, "{script}");
    }
    assert_eq!(tree(&root), before);
    assert_eq!(exec(&root, &["--scope", "sub/"], "ln -s b.txt sub/l").code, 0);
    // Unchanged links are not judged, and undo restores a removed one.
    symlink("/etc/passwd", root.join("before")).unwrap();
    assert_eq!(exec(&root, &[], "rm before; echo x > new").code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(fs::read_link(root.join("before")).unwrap(), Path::new("/etc/passwd"));
}

/// FO-10, D-6: the diff of a run that creates links can be applied in a different workspace.
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

/// FO-5: undo does not restore files into a directory whose permissions have become more open since the run.
#[test]
fn undo_does_not_restore_private_files_into_an_open_directory() {
    let (_directory, root) = workspace();
    let set = |mode| fs::set_permissions(root.join("private"), fs::Permissions::from_mode(mode));
    fs::create_dir(root.join("private")).unwrap();
    fs::write(root.join("private/f"), "f\n").unwrap();
    set(0o750).unwrap();
    assert_eq!(exec(&root, &[], "rm -rf private").code, 0);
    fs::create_dir(root.join("private")).unwrap();
    set(0o755).unwrap();
    let conflict = actum(&root, &["undo"]);
    assert!(
        conflict.code != 0 && conflict.stderr.contains("`private` has changed"),
        "{conflict:?}"
    );
    assert!(!root.join("private/f").exists());
    set(0o700).unwrap();
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(root.join("private").metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(root.join("private/f").exists());
}

/// AA-6: `--keep=always` keeps the edits of a failed command and passes on its exit code.
#[test]
fn keep_always_keeps_the_change_of_a_failed_command() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let script = "echo new > a.txt; exit 3";
    let dropped = exec(&root, &["--keep"], script);
    assert_eq!((dropped.code, tree(&root)), (3, before.clone()), "{dropped:?}");
    let kept = exec(&root, &["--keep=always"], script);
    assert_eq!(kept.code, 3, "{kept:?}");
    assert!(kept.stderr.contains("are judged anyway") && kept.stderr.contains("1 file changed"));
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "new\n");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(tree(&root), before);
    // The gates still apply, and the changes of a command that was killed by a signal are dropped.
    assert_eq!(exec(&root, &["--keep=always"], "echo K=1 > .env; exit 3").code, 111);
    assert_eq!(exec(&root, &["--keep=always"], "echo x > a.txt; kill -9 $$").code, 137);
    assert_eq!(tree(&root), before);
}

/// AA-6: `--keep-only` keeps the selected part of a change, and `--drop-special` leaves out pipes and sockets.
#[test]
fn keep_only_and_drop_special_keep_a_part_of_a_change() {
    let (_directory, root) = workspace();
    let script = "echo a > a.txt; mkdir -p out/x; echo o > out/x/o; ln -s o out/x/l; mkfifo pipe";
    let refused = exec(&root, &[], script);
    assert!(refused.code == 111 && refused.stderr.contains("`pipe` is a pipe"), "{refused:?}");
    let part = exec(&root, &["--keep-only", "out/"], script);
    assert_eq!(part.code, 0, "{part:?}");
    assert!(part.stderr.contains("2 changed paths omitted, as requested"), "{part:?}");
    assert_eq!(fs::read_link(root.join("out/x/l")).unwrap(), Path::new("o"));
    assert_ne!(fs::read_to_string(root.join("a.txt")).unwrap(), "a\n");
    let special = exec(&root, &["--drop-special"], "mkfifo pipe; echo b > a.txt");
    assert_eq!(special.code, 0, "{special:?}");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "b\n");
    assert!(root.join("pipe").symlink_metadata().is_err());
    let nothing = exec(&root, &["--keep-only", "nowhere/"], "echo c > a.txt");
    assert!(nothing.code == 0 && nothing.stderr.contains("no changes were kept"), "{nothing:?}");
}

/// AA-6: a link or directory mode that another process changed is not overwritten.
#[test]
fn a_link_that_another_process_changed_meanwhile_is_a_conflict() {
    type Act = fn(&Path);
    let relink: Act = |root| {
        drop(fs::remove_file(root.join("l")));
        symlink("user", root.join("l")).unwrap();
    };
    let cases: [(&str, Act); 8] = [
        ("ln -sfn command l", relink),
        ("rm l", relink),
        ("rm l; echo x > l", relink),
        ("ln -s x made", |root| symlink("user", root.join("made")).unwrap()),
        ("rm a.txt", |root| {
            fs::remove_file(root.join("a.txt")).unwrap();
            symlink("user", root.join("a.txt")).unwrap();
        }),
        ("rm a.txt; echo x > a.txt", |root| {
            fs::remove_file(root.join("a.txt")).unwrap();
            symlink("user", root.join("a.txt")).unwrap();
        }),
        ("rm -r sub", |root| {
            fs::rename(root.join("sub"), root.join("moved")).unwrap();
            symlink("user", root.join("sub")).unwrap();
        }),
        ("chmod 750 sub", |root| {
            fs::set_permissions(root.join("sub"), fs::Permissions::from_mode(0o700)).unwrap();
            fs::write(root.join("sub/user"), "x").unwrap();
        }),
    ];
    for (script, act) in cases {
        let (_directory, root) = workspace();
        symlink("first", root.join("l")).unwrap();
        actum(&root, &["init"]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let script = format!("{script}; echo ready; sleep 1");
        let child = started(&root, &[], &script);
        act(&root);
        let left = tree(&root);
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, 111, "{script}: {ended:?}");
        let expected = "was changed by another process while the command ran";
        assert!(ended.stderr.contains(expected), "{script}: {}", ended.stderr);
        assert_eq!(tree(&root), left, "{script}");
    }
}

/// AA-3: checks see the directory permissions that the change would set.
#[test]
fn a_check_sees_new_permissions_of_a_directory() {
    let (_directory, root) = workspace();
    let check = "test $(stat -c %a sub) = 711 && test -e sub/b.txt";
    fs::write(root.join("check.sh"), check).unwrap();
    assert_eq!(exec(&root, &["--verify", "sh check.sh"], "chmod 711 sub").code, 0);
    assert_ne!(exec(&root, &["--verify", "sh check.sh"], "chmod 755 sub").code, 0);
}
