//! Repeated tasks: a task id together with its documents identifies one request (D-8).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::program::{Ended, actum, approval_key, operator_of, text, under_umask, workspace};
use crate::task::{
    COMMIT, REPORTS, action, create, edit_envelope, git, plan, put, report, repository, run,
};
use serde_json::{Value, json};

/// Returns a plan whose action has a different effect each time it is carried out.
fn insert(content: &str) -> Value {
    let line = json!({ "type": "line_insert", "line_number": 1, "content": content });
    plan(json!([action("a1", "FILE_MODIFY", "a.txt", line)]))
}

fn reports(root: &Path) -> usize {
    fs::read_dir(root.join(REPORTS)).unwrap().count()
}

/// D-8: repeating an envelope returns the stored result while its effect is in force. After a rollback of any kind the
/// task can be carried out again.
#[test]
fn repeated_task_returns_the_stored_result_until_it_is_rolled_back() {
    let (_directory, root) = workspace();
    put(&root, &insert("0\n"), "");
    let first = actum(&root, &["run", "../task.json"]);
    assert_eq!((first.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{first:?}");
    let stored = report(&root);
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!((again.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{again:?}");
    assert!(again.stderr.contains("task already done by run"), "{again:?}");
    assert!(again.stdout.contains("task task-7: SUCCESS: 1 of 1 actions"), "{again:?}");
    assert_eq!((reports(&root), report(&root)), (1, stored));
    let json = actum(&root, &["--json", "run", "../task.json"]);
    let last: Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "SUCCESS", "{last:#}");

    let script = format!("{REPORTS}/{}/rollback.sh", report(&root).file_name().unwrap().display());
    let by_script = || Command::new("sh").arg(&script).current_dir(&root).status().unwrap();
    let reversals: [(&str, &dyn Fn()); 3] = [
        ("undo", &|| assert_eq!(actum(&root, &["undo"]).code, 0)),
        ("rollback", &|| assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0)),
        ("rollback.sh", &|| assert!(by_script().success())),
    ];
    for (number, (way, reverse)) in reversals.into_iter().rev().enumerate() {
        reverse();
        assert_eq!(text(&root, "a.txt"), "1\n", "{way}");
        let again = actum(&root, &["run", "../task.json"]);
        assert_eq!(
            (again.code, text(&root, "a.txt")),
            (0, "0\n1\n".to_owned()),
            "{way}: {again:?}"
        );
        assert_eq!(reports(&root), number + 2, "{way}");
    }
}

/// Modifies the execution report of the newest task.
fn edit_report(root: &Path, edit: impl Fn(&mut Value)) {
    let path = report(root).join("execution_report.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut document);
    fs::write(path, serde_json::to_string_pretty(&document).unwrap()).unwrap();
}

/// D-8: reports in the workspace are not signed, so a modified report must not cause a task to run twice.
#[test]
fn rewritten_report_does_not_allow_a_committed_task_to_run_again() {
    let (_directory, root) = repository();
    put(&root, &insert("0\n"), COMMIT);
    let first = actum(&root, &["run", "../task.json"]);
    assert_eq!((first.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{first:?}");
    let head = git(&root, &["rev-parse", "HEAD"]);
    edit_report(&root, |report| {
        report["status"] = json!("ROLLED_BACK");
        report["rollback_performed"] = json!(true);
    });
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!((again.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{again:?}");
    assert!(again.stdout.contains("task task-7: SUCCESS: 1 of 1 actions"), "{again:?}");
    assert_eq!(git(&root, &["rev-parse", "HEAD"]), head);
    // This commit claims to revert the task, but names no run that the ledger records as its rollback.
    let run = fs::read_to_string(report(&root).join("execution_report.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    let (commit, run) = (head.trim(), run["run"].as_str().unwrap());
    let forged = format!("Revert\n\nActum-Reverts: {commit}\nActum-Run: {run}\n");
    git(&root, &["commit", "-q", "-n", "--allow-empty", "-m", &forged]);
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!((again.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{again:?}");
    // Another process modified the outcome of an action in the report.
    edit_report(&root, |report| report["actions_completed"][0]["output"] = json!("other"));
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!((again.code, text(&root, "a.txt")), (1, "0\n1\n".to_owned()), "{again:?}");
    assert!(again.stdout.contains("was changed since"), "{again:?}");
}

/// D-8, EX-17: a revert with git releases the task id, even if the file changed again afterwards.
#[test]
fn task_reverted_by_a_commit_can_run_again() {
    let (_directory, root) = repository();
    put(&root, &insert("0\n"), COMMIT);
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!((rolled_back.code, text(&root, "a.txt")), (0, "1\n".to_owned()), "{rolled_back:?}");
    fs::write(root.join("a.txt"), "changed since\n").unwrap();
    git(&root, &["commit", "-q", "-n", "-a", "-m", "later"]);
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!(
        (again.code, text(&root, "a.txt")),
        (0, "0\nchanged since\n".to_owned()),
        "{again:?}"
    );
}

/// D-8: while a task's effect is in force, its id is bound to one plan and one config.
#[test]
fn different_plan_under_the_id_of_an_active_task_is_refused() {
    let (_directory, root) = workspace();
    put(&root, &insert("0\n"), "");
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    for (plan, config) in [(insert("other\n"), ""), (insert("0\n"), "git: { commit: false }\n")] {
        put(&root, &plan, config);
        let refused = actum(&root, &["run", "../task.json"]);
        assert_eq!((refused.code, text(&root, "a.txt")), (1, "0\n1\n".to_owned()), "{refused:?}");
        assert!(refused.stdout.contains("(1009 TASK_ID_TAKEN)"), "{refused:?}");
    }
    // Under another id it is a different task.
    edit_envelope(&root, |envelope| envelope["task_id"] = json!("task-8"));
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    // A task that was rolled back does not reserve its id.
    assert_eq!(actum(&root, &["rollback", "task-8"]).code, 0);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    put(&root, &insert("other\n"), "");
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "other\n1\n");
}

/// D-8: a completed task is not carried out again if its reports are missing.
#[test]
fn active_task_with_missing_reports_is_not_run_again() {
    let (_directory, root) = workspace();
    put(&root, &plan(json!([create("a1", "new.txt")])), "");
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    fs::remove_dir_all(root.join("agent")).unwrap();
    let refused = actum(&root, &["run", "../task.json"]);
    assert!(refused.stdout.contains("its reports are missing (1009 TASK_ID_TAKEN)"), "{refused:?}");
    assert_eq!(refused.code, 1);
}

/// EX-1: an approval for one workspace is not valid in another, even if the files are equal.
#[test]
fn envelope_is_rejected_outside_the_workspace_it_names() {
    let (directory, root) = workspace();
    fs::write(root.join("plan.json"), insert("0\n").to_string()).unwrap();
    let approved = actum(&root, &["plan", "approve", "plan.json"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    for file in ["plan.json", "system_config.yaml", "task_envelope.json", "a.txt"] {
        fs::copy(root.join(file), other.join(file)).unwrap();
    }
    assert_eq!(actum(&other, &["init"]).code, 0);
    let ended = actum(&other, &["run", "task_envelope.json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let error = crate::task::document(&other, "error_report.json");
    assert_eq!(error["error_code"], 1000, "{error:#}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("is for the workspace "), "{message}");
    assert_eq!(text(&other, "a.txt"), text(&root, "a.txt"));
    let ended = actum(&root, &["run", "task_envelope.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// EX-1: if the policy requires a signature, a program that can write files still cannot approve a task.
#[test]
fn policy_can_require_signed_envelopes() {
    let (_directory, root) = workspace();
    let unsigned = |doctor: &Ended| doctor.stdout.contains("unsigned envelopes");
    assert!(unsigned(&actum(&root, &["doctor"])));
    // The workspace's own policy can require a signature too, even if it is not trusted.
    fs::write(root.join("actum.toml"), "version = 1\n[tasks]\nsigned = true\n").unwrap();
    assert!(!unsigned(&actum(&root, &["doctor"])));
    assert_eq!(run(&root, &insert("0\n")).code, 1);
    assert_eq!(crate::task::document(&root, "error_report.json")["error_code"], 1007);
    fs::remove_file(root.join("actum.toml")).unwrap();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    fs::write(operator.join("actum.toml"), "version = 1\n[tasks]\nsigned = true\n").unwrap();
    let doctor = actum(&root, &["doctor"]);
    assert!(doctor.stdout.contains("only envelopes that the approval key signed"), "{doctor:?}");
    let ended = run(&root, &insert("0\n"));
    assert_eq!(ended.code, 1, "{ended:?}");
    let error = crate::task::document(&root, "error_report.json");
    assert_eq!(error["error_code"], 1007, "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("`[tasks] signed = true`"), "{error:#}");
    assert_eq!(text(&root, "a.txt"), "1\n");
    fs::write(root.join("plan.json"), insert("0\n").to_string()).unwrap();
    assert_ne!(actum(&root, &["plan", "approve", "plan.json"]).code, 0, "there is no key");
    let key = approval_key(&root);
    let approve = ["plan", "approve", "plan.json", "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let ended = actum(&root, &["run", "task_envelope.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(text(&root, "a.txt"), "0\n1\n");
}

/// D-8, AEC-7: the stored result of a task applies to these files only, not to another workspace with the same name.
#[test]
fn task_is_refused_in_a_workspace_copy_without_its_run() {
    let (directory, root) = workspace();
    fs::write(directory.path().join("first.json"), r#"{"path": "first.txt", "content": "x"}"#)
        .unwrap();
    assert_eq!(actum(&root, &["apply", "../first.json"]).code, 0);
    let saved = directory.path().join("saved");
    let copy = |from: &Path, to: &Path| {
        let from = format!("{}/.", from.display());
        let copied = Command::new("/bin/cp").args(["-a", "--", &from]).arg(to).status();
        assert!(copied.unwrap().success());
    };
    fs::create_dir(&saved).unwrap();
    copy(&root, &saved);
    put(&root, &insert("0\n"), "");
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    assert!(actum(&root, &["run", "../task.json"]).stderr.contains("task already done by run"));
    // Restore the earlier state of the disk: `.actum` stays the same directory, but its content is the earlier one.
    for entry in fs::read_dir(root.join(".actum")).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    copy(&saved, &root);
    let refused = actum(&root, &["run", "../task.json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let error = crate::task::document(&root, "error_report.json");
    assert_eq!(error["error_code"], 1009, "{error:#}");
    assert_eq!(error["details"]["reason"], "WORKSPACE_IS_A_COPY", "{error:#}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// AA-5, EX-17: the approver is shown settings such as a commit, partial results and a short backup retention.
#[test]
fn approver_sees_task_settings_that_differ_from_the_defaults() {
    let (_directory, root) = repository();
    git(&root, &["config", "user.name", "Ada"]);
    git(&root, &["config", "user.email", "ada@example.org"]);
    let config = "rollback_manifest: {ttl_days: 1}\ngit: {commit: true}\n\
                  soft_constraints: {stop_on_error: false}\n";
    let expected = "config   git.commit: true\n\
                    config   soft_constraints.stop_on_error: false\n\
                    config   rollback_manifest.ttl_days: 1\n\
                    commit   to branch `main` as `Ada <ada@example.org>`, in the current state of the repository\n";
    let mut asks =
        action("a1", "FILE_CREATE", "b.txt", json!({ "type": "create", "content": "b\n" }));
    asks["risk_level"] = json!("HIGH");
    put(&root, &plan(json!([asks])), config);
    let preview = actum(&root, &["plan", "preview", "../plan.json", "--config", "../config.yaml"]);
    assert!(preview.stdout.contains(expected), "{preview:?}");
    let ended = actum(&root, &["run", "../task.json"]);
    assert_eq!(ended.code, 6, "{ended:?}");
    let queue: Value = serde_json::from_str(&actum(&root, &["queue", "--json"]).stdout).unwrap();
    let id = queue["plans"][0]["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &id]);
    assert!(shown.stdout.contains(expected), "{shown:?}");
    let key = approval_key(&root);
    let approved = actum(&root, &["approve", &id, "--passphrase-file", &key]);
    assert!(approved.stderr.contains(expected), "{approved:?}");
    let config = ["--config", "../config.yaml", "--passphrase-file", &key];
    let approved = actum(&root, &[&["plan", "approve", "../plan.json"], &config[..]].concat());
    assert!(approved.stderr.contains(expected), "{approved:?}");
}

/// EX-17: an unsigned approval shows these settings too.
#[test]
fn an_unsigned_approval_shows_the_settings_of_a_task() {
    let (_directory, root) = workspace();
    put(&root, &insert("0\n"), "git: {commit: true}\n");
    let approve = ["plan", "approve", "../plan.json", "--config", "../config.yaml"];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(approved.stderr.contains("config   git.commit: true\n"), "{approved:?}");
    assert!(approved.stderr.contains("commit   not possible in the current state"), "{approved:?}");
}

/// EX-1, AA-5: only the change that the approver saw is carried out, even if files changed after the approval.
#[test]
fn signed_approval_covers_only_the_change_shown() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let skips = json!({ "stop_on_error": false, "rollback_on_failure": false });
    let delete = action("a2", "FILE_DELETE", "sub/b.txt", json!({ "type": "delete" }));
    let line = json!({ "type": "line_insert", "line_number": 1, "content": "0\n" });
    let mut both = plan(json!([action("a1", "FILE_MODIFY", "a.txt", line), delete]));
    both["execution_instructions"] = skips;
    put(&root, &both, "");
    let approve = ["plan", "approve", "../plan.json", "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let before = crate::task::tree(&root);
    let set_mode = |path: &str, mode| {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let kept = fs::read(root.join("sub/b.txt")).unwrap();
    let mode = fs::metadata(root.join("a.txt")).unwrap().permissions().mode();
    let changes: [(&dyn Fn(), &str); 4] = [
        (&|| fs::write(root.join("a.txt"), "1\nother\n").unwrap(), "the file `a.txt` was edited"),
        (&|| set_mode("a.txt", 0o640), "the mode of `a.txt` changed (0644 -> 0640)"),
        (
            &|| fs::write(root.join("sub/b.txt"), "other\n").unwrap(),
            "the file `sub/b.txt` was edited",
        ),
        // Without the file, one action fails and the plan keeps the other.
        (
            &|| fs::remove_file(root.join("sub/b.txt")).unwrap(),
            "the result for `sub/b.txt` differs",
        ),
    ];
    for (change, expected) in changes {
        change();
        let changed = crate::task::tree(&root);
        let ended = actum(&root, &["run", "../task_envelope.json"]);
        assert_eq!(ended.code, 1, "{expected}: {ended:?}");
        let error = crate::task::document(&root, "error_report.json");
        assert_eq!(error["error_code"], 1005, "{error:#}");
        assert_eq!(error["details"]["reason"], "PLAN_STALE", "{error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("the workspace changed since the plan was approved"), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("nothing was changed"), "{message}");
        assert_eq!(crate::task::tree(&root), changed, "{expected}");
        fs::write(root.join("a.txt"), "1\n").unwrap();
        fs::write(root.join("sub/b.txt"), &kept).unwrap();
        set_mode("a.txt", mode);
    }
    assert_eq!(crate::task::tree(&root), before);
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!((done.code, text(&root, "a.txt")), (0, "0\n1\n".to_owned()), "{done:?}");
}

/// EX-1: new files get the modes that were shown to the approver, even if the agent has another umask and no gate
/// requires approval.
#[test]
fn a_signed_approval_freezes_the_modes_of_new_files() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    put(&root, &plan(json!([create("a1", "made.txt")])), "");
    let approve = ["plan", "approve", "../plan.json", "--passphrase-file", &key];
    let approved = under_umask("077", &root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let done = under_umask("022", &root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let mode = fs::metadata(root.join("made.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// EX-1, EX-2: a signed approval lists every path of the change. A change with too many paths for this cannot be
/// approved.
#[test]
fn a_change_with_too_many_long_paths_is_not_signed() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let name = "d".repeat(40);
    let approve = |files: usize| {
        let path = |file: usize| format!("{file}/{}made.txt", (name.clone() + "/").repeat(60));
        let actions = (0..files).map(|file| create(&format!("a{file}"), &path(file)));
        put(&root, &plan(actions.collect()), "");
        actum(&root, &["plan", "approve", "../plan.json", "--passphrase-file", &key])
    };
    let refused = approve(42);
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    let expected = "the approval would exceed 4 MiB";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(refused.stderr.contains("nothing was approved"), "{}", refused.stderr);
    assert!(!root.join("../task_envelope.json").exists());
    let approved = approve(1);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert!(fs::metadata(root.join("../task_approval.json")).unwrap().len() > 64 << 10);
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
}
