//! Reports of tasks: the manifest that they name, and the totals of the change log.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{Ended, actum, command, text, workspace};
use crate::task::{action, after, create, document, plan, put, replace, report, run, run_as};
use serde_json::{Value, json};

/// Returns an action that writes the whole content of a file.
fn content(id: &str, target: &str, content: &str) -> Value {
    action(id, "FILE_MODIFY", target, json!({ "type": "content", "content": content }))
}

/// EX-14, EX-16: the report of a run without effects names an empty manifest.
#[test]
fn report_of_a_run_without_effects_names_its_empty_manifest() {
    let cases = [
        (content("a1", "a.txt", "1\n"), true, "SUCCESS", "ACTIVE"),
        (replace("a1", "a.txt", "not there"), false, "FAILED", "ACTIVE"),
        (replace("a1", "a.txt", "not there"), true, "ROLLED_BACK", "EXECUTED"),
    ];
    for (action, stops, status, manifest_status) in cases {
        let (_directory, root) = workspace();
        fs::write(root.join("a.txt"), "1\n").unwrap();
        let mut plan = plan(json!([action]));
        plan["execution_instructions"] = json!({ "stop_on_error": stops });
        let ended = run(&root, &plan);
        let found = document(&root, "execution_report.json");
        assert_eq!(found["status"], status, "{ended:?}");
        let manifest = document(&root, "rollback_manifest.json");
        assert_eq!(found["rollback_manifest_id"], manifest["manifest_id"], "{found:#}");
        assert_eq!(manifest["status"], manifest_status);
        assert_eq!(
            (&manifest["checkpoints"], &manifest["rollback_order"]),
            (&json!([]), &json!([]))
        );
        assert!(report(&root).join("rollback.sh").exists());
        assert_eq!(actum(&root, &["rollback", "task-7"]).code, 1);
    }
}

