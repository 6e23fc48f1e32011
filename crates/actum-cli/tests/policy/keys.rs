//! Keys on the command line: creation, rotation and export, including processes that are killed midway.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Ended, actum, command, home_of, workspace};
use crate::traced::{End, kill_before_call};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns the single JSON document that a command prints.
fn document(root: &Path, arguments: &[&str]) -> Value {
    let ended = actum(root, &[&["--json"], arguments].concat());
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Makes a workspace with a run.
fn recorded() -> (TempDir, PathBuf) {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    (directory, root)
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("/bin/cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// Returns the signing keys, asserting that each role has one and that it is valid.
fn current(root: &Path) -> Vec<(String, String)> {
    let listed = document(root, &["key", "list"]);
    let keys = listed["keys"].as_array().unwrap();
    let current = keys.iter().filter(|key| key["current"] == true);
    let current: Vec<_> = current
        .inspect(|key| assert_eq!((&key["problem"], &key["revoked"]), (&Value::Null, &Value::Null)))
        .map(|key| ["role", "id"].map(|field| key[field].as_str().unwrap().to_owned()).into())
        .collect();
    let roles: Vec<&str> = current.iter().map(|(role, _): &(String, _)| &**role).collect();
    assert_eq!(roles, ["result", "checkpoint"], "{listed}");
    current
}

/// FE-14: the entries are still recorded, and the user is warned that no checkpoint covers them yet.
#[test]
fn run_reports_a_due_checkpoint_that_cannot_be_signed() {
    let (_directory, root) = recorded();
    fs::remove_dir_all(home_of(&root).join("keys/checkpoint")).unwrap();
    let mut shown = 0;
    for run in 0..40 {
        let ended = actum(&root, if run % 2 == 0 { &["undo"] } else { &["redo"] });
        assert_eq!(ended.code, 0, "{ended:?}");
        let note = "note: the outcome is recorded, but the checkpoint key `";
        shown += usize::from(ended.stderr.contains(note));
    }
    assert!((1..20).contains(&shown), "{shown}");
}

/// FE-14: a rotation killed before any system call leaves exactly one signing key and loses no private key. Signatures
/// made by then can still be verified.
#[test]
fn rotation_killed_at_any_syscall_leaves_one_signing_key() {
    let (template, root) = recorded();
    let before = current(&root);
    let (mut old, mut new) = (0, 0);
    for call in 0.. {
        let directory = tempfile::tempdir().unwrap();
        let (copied, output) = (directory.path().join("copy"), directory.path().join("said"));
        copy(template.path(), &copied);
        let root = copied.join("workspace");
        fs::rename(copied.join("actum-home"), home_of(&root)).unwrap();
        crate::program::forget_configuration(&root);
        let end = kill_before_call(&root, &["key", "rotate", "result"], call, &output);
        match current(&root) == before {
            true => old += 1,
            false => new += 1,
        }
        if end == (End::Exited { code: 0 }) {
            break;
        }
        assert!(matches!(end, End::Killed { .. }), "{end:?}");
        if call % 7 == 0 {
            assert_eq!(actum(&root, &["undo"]).code, 0);
            assert_eq!(actum(&root, &["receipt", "--output", "../receipt.json"]).code, 0);
            let verified = actum(&root, &["verify", "../receipt.json"]);
            assert_eq!(verified.code, 0, "{verified:?}");
            assert_eq!(document(&root, &["ledger", "verify", "--receipts"])["sound"], true);
        }
    }
    assert!(old > 10 && new > 10, "{old} {new}");
}

/// FE-14
#[test]
fn first_use_killed_at_any_syscall_leaves_no_partial_state() {
    let template = tempfile::tempdir().unwrap();
    let root = template.path().join("workspace");
    fs::create_dir(&root).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    crate::program::without_ledger(&root);
    let killed = |call: usize| {
        let directory = tempfile::tempdir().unwrap();
        let (copied, output) = (directory.path().join("copy"), directory.path().join("said"));
        copy(template.path(), &copied);
        let root = copied.join("workspace");
        drop(kill_before_call(&root, &["recover"], call, &output));
        (directory, root)
    };
    // Covers the calls from the first one that creates a file in the home to the first one that creates a ledger.
    let first = |name: &str| {
        let (mut without, mut with) = (0, 4096);
        while with - without > 1 {
            let middle = usize::midpoint(without, with);
            let (_directory, root) = killed(middle);
            let there = home_of(&root).join(name).exists();
            *(if there { &mut with } else { &mut without }) = middle;
        }
        without
    };
    let mut states = BTreeSet::new();
    for call in first("")..first("tenants") + 2 {
        let (_directory, root) = killed(call);
        // The outcome of a state that was already seen is known.
        if !states.insert(state(&home_of(&root))) {
            continue;
        }
        let listed = document(&root, &["key", "list"]);
        let made = listed["keys"].as_array().unwrap().len();
        assert!(made == 0 || made == 2, "{listed}");
        let seen = document(&root, &["recover"]);
        assert_eq!(seen["format"], "actum.recovery/1", "{seen}");
        let keys = current(&root);
        assert!(made == 0 || keys[0].1 == listed["keys"][0]["id"].as_str().unwrap());
        assert!(!home_of(&root).join("keys.new").exists());
    }
    // The number of states depends on thread timing during a run. At least a dozen have been seen.
    assert!(states.len() > 8, "{}", states.len());
}

/// FE-14: a command killed before any system call leaves either no key or one that its passphrase unlocks.
#[test]
fn key_creation_killed_at_any_syscall_leaves_a_working_key_or_none() {
    let (template, _) = recorded();
    let file = template.path().join("passphrase");
    fs::write(&file, "open sesame\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let make = ["key", "make", "approval", "--passphrase-file", "../passphrase"];
    let killed = |call: usize| {
        let directory = tempfile::tempdir().unwrap();
        let (copied, output) = (directory.path().join("copy"), directory.path().join("said"));
        copy(template.path(), &copied);
        let root = copied.join("workspace");
        fs::rename(copied.join("actum-home"), home_of(&root)).unwrap();
        crate::program::forget_configuration(&root);
        let end = kill_before_call(&root, &make, call, &output);
        (directory, root, end)
    };
    let is_settled = |root: &Path| fs::metadata(home_of(root).join("lock")).unwrap().len() == 1;
    let is_there = |root: &Path| home_of(root).join("keys/approval").exists();
    // The first call that changes anything is recorded in the lock.
    let (mut before, mut after) = (0, 4096);
    while after - before > 1 {
        let middle = usize::midpoint(before, after);
        let (_directory, root, end) = killed(middle);
        let touched = end == (End::Exited { code: 0 }) || !is_settled(&root) || is_there(&root);
        *(if touched { &mut after } else { &mut before }) = middle;
    }
    let (mut none, mut one, mut states) = (0, 0, BTreeSet::new());
    for call in before.. {
        let (_directory, root, end) = killed(call);
        assert!(matches!(end, End::Killed { .. }), "{end:?}");
        let is_done = is_settled(&root) && is_there(&root);
        // The outcome of a state that was already seen is known.
        if states.insert(state(&home_of(&root))) {
            let listed = document(&root, &["key", "list"]);
            match &listed["keys"].as_array().unwrap()[2..] {
                [] => {
                    none += 1;
                    let made = document(&root, &make);
                    assert_eq!(made["new"]["unproven"], true, "{made}");
                }
                [key] => {
                    one += 1;
                    assert_eq!(key["protection"], "passphrase", "{listed}");
                    assert_eq!(key["waits"], true, "{listed}");
                    let denied = document(&root, &["key", "deny", "approval"]);
                    assert_eq!(denied["denied"]["id"], key["id"], "{denied}");
                }
                keys => panic!("{keys:?}"),
            }
            assert_eq!(actum(&root, &["undo"]).code, 0);
        }
        if is_done {
            break; // only the report is left to write
        }
    }
    assert!(none > 3 && one > 1, "{none} {one}");
}

/// Returns the types and sizes of the files in a directory, ignoring the names of keys.
fn state(directory: &Path) -> Vec<(String, u64)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = if name.ends_with(".pem") { "a key" } else { name };
        let metadata = path.symlink_metadata().unwrap();
        found.push((name.to_owned(), if metadata.is_dir() { 0 } else { metadata.len() }));
        found.extend(
            state(&path).into_iter().map(|(below, size)| (format!("{name}/{below}"), size)),
        );
    }
    found.sort();
    found
}

/// FE-14
#[test]
fn key_list_shows_times_but_never_private_keys() {
    let (_directory, root) = workspace();
    crate::program::without_ledger(&root);
    let home = home_of(&root);
    let empty = json!({ "format": "actum.keys/1", "home": home, "keys": [] });
    assert_eq!(document(&root, &["key", "list"]), empty);
    assert!(!home.exists());
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let first = document(&root, &["key", "list"])["keys"].clone();
    let rotated = document(&root, &["key", "rotate", "result"]);
    assert_eq!(
        rotated,
        json!({
            "format": "actum.rotation/1",
            "old": first[0]["id"],
            "new": rotated["new"],
            "recorded": ["default"],
            "unrecorded": [],
        })
    );
    let mut new = rotated["new"].clone();
    new["current"] = json!(true);
    new["protection"] = json!("file_permissions");
    new["problem"] = Value::Null;
    let mut old = first[0].clone();
    old["current"] = json!(false);
    let listed = document(&root, &["key", "list"]);
    old["not_after"] = listed["keys"][1]["not_after"].clone();
    assert!(old["not_after"].is_string());
    let expected = json!({ "format": "actum.keys/1", "home": home, "keys": [new, old, first[1]] });
    assert_eq!(listed, expected);
    let private = private_key(&home);
    let text = fs::read_to_string(private).unwrap();
    let secret = text.lines().nth(1).unwrap();
    for arguments in
        [&["key", "list"][..], &["key", "export"], &["key", "export", "--pem", "result"]]
    {
        for form in ["--json", "--no-pager"] {
            let shown = actum(&root, &[&[form], arguments].concat());
            assert!(!shown.stdout.contains(secret.split_at(secret.len() - 40).1), "{shown:?}");
        }
    }
}

fn private_key(home: &Path) -> PathBuf {
    let keys = fs::read_dir(home.join("keys/result")).unwrap();
    keys.map(|entry| entry.unwrap().path())
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap()
}

/// FE-14
#[test]
fn keyring_export_is_identical_in_every_output_form() {
    let (directory, root) = recorded();
    let text = actum(&root, &["key", "export"]).stdout;
    assert_eq!(actum(&root, &["key", "export", "--json"]).stdout, text);
    assert_eq!(fs::read_to_string(home_of(&root).join("keys/keyring.json")).unwrap() + "\n", text);
    let written = document(&root, &["key", "export", "-o", "../ring.json"]);
    assert_eq!(
        written,
        json!({ "format": "actum.written/1", "what": "keyring", "file": "../ring.json", "bytes": text.len() })
    );
    assert_eq!(fs::read_to_string(directory.path().join("ring.json")).unwrap(), text);
    let unwritten = actum(&root, &["key", "export", "-o", "no/such.json"]);
    assert_eq!((unwritten.code, unwritten.stdout.as_str()), (1, ""));
}

/// FE-14: OpenSSL can read the exported key, and the verifier key has the published format.
#[test]
fn public_key_is_exported_as_pem_and_verifier_key() {
    let (_directory, root) = recorded();
    let key = &document(&root, &["key", "list"])["keys"][0];
    let pem = document(&root, &["key", "export", "--pem", "result"]);
    assert_eq!(
        pem,
        json!({ "format": "actum.key/1", "id": key["id"], "role": "result", "pem": pem["pem"] })
    );
    assert_eq!(
        actum(&root, &["key", "export", "--pem", "result"]).stdout,
        pem["pem"].as_str().unwrap()
    );
    let vkey = document(&root, &["key", "export", "--vkey"]);
    let text = vkey["vkey"].as_str().unwrap();
    let origin = &document(&root, &["ledger", "show"])["origin"];
    assert!(text.starts_with(&format!("{}+", origin.as_str().unwrap())), "{text}");
    assert_eq!(vkey["role"], "checkpoint");
}

/// AEC-11: the problem is reported in one line, and no file in the workspace is touched.
#[test]
fn untrusted_ledger_home_is_reported_and_blocks_commands() {
    let (directory, root) = recorded();
    let home = home_of(&root);
    let refused = |reason: &str, what: &str| {
        for arguments in [&["undo"][..], &["key", "list"], &["receipt"], &["ledger", "show"]] {
            let document = document(&root, arguments);
            assert_eq!(document["reason"], reason, "{arguments:?}: {document}");
            let message = document["message"].as_str().unwrap();
            assert!(message.contains(what), "{message}");
            assert_eq!(document["workspace"], "unchanged");
        }
        assert_eq!(crate::program::text(&root, "a.txt"), "one\n");
    };
    fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
    refused(
        "LEDGER_HOME_UNUSABLE",
        "its mode is 0755 instead of 0700; if none of them did, run `chmod 700 ",
    );
    fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
    let real = directory.path().join("real");
    fs::rename(&home, &real).unwrap();
    symlink(&real, &home).unwrap();
    refused("LEDGER_HOME_UNUSABLE", "it is a symbolic link");
    fs::remove_file(&home).unwrap();
    fs::write(&home, "").unwrap();
    refused("LEDGER_HOME_UNUSABLE", "it is not a directory");
    fs::remove_file(&home).unwrap();
    fs::rename(&real, &home).unwrap();
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-11
#[test]
fn key_readable_by_others_is_reported_with_a_chmod_command() {
    let (_directory, root) = recorded();
    let key = private_key(&home_of(&root));
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let shown = key.display();
    let problem = format!(
        "cannot use `{shown}`: other users can access it, because its mode is 0644 instead of 0600; if \
         none of them did, run `chmod 600 {shown}`"
    );
    let message = format!("{problem}; nothing was changed");
    let refused = document(&root, &["undo"]);
    assert_eq!(
        (&refused["reason"], &refused["message"]),
        (&json!("KEY_UNUSABLE"), &json!(message))
    );
    assert_eq!(document(&root, &["key", "list"])["keys"][0]["problem"], json!(problem));
    assert_eq!(document(&root, &["key", "rotate", "result"])["message"], json!(message));
    fs::remove_file(&key).unwrap();
    let refused = document(&root, &["undo"]);
    assert_eq!(refused["reason"], "KEY_UNUSABLE");
    // Rotation creates a new key and reports that the ledger does not record it.
    let rotated = actum(&root, &["key", "rotate", "result", "--json"]);
    assert_eq!(rotated.code, 4, "{rotated:?}");
    let rotated: Value = serde_json::from_str(&rotated.stdout).unwrap();
    assert_eq!(
        rotated["unrecorded"],
        json!([{
            "tenant": "default",
            "reason": "ROTATION_NOT_RECORDED",
            "message": "the old key cannot be used to sign the rotation",
        }])
    );
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(document(&root, &["ledger", "verify", "--receipts"])["sound"], true);
}

/// AEC-11
#[test]
fn commands_fail_without_a_usable_ledger_home() {
    let (_directory, root) = recorded();
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = command(&root, &[&["--json"], arguments].concat());
        command.env_clear().env("XDG_CONFIG_HOME", crate::program::operator_of(&root));
        command.envs(variables.iter().copied());
        let ended = Ended::from(command.output().unwrap());
        (ended.code, serde_json::from_str::<Value>(&ended.stdout).unwrap())
    };
    for variables in [&[][..], &[("HOME", "")], &[("HOME", "relative")]] {
        let (code, document) = run(variables, &["undo"]);
        assert_eq!((code, &document["reason"]), (1, &json!("LEDGER_HOME_UNKNOWN")), "{document}");
    }
    let (code, document) = run(&[("ACTUM_HOME", "relative")], &["undo"]);
    assert_eq!((code, &document["reason"]), (1, &json!("LEDGER_HOME_UNUSABLE")), "{document}");
    let home = home_of(&root);
    let home = home.to_str().unwrap();
    let (code, document) = run(&[("ACTUM_HOME", home), ("ACTUM_TENANT", "A b")], &["undo"]);
    assert_eq!((code, &document["reason"]), (2, &json!("USAGE")), "{document}");
    let (code, document) = run(&[("ACTUM_HOME", home), ("ACTUM_TENANT", "a")], &["undo"]);
    assert_eq!((code, &document["reason"]), (1, &json!("BOUND_ELSEWHERE")), "{document}");
    for (tenant, entries) in [("a", 1), ("default", 3)] {
        let (_, document) = run(&[("ACTUM_HOME", home)], &["ledger", "show", "--tenant", tenant]);
        assert_eq!((&document["tenant"], &document["size"]), (&json!(tenant), &json!(entries)));
    }
}
