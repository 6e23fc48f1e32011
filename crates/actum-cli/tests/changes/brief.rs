//! `--json=brief` prints one line for every command, with a status that matches the exit code.

use std::fs;
use std::path::Path;

use crate::program::documents::check_document;
use crate::program::{Ended, actum, workspace};
use actum_core::Digest;
use serde_json::{Value, json};

/// Returns the single line that a command prints, and its exit code.
fn brief(root: &Path, arguments: &[&str]) -> (Value, i32) {
    let Ended { stdout, code, stderr } = actum(root, &[&["--json=brief"], arguments].concat());
    assert_eq!(stdout.lines().count(), 1, "{arguments:?}: {stdout}\n{stderr}");
    assert!(check_document(&stdout), "{stdout}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["format"], "actum.brief/1", "{arguments:?}");
    (document, code)
}

fn digest(root: &Path, path: &str) -> Value {
    Digest::of(&fs::read(root.join(path)).unwrap()).to_string().into()
}

/// Issue 27
#[test]
fn brief_run_has_status_id_and_paths_with_new_digests() {
    let (_directory, root) = workspace();
    let before = digest(&root, "a.txt");
    let (dry, code) = brief(&root, &["apply", "--dry-run", "../change.diff"]);
    assert_eq!((code, &dry["status"]), (0, &json!("succeeded")));
    let (made, code) = brief(&root, &["apply", "../change.diff", "--request-key", "k1"]);
    let run = made["run"].as_str().unwrap().to_owned();
    let paths = json!([
        { "path": "a.txt", "sha256": digest(&root, "a.txt") },
        { "path": "sub/b.txt", "sha256": digest(&root, "sub/b.txt") },
    ]);
    assert_eq!(code, 0);
    assert_eq!(
        made,
        json!({ "format": "actum.brief/1", "status": "succeeded", "run": run, "paths": paths })
    );
    assert_eq!(dry, json!({ "format": "actum.brief/1", "status": "succeeded", "paths": paths }));
    assert_eq!(
        brief(&root, &["apply", "../change.diff", "--request-key", "k1"]),
        (made.clone(), 0)
    );
    assert_eq!(brief(&root, &["show", &run]), (made, 0));
    let (undone, _) = brief(&root, &["undo"]);
    assert_eq!(undone["paths"][0], json!({ "path": "a.txt", "sha256": before }));
    assert_ne!(undone["run"], run);
    let (redone, _) = brief(&root, &["redo"]);
    assert_eq!(redone["paths"], paths);
}

/// Issue 27
#[test]
fn brief_form_reports_the_final_state_of_each_path() {
    let (_directory, root) = workspace();
    fs::write(
        root.join("../patch.txt"),
        "*** Begin Patch\n*** Add File: new/é\n+x\n*** Update File: a.txt\n*** Move to: moved.txt\n\
         *** Delete File: sub/b.txt\n*** End Patch\n",
    )
    .unwrap();
    let moved = digest(&root, "a.txt");
    let (made, _) = brief(&root, &["apply", "../patch.txt"]);
    let expected = json!([
        { "path": "a.txt", "sha256": null },
        { "path": "moved.txt", "sha256": moved },
        { "path": "new/é", "sha256": Digest::of(b"x\n").to_string() },
        { "path": "sub/b.txt", "sha256": null },
    ]);
    assert_eq!(made["paths"], expected);
    assert_eq!(brief(&root, &["show", made["run"].as_str().unwrap()]).0["paths"], expected);
}

/// Issue 27, D-1
#[test]
fn brief_error_has_status_reason_and_first_hint() {
    let (_directory, root) = workspace();
    let error = |status: &str, reason: &str, hint: &str| json!({ "format": "actum.brief/1", "status": status, "reason": reason, "hint": hint });
    assert_eq!(
        brief(&root, &["apply", "../change.diff", "--max-files", "1"]),
        (
            error(
                "rejected",
                "OVER_BUDGET",
                "split the change, or ask the user who set the budget"
            ),
            1
        )
    );
    let usage =
        error("rejected", "USAGE", "run `actum help COMMAND` to see the usage of a command");
    assert_eq!(brief(&root, &["show", "--no-such"]), (usage.clone(), 2));
    assert_eq!(brief(&root, &["frobnicate"]), (usage, 2));
    let wrong = actum(&root, &["--json=short", "log"]);
    assert_eq!(wrong.code, 2);
    let document: Value = serde_json::from_str(&wrong.stdout).unwrap();
    assert_eq!(
        (&document["format"], &document["reason"]),
        (&json!("actum.error/1"), &json!("USAGE"))
    );
}

/// Issue 27: the status matches the exit code even if the full document has no status.
#[test]
fn brief_status_of_every_command_matches_its_exit_code() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    fs::write(root.join("../plan.json"), "{}").unwrap();
    fs::write(
        root.join("../policy-test.toml"),
        "[[case]]\nname = \"n\"\npath = \"a\"\nexpect = \"deny\"\n",
    )
    .unwrap();
    let page = directory.path().join("man");
    for arguments in [
        &["init"][..],
        &["log"],
        &["status"],
        &["diff"],
        &["gc"],
        &["doctor"],
        &["queue"],
        &["explain", "USAGE"],
        &["explain"],
        &["completions", "bash"],
        &["man", "--directory", page.to_str().unwrap()],
        &["key", "list"],
        &["ledger", "show"],
        &["ledger", "verify"],
        &["policy", "check"],
        &["catalog", "list"],
        &["plan", "lint", "../plan.json"],
        &["plan", "preview", "../plan.json"],
        &["recover"],
        &["replay"],
        &["feedback"],
        &["lease", "list"],
        &["no-such-verb"],
    ] {
        let (document, code) = brief(&root, arguments);
        let full = actum(&root, &[&["--json"], arguments].concat());
        assert_eq!(code, full.code, "{arguments:?}");
        let status = match code {
            0 => "succeeded",
            1 | 2 | 5 => "rejected",
            3 => "reverted",
            4 => "failed",
            _ => panic!("{arguments:?}: {code}"),
        };
        assert_eq!(document["status"], status, "{arguments:?}: {document}");
        for (field, _) in document.as_object().unwrap() {
            let known = ["format", "status", "reason", "hint", "run", "paths"];
            assert!(known.contains(&&**field), "{arguments:?}: {document}");
        }
    }
}

