//! `actum log`, and the output of commands with `--quiet`.

use std::fs;

use crate::json;
use crate::program::{actum, workspace};

/// FO-9
#[test]
fn the_log_has_a_header_and_one_row_for_each_run() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let run = json(&actum(&root, &["log", "--json"]))["runs"][0]["run"].clone();
    let run = run.as_str().unwrap();
    let log = actum(&root, &["log"]).stdout;
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split("  ").collect()).collect();
    let row = |line: &[&str]| -> Vec<String> {
        line.iter().map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let header = ["RUN", "WHEN", "STATUS", "ENTRY", "BY", "FILES", "LINES", "LABEL"];
    assert_eq!(row(&lines[0]), header, "{log}");
    let cells = row(&lines[1]);
    assert_eq!(cells[..4], [run, "just now", "succeeded", "#2"], "{log}");
    assert_eq!(cells[5..], ["2", "+2 -2", "apply change.diff"], "{log}");
    assert_eq!(lines.len(), 2, "{log}");
}

/// FO-9
#[test]
fn an_undone_run_is_marked_in_the_log() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let log = actum(&root, &["log"]).stdout;
    assert!(log.ends_with("  (undone) apply change.diff\n"), "{log}");
}

/// FO-9
#[test]
fn the_log_of_a_path_lists_only_the_runs_that_changed_it() {
    let (directory, root) = workspace();
    fs::create_dir_all(root.join("sub")).unwrap();
    let rename = "diff --git a/old.txt b/sub/new.txt\nrename from old.txt\nrename to sub/new.txt\n";
    fs::write(root.join("old.txt"), "x\n").unwrap();
    fs::write(directory.path().join("rename.diff"), rename).unwrap();
    for change in ["../change.diff", "../rename.diff"] {
        let ended = actum(&root, &["apply", change]);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let labels = |arguments: &[&str]| -> Vec<String> {
        let log = json(&actum(&root, &[&["log", "--json"], arguments].concat()));
        let runs = log["runs"].as_array().unwrap().iter();
        runs.map(|run| run["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&["a.txt"]), ["apply change.diff"]);
    for path in ["old.txt", "sub/new.txt"] {
        assert_eq!(labels(&[path]), ["apply rename.diff"], "{path}");
    }
    for every in [&["."][..], &["a.txt", "old.txt"], &["a.txt", "."]] {
        assert_eq!(labels(every), ["apply rename.diff", "apply change.diff"], "{every:?}");
    }
    let none = actum(&root, &["log", "none.txt"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none:?}");
    assert_eq!(none.stderr, "note: no runs match\n");
    let outside = actum(&root, &["log", "../change.diff"]);
    assert_eq!(outside.code, 2, "{outside:?}");
    assert!(outside.stderr.contains("it is outside the workspace"), "{outside:?}");
}

/// FO-9
#[test]
fn the_log_lists_the_changed_files_of_each_run_on_request() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let log = actum(&root, &["log", "--stat"]).stdout;
    let files: Vec<_> = log.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(files.len(), 2, "{log}");
    assert!(files[0].starts_with("  modified    a.txt"), "{log}");
    let changes = |arguments: &[&str]| json(&actum(&root, arguments))["runs"][0]["changes"].clone();
    assert_eq!(changes(&["log", "--stat", "--json"])[0]["path"], "a.txt");
    assert!(changes(&["log", "--json"]).is_null());
}

/// D-4
#[test]
fn a_quiet_success_prints_nothing_and_a_quiet_failure_prints_its_error() {
    let (_directory, root) = workspace();
    for change in [&["apply", "../change.diff"][..], &["undo"], &["redo"]] {
        let ended = actum(&root, &[&["--quiet"], change].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{change:?}: {ended:?}");
        assert!(!ended.stderr.contains("changed"), "{change:?}: {ended:?}");
    }
    let dry_run = actum(&root, &["-q", "undo", "--dry-run"]);
    assert!(dry_run.stdout.contains("dry run: "), "{dry_run:?}");
    let failed = actum(&root, &["-q", "apply", "../change.diff"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.starts_with("error: cannot patch `a.txt`"), "{failed:?}");
}
