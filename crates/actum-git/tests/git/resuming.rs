//! Completion of a commit whose process was killed.

use std::fs;

use actum_core::{Digest, FileMode, FileState, RelPath, RunId};
use actum_git::{Committed, IndexOutcome, IndexProblem, Left, Resumed};

use crate::repo::{Repo, rel, run, undo};

/// Returns a repository whose process was killed after the branch was updated and before the index was replaced.
fn cut_off(staged: &[&str]) -> Repo {
    let repo = Repo::with(&[("a", b"1\n"), ("b", b"1\n"), ("gone", b"1\n"), ("mine", b"1\n")]);
    for path in staged {
        repo.write(path, "staged\n");
        repo.git(&["add", path]);
    }
    let index = repo.read(".git/index");
    repo.run(&[("a", Some((b"2\n", false))), ("gone", None), ("made", Some((b"3\n", true)))]);
    leave_index(&repo, index);
    repo
}

/// Leaves the new index ready under its lock, and the old index in place.
fn leave_index(repo: &Repo, old: Vec<u8>) {
    repo.write(".git/index.actum", repo.read(".git/index"));
    repo.write(".git/index", old);
    let of = |name: &str| fs::File::options().write(true).open(repo.path(name)).unwrap();
    let time = of(".git/index").metadata().unwrap().modified().unwrap();
    of(".git/index.actum").set_modified(time).unwrap();
    repo.write(".git/actum.lock", "");
    fs::hard_link(repo.path(".git/actum.lock"), repo.path(".git/index.lock")).unwrap();
}

fn has_litter(repo: &Repo) -> bool {
    let litter = ["index.lock", "actum.lock", "index.actum"];
    litter.iter().any(|name| repo.path(".git").join(name).exists())
}

/// Returns the files as the run left them.
fn left() -> Vec<(RelPath, Option<FileState>)> {
    let file = |bytes: &[u8], executable| FileState {
        sha256: Digest::of(bytes),
        size: bytes.len() as u64,
        mode: FileMode::REGULAR.with_executable(executable),
    };
    vec![
        (rel("a"), Some(file(b"2\n", false))),
        (rel("gone"), None),
        (rel("made"), Some(file(b"3\n", true))),
    ]
}

fn resume(repo: &Repo, run: RunId) -> Resumed {
    repo.open().resume(Left::Run(run, &left())).unwrap()
}

fn resumed(repo: &Repo, run: RunId) -> Option<Committed> {
    resume(repo, run).commit
}

fn resumed_revert(repo: &Repo, reverted: &str) -> Option<Committed> {
    repo.open().resume(Left::Revert(reverted.parse().unwrap())).unwrap().commit
}

/// EX-13, EX-17, FO-2
#[test]
fn resume_updates_the_index_of_an_interrupted_commit() {
    let repo = cut_off(&["mine"]);
    let found = resumed(&repo, run()).unwrap();
    assert!(matches!(found.index, IndexOutcome::Updated), "{found:?}");
    assert_eq!(found.id.to_string(), repo.head());
    assert_eq!(repo.status(), "M  mine\n");
    assert!(!has_litter(&repo));
    // A second attempt finds nothing to do.
    assert!(resumed(&repo, run()).is_some());
    assert_eq!(repo.status(), "M  mine\n");
}

/// EX-13, EX-17
#[test]
fn resume_ignores_a_commit_of_another_run() {
    let repo = cut_off(&[]);
    let before = repo.read(".git/index");
    assert!(resumed(&repo, undo()).is_none());
    assert!(resumed_revert(&repo, &repo.head()).is_none());
    assert_eq!(repo.read(".git/index"), before);
    // The lock of a process that no longer runs does not block other processes.
    repo.git(&["reset", "-q"]);
    assert_eq!(repo.status(), "");
}

