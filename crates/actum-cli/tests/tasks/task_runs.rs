//! Task plans that are carried out: their changes and their reports.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Ended, actum, text, workspace};
use crate::task::{
    REPORTS, action, after, assert_schema, create, document, edit_envelope, every_kind, is_part_of,
    plan, put, replace, report, run, run_as, tree,
};
use actum_core::Digest;
use actum_task::report::TaskStatus;
use serde_json::{Value, json};

/// Directory of the active plan.
const ACTIVE: &str = "agent/agent_outputs/plans/plan_active";

/// EX-7, EX-9, EX-13, EX-14, EX-15, EX-16, EX-23: the plan is carried out, and all of its reports are complete and
/// correct.
#[test]
fn a_task_is_carried_out_and_reported() {
    let (_directory, root) = workspace();
    let plan = every_kind(&root);
    let before = tree(&root);
    let ended = run(&root, &plan);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(
        ended.stdout.lines().filter(|line| line.starts_with("ok ")).count(),
        10,
        "{ended:?}"
    );
    assert!(ended.stdout.contains("task task-7: SUCCESS: 10 of 10 actions"), "{ended:?}");
    assert_eq!(text(&root, "server.json"), "{\n  // kept\n  \"port\": 8080\n}\n");
    assert_eq!(text(&root, "deploy.yaml"), "replicas: 3 # kept\n");
    assert_eq!(text(&root, "made/below/new.txt"), "new\n");
    assert_eq!(text(&root, "moved.txt"), "one\nthree\n");
    assert_eq!(text(&root, "a.txt"), "0\n1\n");
    assert!(!root.join("old.txt").exists() && !root.join("gone.bin").exists());

    let report_of = document(&root, "execution_report.json");
    assert_eq!(report_of["status"], "SUCCESS");
    assert_eq!(report_of["executor_version"], "2.0.0");
    assert_eq!(
        report_of["actions_summary"],
        json!({ "total": 10, "completed": 10, "failed": 0, "skipped": 0 })
    );
    let log = document(&root, "change_log.json");
    let words: Vec<_> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["operation"].clone())
        .collect();
    assert_eq!(
        words,
        [
            "MODIFY", "MODIFY", "MODIFY", "CREATE", "MODIFY", "RENAME", "MODIFY", "DELETE",
            "MODIFY", "MODIFY"
        ]
    );
    assert_eq!(log["files_affected_count"], 8);
    assert_eq!(log["execution_report_id"], report_of["report_id"]);
    let modified = &log["changes"][0]["after_state"];
    let stat = fs::metadata(root.join("server.json")).unwrap();
    let bytes = fs::read(root.join("server.json")).unwrap();
    assert_eq!(modified["hash"], Digest::of(&bytes).to_string());
    assert_eq!(modified["size_bytes"], stat.len());
    let stamp =
        actum_core::Timestamp::from_micros(stat.mtime() * 1_000_000 + stat.mtime_nsec() / 1000);
    assert_eq!(modified["last_modified"], stamp.to_string());
    let manifest = document(&root, "rollback_manifest.json");
    assert_eq!(manifest["status"], "ACTIVE");
    assert_eq!(manifest["manifest_id"], report_of["rollback_manifest_id"]);
    assert_eq!(manifest["run"], report_of["run"]);

    let directory = report(&root);
    let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
    let prompt = fs::read_to_string(directory.join("executor_prompt.txt")).unwrap();
    for file in ["IMPLEMENTATION_SUMMARY.md", "system_config.yaml", "task_plan.json"] {
        assert!(prompt.contains(&format!("{REPORTS}/{name}/{file}")), "{file}");
        assert!(directory.join(file).exists(), "{file}");
    }
    assert_eq!(
        fs::read(directory.join("task_plan.json")).unwrap(),
        fs::read(root.join("../plan.json")).unwrap()
    );
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(directory.join("backups")), 0o700);
    for backup in fs::read_dir(directory.join("backups")).unwrap() {
        assert_eq!(mode(backup.unwrap().path()), 0o600);
    }

    // The script also works without actum.
    let copy = root.join("../copy");
    assert!(Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap().success());
    fs::remove_dir_all(copy.join(".actum")).unwrap();
    let script = format!("{REPORTS}/{name}/rollback.sh");
    let script = Command::new("sh")
        .arg(script)
        .current_dir(&copy)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output();
    let script = script.unwrap();
    assert!(script.status.success(), "{script:?}");
    assert_eq!(tree(&copy), before);

    // `actum rollback` has the same result.
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
    assert_eq!(tree(&root), before);
    assert_eq!(document(&root, "rollback_manifest.json")["status"], "EXECUTED");
    let report_of = document(&root, "execution_report.json");
    assert_eq!(
        (&report_of["status"], &report_of["rollback_performed"]),
        (&json!("ROLLED_BACK"), &json!(true))
    );
    let again = actum(&root, &["rollback", "task-7"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("was already rolled back"), "{again:?}");
}

