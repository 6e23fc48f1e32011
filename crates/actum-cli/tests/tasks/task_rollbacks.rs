//! Tasks that need an approval, that are committed, and that are rolled back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::program::{actum, approval_key, text, under_umask, workspace};
use crate::task::{
    COMMIT, action, after, create, document, git, plan, put, replace, report, repository, run,
    run_as, tree,
};
use serde_json::{Value, json};

/// EX-16, EX-17: a rollback does not discard a later edit, and succeeds once that edit is removed.
#[test]
fn rollback_does_not_overwrite_later_edits() {
    let (_directory, root) = workspace();
    assert_eq!(
        run(&root, &plan(json!([create("a1", "made.txt"), replace("a2", "a.txt", "1")]))).code,
        0
    );
    fs::write(root.join("a.txt"), "edited since\n").unwrap();
    let refused = actum(&root, &["rollback", "task-7"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(text(&root, "a.txt"), "edited since\n");
    assert!(root.join("made.txt").exists(), "all of it or nothing");
    assert_eq!(document(&root, "rollback_manifest.json")["status"], "ACTIVE");
    assert_eq!(document(&root, "execution_report.json")["status"], "SUCCESS");
    fs::write(root.join("a.txt"), "new\n").unwrap();
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
    assert!(!root.join("made.txt").exists());
}

/// EX-16: a task name selects the newest task that can be rolled back, and a report can be named instead.
#[test]
fn rollback_by_task_name_selects_the_newest_task() {
    let (_directory, root) = workspace();
    for (file, is_rolled_back) in [("one.txt", true), ("two.txt", false)] {
        assert_eq!(run(&root, &plan(json!([create("a1", file)]))).code, 0);
        let rolled_back = is_rolled_back.then(|| actum(&root, &["rollback", "task-7"]).code);
        assert!(rolled_back.is_none_or(|code| code == 0));
    }
    let unknown = actum(&root, &["rollback", "task-8"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("no report of a task `task-8`"), "{unknown:?}");
    let ended = actum(&root, &["rollback", "task-7"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!root.join("two.txt").exists());
    let again = actum(&root, &["rollback", "task-7"]);
    assert!(again.stderr.contains("was already rolled back"), "{again:?}");
    assert_eq!(again.code, 1);
}

/// D-3, EX-1: a change that needs approval is approved by a signature over exactly this change.
#[test]
fn a_task_of_tier_r3_needs_a_signed_approval() {
    let (directory, root) = workspace();
    let passphrase = directory.path().join("passphrase");
    fs::write(&passphrase, "correct horse battery\n").unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    let key = ["--passphrase-file", "../passphrase"];
    assert_eq!(actum(&root, &[&["key", "make", "approval"], &key[..]].concat()).code, 0);
    let mut risky = replace("a1", "a.txt", "1");
    risky["risk_level"] = json!("HIGH");
    let risky = plan(json!([risky]));
    let unsigned = run(&root, &risky);
    assert_eq!(unsigned.code, 6, "{unsigned:?}");
    let report = document(&root, "error_report.json");
    assert_eq!(
        (&report["status"], &report["error_code"]),
        (&json!("REJECTED"), &json!(1007)),
        "{report:#}"
    );
    assert_eq!(text(&root, "a.txt"), "1\n");

    let approve = |more: &[&str]| {
        actum(&root, &[&["plan", "approve", "../plan.json"], &key[..], more].concat())
    };
    let approved = approve(&[]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(
        approved.stdout.contains("the signature in task_approval.json is valid"),
        "{approved:?}"
    );
    // The approval is not valid for a different change of the file.
    fs::write(root.join("a.txt"), "0\n1\n").unwrap();
    let other = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1005);
    fs::write(root.join("a.txt"), "1\n").unwrap();
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(text(&root, "a.txt"), "new\n");
    // The approval can be used only once.
    assert_eq!(actum(&root, &["rollback", "plan-001"]).code, 0);
    assert_eq!(actum(&root, &["run", "../task_envelope.json"]).code, 6);
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// EX-1, AA-5: new files get exactly the approved modes, even if the agent's umask differs from the approver's.
#[test]
fn approved_task_gives_new_files_the_approved_modes() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let mut risky = create("a1", "made.txt");
    risky["risk_level"] = json!("HIGH");
    put(&root, &plan(json!([risky])), "");
    let approve = ["plan", "approve", "../plan.json", "--passphrase-file", &key];
    let approved = under_umask("077", &root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let mode = fs::metadata(root.join("made.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// EX-1: an operator's signature can replace the envelope for a single plan.
#[test]
fn signed_approval_replaces_the_envelope_for_exactly_one_plan() {
    let (directory, root) = workspace();
    let passphrase = directory.path().join("passphrase");
    fs::write(&passphrase, "correct horse battery\n").unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    let key = ["--passphrase-file", "../passphrase"];
    assert_eq!(actum(&root, &[&["key", "make", "approval"], &key[..]].concat()).code, 0);
    put(&root, &plan(json!([create("a1", "made.txt")])), "");
    let approved =
        actum(&root, &[&["plan", "approve", "../plan.json", "--sign"], &key[..]].concat());
    assert_eq!(approved.code, 0, "{approved:?}");
    let documents = ["--config", "../system_config.yaml", "--approval", "../task_approval.json"];
    let run = |plan: &str| actum(&root, &[&["run", "--plan", plan], &documents[..]].concat());
    fs::write(root.join("../other.json"), plan(json!([create("a1", "other.txt")])).to_string())
        .unwrap();
    let other = run("../other.json");
    assert_eq!(other.code, 1, "{other:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1005);
    let done = run("../plan.json");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(root.join("made.txt").exists() && !root.join("other.txt").exists());
}

/// EX-2: a plan from `plan new` can be approved, carried out and rolled back without edits.
#[test]
fn plan_from_plan_new_can_be_approved_and_run_unchanged() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    for (arguments, code) in [
        (&["plan", "new", "../mine.json"][..], 0),
        (&["plan", "new", "../mine.json"], 1),
        (&["plan", "lint", "../mine.json"], 0),
        (&["plan", "approve", "../mine.json"], 0),
    ] {
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
    }
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert!(done.stdout.contains(" 2 of 2 actions; 1 file and 4 lines changed\n"), "{done:?}");
    assert_eq!(text(&root, "notes/todo.txt"), "first line\nlast line\n");
    let again = actum(&root, &["run", "../task_envelope.json"]);
    assert!(again.stderr.contains("task already done by run"), "{again:?}");
    assert_eq!(again.code, 0);
    let plan: Value = serde_json::from_str(&text(&root, "../mine.json")).unwrap();
    assert_eq!(actum(&root, &["rollback", plan["plan_id"].as_str().unwrap()]).code, 0);
    assert_eq!(tree(&root), before);
}

/// EX-17: the author and committer are the git identity configured in the repository.
#[test]
fn a_task_is_committed_under_the_identity_of_the_repository() {
    let (_directory, root) = repository();
    git(&root, &["config", "user.name", "Grace Hopper"]);
    git(&root, &["config", "user.email", "grace@example.org"]);
    put(&root, &plan(json!([replace("a1", "a.txt", "1")])), COMMIT);
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    let by = || git(&root, &["log", "-1", "--format=%an <%ae> %cn <%ce>"]);
    let grace = "Grace Hopper <grace@example.org>";
    assert_eq!(by(), format!("{grace} {grace}\n"));
    assert!(git(&root, &["log", "-1", "--format=%(trailers:only)"]).contains("Actum-Task: task-7"));
    git(&root, &["config", "author.email", "hopper@example.org"]);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    let hopper = "Grace Hopper <hopper@example.org>";
    assert_eq!(by(), format!("{hopper} {hopper}\n"));
}

/// EX-17: a committed run is rolled back by a commit that reverts it, without running hooks.
#[test]
fn committed_task_is_rolled_back_by_a_git_revert() {
    let (_directory, root) = repository();
    let before = tree(&root);
    let steps = plan(json!([create("a1", "made/new.txt"), replace("a2", "a.txt", "1")]));
    put(&root, &steps, COMMIT);
    let ended = actum(&root, &["run", "../task.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = document(&root, "execution_report.json");
    assert_eq!(report["commit"], git(&root, &["rev-parse", "HEAD"]).trim());
    assert_eq!(report["rollback_method"], "git_revert");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(git(&root, &["show", "--name-only", "--format=", "HEAD"]), "a.txt\nmade/new.txt\n");
    let trailers = git(&root, &["log", "-1", "--format=%(trailers:only)"]);
    for trailer in
        [format!("Actum-Run: {}", report["run"].as_str().unwrap()), "Actum-Task: task-7".to_owned()]
    {
        assert!(trailers.contains(&trailer), "{trailers}");
    }
    // Later work on other files remains.
    fs::write(root.join("later.txt"), "of a person\n").unwrap();
    git(&root, &["add", "later.txt"]);
    git(&root, &["commit", "-q", "-n", "-m", "later"]);
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
    fs::remove_file(root.join("later.txt")).unwrap();
    assert_eq!(tree(&root), before);
    assert_eq!(git(&root, &["status", "--porcelain"]), " D later.txt\n");
    assert!(git(&root, &["log", "-1", "--format=%s"]).starts_with("Revert \"Task task-7"));
    let report = document(&root, "execution_report.json");
    assert_eq!(
        (&report["status"], &report["rollback_method"]),
        (&json!("ROLLED_BACK"), &json!("git_revert"))
    );
    assert_eq!(document(&root, "rollback_manifest.json")["status"], "EXECUTED");
    assert!(!root.join("../hook-ran").exists());
    git(&root, &["fsck", "--strict"]);
}

/// EX-17: a revert restores complete modes, although git tracks only the executable bit.
#[test]
fn revert_restores_modes_that_git_does_not_track() {
    let (_directory, root) = repository();
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o7777;
    let set = |name: &str, mode| {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a.txt", 0o600);
    set("sub/b.txt", 0o640);
    let delete = |id, path| action(id, "FILE_DELETE", path, json!({ "type": "delete" }));
    let renewed = [delete("a2", "sub/b.txt"), after(create("a3", "sub/b.txt"), "a2")];
    let steps = plan(json!([delete("a1", "a.txt"), renewed[0], renewed[1]]));
    put(&root, &steps, COMMIT);
    let run = || {
        let ended = actum(&root, &["run", "../task.json"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!((root.join("a.txt").exists(), mode("sub/b.txt")), (false, 0o644));
    };
    run();
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!((mode("a.txt"), mode("sub/b.txt")), (0o600, 0o640));
    assert_eq!(document(&root, "execution_report.json")["rollback_method"], "git_revert");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    // A mode that the user set afterwards remains.
    run();
    set("sub/b.txt", 0o660);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!((mode("a.txt"), mode("sub/b.txt")), (0o600, 0o660));
}

/// EX-17: a revert replaces a directory that the run created with the former file, and vice versa.
#[test]
fn revert_restores_a_file_that_became_a_directory() {
    let (_directory, root) = repository();
    let before = tree(&root);
    let rename = |id, from, to: &str| {
        action(id, "FILE_RENAME", from, json!({ "type": "rename", "new_path": to }))
    };
    let under = after(create("a2", "a.txt/new.txt"), "a1");
    let out = rename("a3", "sub/b.txt", "b.txt");
    put(&root, &plan(json!([rename("a1", "a.txt", "z.txt"), under, out])), COMMIT);
    let ended = actum(&root, &["run", "../task.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
    assert_eq!(tree(&root), before);
    assert_eq!(document(&root, "execution_report.json")["rollback_method"], "git_revert");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    git(&root, &["fsck", "--strict"]);
}

/// EX-17: the user's own work is never included in a task's commit. Such a run keeps its checkpoint, and the report
/// states the reason.
#[test]
fn uncommittable_run_keeps_its_checkpoint_and_reports_the_reason() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 4] = [
        ("2020", |root| {
            fs::write(root.join("sub/b.txt"), "1 and mine\n").unwrap();
            fs::write(root.join("a.txt"), "1 mine\n").unwrap();
        }),
        ("2022", |root| drop(git(root, &["checkout", "-q", "--detach"]))),
        ("2024", |root| {
            fs::write(root.join(".git/MERGE_HEAD"), git(root, &["rev-parse", "HEAD"])).unwrap()
        }),
        ("2021", |root| fs::remove_dir_all(root.join(".git")).unwrap()),
    ];
    for (code, spoil) in cases {
        let (_directory, root) = repository();
        spoil(&root);
        let before = tree(&root);
        let head = || root.join(".git").exists().then(|| git(&root, &["rev-parse", "HEAD"]));
        let was = head();
        put(&root, &plan(json!([replace("a1", "a.txt", "1")])), COMMIT);
        let ended = actum(&root, &["run", "../task.json"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let report = document(&root, "execution_report.json");
        assert_eq!(
            (&report["status"], &report["rollback_method"]),
            (&json!("SUCCESS"), &json!("checkpoint"))
        );
        let note = report["notes"][0].as_str().unwrap();
        assert!(note.contains("was not committed") && note.contains(code), "{code}: {note}");
        assert_eq!(head(), was);
        assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
        assert_eq!(tree(&root), before);
    }
}

/// EX-17, EX-18: if later commits conflict with the revert, nothing is rolled back and an alert is raised.
#[test]
fn a_revert_that_conflicts_changes_nothing() {
    let (_directory, root) = repository();
    put(&root, &plan(json!([replace("a1", "a.txt", "1"), create("a2", "made.txt")])), COMMIT);
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    fs::write(root.join("a.txt"), "a person's\n").unwrap();
    git(&root, &["commit", "-q", "-n", "-am", "later"]);
    let (was, head) = (tree(&root), git(&root, &["rev-parse", "HEAD"]));
    let refused = actum(&root, &["rollback", "task-7"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("a.txt"), "{refused:?}");
    assert_eq!((tree(&root), git(&root, &["rev-parse", "HEAD"])), (was, head));
    assert_eq!(document(&root, "rollback_manifest.json")["status"], "ACTIVE");
    assert!(refused.stderr.contains("; see alert "), "{refused:?}");
    assert_eq!(actum(&root, &["rollback", "task-7"]).stderr, refused.stderr, "the same alert");
    let queue = actum(&root, &["queue", "--json"]).stdout;
    let queue: Value = serde_json::from_str(&queue).unwrap();
    assert_eq!(queue["alerts"].as_array().unwrap().len(), 1);
    assert_eq!(queue["alerts"][0]["name"], "GIT_REVERT_CONFLICT");
    // A revert that the user makes manually is not reported as a rollback.
    git(&root, &["checkout", "-q", "HEAD~2", "--", "a.txt"]);
    git(&root, &["rm", "-q", "made.txt"]);
    git(&root, &["commit", "-q", "-n", "-m", "by hand"]);
    let recovered = actum(&root, &["recover"]);
    assert!(!recovered.stderr.contains("ended before it reported"), "{recovered:?}");
    assert_eq!(document(&root, "rollback_manifest.json")["status"], "ACTIVE");
}

/// EX-16: both the renamed file and its replacement are restored, by `rollback` as well as by the script.
#[test]
fn rollback_restores_a_renamed_file_replaced_by_a_new_one() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/a"), "precious\n").unwrap();
    let before = tree(&root);
    let rename = action("a1", "FILE_RENAME", "d/a", json!({ "type": "rename", "new_path": "c" }));
    let ended = run(&root, &plan(json!([rename, create("a2", "d/a")])));
    assert_eq!(ended.code, 0, "{ended:?}");
    let copy = root.join("../copy");
    assert!(Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap().success());
    let script = report(&root).strip_prefix(&root).unwrap().join("rollback.sh");
    let script = Command::new("sh").arg(script).current_dir(&copy).output().unwrap();
    assert!(script.status.success(), "{script:?}");
    assert_eq!(tree(&copy), before);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(tree(&root), before);
}

/// EX-16: a rollback reports the task as rolled back if the script or an undo has already done the work.
#[test]
fn a_rollback_after_the_script_or_an_undo_writes_the_reports() {
    for by_script in [true, false] {
        let (_directory, root) = workspace();
        let before = tree(&root);
        assert_eq!(
            run(&root, &plan(json!([create("a1", "made.txt"), replace("a2", "a.txt", "1")]))).code,
            0
        );
        if by_script {
            let script = report(&root).join("rollback.sh");
            assert!(Command::new("sh").arg(script).current_dir(&root).status().unwrap().success());
        } else {
            assert_eq!(actum(&root, &["undo"]).code, 0);
        }
        let output = actum(&root, &["rollback", "task-7"]);
        // The undo wrote the reports itself.
        assert_eq!(output.code, if by_script { 0 } else { 1 }, "{output:?}");
        assert_eq!(tree(&root), before);
        assert_eq!(document(&root, "rollback_manifest.json")["status"], "EXECUTED");
        assert_eq!(document(&root, "execution_report.json")["status"], "ROLLED_BACK");
    }
}

/// EX-16: the ledger determines which run belongs to a task, because any process can write the manifest.
#[test]
fn manifest_naming_the_run_of_another_task_rolls_nothing_back() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let other = actum(&root, &["log", "--json"]).stdout;
    let other: serde_json::Value = serde_json::from_str(&other).unwrap();
    let other = other["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(run(&root, &plan(json!([create("a1", "made.txt")]))).code, 0);
    let path = report(&root).join("rollback_manifest.json");
    let mut manifest = document(&root, "rollback_manifest.json");
    manifest["run"] = json!(other);
    fs::write(&path, manifest.to_string()).unwrap();
    let was = tree(&root);
    let refused = actum(&root, &["rollback", "task-7"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("the ledger does not record run"), "{refused:?}");
    assert_eq!(tree(&root), was);
}

/// EX-1: an approval overwrites only another approval, and does not follow links.
#[test]
fn approval_never_overwrites_unrelated_files() {
    let (_directory, root) = workspace();
    fs::write(root.join("../victim"), "precious\n").unwrap();
    put(&root, &plan(json!([create("a1", "made.txt")])), "");
    symlink("victim", root.join("../task_envelope.json")).unwrap();
    for (output, code) in [
        ("task_envelope.json", 1),
        ("victim", 1),
        ("plan.json", 2),
        ("../x", 2),
        (".env", 2),
        ("mine.json", 0),
        ("mine.json", 0),
    ] {
        let ended = actum(&root, &["plan", "approve", "../plan.json", "--output", output]);
        assert_eq!(ended.code, code, "{output}: {ended:?}");
        assert_eq!(text(&root, "../victim"), "precious\n", "{output}");
    }
    assert_eq!(actum(&root, &["run", "../mine.json"]).code, 0);
}

/// EX-4: after a run, actum temporarily keeps a second link to a large file, which is not mistaken for a user's hard
/// link.
#[test]
fn large_file_changed_by_an_earlier_run_is_not_treated_as_hard_linked() {
    let (_directory, root) = workspace();
    fs::write(root.join("big.txt"), "a line of text\n".repeat(200_000)).unwrap();
    let operation = json!({ "type": "line_delete", "start_line": 2, "end_line": 2 });
    let plan = plan(json!([action("a1", "FILE_MODIFY", "big.txt", operation)]));
    for id in ["first", "second"] {
        assert_eq!(run_as(&root, id, &plan).code, 0);
        assert_eq!(fs::metadata(root.join("big.txt")).unwrap().nlink(), 2);
    }
    // This is the state after a run that is killed before it begins.
    fs::hard_link(root.join("big.txt"), root.join(".actum/keep/w2de1hpwtm42.0.pre")).unwrap();
    let ended = run_as(&root, "third", &plan);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!root.join(".actum/keep/w2de1hpwtm42.0.pre").exists());
    fs::hard_link(root.join("big.txt"), root.join("other.txt")).unwrap();
    let refused = run_as(&root, "fourth", &plan);
    assert!(refused.stdout.contains("has other names (hard links)"), "{refused:?}");
}

/// EX-8: a directory that the plan created for a file is removed together with the file, but an existing one remains.
#[test]
fn directory_created_and_emptied_by_a_plan_is_removed() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let moved = |id: &str, from: &str, to: &str| {
        action(id, "FILE_RENAME", from, json!({ "type": "rename", "new_path": to }))
    };
    let plan = plan(json!([
        create("a1", "new/deep/one.txt"),
        after(moved("a2", "new/deep/one.txt", "one.txt"), "a1"),
        moved("a3", "sub/b.txt", "b.txt"),
    ]));
    let ended = run(&root, &plan);
    assert_eq!(ended.code, 0, "{ended:?}");
    let is_there = |path: &str| root.join(path).exists();
    assert_eq!(["new", "sub", "one.txt", "b.txt"].map(is_there), [false, true, true, true]);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(tree(&root), before);
}

/// EX-16: a task that was rolled back and then restored can be rolled back again.
#[test]
fn restored_task_can_be_rolled_back_again() {
    let (_directory, root) = workspace();
    assert_eq!(run(&root, &plan(json!([replace("a1", "a.txt", "1")]))).code, 0);
    for verb in ["undo", "redo"] {
        let rolled_back = actum(&root, &["rollback", "task-7", "--json"]);
        assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
        assert_eq!(text(&root, "a.txt"), "1\n");
        let again = actum(&root, &["rollback", "task-7"]);
        assert_eq!(again.code, 1, "{again:?}");
        assert!(again.stderr.contains("was already rolled back"), "{again:?}");
        let log: Value = serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
        let of_task = document(&root, "execution_report.json")["run"].clone();
        let target = if verb == "undo" { &log["runs"][0]["run"] } else { &of_task };
        let restored = actum(&root, &[verb, target.as_str().unwrap()]);
        assert_eq!(restored.code, 0, "{restored:?}");
        assert_eq!(text(&root, "a.txt"), "new\n");
    }
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
    // Later edits are not part of the restored changes.
    fs::write(root.join("a.txt"), "edited since\n").unwrap();
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 1);
    assert_eq!(text(&root, "a.txt"), "edited since\n");
}
