//! Kinds of repositories that are rejected.

use std::fs;
use std::path::Path;

use actum_git::{GitProblem, Repository};

use crate::repo::Repo;

fn open(root: &Path) -> GitProblem {
    Repository::open(root).unwrap_err()
}

/// EX-17: the work tree of the repository must be the workspace itself. Repositories in parent directories are not used.
#[test]
fn parent_directories_are_not_searched_for_a_repository() {
    let repo = Repo::with(&[("sub/a", b"1")]);
    for root in [repo.path("sub"), repo.beside("elsewhere")] {
        fs::create_dir_all(&root).unwrap();
        let problem = open(&root);
        assert!(matches!(problem, GitProblem::NoRepository { .. }), "{problem}");
    }
}

/// EX-17: there is nothing to commit without a work tree.
#[test]
fn bare_repository_is_rejected() {
    let repo = Repo::with(&[("a", b"1")]);
    let bare = repo.beside("bare");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(matches!(open(&bare), GitProblem::Bare { .. }));
    repo.git(&["config", "core.bare", "true"]);
    assert!(matches!(open(&repo.root), GitProblem::Bare { .. }));
}

/// EX-17: a repository outside the workspace, to which `.git` only links, does not belong to the workspace.
#[test]
fn linked_worktree_is_rejected() {
    let repo = Repo::with(&[("a", b"1")]);
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
    assert!(matches!(open(&linked), GitProblem::LinkedWorktree { .. }));
    let by_link = repo.beside("by-link");
    fs::create_dir(&by_link).unwrap();
    std::os::unix::fs::symlink(repo.path(".git"), by_link.join(".git")).unwrap();
    assert!(matches!(open(&by_link), GitProblem::LinkedWorktree { .. }));
    // The main work tree can still be used.
    repo.check(&["a"]).map(drop).unwrap();
    repo.git(&["config", "core.worktree", linked.to_str().unwrap()]);
    assert!(matches!(open(&repo.root), GitProblem::Unsupported { .. }));
}

/// EX-17: the error contains the unsupported kind of repository.
#[test]
fn unsupported_repository_features_are_reported() {
    let repo = Repo::unborn();
    let sha256 = repo.beside("sha256");
    repo.git(&["init", "-q", "--object-format=sha256", sha256.to_str().unwrap()]);
    let problem = open(&sha256);
    assert!(matches!(problem, GitProblem::Unsupported { .. }), "{problem}");
    assert!(problem.to_string().contains("object"), "{problem}");
    let reftable = repo.beside("reftable");
    if repo
        .try_git(&["init", "-q", "--ref-format=reftable", reftable.to_str().unwrap()])
        .status
        .success()
    {
        let problem = open(&reftable);
        assert!(matches!(problem, GitProblem::Unsupported { .. }), "{problem}");
    }
    for (name, value) in [("core.ignoreCase", "true"), ("core.fileMode", "false")] {
        let repo = Repo::with(&[("a", b"1")]);
        repo.git(&["config", name, value]);
        let problem = open(&repo.root);
        assert!(matches!(problem, GitProblem::Unsupported { .. }), "{problem}");
        assert!(problem.to_string().contains(name), "{problem}");
    }
}

/// EX-17: there is nothing to commit to without a branch.
#[test]
fn detached_head_is_rejected() {
    let repo = Repo::with(&[("a", b"1")]);
    repo.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(repo.check(&["a"]).unwrap_err(), GitProblem::DetachedHead));
}

/// EX-17: there is nothing to build on without a first commit.
#[test]
fn unborn_branch_is_rejected() {
    let repo = Repo::unborn();
    let problem = repo.check(&["a"]).unwrap_err();
    assert!(matches!(problem, GitProblem::UnbornHead { .. }));
    assert!(problem.to_string().contains("`main`"), "{problem}");
}

