//! `actum sandbox run`, as people and programs use it (AA-10).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, and plays the user"
)]

mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use program::{Ended, actum, workspace};
use serde_json::{Value, json};

fn sandbox(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["sandbox", "run"], options, &["--", "sh", "-c", script]].concat())
}

fn report(root: &Path, options: &[&str], script: &str) -> Value {
    let ended = sandbox(root, &[&["--json"], options].concat(), script);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// AA-10
#[test]
fn a_command_may_read_the_directory_and_write_to_scratch_alone() {
    let (_directory, root) = workspace();
    let script = "cat a.txt && echo x > $HOME/x && cat $TMPDIR/x && echo new > a.txt";
    let ended = sandbox(&root, &[], script);
    assert_ne!(ended.code, 0);
    assert!(ended.stdout.ends_with("x\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("a.txt: Read-only file system"), "{}", ended.stderr);
}

/// AA-10
#[test]
fn the_exit_code_is_that_of_the_command_and_no_other_can_be_taken_for_it() {
    let (_directory, root) = workspace();
    assert_eq!(sandbox(&root, &[], "exit 7").code, 7);
    assert_eq!(sandbox(&root, &[], "kill -TERM $$").code, 143);
    assert_eq!(sandbox(&root, &["--limit", "wall=100ms"], "sleep 60").code, 124);
    assert_eq!(sandbox(&root, &["--write", "missing"], "true").code, 125);
    assert_eq!(sandbox(&root, &["--cache", "sub"], "true").code, 125);
    let plain = root.join("plain");
    fs::write(&plain, "text").unwrap();
    let run = |program: &str| actum(&root, &["sandbox", "run", "--", program]);
    assert_eq!(run("./plain").code, 126);
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = run("./plain");
    assert_eq!(ended.code, 126);
    assert!(ended.stderr.contains("it is no program for this machine"), "{}", ended.stderr);
    assert_eq!(run("no-such-program").code, 127);
    assert_eq!(run("./no-such-program").code, 127);
}

/// AA-10
#[test]
fn what_a_command_changes_in_a_captured_directory_is_told_and_not_kept() {
    let (_directory, root) = workspace();
    let before = fs::read(root.join("a.txt")).unwrap();
    let script = "echo more >> a.txt; rm sub/b.txt; mkdir new; echo x > new/x; chmod 600 new/x";
    let told = report(&root, &["--capture"], script);
    assert_eq!(told["ended"], json!({ "code": 0 }), "{told}");
    let changes: Vec<(&str, &str)> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["path"].as_str().unwrap(), change["kind"].as_str().unwrap()))
        .collect();
    let expected = [
        ("a.txt", "modified"),
        ("new", "directory_created"),
        ("new/x", "created"),
        ("sub/b.txt", "deleted"),
    ];
    assert_eq!(changes, expected);
    assert_eq!(fs::read(root.join("a.txt")).unwrap(), before);
    assert!(!root.join("new").exists() && root.join("sub/b.txt").exists());
}

/// AA-10
#[test]
fn a_cache_is_passed_through_a_captured_directory() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("target")).unwrap();
    let options = ["--capture", "--cache", "target"];
    let told = report(&root, &options, "echo x > target/x; echo y > y");
    assert_eq!(told["changes"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(fs::read(root.join("target/x")).unwrap(), b"x\n");
    assert!(!root.join("y").exists());
}

/// AA-10
#[test]
fn the_policy_that_is_printed_is_one_that_can_be_used() {
    let (directory, root) = workspace();
    let ended = actum(&root, &["sandbox", "run", "--print-policy", "--write", "sub"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let file = directory.path().join("policy.toml");
    fs::write(&file, ended.stdout).unwrap();
    let file = file.to_str().unwrap();
    let ended = sandbox(&root, &["--policy", file], "echo x > sub/x && echo y > y");
    assert!(root.join("sub/x").exists(), "{}", ended.stderr);
    assert!(!root.join("y").exists());
}

/// AA-10
#[test]
fn a_policy_that_is_wrong_is_refused_with_its_place() {
    let (directory, root) = workspace();
    let file = directory.path().join("policy.toml");
    let refusal = |text: &str| {
        fs::write(&file, text).unwrap();
        let ended = sandbox(&root, &["--policy", file.to_str().unwrap()], "touch ran");
        assert_eq!(ended.code, 125);
        ended.stderr
    };
    assert!(refusal("write = 3").contains("line 1, column 9"));
    assert!(refusal("wriet = []").contains("unknown field `wriet`"));
    assert!(refusal("read = ['/']").contains("allows everything"));
    assert!(refusal("read = ['.']\n[limits]\nmemory = { max = 0 }").contains("limit of memory"));
    assert!(refusal("read = ['.']\n[limits]\nram = { max = 1 }").contains("unknown variant `ram`"));
    assert!(!root.join("ran").exists());
}

/// AA-10
#[test]
fn secrets_in_the_environment_do_not_reach_the_command() {
    let (_directory, root) = workspace();
    let run = |options: &[&str]| {
        let arguments =
            [&["sandbox", "run"], options, &["--", "sh", "-c", "env; cat /proc/1/environ"]];
        let mut command = program::command(&root, &arguments.concat());
        Ended::from(command.env("ACTUM_TEST_SECRET", "hunter2").output().unwrap()).stdout
    };
    assert!(!run(&[]).contains("hunter2"));
    assert!(run(&["--env", "ACTUM_TEST_SECRET"]).contains("hunter2"));
    assert!(run(&["--env", "A=b c"]).contains("A=b c\n"));
}

/// AA-10
#[test]
fn the_state_of_git_and_actum_stays_as_it_is_unless_it_is_named() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    let script = "echo x > .git/hooks/pre-commit; rm -rf .actum; mv .git away; echo done > done";
    let ended = sandbox(&root, &["--write", "."], script);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(root.join("done").exists() && root.join(".actum/journal").exists());
    assert!(root.join(".git").is_dir() && !root.join(".git/hooks/pre-commit").exists());
    let named = ["--write", ".", "--write", ".git"];
    assert_eq!(sandbox(&root, &named, "echo x > .git/hooks/pre-commit").code, 0);
    assert!(root.join(".git/hooks/pre-commit").exists());
}

/// AA-10
#[test]
fn a_command_at_whose_output_nobody_reads_any_more_is_not_told_as_one_that_never_ran() {
    let (_directory, root) = workspace();
    let mut command = program::command(
        &root,
        &["sandbox", "run", "--write", ".", "--", "sh", "-c", "seq 100000; echo end > end"],
    );
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait().unwrap();
    assert_ne!(ended.code(), Some(125));
    assert!(root.join("end").exists());
}

/// AA-10
#[test]
fn from_within_a_repository_the_whole_of_it_can_be_read() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join(".git")).unwrap();
    let ended = sandbox(&root.join("sub"), &[], "cat ../a.txt > /dev/null && pwd");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.ends_with("/sub\n"), "{}", ended.stdout);
}

/// AA-10
#[test]
fn where_nothing_can_be_run_the_hint_fits_the_reason() {
    let (_directory, root) = workspace();
    let hint = |arguments: &[&str]| {
        let ended = actum(&root, &[&["sandbox", "run"], arguments].concat());
        assert!(ended.stderr.contains("nothing was started"), "{}", ended.stderr);
        ended.stderr
    };
    assert!(hint(&["--", "ls | wc -l"]).contains("sh -c"));
    assert!(hint(&["./a.txt"]).contains("chmod +x ./a.txt"));
    assert!(hint(&["--write", "out", "true"]).contains("make it first"));
    assert!(hint(&["--capture", "--write", "sub", "true"]).contains("whose changes are captured"));
    assert!(hint(&["--limit", "cpu=1s:hard", "true"]).contains("let the limit be polled"));
    let ended = actum(Path::new("/"), &["sandbox", "run", "true"]);
    assert!(ended.stderr.contains("change to a directory below it"), "{}", ended.stderr);
}
