//! Files that are not committed, and the reported reasons.

use std::fs;

use actum_git::{Dirt, GitProblem, Unfit};

use crate::repo::{Repo, rel};

fn dirt(problem: GitProblem) -> (String, Dirt) {
    match problem {
        GitProblem::Dirty { path, dirt } => (path.to_string(), dirt),
        other => panic!("{other}"),
    }
}

fn unfit(problem: GitProblem) -> Unfit {
    match problem {
        GitProblem::Unfit { unfit, .. } => unfit,
        other => panic!("{other}"),
    }
}

/// EX-17: a target file with uncommitted changes of the user is not committed. The first such file is reported.
#[test]
fn file_with_uncommitted_changes_is_reported() {
    let names = ["content", "mode", "gone", "staged", "staged-away", "staged-in"];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &b"1\n"[..])).collect();
    let repo = Repo::with(&files);
    repo.write("content", "2\n");
    fs::set_permissions(repo.path("mode"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    fs::remove_file(repo.path("gone")).unwrap();
    // The change is staged, but the file in the work tree equals HEAD again.
    for (path, bytes) in [("staged", "2\n"), ("staged-in", "2\n")] {
        repo.write(path, bytes);
        repo.git(&["add", path]);
        repo.write(path, "1\n");
    }
    repo.git(&["rm", "-q", "--cached", "staged-away"]);
    repo.write("new", "1\n");
    repo.write("new-staged", "1\n");
    repo.git(&["add", "new-staged"]);
    fs::remove_file(repo.path("new-staged")).unwrap();
    let before = repo.git_directory();
    for (path, expected) in [
        ("content", Dirt::Content),
        ("mode", Dirt::Mode),
        ("gone", Dirt::Removed),
        ("staged", Dirt::Staged),
        ("staged-away", Dirt::Staged),
        ("new", Dirt::Untracked),
        ("new-staged", Dirt::Staged),
    ] {
        assert_eq!(dirt(repo.check(&[path]).unwrap_err()), (path.to_owned(), expected));
    }
    let first = repo.check(&["fine", "mode", "content"]).unwrap_err();
    assert!(first.to_string().ends_with("commit or stash them first"), "{first}");
    assert_eq!(dirt(first).0, "mode");
    assert_eq!(repo.git_directory(), before);
}

/// EX-17: staging a file between the check and the commit prevents the commit, and the file remains staged.
#[test]
fn changes_staged_after_the_check_are_not_lost() {
    let repo = Repo::with(&[("a", b"1")]);
    let checked = repo.check(&["a"]).unwrap();
    repo.write("a", "mine");
    repo.git(&["add", "a"]);
    let (head, staged) = (repo.head(), repo.git(&["diff", "--cached"]));
    let refused = repo.commit(&checked, &[("a", Some((b"2", false)))]).unwrap_err();
    assert_eq!(dirt(refused).1, Dirt::Staged);
    assert_eq!((repo.head(), repo.git(&["diff", "--cached"])), (head, staged));
    assert!(!repo.path(".git/index.lock").exists());
}

/// EX-17: an object in HEAD that is not a regular file is not treated as one.
#[test]
fn symlink_in_head_is_rejected_as_a_file() {
    let repo = Repo::with(&[("a", b"1")]);
    std::os::unix::fs::symlink("a", repo.path("link")).unwrap();
    repo.git(&["add", "link"]);
    repo.git(&["commit", "-q", "-m", "link"]);
    assert_eq!(dirt(repo.check(&["link"]).unwrap_err()).1, Dirt::Kind);
}

/// EX-17: a file that git ignores is not committed unless HEAD contains it.
#[test]
fn ignored_path_is_reported() {
    let repo = Repo::with(&[(".gitignore", b"*.log\nbuild/\n")]);
    repo.write("kept.log", "1");
    repo.git(&["add", "-f", "kept.log"]);
    repo.git(&["commit", "-q", "-m", "kept"]);
    repo.write(".git/info/exclude", "local\n");
    repo.write("there.log", "1");
    for path in ["new.log", "there.log", "build/deep/x", "local"] {
        assert_eq!(unfit(repo.check(&[path]).unwrap_err()), Unfit::Ignored, "{path}");
    }
    repo.run(&[("kept.log", Some((b"2", false)))]);
    assert_eq!(repo.status(), "");
}

/// EX-17: names that some file system treats as `.git` are rejected on every file system.
#[test]
fn names_equivalent_to_the_git_directory_are_rejected() {
    let repo = Repo::with(&[("a", b"1")]);
    for path in [
        "git~1/config",
        "x/GIT~1",
        ".git /x",
        ".git./x",
        ".g\u{200c}it/config",
        ".git::$INDEX_ALLOCATION/x",
    ] {
        assert_eq!(unfit(repo.check(&[path]).unwrap_err()), Unfit::Name, "{path}");
    }
    for path in ["a.git", ".gitx", "git", "x/.github/y"] {
        repo.check(&[path]).map(drop).unwrap();
    }
}

/// EX-17: files of a submodule or of a nested repository do not belong to this repository.
#[test]
fn path_in_another_repository_is_rejected() {
    let inner = Repo::with(&[("file", b"1")]);
    let repo = Repo::with(&[("a", b"1")]);
    repo.git(&["submodule", "--quiet", "add", inner.root.to_str().unwrap(), "sub"]);
    let submodule = Unfit::Submodule { at: rel("sub") };
    assert_eq!(unfit(repo.check(&["sub/file"]).unwrap_err()), submodule);
    repo.git(&["commit", "-q", "-m", "sub"]);
    assert_eq!(unfit(repo.check(&["sub/file"]).unwrap_err()), submodule);
    fs::create_dir(repo.path("nested")).unwrap();
    let init = ["init", "-q", "nested"];
    repo.git(&init);
    let nested = Unfit::Nested { at: rel("nested") };
    assert_eq!(unfit(repo.check(&["nested/x/y"]).unwrap_err()), nested);
}