/// EX-17: if another process removed the lock, it may have staged changes since, so the index is left unchanged.
#[test]
fn resume_leaves_the_index_unchanged_when_its_lock_was_removed() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.write("b", "mine\n");
    repo.git(&["add", "b"]);
    let before = repo.read(".git/index");
    let found = resumed(&repo, run()).unwrap();
    assert!(
        matches!(found.index, IndexOutcome::NotUpdated(IndexProblem::LockRemoved)),
        "{found:?}"
    );
    assert_eq!(repo.read(".git/index"), before);
    assert!(!has_litter(&repo));
}

/// EX-17: if the index has already been replaced, all staged changes are the user's.
#[test]
fn resume_does_not_update_an_already_replaced_index() {
    let repo = cut_off(&[]);
    fs::rename(repo.path(".git/index.actum"), repo.path(".git/index")).unwrap();
    assert!(resumed(&repo, run()).is_some());
    assert!(!has_litter(&repo));
    repo.git(&["restore", "--staged", "--source=HEAD~", "a"]);
    assert!(resumed(&repo, run()).is_some());
    assert_eq!(repo.status(), "MM a\n");
}

/// EX-13, EX-17: the lock of a branch is removed only if it contains the interrupted commit.
#[test]
fn resume_removes_the_branch_lock_only_if_it_holds_the_commit() {
    let repo = cut_off(&[]);
    let commit = repo.head();
    repo.write(".git/refs/heads/main", repo.git(&["rev-parse", "HEAD~"]));
    for (holds, stays) in [(commit.as_str(), false), ("", true), ("none", true)] {
        repo.write(".git/refs/heads/main.lock", format!("{holds}\n"));
        let Resumed { commit, locks } = resume(&repo, run());
        assert!(commit.is_none() && !has_litter(&repo));
        assert_eq!(locks.len(), usize::from(stays), "{holds}");
    }
    fs::remove_file(repo.path(".git/refs/heads/main.lock")).unwrap();
    assert_eq!(repo.git(&["diff", "--cached"]), "");
}

/// EX-17: a foreign object at the path of actum's lock is reported, and does not hide the commit.
#[test]
fn foreign_object_at_the_lock_path_does_not_hide_the_commit() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/actum.lock")).unwrap();
    std::os::unix::fs::symlink("../outside", repo.path(".git/actum.lock")).unwrap();
    let found = resumed(&repo, run()).unwrap();
    assert!(matches!(found.index, IndexOutcome::NotUpdated(IndexProblem::Disk(_))), "{found:?}");
    assert!(!repo.path("outside").exists() && repo.path(".git/index.lock").exists());
}

/// EX-17: git's own lock is never removed, whatever other files exist.
#[test]
fn resume_keeps_the_index_lock_of_another_process() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.write(".git/index.lock", "theirs");
    let before = repo.read(".git/index");
    let Resumed { commit, locks } = resume(&repo, run());
    let index = commit.unwrap().index;
    assert!(matches!(index, IndexOutcome::NotUpdated(IndexProblem::LockRemoved)), "{index:?}");
    assert_eq!(locks, ["index.lock"]);
    assert_eq!(repo.read(".git/index.lock"), b"theirs");
    assert_eq!(repo.read(".git/index"), before);
    assert!(!repo.path(".git/index.actum").exists());
}

/// EX-17: the user's staged changes remain if the process that completes a commit is killed as well. No lock is created next to an
/// index that may belong to another process.
#[test]
fn second_interruption_keeps_staged_changes() {
    let repo = cut_off(&[]);
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.write("mine", "staged\n");
    repo.git(&["add", "mine"]);
    let before = repo.read(".git/index");
    // An earlier version that acquired the lock first left this state.
    fs::hard_link(repo.path(".git/actum.lock"), repo.path(".git/index.lock")).unwrap();
    let index = resumed(&repo, run()).unwrap().index;
    assert!(matches!(index, IndexOutcome::NotUpdated(IndexProblem::LockRemoved)), "{index:?}");
    assert_eq!(repo.read(".git/index"), before);
    assert!(!has_litter(&repo));
}

