//! The user's index: which entries are updated, and which are unchanged.

use std::fs;

use actum_git::{Committed, IndexOutcome, IndexProblem, Outcome};

use crate::repo::Repo;

/// EX-17: other staged changes remain byte for byte, and unstaged changes remain unstaged.
#[test]
fn other_staged_changes_stay_unchanged() {
    let repo =
        Repo::with(&[("a", b"1\n"), ("b", b"1\n"), ("c", b"1\n"), ("d", b"1\n"), ("e", b"1\n")]);
    repo.write("b", "staged\n");
    repo.write("added", "staged\n");
    repo.git(&["add", "b", "added"]);
    repo.git(&["rm", "-q", "c"]);
    repo.write("b", "later\n");
    repo.write("d", "unstaged\n");
    repo.write("intended", "later\n");
    repo.git(&["add", "-N", "intended"]);
    repo.git(&["update-index", "--assume-unchanged", "e"]);
    let look = || {
        let all = ["diff", "diff --cached", "ls-files -v -s", "ls-files -f"];
        all.map(|words| repo.git(&words.split(' ').collect::<Vec<_>>()))
    };
    let before = look();
    repo.run(&[("a", None), ("made", Some((b"2\n", false)))]);
    let after = look();
    assert_eq!(before[0], after[0]);
    assert_eq!(before[1], after[1]);
    // Only the index entries of the run may differ.
    let without = |text: &str| {
        let keeps =
            |line: &&str| !line.ends_with("\ta") && !line.ends_with("\tmade") && *line != "H a";
        text.lines().filter(keeps).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without(&before[2]), without(&after[2]));
    assert!(after[2].contains("\tmade") && !after[2].contains("\ta\n"), "{}", after[2]);
    assert!(after[2].contains("h 100644"), "{}", after[2]);
    assert_eq!(repo.status().lines().filter(|line| line.ends_with(" a")).count(), 0);
}

/// EX-17: a user's edit made in the same instant as the index update is still visible. Git compares only the seconds of timestamps,
/// so such a file could look identical to the staged one.
#[test]
fn edit_in_the_same_second_as_the_last_staging_remains_visible() {
    let repo = Repo::with(&[("a", b"1\n"), ("racy", b"1\n")]);
    let second = || {
        let seconds = |path: &str| fs::metadata(repo.path(path)).unwrap().modified().unwrap();
        [seconds("racy"), seconds(".git/index")]
            .map(|time| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs())
    };
    for _ in 0..20 {
        repo.write("racy", "2\n");
        repo.git(&["add", "racy"]);
        repo.write("racy", "3\n");
        let [edited, staged] = second();
        if edited == staged {
            break;
        }
    }
    let [edited, staged] = second();
    assert_eq!(edited, staged);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    repo.run(&[("a", Some((b"2\n", false)))]);
    assert_eq!(repo.git(&["diff", "--name-only"]), "racy\n");
    assert_eq!(repo.git(&["show", ":racy"]), "2\n");
}

/// EX-17: if another process holds the index lock, the commit is made and the stale index is reported.
#[test]
fn locked_index_is_left_unchanged_and_reported() {
    let repo = Repo::with(&[("a", b"1\n")]);
    repo.write(".git/index.lock", b"theirs");
    let checked = repo.check(&["a"]).unwrap();
    let steps = [("a", Some((&b"2\n"[..], false)))];
    repo.apply(&steps);
    let index = fs::read(repo.path(".git/index")).unwrap();
    let outcome = repo.commit(&checked, &steps).unwrap();
    let Outcome::Committed(Committed { id, index: IndexOutcome::NotUpdated(problem) }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(matches!(problem, IndexProblem::Locked), "{problem}");
    assert_eq!(repo.read(".git/index.lock"), b"theirs");
    assert_eq!(repo.read(".git/index"), index);
    assert_eq!(repo.head(), id.to_string());
    // The advice in the message solves the problem.
    fs::remove_file(repo.path(".git/index.lock")).unwrap();
    repo.git(&["reset", "-q", "--", "a"]);
    assert_eq!(repo.status(), "");
}

/// EX-17: no temporary file remains next to the index, and the files of a killed process are ignored.
#[test]
fn no_temporary_files_remain_beside_the_index() {
    let repo = Repo::with(&[("a", b"1\n")]);
    repo.write(".git/index.actum", b"left");
    repo.write(".git/index.actum.lock", b"left");
    repo.run(&[("a", Some((b"2\n", false)))]);
    let names = |directory: &str| {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        fs::read_dir(repo.path(directory)).unwrap().map(name).collect::<Vec<_>>()
    };
    let odd = |name: &std::ffi::OsString| {
        let name = name.to_str().unwrap();
        name.contains("actum") || name.ends_with(".lock") || name.starts_with(".tmp")
    };
    assert_eq!(names(".git").iter().filter(|name| odd(name)).count(), 0);
    assert_eq!(repo.status(), "");
}

/// EX-17: an index keeps its format version and the flags of its files.
#[test]
fn index_version_and_file_flags_are_preserved() {
    for version in ["2", "3", "4"] {
        let repo = Repo::with(&[("a", b"1\n"), ("b/c", b"1\n"), ("b/d", b"1\n"), ("s", b"1\n")]);
        repo.git(&["update-index", "--skip-worktree", "s"]);
        repo.git(&["update-index", "--index-version", version]);
        let number = || repo.read(".git/index")[7];
        let before = number();
        repo.run(&[("b/c", Some((b"2\n", false))), ("b/e", Some((b"2\n", false)))]);
        assert_eq!(number(), before, "{version}");
        assert!(repo.git(&["ls-files", "-t"]).contains("S s"));
        assert_eq!(repo.status(), "");
        repo.git(&["fsck", "--strict"]);
    }
}

/// EX-17: index formats that libgit2 does not support are never overwritten.
#[test]
fn unsupported_index_is_rejected_before_the_run() {
    let repo = Repo::with(&[("a", b"1\n")]);
    repo.git(&["update-index", "--split-index"]);
    let before = repo.git_directory();
    let refused = repo.check(&["a"]).unwrap_err();
    assert!(refused.to_string().contains("index"), "{refused}");
    assert_eq!(repo.git_directory(), before);

    let repo = Repo::with(&[("a", b"1\n"), ("d/b", b"1\n")]);
    repo.git(&["config", "index.skipHash", "true"]);
    repo.git(&["update-index", "--force-write-index"]);
    repo.run(&[("a", Some((b"2\n", false)))]);
    assert_eq!(repo.status(), "");
}