/// EX-13, EX-14: checks example 12.1 of the contract.
#[test]
fn report_of_the_first_example_matches_the_contract() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("esquemas")).unwrap();
    fs::write(root.join("esquemas/esquema_bd.json"), "{\"properties\": {}}\n").unwrap();
    let operation = json!({
        "type": "json_add_property",
        "path": "$.properties",
        "key": "new_field",
        "value": { "type": "string" }
    });
    let ended = run(
        &root,
        &plan(json!([action("a001", "FILE_MODIFY", "esquemas/esquema_bd.json", operation)])),
    );
    assert_eq!(ended.code, 0, "{ended:?}");
    let shown = json!({
        "plan_id": "plan-001",
        "status": "SUCCESS",
        "actions_summary": { "total": 1, "completed": 1, "failed": 0 },
        "actions_completed": [{
            "action_id": "a001",
            "status": "SUCCESS",
            "output": "Property 'new_field' added successfully"
        }]
    });
    let found = document(&root, "execution_report.json");
    assert!(is_part_of(&shown, &found), "{found:#}");
}

/// EX-4, EX-18: checks example 12.2 of the contract.
#[test]
fn plan_with_a_protected_target_is_refused_and_raises_an_alert() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let ended = run(
        &root,
        &plan(json!([
            create("a000", "fine.txt"),
            replace("a001", "agent/agent_rules.md", "old text"),
        ])),
    );
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("alert: "), "{ended:?}");
    assert_eq!(tree(&root), before);
    let shown = json!({
        "plan_id": "plan-001",
        "status": "REJECTED",
        "error_code": 3100,
        "error_category": "PROTECTED_FILE_ERROR",
        "error_type": "PROTECTED_FILE_VIOLATION",
        "message": "Plan contains protected file modifications",
        "details": { "violations": [{ "action_id": "a001", "target": "agent/agent_rules.md" }] },
        "recovery_action": "REJECTED"
    });
    let found = document(&root, "error_report.json");
    assert!(is_part_of(&shown, &found), "{found:#}");
    let names: Vec<_> =
        fs::read_dir(report(&root)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["error_report.json"]);
    assert!(
        !root.join("agent/agent_outputs/plans").exists(),
        "what is refused does not come into force"
    );
    let entries = actum(&root, &["ledger", "show", "--json"]).stdout;
    assert!(entries.contains("PLAN_REFUSED"), "{entries}");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// EX-14, EX-18: checks example 12.3 of the contract.
#[test]
fn a_task_whose_second_action_fails_is_rolled_back() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let ended = run(
        &root,
        &plan(json!([
            create("a001", "made.txt"),
            after(replace("a002", "missing.txt", "x"), "a001"),
            after(create("a003", "later.txt"), "a002"),
        ])),
    );
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(tree(&root), before);
    let shown = json!({
        "status": "ROLLED_BACK",
        "actions_summary": { "total": 3, "completed": 1, "failed": 1, "skipped": 1 },
        "actions_failed": [{ "action_id": "a002", "error_code": 2001 }],
        "rollback_performed": true
    });
    let found = document(&root, "execution_report.json");
    assert!(is_part_of(&shown, &found), "{found:#}");
    let manifest = document(&root, "rollback_manifest.json");
    assert_eq!(found["rollback_manifest_id"], manifest["manifest_id"]);
    assert_eq!(manifest["status"], "EXECUTED");
    assert_eq!(document(&root, "error_report.json")["recovery_action"], "ROLLED_BACK");
    // The change log still lists the completed action.
    assert_eq!(document(&root, "change_log.json")["changes"].as_array().unwrap().len(), 1);
    let refused = actum(&root, &["rollback", "task-7"]);
    assert!(refused.stderr.contains("was already rolled back"), "{refused:?}");
}

