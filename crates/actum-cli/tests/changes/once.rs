//! A request with a key has one effect, no matter how many processes make it (AEC-7).

use std::fs;
use std::process::Stdio;

use crate::program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// AEC-7
#[test]
fn sixteen_processes_with_one_request_key_have_one_effect() {
    let (_directory, root) = workspace();
    let apply = ["apply", "--wait", "--request-key", "T-17", "../change.diff"];
    let children: Vec<_> = (0..16)
        .map(|_| {
            let mut child = command(&root, &apply);
            child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let ended: Vec<Ended> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
    let done = ended.iter().filter(|ended| ended.stdout.contains("files changed")).count();
    let before = ended.iter().filter(|ended| ended.stdout.contains("already done by run")).count();
    assert_eq!((done, before), (1, 15), "{ended:#?}");
    assert!(ended.iter().all(|ended| ended.code == 0), "{ended:#?}");
    assert_eq!(text(&root, "a.txt"), "one\n");
    let log: serde_json::Value =
        serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    assert_eq!(log["total"], 1);
}

/// AEC-7
#[test]
fn request_key_used_for_another_request_is_rejected_without_changes() {
    let (directory, root) = workspace();
    let key = ["--request-key", "T-17"];
    assert_eq!(actum(&root, &[&["apply", "../change.diff"][..], &key].concat()).code, 0);
    fs::write(directory.path().join("other.json"), r#"{"path": "new.txt", "content": "x"}"#)
        .unwrap();
    let ended = actum(&root, &[&["apply", "../other.json"][..], &key].concat());
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        ended.stderr.contains("the request key `T-17` was already used for a different request"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("actum explain REQUEST_KEY_TAKEN"), "{ended:?}");
    assert!(!root.join("new.txt").exists());
    // An undo is a different request as well.
    let ended = actum(&root, &["undo", "--request-key", "T-17"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(text(&root, "a.txt"), "one\n");
}

/// AEC-7: a rejected request does not use up its key.
#[test]
fn rejected_request_can_be_retried_under_its_key() {
    let (_directory, root) = workspace();
    let apply = ["apply", "../change.diff", "--request-key", "T-17"];
    fs::write(root.join("a.txt"), "else\n").unwrap();
    assert_eq!(actum(&root, &apply).code, 1);
    fs::write(root.join("a.txt"), "1\n").unwrap();
    assert_eq!(actum(&root, &apply).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
}

/// AEC-7, D-8: the answer to a repeated request is marked as such, and a change that was undone is applied again.
#[test]
fn keyed_request_returns_its_run_until_undone_and_then_runs_again() {
    let (_directory, root) = workspace();
    let apply = ["--json", "apply", "../change.diff", "--request-key", "T-17"];
    let ask = || serde_json::from_str::<Value>(&actum(&root, &apply).stdout).unwrap();
    let first = ask();
    let again = ask();
    assert_eq!((&again["done_before"], &again["run"]), (&json!(true), &first["run"]));
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let anew = ask();
    assert_eq!((&anew["done_before"], text(&root, "a.txt")), (&json!(false), "one\n".to_owned()));
    assert_ne!(anew["run"], first["run"]);
    assert_eq!(ask()["run"], anew["run"]);
    // A dry run reads no ledger, so it cannot know the earlier run.
    assert_eq!(actum(&root, &[&apply[..], &["--dry-run"]].concat()).code, 2);
}

/// AEC-8: a change whose intent cannot be recorded is rejected without any effect.
#[test]
fn changes_are_rejected_without_a_usable_ledger() {
    let (directory, root) = workspace();
    let home = directory.path().join("elsewhere");
    fs::write(&home, "a file").unwrap();
    let mut apply = command(&root, &["apply", "../change.diff"]);
    let ended = Ended::from(apply.env("ACTUM_HOME", &home).output().unwrap());
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("is not a directory"), "{ended:?}");
    assert!(ended.stderr.contains("nothing was changed"), "{ended:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// FE-14: a ledger home inside the workspace is rejected, so that no change can reach the signing keys.
#[test]
fn ledger_home_inside_the_workspace_is_rejected() {
    let (_directory, root) = workspace();
    for home in [root.join("home"), root.join(".actum"), root.clone()] {
        let mut apply = command(&root, &["apply", "../change.diff"]);
        let ended = Ended::from(apply.env("ACTUM_HOME", &home).output().unwrap());
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains("nothing was changed"), "{ended:?}");
        assert!(!home.join("keys").exists(), "private keys in a project");
    }
    assert_eq!(text(&root, "a.txt"), "1\n");
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
}

/// AEC-7: a recorded answer applies only to these files, and not to a copy of the workspace without the run.
#[test]
fn request_key_is_rejected_in_a_workspace_copy_without_its_run() {
    let (directory, root) = workspace();
    let first = r#"{"path": "first.txt", "content": "x"}"#;
    fs::write(directory.path().join("first.json"), first).unwrap();
    assert_eq!(actum(&root, &["apply", "../first.json"]).code, 0);
    let saved = directory.path().join("saved");
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        let copied = std::process::Command::new("/bin/cp")
            .args(["-a", "--", &format!("{}/.", from.display()), &to.display().to_string()])
            .status();
        assert!(copied.unwrap().success());
    };
    fs::create_dir(&saved).unwrap();
    copy(&root, &saved);
    let apply = ["apply", "../change.diff", "--request-key", "T-17"];
    assert_eq!(actum(&root, &apply).code, 0);
    assert!(actum(&root, &apply).stdout.contains("already done by run"));
    // Restore the earlier state of the disk: `.actum` remains the same directory, but has its earlier content.
    for entry in fs::read_dir(root.join(".actum")).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    copy(&saved, &root);
    assert_eq!(text(&root, "a.txt"), "1\n");
    let refused = actum(&root, &apply);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("actum explain WORKSPACE_IS_A_COPY"), "{refused:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
    let other = actum(&root, &["apply", "../change.diff", "--request-key", "T-18"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(text(&root, "a.txt"), "one\n");
}

/// AEC-7, FO-9: a request is answered even after garbage collection has removed its run.
#[test]
fn a_request_whose_run_was_forgotten_is_still_answered() {
    let (_directory, root) = workspace();
    let apply = ["apply", "../change.diff", "--request-key", "T-17"];
    assert_eq!(actum(&root, &apply).code, 0);
    let policy = crate::program::operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(policy, "version = 1\n[retention]\nruns = 0\ndays = 0\n").unwrap();
    assert_eq!(actum(&root, &["gc", "--max-runs", "0"]).code, 0);
    assert_eq!(actum(&root, &["log"]).stdout, "no runs yet\n");
    let again = actum(&root, &apply);
    assert!(again.stdout.contains("already done by run"), "{again:?}");
}

/// D-8: task ids are reserved keys that no other request can use.
#[test]
fn request_keys_reserved_for_tasks_are_rejected() {
    let (_directory, root) = workspace();
    let ended = actum(&root, &["apply", "../change.diff", "--request-key", "task:p1"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("reserved for task plans"), "{ended:?}");
    let action = actum(&root, &["action", "run", "x.json", "--request-key", "task:p1"]);
    assert_eq!(action.code, 2, "{action:?}");
}
