//! State of a task after a power failure.

use std::fs::{self, File};

use crate::program::{actum, command, home_of, text, workspace};
use crate::task::{create, document, plan, put, replace, report, run, run_as};
use serde_json::{Value, json};

/// EX-13: reports become durable with the next task at the latest. If a power failure removes or truncates them
/// earlier, they are written again from the recorded notes.
#[test]
fn reports_lost_in_a_power_failure_are_rewritten() {
    let (_directory, root) = workspace();
    let changing = plan(json!([replace("a1", "a.txt", "1")]));
    assert_eq!(run(&root, &changing).code, 0);
    let noted = || {
        let names = fs::read_dir(home_of(&root).join("tenants/default/tasks")).unwrap();
        names
            .filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "json"))
            .count()
    };
    assert_eq!(noted(), 1, "what is noted stays until the reports are durable");
    let cut_off = || -> Value {
        let status = actum(&root, &["status", "--json"]);
        assert_eq!(status.code, 0, "{status:?}");
        serde_json::from_str::<Value>(&status.stdout).unwrap()["cut_off_tasks"].clone()
    };
    assert_eq!(cut_off(), Value::Null, "the reports are there");
    let reports = report(&root);
    let before = document(&root, "execution_report.json");
    fs::write(reports.join("execution_report.json"), "{ \"cut").unwrap();
    fs::remove_file(reports.join("change_log.json")).unwrap();
    assert_eq!(cut_off().as_array().unwrap().len(), 1);
    assert_eq!(noted(), 1, "`status` changes nothing");
    let recovered = actum(&root, &["recover"]);
    assert_eq!((recovered.code, cut_off()), (0, Value::Null), "{recovered:?}");
    let after = document(&root, "execution_report.json");
    assert_eq!(
        (&after["status"], &after["run"], &after["receipt"]),
        (&before["status"], &before["run"], &before["receipt"])
    );
    assert_eq!(document(&root, "change_log.json")["changes"][0]["file_path"], "a.txt");
    assert_eq!(noted(), 0);
    // None of these reports is durable before the others.
    let next = plan(json!([create("a1", "c.txt")]));
    assert_eq!(run_as(&root, "second", &next).code, 0);
    fs::write(report(&root).join("change_log.json"), "").unwrap();
    assert_eq!(actum(&root, &["recover"]).code, 0);
    assert_eq!(document(&root, "change_log.json")["changes"][0]["file_path"], "c.txt");
    let mut partial = plan(json!([create("a1", "d.txt"), replace("a2", "a.txt", "none")]));
    partial["execution_instructions"] = json!({ "stop_on_error": false });
    assert_eq!(run_as(&root, "third", &partial).code, 4);
    let lost = report(&root).join("error_report.json");
    fs::remove_file(&lost).unwrap();
    assert_eq!(actum(&root, &["recover"]).code, 0);
    assert_eq!(document(&root, "error_report.json")["error_code"], 1100);
    assert_eq!(noted(), 0);
    // The previous task's reports are durable before the next task becomes visible.
    let next = plan(json!([replace("a1", "sub/b.txt", "2")]));
    for _ in 0..2 {
        assert_eq!(run_as(&root, "fourth", &next).code, 0);
        assert_eq!(noted(), 1);
        assert_eq!(actum(&root, &["rollback", "fourth"]).code, 0);
    }
    assert_eq!(noted(), 0, "what is taken back is durable at once");
}

/// EX-7: a power failure can truncate the notes of a task only while none of its changes is visible.
#[test]
fn task_notes_truncated_by_a_power_failure_are_discarded() {
    let (_directory, root) = workspace();
    assert_eq!(run(&root, &plan(json!([replace("a1", "a.txt", "1")]))).code, 0);
    let tasks = home_of(&root).join("tenants/default/tasks");
    let names = fs::read_dir(&tasks).unwrap().map(|entry| entry.unwrap().path());
    let notes = names.into_iter().find(|it| it.extension().is_some_and(|it| it == "json")).unwrap();
    fs::write(&notes, [0; 40]).unwrap();
    let recovered = actum(&root, &["recover"]);
    assert_eq!((recovered.code, notes.exists()), (0, false), "{recovered:?}");
    assert_eq!(text(&root, "a.txt"), "new\n");
}

/// EX-24: a final status that could not be delivered is reported as a failure.
#[test]
fn unwritable_status_lines_are_reported() {
    let (_directory, root) = workspace();
    put(&root, &plan(json!([replace("a1", "a.txt", "1")])), "");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut run = command(&root, &["run", "../task.json", "--json"]);
    let ended = run.stdout(full).output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("its result could not be written"), "{stderr}");
    assert_eq!(text(&root, "a.txt"), "new\n");
    assert_eq!(document(&root, "execution_report.json")["status"], "SUCCESS");
}