/// EX-20: the change log shows no lines of a file with restricted read permission, or of one in a well-known credential
/// location.
#[test]
fn the_change_log_shows_no_lines_of_private_files() {
    let (_directory, root) = workspace();
    for (path, mode) in [("private.txt", 0o600), (".netrc", 0o644), ("plain.txt", 0o644)] {
        fs::write(root.join(path), "one\nhunter2\n").unwrap();
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let ended = run(
        &root,
        &plan(json!([
            replace("a1", "private.txt", "one"),
            replace("a2", ".netrc", "one"),
            replace("a3", "plain.txt", "one"),
        ])),
    );
    assert_eq!(ended.code, 0, "{ended:?}");
    let log = document(&root, "change_log.json");
    let shows = |at: usize| log["changes"][at].to_string().contains("hunter2");
    assert_eq!([shows(0), shows(1), shows(2)], [false, false, true], "{log:#}");
    let hunk = json!({ "old_start": 2, "old_lines": 1, "new_start": 2, "new_lines": 1, "lines": "-XX\n+YY\n" });
    let operation = json!({ "type": "hunks", "hunks": [hunk] });
    let (_directory, root) = workspace();
    fs::write(root.join("private.txt"), "one\nhunter2\n").unwrap();
    fs::set_permissions(root.join("private.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    let failed = run(&root, &plan(json!([action("a1", "FILE_MODIFY", "private.txt", operation)])));
    assert_ne!(failed.code, 0, "{failed:?}");
    let reported = document(&root, "error_report.json").to_string();
    assert!(reported.contains("private.txt") && !reported.contains("hunter2"), "{reported}");
}

/// EX-18, EX-19: the constraints of a plan determine its outcome after an action fails.
#[test]
fn plan_constraints_determine_the_outcome_after_a_failure() {
    let cases = [
        (true, true, "ROLLED_BACK", (1, 1, 2), 3, [false, false]),
        (true, false, "PARTIAL", (1, 1, 2), 4, [true, false]),
        (false, true, "PARTIAL", (2, 1, 1), 4, [true, true]),
        (false, false, "PARTIAL", (2, 1, 1), 4, [true, true]),
    ];
    for (stop, roll_back, status, (completed, failed, skipped), code, is_there) in cases {
        let (_directory, root) = workspace();
        let mut plan = plan(json!([
            create("a1", "first.txt"),
            replace("a2", "a.txt", "not there"),
            after(create("a3", "dependent.txt"), "a2"),
            create("a4", "last.txt"),
        ]));
        plan["execution_instructions"] =
            json!({ "stop_on_error": stop, "rollback_on_failure": roll_back });
        let ended = run(&root, &plan);
        let what = format!("stop {stop}, roll back {roll_back}: {ended:?}");
        assert_eq!(ended.code, code, "{what}");
        let report = document(&root, "execution_report.json");
        assert_eq!(report["status"], status, "{what}");
        let summary =
            json!({ "total": 4, "completed": completed, "failed": failed, "skipped": skipped });
        assert_eq!(report["actions_summary"], summary, "{what}");
        let found = ["first.txt", "last.txt"].map(|path| root.join(path).exists());
        assert_eq!(found, is_there, "{what}");
        assert!(!root.join("dependent.txt").exists());
        assert_eq!(document(&root, "error_report.json")["status"], status);
        if status == "PARTIAL" {
            let rolled_back = actum(&root, &["rollback", "task-7"]);
            assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
            assert!(!root.join("first.txt").exists() && !root.join("last.txt").exists());
        }
    }
}

/// EX-18, EX-20: a forbidden effect always rolls the plan back, whatever its constraints are.
#[test]
fn forbidden_effect_rolls_back_the_plan_regardless_of_constraints() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let script = json!({ "type": "create", "content": "#!/bin/sh\n" });
    let mut plan =
        plan(json!([create("a1", "c.txt"), action("a2", "FILE_CREATE", "run.sh", script)]));
    plan["execution_instructions"] = json!({ "stop_on_error": false });
    put(&root, &plan, "");
    let previewed = actum(&root, &["plan", "preview", "../plan.json"]);
    assert!(previewed.stdout.contains("no changes would be applied"), "{previewed:?}");
    let ended = actum(&root, &["run", "../task.json"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1061);
    assert_eq!(document(&root, "execution_report.json")["status"], "ROLLED_BACK");
    assert_eq!(tree(&root), before);
}

/// EX-14: no change is kept, so none can be in effect.
#[test]
fn plan_without_a_successful_action_has_the_status_failed() {
    let (_directory, root) = workspace();
    let mut plan = plan(json!([replace("a1", "a.txt", "not there")]));
    plan["execution_instructions"] = json!({ "stop_on_error": false });
    put(&root, &plan, "");
    let previewed = actum(&root, &["plan", "preview", "../plan.json"]);
    assert!(previewed.stdout.contains("no changes would be applied"), "{previewed:?}");
    let ended = run(&root, &plan);
    assert_eq!(ended.code, 4, "{ended:?}");
    let report = document(&root, "execution_report.json");
    assert_eq!(
        (&report["status"], &report["rollback_performed"]),
        (&json!("FAILED"), &json!(false))
    );
}

/// EX-1, EX-2, EX-18: a plan that was not approved, or that differs from the approved one, is not started.
#[test]
fn task_that_differs_from_its_approval_is_not_started() {
    type Spoil = fn(&Path);
    let cases: [(u64, Spoil); 9] = [
        (1001, |root| edit_envelope(root, |it| it["status"] = json!("REJECTED"))),
        (1002, |root| edit_envelope(root, |it| it["protocol_validation"] = json!(false))),
        (1000, |root| edit_envelope(root, |it| it["extra"] = json!(1))),
        (1003, |root| fs::write(root.join("../plan.json"), "{}").unwrap()),
        (1004, |root| fs::write(root.join("../config.yaml"), "git: {commit: true}\n").unwrap()),
        (1008, |root| fs::remove_file(root.join("../plan.json")).unwrap()),
        (1008, |root| fs::remove_file(root.join("../config.yaml")).unwrap()),
        (1005, |root| {
            fs::write(root.join("../approval.json"), "{}").unwrap();
            edit_envelope(root, |it| it["approval"] = json!("approval.json"));
        }),
        (1008, |root| edit_envelope(root, |it| it["approval"] = json!("missing.json"))),
    ];
    for (code, spoil) in cases {
        let (_directory, root) = workspace();
        let before = tree(&root);
        put(&root, &plan(json!([create("a1", "made.txt")])), "");
        spoil(&root);
        let ended = actum(&root, &["run", "../task.json"]);
        assert_eq!(ended.code, 1, "{code}: {ended:?}");
        assert!(ended.stdout.contains("REJECTED; nothing was changed"), "{code}: {ended:?}");
        assert!(!ended.stdout.contains("entity"), "not in the words of the system: {ended:?}");
        let report = document(&root, "error_report.json");
        assert_eq!(
            (&report["status"], &report["error_code"]),
            (&json!("REJECTED"), &json!(code)),
            "{report:#}"
        );
        assert_eq!(tree(&root), before);
        assert!(!root.join("agent/agent_outputs/plans").exists(), "{code}");
    }
}

/// EX-2, EX-8, EX-18, EX-21: a plan that cannot be carried out completely is rejected with a code and a position.
#[test]
fn invalid_plan_is_not_started() {
    let many: Vec<_> = (0..101).map(|n| create(&format!("a{n}"), &format!("f{n}.txt"))).collect();
    let cases = [
        (1010, json!("no object")),
        (1015, plan(json!([action("a1", "FILE_EAT", "a.txt", json!({ "type": "create" }))]))),
        (1016, plan(json!([action("a1", "FILE_MODIFY", "a.txt", json!({ "type": "eat" }))]))),
        (1020, plan(json!([create("a1", "../outside.txt")]))),
        (1030, plan(json!([create("a1", "x"), create("a1", "y")]))),
        (1031, plan(json!([after(create("a1", "x"), "a9")]))),
        (1032, plan(json!([after(create("a1", "x"), "a2"), after(create("a2", "y"), "a1")]))),
        (1033, plan(json!([after(create("a1", "x"), "a1")]))),
        (1040, plan(Value::Array(many))),
        (
            1050,
            plan(json!([action(
                "a1",
                "PIPELINE_RUN",
                "x",
                json!({ "type": "pipeline_run", "pipeline": "p" })
            )])),
        ),
        (
            3101,
            plan(json!([replace(
                "a1",
                "agent/agent_outputs/reports/x/rollback_manifest.json",
                "x"
            )])),
        ),
    ];
    for (code, plan) in cases {
        let (_directory, root) = workspace();
        let before = tree(&root);
        let ended = run(&root, &plan);
        assert_eq!(ended.code, 1, "{code}: {ended:?}");
        let report = document(&root, "error_report.json");
        if code != 1010 && code != 1050 {
            assert_eq!(report["error_code"], code, "{report:#}");
        }
        assert_eq!(report["status"], "REJECTED", "{report:#}");
        assert_eq!(tree(&root), before);
    }
}

/// EX-4, D-5: a file with several hard links is refused because another link may be protected.
#[test]
fn a_hard_link_is_refused_since_its_other_name_may_be_protected() {
    let (_directory, root) = workspace();
    fs::write(root.join(".env"), "KEY=1\n").unwrap();
    fs::hard_link(root.join(".env"), root.join("harmless.txt")).unwrap();
    let ended = run(&root, &plan(json!([replace("a1", "harmless.txt", "KEY")])));
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 3100);
    assert_eq!(text(&root, ".env"), "KEY=1\n");
}

/// EX-1: passing a plan instead of its envelope is reported as such.
#[test]
fn plan_passed_instead_of_its_envelope_is_reported() {
    let (_directory, root) = workspace();
    put(&root, &plan(json!([create("a1", "made.txt")])), "");
    let ended = actum(&root, &["run", "../plan.json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.starts_with("this is a task plan"), "{ended:?}");
    assert!(ended.stdout.contains("(1000 ENVELOPE_INVALID)"), "{ended:?}");
    // A file that names no task leaves no report.
    fs::write(root.join("../task.json"), "{").unwrap();
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 1);
    assert!(!root.join("agent").exists());
}

/// EX-6: the new plan replaces the active one, which is archived, even if the new plan's file already exists.
#[test]
fn previously_active_plan_is_archived() {
    let (_directory, root) = workspace();
    let active = root.join("agent/agent_outputs/plans/plan_active");
    fs::create_dir_all(&active).unwrap();
    put(&root, &plan(json!([create("a1", "made.txt")])), "");
    for file in ["plan.json", "config.yaml", "task.json"] {
        fs::rename(root.join("..").join(file), active.join(file)).unwrap();
    }
    fs::write(active.join("notes.txt"), "of the plan before\n").unwrap();
    let ended = actum(&root, &["run", "agent/agent_outputs/plans/plan_active/task.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let archive = root.join("agent/agent_outputs/archive");
    let kept: Vec<_> = fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read(kept[0].join("notes.txt")).unwrap(), b"of the plan before\n");
    assert!(kept[0].file_name().unwrap().to_str().unwrap().ends_with("_plan_active"));
    let names = |directory: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&active), ["system_config.yaml", "task_plan.json"]);
    let report = document(&root, "execution_report.json");
    let to = kept[0].strip_prefix(&root).unwrap().to_str().unwrap();
    assert_eq!(report["archived_to"], to);
    // Two plans that are archived within one second get different names.
    let plan = plan(json!([create("a1", "made-too.txt")]));
    assert_eq!(run_as(&root, "task-8", &plan).code, 0);
    assert_eq!(names(&archive).len(), 2);
}

/// Runs the program with descriptor 3 open for writing to the file `lines` beside the workspace.
fn with_status_lines(root: &Path, arguments: &[&str]) -> Ended {
    let command = crate::program::command(root, arguments);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "exec \"$0\" \"$@\" 3>../lines"]).arg(command.get_program());
    shell.args(command.get_args()).current_dir(root).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.output().unwrap().into()
}