/// EX-16: an empty manifest does not hide an earlier one that can still be used.
#[test]
fn empty_manifest_does_not_hide_an_earlier_usable_one() {
    let (_directory, root) = workspace();
    assert_eq!(run(&root, &plan(json!([content("a1", "a.txt", "new\n")]))).code, 0);
    let first = report(&root).file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(run_as(&root, "task-8", &plan(json!([content("a1", "a.txt", "new\n")]))).code, 0);
    let empty = report(&root);
    fs::rename(&empty, empty.with_file_name("29991231_000000_task-7")).unwrap();
    let ended = actum(&root, &["rollback", "task-7"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains(&first), "{ended:?}");
}

/// EX-14, EX-16: a report does not name a manifest that could not be written.
#[test]
fn report_omits_a_manifest_that_could_not_be_written() {
    let (_directory, root) = workspace();
    let plan =
        plan(json!([content("a1", "a.txt", "new\n"), replace("a2", "sub/b.txt", "not there")]));
    put(&root, &plan, "limits: { max_backup_bytes: 1 }");
    let ended = actum(&root, &["run", "../task.json"]);
    let found = document(&root, "execution_report.json");
    assert_eq!(found["status"], "ROLLED_BACK", "{ended:?}");
    assert!(!report(&root).join("rollback_manifest.json").exists());
    assert_eq!(found.get("rollback_manifest_id"), None, "{found:#}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// EX-15: an edit without a difference is not a change, and the log and the console show equal totals.
#[test]
fn change_log_omits_no_op_edits_and_matches_the_console_totals() {
    let (_directory, root) = workspace();
    let modified = |path: &str| fs::metadata(root.join(path)).unwrap().modified().unwrap();
    let before = modified("a.txt");
    let twice = after(content("a4", "sub/b.txt", "two\nthree\n"), "a3");
    let ended = run(
        &root,
        &plan(json!([
            content("a1", "a.txt", "1\n"),
            after(content("a2", "a.txt", "1\n"), "a1"),
            content("a3", "sub/b.txt", "two\n"),
            twice,
            after(content("a5", "sub/b.txt", "two\nthree\n"), "a4"),
        ])),
    );
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(modified("a.txt"), before);
    let log = document(&root, "change_log.json");
    let changes = log["changes"].as_array().unwrap();
    let actions: Vec<_> = changes.iter().map(|change| &change["action_id"]).collect();
    assert_eq!(actions, ["a3", "a4"]);
    let time: std::time::SystemTime = modified("sub/b.txt");
    let micros = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let stamp = actum_core::Timestamp::from_micros(micros.try_into().unwrap());
    assert_eq!(changes[1]["after_state"]["last_modified"], stamp.to_string());
    assert_eq!((&log["files_affected_count"], &log["total_lines_changed"]), (&json!(1), &json!(3)));
    assert!(ended.stdout.contains("5 of 5 actions; 1 file and 3 lines changed\n"), "{ended:?}");
}

/// Returns the statuses of the newest manifest and report.
fn statuses(root: &Path) -> [Value; 2] {
    ["rollback_manifest.json", "execution_report.json"]
        .map(|file| document(root, file)["status"].clone())
}

/// EX-16: after a task is rolled back by its script or by an undo, the next command marks its manifest EXECUTED.
#[test]
fn manifest_is_marked_executed_after_the_script_or_an_undo() {
    let (_directory, root) = workspace();
    let two = plan(json!([create("a1", "made.txt"), content("a2", "a.txt", "new\n")]));
    assert_eq!(run(&root, &two).code, 0);
    let receipt = actum(&root, &["status"]);
    assert_eq!(receipt.code, 0, "{receipt:?}");
    assert_eq!(statuses(&root), ["ACTIVE", "SUCCESS"]);
    let dry = actum(&root, &["undo", "--dry-run"]);
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(statuses(&root), ["ACTIVE", "SUCCESS"]);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(statuses(&root), ["EXECUTED", "ROLLED_BACK"]);
    assert_eq!(actum(&root, &["redo"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "new\n");
    // The receipt contains the digest of the manifest as originally written.
    let again = actum(&root, &["rollback", "task-7"]);
    assert_eq!(again.code, 0, "{again:?}");

    for by in ["status", "recover", "gc", "rollback"] {
        let (_directory, root) = workspace();
        assert_eq!(run(&root, &two).code, 0);
        let of_task = report(&root);
        let script = of_task.join("rollback.sh");
        assert!(Command::new("sh").arg(script).current_dir(&root).status().unwrap().success());
        let other = plan(json!([create("a1", "other.txt")]));
        assert_eq!(run_as(&root, "task-8", &other).code, 0);
        let arguments: &[&str] = if by == "rollback" { &["rollback", "task-8"] } else { &[by] };
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
        let manifest = fs::read(of_task.join("rollback_manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["status"], "EXECUTED", "{by}");
        // Later edits do not make the manifest usable again.
        fs::write(root.join("a.txt"), "edited\n").unwrap();
        assert_eq!(actum(&root, &["rollback", "task-7"]).code, 1);
    }
}

/// EX-16: the first command after a manifest expires marks it EXPIRED, and only `gc` removes its backups.
#[test]
fn a_manifest_expires_and_gc_removes_its_backups() {
    for by in ["status", "recover", "gc"] {
        let (_directory, root) = workspace();
        put(&root, &plan(json!([content("a1", "a.txt", "new\n")])), "");
        assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
        let path = report(&root).join("rollback_manifest.json");
        let mut manifest = document(&root, "rollback_manifest.json");
        manifest["expires_at"] = json!("2026-02-03T15:03:22.000000Z");
        fs::write(&path, manifest.to_string()).unwrap();
        let dry = actum(&root, &["gc", "--dry-run"]);
        assert_eq!((dry.code, &statuses(&root)[0]), (0, &json!("ACTIVE")), "{dry:?}");
        let ended = actum(&root, &[by]);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(statuses(&root), ["EXPIRED", "SUCCESS"], "{by}");
        assert_eq!(report(&root).join("backups").exists(), by != "gc");
        assert_eq!(actum(&root, &["rollback", "task-7"]).code, 1);
        assert_eq!(text(&root, "a.txt"), "new\n");
    }
}

/// EX-25: reports, messages and prompts are in English in every locale.
#[test]
fn output_is_in_english_regardless_of_the_locale() {
    let in_locale = |locale: &str| {
        let (_directory, root) = workspace();
        fs::create_dir(root.join("full")).unwrap();
        put(&root, &plan(json!([replace("a1", "full", "1"), create("a2", "b/c")])), "");
        let mut run = command(&root, &["run", "../task.json"]);
        run.env("LANG", locale).env("LC_ALL", locale).env("LANGUAGE", locale);
        let ended = Ended::from(run.output().unwrap());
        let error = document(&root, "error_report.json");
        (ended.code, ended.stderr, error["error_message"].clone())
    };
    let english = in_locale("C");
    assert_eq!(english.0, 3, "{english:?}");
    for locale in ["de_DE.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8", "no such locale"] {
        assert_eq!(in_locale(locale), english, "{locale}");
    }
}
