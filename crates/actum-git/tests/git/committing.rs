//! Content of a commit, as git reports it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use actum_git::{GitProblem, Outcome};

use crate::repo::{Repo, author, message, rel, run};

/// EX-17: the commit contains exactly the files that the run created, modified, deleted, renamed or changed in mode.
#[test]
fn commit_contains_exactly_the_files_of_the_run() {
    let repo = Repo::with(&[
        ("edited.txt", b"one\n"),
        ("gone.txt", b"gone\n"),
        ("dir/old.txt", b"moved\n"),
        ("script.sh", b"#!/bin/sh\n"),
        ("untouched.txt", b"same\n"),
    ]);
    let first = repo.head();
    let id = repo.run(&[
        ("edited.txt", Some((b"two\n", false))),
        ("gone.txt", None),
        ("dir/old.txt", None),
        ("elsewhere/new.txt", Some((b"moved\n", false))),
        ("script.sh", Some((b"#!/bin/sh\n", true))),
        ("deep/er/made.bin", Some((b"\0\xff\r\n", false))),
    ]);
    assert_eq!(repo.head(), id.to_string());
    assert_eq!(repo.git(&["rev-parse", "HEAD^"]).trim(), first);
    assert_eq!(
        repo.git(&["show", "--format=", "--raw", "--no-abbrev", "--name-status", "--no-renames"]),
        "A\tdeep/er/made.bin\nD\tdir/old.txt\nM\tedited.txt\nA\telsewhere/new.txt\nD\tgone.txt\n\
         M\tscript.sh\n"
    );
    assert!(repo.git(&["show", "--format=", "-M", "--summary"]).contains("100%"));
    assert!(repo.git(&["ls-tree", "HEAD", "script.sh"]).starts_with("100755"));
    assert_eq!(repo.status(), "");
    repo.git(&["diff-index", "--quiet", "HEAD"]);
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
}

/// EX-17, issue 22: the ref file of a branch keeps its permissions.
#[test]
fn updated_branch_keeps_the_mode_of_its_ref_file() {
    let repo = Repo::with(&[("a", b"1")]);
    let branch = repo.root.join(".git/refs/heads/main");
    for mode in [0o600, 0o640] {
        fs::set_permissions(&branch, fs::Permissions::from_mode(mode)).unwrap();
        repo.run(&[("a", Some((format!("{mode}").as_bytes(), false)))]);
        assert_eq!(fs::metadata(&branch).unwrap().permissions().mode() & 0o777, mode);
    }
}

/// EX-17: the commit records its author and its run.
#[test]
fn a_commit_names_its_author_and_its_run() {
    let repo = Repo::with(&[("a", b"1")]);
    repo.run(&[("a", Some((b"2", false)))]);
    assert_eq!(
        repo.git(&["log", "-1", "--format=%an|%ae|%at|%cn|%ce|%ct|%s|%b"]).trim_end(),
        "Ada|ada@example.org|1767323045|Ada|ada@example.org|1767323045|Change some files|As \
         planned.\n\nActum-Run: 00000000001a\nActum-Task: task-1\nActum-Plan: plan-1"
    );
    assert_eq!(
        repo.git(&["log", "-1", "--format=%(trailers:only,key=Actum-Run)"]).trim(),
        format!("Actum-Run: {}", run())
    );
    for reference in ["HEAD", "main"] {
        let log = repo.git(&["reflog", "show", "--format=%gs", reference]);
        assert_eq!(log.lines().next(), Some(&*format!("actum: run {}", run())), "{reference}");
    }
}

/// EX-17: a file may replace a directory, and a directory may replace a file.
#[test]
fn file_and_directory_can_replace_each_other() {
    let repo = Repo::with(&[("a", b"file"), ("b/c", b"1"), ("b/d/e", b"2"), ("z", b"z")]);
    repo.run(&[
        ("a", None),
        ("a/inside", Some((b"3", false))),
        ("b/c", None),
        ("b/d/e", None),
        ("b", Some((b"4", false))),
    ]);
    assert_eq!(repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]), "a/inside\nb\nz\n");
    assert_eq!(repo.status(), "");
    repo.git(&["fsck", "--strict"]);
}

/// EX-17: a file stays in the tree if the run did not delete it but created another kind of object in its place.
#[test]
fn files_the_run_did_not_delete_stay_in_the_tree() {
    let repo = Repo::with(&[("a", b"file"), ("b/c", b"1"), ("b/d", b"2")]);
    for (paths, steps) in [
        (vec!["a/x"], vec![("a/x", Some((&b"1"[..], false)))]),
        (vec!["b", "b/c"], vec![("b", Some((&b"1"[..], false))), ("b/c", None)]),
    ] {
        let before = repo.head();
        let checked = repo.check(&paths).unwrap();
        let refused = repo.commit(&checked, &steps).unwrap_err();
        assert!(refused.to_string().contains("cannot create"), "{refused}");
        assert_eq!(repo.head(), before);
        assert_eq!(repo.status(), "");
    }
}