/// EX-17: no commit is made while an operation of git, such as a merge, is in progress.
#[test]
fn git_operation_in_progress_is_rejected() {
    for (words, expected) in [
        (&["merge", "side"][..], "a merge"),
        (&["rebase", "side"], "a rebase"),
        (&["cherry-pick", "side"], "a cherry-pick"),
        (&["revert", "HEAD~1"], "a revert"),
    ] {
        let repo = Repo::with(&[("a", b"1\n"), ("b", b"1\n")]);
        repo.git(&["switch", "-q", "-c", "side"]);
        repo.write("a", "2\n");
        repo.git(&["commit", "-qam", "side"]);
        repo.git(&["switch", "-q", "main"]);
        for text in ["3\n", "4\n"] {
            repo.write("a", text);
            repo.git(&["commit", "-qam", "main"]);
        }
        assert!(!repo.try_git(words).status.success(), "{words:?} has to conflict");
        let problem = repo.check(&["b"]).unwrap_err();
        assert!(matches!(problem, GitProblem::InProgress { .. }));
        assert!(problem.to_string().contains(expected), "{problem}");
    }
}

/// EX-17: conflicts left by a stash are not an operation in progress, but they also prevent a commit.
#[test]
fn index_conflicts_are_rejected() {
    let repo = Repo::with(&[("a", b"1\n"), ("b", b"1\n")]);
    repo.write("a", "2\n");
    repo.git(&["stash", "-q"]);
    repo.write("a", "3\n");
    repo.git(&["commit", "-qam", "main"]);
    assert!(!repo.try_git(&["stash", "pop", "-q"]).status.success());
    let problem = repo.check(&["b"]).unwrap_err();
    assert!(matches!(problem, GitProblem::InProgress { .. }));
}

/// EX-17: a shallow repository accepts commits, but they cannot be reverted there.
#[test]
fn revert_in_a_shallow_repository_is_rejected() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let shallow = Repo::unborn();
    fs::remove_dir_all(&shallow.root).unwrap();
    let from = format!("file://{}", repo.root.display());
    let into = shallow.root.to_str().unwrap();
    repo.git(&["clone", "-q", "--depth", "1", &from, into]);
    let id = shallow.run(&[("a", Some((b"2\n", false)))]);
    let problem = shallow.revert(id).unwrap_err();
    assert!(matches!(problem, GitProblem::Shallow { .. }));
}

/// EX-17: like git, actum does not trust a repository owned by another user. Only root can change the owner of a repository, so
/// this test checks nothing for other users.
#[test]
fn repository_of_another_user_is_rejected() {
    let repo = Repo::with(&[("a", b"1")]);
    let mut given_away = Vec::new();
    for path in [repo.root.clone(), repo.path(".git")] {
        given_away.push(std::os::unix::fs::chown(path, Some(12345), None).is_ok());
    }
    if given_away != [true, true] {
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "hostile::commits_in_the_given_directory", "--ignored"]);
    again.env("ACTUM_GIT_TEST_ROOT", &repo.root).env("HOME", repo.beside("none"));
    again.env_remove("SUDO_UID").env_remove("XDG_CONFIG_HOME");
    let output = again.output().unwrap();
    assert!(!output.status.success());
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(stdout.contains("OtherOwner"), "{stdout}");
}

/// EX-17: no symbolic link in `.git` can redirect the writes of a commit outside the work tree.
#[test]
fn symlinks_inside_the_git_directory_are_rejected() {
    for link in [".git/logs/HEAD", ".git/logs", ".git/refs", ".git/objects", ".git/refs/heads"] {
        let repo = Repo::with(&[("a", b"1")]);
        let moved = repo.beside("moved");
        fs::rename(repo.path(link), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, repo.path(link)).unwrap();
        let problem = open(&repo.root);
        assert!(matches!(problem, GitProblem::Unsupported { .. }), "{link}: {problem}");
        assert!(problem.to_string().contains("symbolic link"), "{link}: {problem}");
    }
}

/// EX-17: a commit appends to reflogs in place, so a reflog must not be hard-linked to a file outside.
#[test]
fn hard_linked_reflog_is_rejected() {
    for log in [".git/logs/HEAD", ".git/logs/refs/heads/main"] {
        let repo = Repo::with(&[("a", b"1")]);
        let (log, outside) = (repo.path(log), repo.beside("outside"));
        assert!(log.is_file(), "{}", log.display());
        fs::write(&outside, "mine\n").unwrap();
        fs::remove_file(&log).unwrap();
        fs::hard_link(&outside, &log).unwrap();
        let problem = open(&repo.root);
        assert!(matches!(problem, GitProblem::Unsupported { .. }), "{problem}");
        assert!(problem.to_string().contains("has several hard links"), "{problem}");
        fs::remove_file(&outside).unwrap();
        Repository::open(&repo.root).unwrap();
    }
}