/// Issue 27
#[test]
fn brief_exec_reports_the_changed_paths() {
    let (_directory, root) = workspace();
    let (made, code) = brief(&root, &["exec", "--", "sh", "-c", "echo said; echo x > made.txt"]);
    assert_eq!(code, 0, "{made}");
    let paths = json!([{ "path": "made.txt", "sha256": digest(&root, "made.txt") }]);
    assert_eq!((&made["status"], &made["paths"]), (&json!("succeeded"), &paths));
    assert!(made["run"].is_string(), "{made}");
    let (failed, code) = brief(&root, &["exec", "--", "sh", "-c", "exit 3"]);
    assert_eq!((failed, code), (json!({ "format": "actum.brief/1", "status": "rejected" }), 3));
}

/// Issue 27: documents that stand alone, such as receipts, are printed unchanged with nothing after them.
#[test]
fn brief_form_does_not_change_a_receipt() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let full = actum(&root, &["receipt", "--json"]);
    let brief = actum(&root, &["receipt", "--json=brief"]);
    assert_eq!(brief.stdout, full.stdout);
    assert_eq!(serde_json::from_str::<Value>(&brief.stdout).unwrap()["format"], "actum.receipt/1");
}

/// Issue 27
#[test]
fn json_full_equals_plain_json() {
    let (_directory, root) = workspace();
    let full = actum(&root, &["--json=full", "log"]);
    assert_eq!(full.stdout, actum(&root, &["log", "--json"]).stdout);
    assert!(full.stdout.starts_with("{\"format\":\"actum.log/1\""), "{}", full.stdout);
    // The form must be attached with `=`, so a separate `brief` is not read as one.
    let apart = actum(&root, &["--json", "brief"]);
    assert_eq!(apart.code, 2, "{apart:?}");
}
