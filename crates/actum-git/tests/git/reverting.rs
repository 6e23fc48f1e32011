//! Reverts of commits, and commits that cannot be reverted.

use actum_core::RunId;
use actum_git::{CommitId, GitProblem, Restored, RestoredFile};

use crate::repo::{Repo, rel, run, undo};

fn lines(changed: &[(usize, &str)]) -> Vec<u8> {
    let line = |number: usize| {
        let found = changed.iter().find(|(at, _)| *at == number);
        found.map_or_else(|| format!("line {number}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=40).map(line).collect::<String>().into_bytes()
}

/// EX-17: reverting a run's commit restores the previous tree, and the message contains the reverted commit.
#[test]
fn revert_restores_the_tree_before_the_run() {
    let repo = Repo::with(&[("a", b"1\n"), ("gone/x", b"1\n"), ("s", b"1\n")]);
    let tree = repo.tree();
    let id = repo.run(&[
        ("a", Some((b"2\n", false))),
        ("gone/x", None),
        ("made/y", Some((b"3\n", false))),
        ("s", Some((b"1\n", true))),
    ]);
    let untouched = repo.git_directory();
    let revert = repo.revert(id).unwrap();
    assert_eq!(repo.git_directory(), untouched);
    let file = |path: &str, to: Option<&[u8]>| Restored {
        path: rel(path),
        to: to.map(|bytes| RestoredFile { bytes: bytes.to_vec(), executable: false }),
    };
    assert_eq!(
        revert.files(),
        [
            file("a", Some(b"1\n")),
            file("gone/x", Some(b"1\n")),
            file("made/y", None),
            file("s", Some(b"1\n")),
        ]
    );
    assert_eq!(revert.commit(), id);
    let made = repo.commit_revert(&revert);
    assert_eq!(repo.tree(), tree);
    assert_eq!(repo.status(), "");
    repo.git(&["fsck", "--strict"]);
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B"]).trim_end(),
        format!(
            "Revert \"Change some files\"\n\nThis reverts commit {id}.\n\nActum-Reverts: \
             {id}\nActum-Run: {}",
            undo()
        )
    );
    // The revert is itself the commit of a run and can be reverted.
    let again = repo.open().revert(made, undo(), |path| repo.state(path)).unwrap();
    assert_eq!(again.files().len(), 4);
}

/// EX-17: later changes in other parts of the file are kept.
#[test]
fn revert_keeps_later_edits_elsewhere_in_the_file() {
    let repo = Repo::with(&[("a", &lines(&[])), ("b", b"1\n")]);
    let id = repo.run(&[("a", Some((&lines(&[(5, "ours")]), false)))]);
    repo.write("a", lines(&[(5, "ours"), (30, "theirs")]));
    repo.write("b", "2\n");
    repo.git(&["commit", "-qam", "later"]);
    let untouched = repo.git_directory();
    let revert = repo.revert(id).unwrap();
    // The merged file exists only in memory.
    assert_eq!(repo.git_directory(), untouched);
    repo.commit_revert(&revert);
    assert_eq!(repo.read("a"), lines(&[(30, "theirs")]));
    assert_eq!(repo.git(&["show", "HEAD:b"]), "2\n");
    assert_eq!(repo.status(), "");
}

/// EX-17: if later commits changed the same lines, the files are reported and nothing is changed.
#[test]
fn revert_conflicts_with_later_edits_of_the_same_lines() {
    let repo = Repo::with(&[("a", &lines(&[])), ("b", b"1\n"), ("c", b"1\n"), ("d", b"1\n")]);
    let id = repo.run(&[
        ("a", Some((&lines(&[(5, "ours")]), false))),
        ("b", Some((b"2\n", false))),
        ("c", None),
        ("d", Some((b"2\n", false))),
    ]);
    repo.write("a", lines(&[(5, "theirs")]));
    repo.write("c/x", "1\n");
    repo.git(&["rm", "-q", "b"]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "later"]);
    let untouched = repo.git_directory();
    let problem = repo.revert(id).unwrap_err();
    let text = problem.to_string();
    assert!(text.ends_with("use the checkpoint of the run"), "{text}");
    let GitProblem::RevertConflict { commit, paths } = problem else { panic!("{text}") };
    assert_eq!(commit, id);
    assert_eq!(paths[..2], [rel("a"), rel("b")]);
    assert!(paths[2..].iter().any(|path| path.starts_with(&rel("c"))), "{paths:?}");
    assert!(!paths.contains(&rel("d")));
    assert_eq!(repo.git_directory(), untouched);
    assert_eq!(repo.status(), "");
}

/// EX-17: a revert does not overwrite uncommitted changes of a file.
#[test]
fn uncommitted_changes_block_a_revert() {
    let repo = Repo::with(&[("a", b"1\n"), ("b", b"1\n")]);
    let id = repo.run(&[("a", Some((b"2\n", false)))]);
    repo.write("b", "mine\n");
    repo.revert(id).map(drop).unwrap();
    repo.write("a", "mine\n");
    let problem = repo.revert(id).unwrap_err();
    assert!(matches!(problem, GitProblem::Dirty { .. }));
    repo.git(&["add", "a"]);
    repo.write("a", "2\n");
    assert!(matches!(repo.revert(id).unwrap_err(), GitProblem::Dirty { .. }));
}

/// EX-17: only the commit of the given run is reverted, and only on a branch that contains it.
#[test]
fn revert_rejects_a_commit_of_another_run() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let root: CommitId = repo.head().parse().unwrap();
    let id = repo.run(&[("a", Some((b"2\n", false)))]);
    repo.write("a", "3\n");
    repo.git(&["commit", "-qam", "theirs"]);
    let theirs = repo.head().parse().unwrap();
    // A commit without a parent that has the trailer of a run.
    let trailer = format!("x\n\nActum-Run: {}", run());
    let orphan = repo.git(&["commit-tree", "HEAD^{tree}", "-m", &trailer]);
    let orphan = orphan.trim().parse().unwrap();
    let merge =
        repo.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-p", "HEAD~1", "-m", &trailer]);
    let merge = merge.trim().parse().unwrap();
    let none: CommitId = "1".repeat(40).parse().unwrap();
    let refused = |commit, run: RunId| {
        let problem = repo.open().revert(commit, run, |path| repo.state(path)).unwrap_err();
        let GitProblem::NotOfRun { why, .. } = problem else { panic!("{problem}") };
        why
    };
    assert!(refused(root, run()).contains("trailer"));
    assert!(refused(theirs, run()).contains("trailer"));
    assert!(refused(id, RunId::from_random(9)).contains("trailer"));
    assert!(refused(orphan, run()).contains("parent"));
    assert!(refused(merge, run()).contains("merge"));
    assert!(refused(none, run()).contains("does not exist"));
    repo.git(&["switch", "-q", "-c", "other", &root.to_string()]);
    assert!(refused(id, run()).contains("history"));
}

/// EX-17: if nothing remains to be reverted, the revert reports it and makes no commit.
#[test]
fn manually_reverted_commit_leaves_nothing_to_revert() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let id = repo.run(&[("a", Some((b"2\n", false)))]);
    repo.write("a", "1\n");
    repo.git(&["commit", "-qam", "by hand"]);
    let revert = repo.revert(id).unwrap();
    assert_eq!(revert.files(), []);
    let message = revert.message(undo());
    let author = crate::repo::author();
    let made = repo.open().commit(revert.checked(), &revert.changes(), &message, &author).unwrap();
    assert!(matches!(made, actum_git::Outcome::Unchanged));
}