/// EX-24: each status line has the published format and a sequence number, and the last one contains the outcome.
#[test]
fn status_lines_are_numbered_and_end_with_the_outcome() {
    let (_directory, root) = workspace();
    let (good, bad) = (create("a1", "made.txt"), replace("a2", "missing.txt", "x"));
    for (actions, code, status, outcome) in [
        (json!([good]), 0, "SUCCESS", "succeeded"),
        (json!([create("a1", "other.txt"), bad]), 3, "ROLLED_BACK", "reverted"),
        (json!([create("a1", ".git/config")]), 1, "REJECTED", "rejected"),
    ] {
        put(&root, &plan(actions), "");
        edit_envelope(&root, |envelope| envelope["task_id"] = json!(format!("task-{code}")));
        let ended =
            with_status_lines(&root, &["--json", "run", "../task.json", "--status", "fd:3"]);
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(ended.stdout, text(&root, "../lines"));
        let reported: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (number, line) in reported.iter().enumerate() {
            TaskStatus::read(line.to_string().as_bytes()).unwrap();
            assert_schema("task-status", line);
            assert_eq!(line["sequence"], number);
            assert_eq!(line["kind"] == "final", number + 1 == reported.len(), "{line}");
        }
        let last = reported.last().unwrap();
        assert_eq!((&last["status"], &last["outcome"]), (&json!(status), &json!(outcome)));
        assert_eq!(root.join(last["report_directory"].as_str().unwrap()), report(&root));
    }
}

