//! What is ended of a commit whose process was killed.

use std::fs;

use actum_git::{Committed, IndexOutcome, IndexProblem, Left, Resumed};

use crate::repo::{Repo, run, undo};

/// A repository as a process leaves it that is killed when the branch is moved, and the index is not yet in its place.
fn cut_off(staged: &[&str]) -> Repo {
    let repo = Repo::with(&[("a", b"1\n"), ("b", b"1\n"), ("gone", b"1\n"), ("mine", b"1\n")]);
    for path in staged {
        repo.write(path, "staged\n");
        repo.git(&["add", path]);
    }
    let index = repo.read(".git/index");
    repo.run(&[("a", Some((b"2\n", false))), ("gone", None), ("made", Some((b"3\n", true)))]);
    repo.write(".git/index", index);
    repo.write(".git/index.actum", "half");
    repo.write(".git/actum.lock", "");
    fs::hard_link(repo.path(".git/actum.lock"), repo.path(".git/index.lock")).unwrap();
    repo
}

fn resumed(repo: &Repo, left: Left) -> Option<Committed> {
    repo.open().resume(left).unwrap().commit
}

/// EX-13, EX-17, FO-2
#[test]
fn the_index_of_a_commit_that_was_cut_off_is_brought_along() {
    let repo = cut_off(&["mine"]);
    let found = resumed(&repo, Left::Run(run())).unwrap();
    assert!(matches!(found.index, IndexOutcome::Updated), "{found:?}");
    assert_eq!(found.id.to_string(), repo.head());
    assert_eq!(repo.status(), "M  mine\n");
    for left in ["index.lock", "actum.lock", "index.actum"] {
        assert!(!repo.path(".git").join(left).exists(), "{left}");
    }
    // A second time there is nothing to do.
    assert!(resumed(&repo, Left::Run(run())).is_some());
    assert_eq!(repo.status(), "M  mine\n");
}

/// EX-13, EX-17
#[test]
fn a_commit_of_another_run_is_left_alone() {
    let repo = cut_off(&[]);
    let before = repo.read(".git/index");
    assert!(resumed(&repo, Left::Run(undo())).is_none());
    assert!(resumed(&repo, Left::Revert(repo.head().parse().unwrap())).is_none());
    assert_eq!(repo.read(".git/index"), before);
    // The lock of a process that is no more is in nobody's way.
    repo.git(&["reset", "-q"]);
    assert_eq!(repo.status(), "");
}

/// EX-13, EX-17: what somebody staged since stays what it is.
#[test]
fn what_was_staged_since_stays() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.write("a", "later\n");
    repo.git(&["add", "a"]);
    assert!(resumed(&repo, Left::Run(run())).is_some());
    assert_eq!(repo.status(), "M  a\n");
    assert_eq!(repo.git(&["show", ":a"]), "later\n");
}

/// EX-17: the lock of git is git's, whatever else lies there.
#[test]
fn the_lock_of_another_process_stays() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.write(".git/index.lock", "theirs");
    let before = repo.read(".git/index");
    let found = resumed(&repo, Left::Run(run())).unwrap();
    assert!(matches!(found.index, IndexOutcome::NotUpdated(IndexProblem::Locked)), "{found:?}");
    assert_eq!(repo.read(".git/index.lock"), b"theirs");
    assert_eq!(repo.read(".git/index"), before);
}

/// EX-17: a lock whose holder lives is not taken from it, and the next commit takes the one that was left.
#[test]
fn a_lock_goes_over_when_its_holder_is_no_more() {
    let repo = cut_off(&[]);
    let holder = fs::File::options().read(true).open(repo.path(".git/actum.lock")).unwrap();
    holder.lock().unwrap();
    let found = resumed(&repo, Left::Run(run())).unwrap();
    assert!(matches!(found.index, IndexOutcome::NotUpdated(IndexProblem::Locked)), "{found:?}");
    drop(holder);
    // A file that this commit does not tell of.
    repo.run(&[("b", Some((b"2\n", false)))]);
    assert!(!repo.path(".git/index.lock").exists());
    assert!(!repo.status().contains(" b\n"), "{}", repo.status());
}

/// EX-17
#[test]
fn a_revert_that_was_cut_off_is_found() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let id = repo.run(&[("a", Some((b"2\n", false)))]);
    let index = repo.read(".git/index");
    let made = repo.take_back(&repo.revert(id).unwrap());
    repo.write(".git/index", index);
    assert!(resumed(&repo, Left::Run(run())).is_none());
    assert_eq!(resumed(&repo, Left::Revert(id)).unwrap().id, made);
    assert_eq!(repo.status(), "");
}

/// EX-13, EX-17: what stands in git's way is told, and stays.
#[test]
fn the_locks_that_are_in_gits_way_are_told() {
    let repo = cut_off(&[]);
    for lock in ["HEAD.lock", "refs/heads/main.lock"] {
        repo.write(&format!(".git/{lock}"), "");
    }
    let Resumed { commit, locks } = repo.open().resume(Left::Run(run())).unwrap();
    assert_eq!(commit.unwrap().id.to_string(), repo.head());
    assert_eq!(locks, ["HEAD.lock", "refs/heads/main.lock"]);
    assert!(repo.path(".git/HEAD.lock").exists());
}
