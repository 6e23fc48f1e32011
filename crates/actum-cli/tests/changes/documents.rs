//! With `--json`, every command prints exactly one JSON document.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::program::{Ended, actum, command, workspace};
use actum_gate::GateName;
use serde_json::{Value, json};

/// Runs a command and parses the single JSON document that it prints.
fn document(root: &Path, arguments: &[&str]) -> Value {
    let Ended { stdout, .. } = actum(root, &[&["--json"], arguments].concat());
    assert_eq!(stdout.lines().count(), 1, "{arguments:?}: {stdout}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn every_command_writes_one_json_document_with_its_format() {
    let (directory, root) = workspace();
    let blocked = root.join(".actum/blocked");
    fs::write(blocked, "0123456789ab 676f6e65 gone\n").unwrap();
    let run = document(&root, &["apply", "../change.diff"])["run"].as_str().unwrap().to_owned();
    let temporary = directory.path().to_str().unwrap();
    let demo = command(&root, &["demo", "--json"]).env("TMPDIR", temporary).output().unwrap();
    let demo: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(demo["format"], "actum.demo/1");
    for (arguments, format) in [
        (&["init"][..], "actum.init/1"),
        (&["apply", "../nothing.diff"], "actum.error/1"),
        (&["log"], "actum.log/1"),
        (&["show", run.split_at(6).0], "actum.run/1"),
        (&["status"], "actum.status/1"),
        (&["recover"], "actum.recovery/1"),
        (&["resolve", "gone"], "actum.resolve/1"),
        (&["resolve", "gone"], "actum.error/1"),
        (&["undo", "--dry-run"], "actum.undo/1"),
        (&["gc"], "actum.gc/1"),
        (&["frobnicate"], "actum.error/1"),
    ] {
        let document = document(&root, arguments);
        assert_eq!(document["format"], format, "{arguments:?}: {document}");
    }
}

/// D-1
#[test]
fn error_document_has_status_reason_and_workspace_state() {
    let (_directory, root) = workspace();
    assert_eq!(
        document(&root, &["apply", "../change.diff", "--max-files", "1"]),
        json!({
            "format": "actum.error/1",
            "status": "rejected",
            "reason": "OVER_BUDGET",
            "message": "over the budget: 2 files (limit 1), 4 changed lines (no limit); the largest: `a.txt` +1 -1, \
                        `sub/b.txt` +1 -1; nothing was changed",
            "workspace": "unchanged",
            "hints": ["split the change, or ask the user who set the budget"],
            "budget": {
                "max_files": 1,
                "max_loc": null,
                "files": 2,
                "loc": 4,
                "per_file": [
                    { "path": "a.txt", "added": 1, "removed": 1 },
                    { "path": "sub/b.txt", "added": 1, "removed": 1 },
                ],
            },
        })
    );
    assert_eq!(
        document(&root, &["show", "--no-such"]),
        json!({
            "format": "actum.error/1",
            "status": "rejected",
            "reason": "USAGE",
            "message": "unexpected argument '--no-such' found",
            "workspace": "unchanged",
            "hints": ["run `actum help COMMAND` to see the usage of a command"],
        })
    );
}

#[test]
fn show_reports_the_state_of_each_path_before_and_after() {
    let (_directory, root) = workspace();
    let run = document(&root, &["apply", "../change.diff"])["run"].clone();
    let (user, group) = fs::metadata(root.join("a.txt")).map(|a| (a.uid(), a.gid())).unwrap();
    let mut shown = document(&root, &["show", run.as_str().unwrap()]);
    assert!(shown["time"].take().as_str().unwrap().ends_with('Z'));
    let record = shown["record"].take();
    assert_eq!(record["door"], "command line");
    assert_eq!(
        (record["intent"].as_u64(), record["receipt"]["index"].as_u64()),
        (Some(1), Some(2))
    );
    let gates: Vec<_> =
        record["gates"].as_array().unwrap().iter().map(|gate| &gate["gate"]).collect();
    let all: Vec<_> = GateName::ALL.iter().map(|gate| gate.as_str()).collect();
    assert_eq!(gates, all);
    let diff = shown["diff"]["changes"].take();
    assert_eq!(document(&root, &["diff", run.as_str().unwrap()])["changes"], diff);
    let first = json!({
        "path": "a.txt", "added": 1, "removed": 1,
        "diff": "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n",
    });
    assert_eq!((&diff[0], diff.as_array().unwrap().len()), (&first, 2));
    let file = |sha256: &str, size: u64| {
        json!({
            "type": "file", "sha256": sha256, "size": size,
            "mode": "0644", "user": user, "group": group, "xattrs": [],
        })
    };
    let change = |path: &str, before: Value, after: Value| {
        json!({
            "path": path, "kind": "modified", "added": 1, "removed": 1,
            "before": before, "after": after,
        })
    };
    let one = file("2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806", 4);
    let two = file("27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a", 4);
    assert_eq!(
        shown,
        json!({
            "format": "actum.run/1",
            "run": run, "record": null,
            "kind": "apply",
            "status": "succeeded",
            "undone_by": null,
            "time": null,
            "label": "apply change.diff",
            "diff": { "changes": null },
            "files": 2,
            "added": 2,
            "removed": 2,
            "changes": [
                change(
                    "a.txt",
                    file("4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865", 2),
                    one,
                ),
                change(
                    "sub/b.txt",
                    file("53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3", 2),
                    two,
                ),
            ],
        })
    );
}

#[test]
fn non_utf8_name_is_exact_in_json_and_escaped_for_display() {
    let (directory, root) = workspace();
    let diff = "diff --git \"a/caf\\351.txt\" \"b/caf\\351.txt\"\nnew file mode 100644\n\
                --- /dev/null\n+++ \"b/caf\\351.txt\"\n@@ -0,0 +1 @@\n+x\n";
    let file = directory.path().join(OsStr::from_bytes(b"\xe9.diff"));
    fs::write(&file, diff).unwrap();
    let mut command = command(&root, &["apply"]);
    let applied = Ended::from(command.arg(&file).output().unwrap());
    assert_eq!(
        applied.stdout.lines().next(),
        Some("created     caf\\351.txt  +1 -0"),
        "{applied:?}"
    );
    assert!(root.join(OsStr::from_bytes(b"caf\xe9.txt")).exists());
    assert_eq!(
        document(&root, &["undo"])["changes"],
        json!([{
            "path": "caf\\351.txt", "path_hex": "636166e92e747874",
            "kind": "deleted", "added": 0, "removed": 1,
        }])
    );
}

/// FO-2, FO-5
#[test]
fn demo_exits_with_0_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut demo = command(directory.path(), &["demo"]);
    let demo = Ended::from(demo.env("TMPDIR", directory.path()).output().unwrap());
    assert_eq!((demo.code, demo.stderr.as_str()), (0, ""));
    assert_eq!(demo.stdout.matches("\n   ok  ").count(), 7, "{}", demo.stdout);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn demo_directory_can_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut demo = command(directory.path(), &["demo", "--keep", "--json"]);
    let demo = Ended::from(demo.env("TMPDIR", directory.path()).output().unwrap());
    let demo: Value = serde_json::from_str(&demo.stdout).unwrap();
    let kept = demo["directory"].as_str().unwrap();
    assert_eq!(document(Path::new(kept), &["log"])["total"], 2);
}

/// AEC-8, issue 22: `TMPDIR` cannot make the demo use a directory in which a key home or result file would be rejected.
#[test]
fn demo_is_not_created_where_programs_act_on_files() {
    let directory = tempfile::tempdir().unwrap();
    let person = directory.path().canonicalize().unwrap();
    for place in [".config/actum", ".ssh", "project/.git", "bin"] {
        let temporary = person.join(place);
        fs::create_dir_all(&temporary).unwrap();
        let mut demo = command(&person, &["demo", "--keep", "--json"]);
        let demo =
            Ended::from(demo.env("HOME", &person).env("TMPDIR", &temporary).output().unwrap());
        assert_eq!(demo.code, 1, "{place}: {demo:?}");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{place}");
    }
}