/// EX-17: paths do not have to be valid UTF-8.
#[test]
fn committed_paths_need_not_be_utf8() {
    let repo = Repo::with(&[("a", b"1")]);
    let path = actum_core::RelPath::new(b"d\xff/\xfe \n\"").unwrap();
    let checked =
        repo.open().check(&[actum_git::Before { path: path.clone(), state: None }]).unwrap();
    let new = actum_git::NewFile { bytes: b"x", mode: actum_core::FileMode::REGULAR };
    let change = actum_git::Change { path: &path, after: Some(new) };
    let made = repo.open().commit(&checked, &[change], &message(), &author()).unwrap();
    assert!(matches!(made, Outcome::Committed(_)));
    assert_eq!(repo.git(&["ls-tree", "-r", "-z", "--name-only", "HEAD"]).matches('\0').count(), 2);
    repo.git(&["fsck", "--strict"]);
}

/// EX-17: no commit is made for a change that git does not see.
#[test]
fn run_without_changes_visible_to_git_makes_no_commit() {
    let repo = Repo::with(&[("a", b"1")]);
    let checked = repo.check(&["a"]).unwrap();
    fs::set_permissions(repo.path("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = repo.head();
    let outcome = repo.commit(&checked, &[("a", Some((b"1", false)))]).unwrap();
    assert!(matches!(outcome, Outcome::Unchanged));
    assert_eq!(repo.head(), before);
}

/// EX-17: a commit is made only on top of the HEAD that was checked.
#[test]
fn commit_is_rejected_if_head_moved_since_the_check() {
    let repo = Repo::with(&[("a", b"1"), ("b", b"1")]);
    let checked = repo.check(&["a"]).unwrap();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "another"]);
    let before = repo.head();
    let refused = repo.commit(&checked, &[("a", Some((b"2", false)))]).unwrap_err();
    assert!(matches!(refused, GitProblem::HeadMoved { .. }), "{refused}");
    assert_eq!(repo.head(), before);

    // A different branch that points to the same commit also counts as a different HEAD.
    let checked = repo.check(&["a"]).unwrap();
    repo.git(&["switch", "-q", "-c", "other"]);
    let refused = repo.commit(&checked, &[("a", Some((b"2", false)))]).unwrap_err();
    assert!(matches!(refused, GitProblem::HeadMoved { .. }), "{refused}");
    assert_eq!(repo.git(&["rev-parse", "main", "other"]), format!("{before}\n{before}\n"));
}

/// EX-17: a branch or HEAD that another process is updating is left unchanged.
#[test]
fn locked_branch_is_not_updated() {
    let repo = Repo::with(&[("a", b"1")]);
    let checked = repo.check(&["a"]).unwrap();
    for lock in [".git/HEAD.lock", ".git/refs/heads/main.lock"] {
        repo.write(lock, b"");
        let before = repo.head();
        let refused = repo.commit(&checked, &[("a", Some((b"2", false)))]).unwrap_err();
        assert!(matches!(refused, GitProblem::Busy { .. }), "{refused}");
        assert_eq!(repo.head(), before);
        fs::remove_file(repo.path(lock)).unwrap();
        assert_eq!(repo.status(), "");
    }
    assert!(!repo.path(".git/index.lock").exists());
}

/// EX-17: the branch may be stored in `packed-refs`, and its objects may be in a pack.
#[test]
fn commits_to_a_packed_repository() {
    let repo = Repo::with(&[("a", b"1"), ("b/c", b"1")]);
    repo.git(&["gc", "-q"]);
    assert!(!repo.path(".git/refs/heads/main").exists());
    repo.run(&[("b/c", Some((b"2", false)))]);
    repo.git(&["fsck", "--strict"]);
    assert_eq!(repo.status(), "");
}

/// EX-17: only checked files are committed, and each only once.
#[test]
fn unchecked_file_is_rejected() {
    let repo = Repo::with(&[("a", b"1"), ("b", b"1")]);
    let checked = repo.check(&["a"]).unwrap();
    let new = Some((&b"2"[..], false));
    for steps in [vec![("a", new), ("b", new)], vec![("a", new), ("a", new)]] {
        let refused = repo.commit(&checked, &steps).unwrap_err();
        assert!(matches!(refused, GitProblem::NotChecked { .. }), "{refused}");
    }
    let refused = repo.check(&["a", "a"]).unwrap_err();
    assert!(matches!(refused, GitProblem::NotChecked { path } if path == rel("a")));
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
}
