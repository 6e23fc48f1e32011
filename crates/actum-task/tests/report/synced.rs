//! The rollback script syncs the files that it restores, if the system supports it (EX-16).

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::rollback::{before, files, output_text};
use crate::tree::{Run, snapshot};

const NOTE: &str = "a power cut in the next minute can damage what was restored";

/// Builds a run that changed one file in a directory and renamed another.
fn a_run() -> Run {
    Run {
        before: files(&[(b"in/a", b"old\n", 0o644), (b"b", b"moved\n", 0o644)]),
        after: files(&[(b"in/a", b"new\n", 0o644), (b"c", b"moved\n", 0o644)]),
        renamed: vec![(b"b".to_vec(), b"c".to_vec())],
        ..Run::default()
    }
}

/// Runs the script with the given `sync`, and with an `rm` that logs the removed files.
fn run_with(sync: &str) -> (Output, Vec<String>) {
    let (programs, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let log = programs.path().join("log");
    let rm = format!(
        "for file; do [ \"$file\" = -f ] || [ \"$file\" = -- ] || [ ! -e \"$file\" ] || echo \"rm $file\" >>'{}'; done\n\
         exec /bin/rm \"$@\"",
        log.display()
    );
    for (name, body) in [("rm", &*rm), ("sync", &sync.replace("LOG", log.to_str().unwrap()))] {
        let program = programs.path().join(name);
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let a_run = a_run();
    let script = a_run.write_after(root.path());
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let output = Command::new("/bin/sh").arg(&script).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(snapshot(root.path()), before(&a_run));
    let log = fs::read_to_string(&log).unwrap_or_default();
    // Only the file name matters for files in the directory of the script.
    let short = |line: &str| {
        let (word, path) = line.split_once(' ').unwrap();
        let name = Path::new(path).file_name().map_or(path, |name| name.to_str().unwrap());
        let name = name.trim_end_matches(|c: char| c.is_ascii_hexdigit());
        if path.contains("/reports/") { format!("{word} {name}") } else { line.to_owned() }
    };
    (output, log.lines().map(short).collect())
}

/// EX-16: the content and name of a restored file are on disk before the replaced file is removed.
#[test]
fn restored_file_is_synced_before_the_replaced_one_is_removed() {
    let (output, log) = run_with("echo \"sync $1\" >>'LOG'");
    let log: Vec<&str> = log.iter().map(String::as_str).collect();
    let log: Vec<&str> = log.into_iter().skip_while(|line| !line.starts_with("sync")).collect();
    assert_eq!(
        log,
        [
            "sync .",
            "rm .displaced-",
            "sync .restore-",
            "sync ./in",
            "rm .restore-",
            "rm .displaced-"
        ],
        "{}",
        output_text(&output)
    );
    assert!(!output_text(&output).contains(NOTE), "{}", output_text(&output));
}

/// EX-16: without a working `sync`, the script still restores the files and reports the problem.
#[test]
fn script_without_sync_restores_and_reports_it() {
    for (sync, is_noted) in [
        ("exit 1", true),
        // A version of `sync` that accepts no paths.
        ("[ $# -eq 0 ]", false),
        ("exec /bin/sync \"$@\"", false),
    ] {
        let (output, _) = run_with(sync);
        assert_eq!(
            output_text(&output).contains(NOTE),
            is_noted,
            "{sync}: {}",
            output_text(&output)
        );
    }
}