/// EX-17: a stale index is reported as long as it is stale, even if nothing else remains of the commit.
#[test]
fn resume_reports_a_stale_index() {
    let repo = cut_off(&[]);
    for name in ["index.lock", "actum.lock", "index.actum"] {
        fs::remove_file(repo.path(".git").join(name)).unwrap();
    }
    for _ in 0..2 {
        let index = resumed(&repo, run()).unwrap().index;
        assert!(matches!(index, IndexOutcome::NotUpdated(IndexProblem::Behind)), "{index:?}");
    }
    // The advice in the message solves the problem.
    repo.git(&["reset", "-q", "--", "a", "gone", "made"]);
    assert!(matches!(resumed(&repo, run()).unwrap().index, IndexOutcome::Updated));
}

/// EX-17: an index prepared for another commit does not replace the current one.
#[test]
fn resume_rejects_a_prepared_index_of_another_commit() {
    let repo = cut_off(&[]);
    let other = Repo::with(&[("b", b"other\n")]);
    let time = fs::metadata(repo.path(".git/index")).unwrap().modified().unwrap();
    repo.write(".git/index.actum", other.read(".git/index"));
    let copy = fs::File::options().write(true).open(repo.path(".git/index.actum")).unwrap();
    copy.set_modified(time).unwrap();
    let before = repo.read(".git/index");
    let index = resumed(&repo, run()).unwrap().index;
    assert!(matches!(index, IndexOutcome::NotUpdated(IndexProblem::Behind)), "{index:?}");
    assert_eq!(repo.read(".git/index"), before);
}

/// EX-17: a commit amended by a user no longer belongs to the run, but one with later commits on top still does.
#[test]
fn amended_commit_no_longer_belongs_to_the_run() {
    let repo = cut_off(&[]);
    let id = resumed(&repo, run()).unwrap().id;
    repo.write("b", "later\n");
    repo.git(&["commit", "-qam", "later"]);
    assert_eq!(resumed(&repo, run()).unwrap().id, id);
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    repo.write("b", "theirs\n");
    repo.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert!(resumed(&repo, run()).is_none());
    assert_eq!(repo.status(), "");
}

/// EX-17: a lock is not taken from a running holder, but the next commit takes over an abandoned lock.
#[test]
fn lock_is_taken_over_only_after_its_holder_exits() {
    let repo = cut_off(&[]);
    let holder = fs::File::options().read(true).open(repo.path(".git/actum.lock")).unwrap();
    holder.lock().unwrap();
    let found = resumed(&repo, run()).unwrap();
    assert!(matches!(found.index, IndexOutcome::NotUpdated(IndexProblem::Locked)), "{found:?}");
    drop(holder);
    // This file is not part of the commit.
    repo.run(&[("b", Some((b"2\n", false)))]);
    assert!(!repo.path(".git/index.lock").exists());
    assert!(!repo.status().contains(" b\n"), "{}", repo.status());
}

/// EX-17
#[test]
fn resume_finds_an_interrupted_revert() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let id = repo.run(&[("a", Some((b"2\n", false)))]);
    let index = repo.read(".git/index");
    let made = repo.commit_revert(&repo.revert(id).unwrap());
    leave_index(&repo, index);
    assert_eq!(resumed_revert(&repo, &id.to_string()).unwrap().id, made);
    assert_eq!(repo.status(), "");
}

/// EX-13, EX-17: a lock that blocks git is reported and not removed.
#[test]
fn resume_reports_locks_that_block_git() {
    let repo = cut_off(&[]);
    for lock in ["HEAD.lock", "refs/heads/main.lock"] {
        repo.write(&format!(".git/{lock}"), "");
    }
    let Resumed { commit, locks } = resume(&repo, run());
    assert_eq!(commit.unwrap().id.to_string(), repo.head());
    assert_eq!(locks, ["HEAD.lock", "refs/heads/main.lock"]);
    assert!(repo.path(".git/HEAD.lock").exists());
}