/// EX-13: a task does not start if its reports cannot be written, and links in the path of the report directory are not
/// followed.
#[test]
fn task_that_cannot_be_reported_is_not_started() {
    for (made, link) in
        [("agent", "agent/agent_outputs"), ("agent/agent_outputs", "agent/agent_outputs/reports")]
    {
        let (_directory, root) = workspace();
        let outside = root.join("../outside");
        fs::create_dir(&outside).unwrap();
        fs::create_dir_all(root.join(made)).unwrap();
        symlink(&outside, root.join(link)).unwrap();
        let ended = run(&root, &plan(json!([create("a1", "made.txt")])));
        assert_eq!(ended.code, 1, "{link}: {ended:?}");
        assert!(!root.join("made.txt").exists(), "{link}: {ended:?}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{link}");
    }
    for file in ["agent", "agent/agent_outputs", "agent/agent_outputs/plans"] {
        let (_directory, root) = workspace();
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x\n").unwrap();
        let ended = run(&root, &plan(json!([create("a1", "made.txt")])));
        assert_eq!(ended.code, 1, "{file}: {ended:?}");
        let reported =
            format!("`{file}` is a file, but task plans need a directory there; move it");
        assert!(ended.stdout.contains(&reported) || ended.stderr.contains(&reported), "{ended:?}");
    }
}

