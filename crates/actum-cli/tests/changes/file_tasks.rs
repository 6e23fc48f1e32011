//! File tasks on the command line: the signed result, and the messages that users see.

use std::fs;

use serde_json::{Value, json};

use crate::leases::Installation;
use crate::program::{Ended, approval_key, operator_of, workspace};

/// Creates an installation whose workspace is a base directory, and a lease file for it.
fn installation() -> (Installation, String) {
    with_lease(Installation::new())
}

fn with_lease(here: Installation) -> (Installation, String) {
    let operator = operator_of(&here.root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    let policy = format!("version = 1\n[file]\nbase_directories = [{:?}]\n", here.root);
    fs::write(operator.join("actum.toml"), policy).unwrap();
    let capabilities = ["--capability", "FILE_MOVE", "--capability", "FILE_DELETE"];
    let lease = here.grant("tasks", &[&capabilities[..], &["--base", "sub"]].concat());
    (here, lease)
}

/// Carries out a task on files below the root. Returns the output of the command and the verified result.
fn run(
    here: &Installation,
    lease: &str,
    (task, capability): (&str, &str),
    paths: [&str; 2],
) -> (Ended, Value) {
    let [source, destination] = paths.map(|path| here.root.join(path));
    let mut input = json!({ "source_path": source });
    if capability != "FILE_DELETE" {
        input["destination_path"] = json!(destination);
    }
    let manifest = json!({
        "task_id": task, "capability_id": capability, "input": input,
        "constraints": { "reversible": true },
    });
    let (file, result) = (here.file("manifest.json"), here.file("result.json"));
    fs::write(&file, manifest.to_string()).unwrap();
    let ended = here.actum(&["file", "run", &file, "--lease", lease]);
    fs::write(&result, &ended.stdout).unwrap();
    let verified = here.actum(&["file", "verify", &result]);
    assert_eq!(verified.code, 0, "{verified:?}");
    (ended, serde_json::from_str(&verified.stdout).unwrap())
}

/// FE-1, FE-8, FE-10, FE-11: a move can be undone and a deleted file restored, and a repeated task has only one effect.
#[test]
fn a_file_is_moved_deleted_and_restored_under_a_lease() {
    let (here, lease) = installation();
    fs::write(here.root.join("sub/a"), "a").unwrap();
    let (moved, result) = run(&here, &lease, ("m", "FILE_MOVE"), ["sub/a", "sub/b"]);
    let run_of_move = result["runs"][0].as_str().unwrap().to_owned();
    assert_eq!((moved.code, &*moved.stderr, &result["status"]), (0, "", &json!("SUCCESS")));
    assert_eq!(fs::read(here.root.join("sub/b")).unwrap(), b"a");
    let (again, _) = run(&here, &lease, ("m", "FILE_MOVE"), ["sub/a", "sub/b"]);
    assert_eq!((again.code, again.stdout), (0, moved.stdout));
    let (deleted, result) = run(&here, &lease, ("d", "FILE_DELETE"), ["sub/b", ""]);
    assert_eq!((deleted.code, here.root.join("sub/b").exists()), (0, false));
    let reference = result["output"]["undo_metadata"]["recovery"].as_str().unwrap();
    let restored = here.actum(&["file", "restore", reference]);
    assert_eq!((restored.code, fs::read(here.root.join("sub/b")).unwrap()), (0, b"a".to_vec()));
    let undone = here.actum(&["undo", &run_of_move]);
    assert_eq!((undone.code, here.root.join("sub/a").exists()), (0, true), "{undone:?}");
}

/// FE-14, FE-15: a failed task produces a signed result, and its message gives the reason and the state of the files.
#[test]
fn failed_task_reports_the_reason_and_that_nothing_was_changed() {
    let (here, lease) = installation();
    let (ended, result) = run(&here, &lease, ("t", "FILE_MOVE"), ["sub/none", "sub/b"]);
    assert_eq!((ended.code, &result["error_code"]), (1, &json!("EXECUTION_FAILED")));
    assert!(ended.stderr.starts_with("note: EXECUTION_FAILED (FILE_MISSING): "), "{ended:?}");
    assert!(ended.stderr.ends_with("; nothing was changed\n"), "{ended:?}");
    let (ended, result) = run(&here, &lease, ("o", "FILE_MOVE"), ["outside", "sub/b"]);
    assert_eq!((ended.code, &result["error_code"]), (1, &json!("INVALID_LEASE")));
    assert_eq!(ended.stderr.matches("nothing was changed").count(), 1, "{ended:?}");
}

/// FE-10: a deleted file is kept until the operator releases it.
#[test]
fn a_deleted_file_is_kept_until_the_operator_releases_it() {
    let (directory, root) = workspace();
    let passphrase = approval_key(&root);
    let (here, lease) = with_lease(Installation::with_key(directory, root));
    fs::write(here.root.join("sub/a"), "a").unwrap();
    let (_, result) = run(&here, &lease, ("d", "FILE_DELETE"), ["sub/a", ""]);
    let reference = result["output"]["undo_metadata"]["recovery"].as_str().unwrap();
    let run_of_deletion = result["runs"][0].as_str().unwrap();
    // A move deletes its source file as well, but it is not a deletion task.
    let (_, moved) = run(&here, &lease, ("m", "FILE_MOVE"), ["sub/b.txt", "sub/c"]);
    let parts: Vec<&str> = reference.split('/').collect();
    let other = [parts[0], parts[1], moved["runs"][0].as_str().unwrap(), parts[3]].join("/");
    let refused = here.actum(&["file", "release", &other, "--passphrase-file", &passphrase]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let collected = here.actum(&["gc", "--max-bytes", "0"]);
    assert!(!collected.stdout.contains(run_of_deletion), "{collected:?}");
    let refused = here.actum(&["file", "release", reference]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let release = ["file", "release", reference, "--passphrase-file", &passphrase];
    let released = here.actum(&release);
    assert_eq!(released.code, 0, "{released:?}");
    assert!(
        released.stdout.starts_with(&format!("forgot run {run_of_deletion}\n")),
        "{released:?}"
    );
    for arguments in [&["file", "restore", reference][..], &release] {
        let ended = here.actum(arguments);
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains("nothing was changed"), "{ended:?}");
    }
    assert_eq!(here.actum(&["ledger", "verify"]).code, 0);
}