/// EX-20: a task whose new content has a credential is refused, and no report shows the credential.
#[test]
fn reports_contain_no_credentials_from_new_content() {
    let (_directory, root) = workspace();
    let secret = format!("AKIA{}", "Q3EGRIYOPQ5XM2ZT");
    let content = format!("key = {secret}\n");
    let operation = json!({ "type": "create", "content": content });
    let ended = run(&root, &plan(json!([action("a1", "FILE_CREATE", "keys.txt", operation)])));
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(!root.join("keys.txt").exists());
    assert!(!ended.stdout.contains(&secret) && !ended.stderr.contains(&secret), "{ended:?}");
    for entry in fs::read_dir(report(&root)).unwrap() {
        let path = entry.unwrap().path();
        // The plan itself is stored unchanged for all users who may read it.
        let is_input = path.ends_with("task_plan.json");
        if path.is_file() && !is_input {
            assert!(!fs::read_to_string(&path).unwrap().contains(&secret), "{}", path.display());
        }
        if is_input {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}

/// EX-5, D-6: a plan is not started if any component of a target path is a symbolic link.
#[test]
fn symlinks_to_action_targets_are_not_followed() {
    let (directory, root) = workspace();
    let outside = directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("c.txt"), "1\n").unwrap();
    symlink(&outside, root.join("way")).unwrap();
    symlink(outside.join("c.txt"), root.join("end")).unwrap();
    for (target, link) in [("way/c.txt", "way"), ("end", "end"), ("way/no/d.txt", "way")] {
        let mut plan = plan(json!([create("a0", "made.txt"), replace("a1", target, "1")]));
        plan["execution_instructions"] = json!({ "rollback_on_failure": false });
        let ended = run(&root, &plan);
        assert_eq!(ended.code, 1, "{ended:?}");
        let error = document(&root, "error_report.json");
        assert_eq!((&error["error_code"], &error["status"]), (&json!(1022), &json!("REJECTED")));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("`{link}` is a symbolic link")), "{message}");
        assert!(!root.join("made.txt").exists() && !root.join(ACTIVE).exists());
        let linted = actum(&root, &["plan", "lint", "../plan.json"]);
        assert!(linted.stdout.contains("(1022 SYMLINK_REFUSED)"), "{linted:?}");
        assert_eq!(fs::read_to_string(outside.join("c.txt")).unwrap(), "1\n");
    }
}
